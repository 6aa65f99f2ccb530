//! Every scenario of Open Cluster Management's rules.

#[test]
fn every_scenario_gives_the_expected_report() {
    dialect_testing::scenarios(
        dialect_ocm::dialect(),
        concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios"),
    );
}
