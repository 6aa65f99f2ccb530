//! Every scenario of Gardener's rules.

#[test]
fn every_scenario_gives_the_expected_report() {
    berth_dialect_testing::scenarios(
        berth_dialect_gardener::dialect(),
        concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios"),
    );
}
