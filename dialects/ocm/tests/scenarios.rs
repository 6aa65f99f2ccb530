//! Every scenario of Open Cluster Management's rules.

#[test]
fn every_scenario_gives_the_expected_report() {
    berth_dialect_testing::scenarios(
        berth_dialect_ocm::dialect(),
        concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios"),
    );
}
