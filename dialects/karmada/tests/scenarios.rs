//! The rules of docs/systems/karmada.md, one folder each: see `scenarios/`.

#[test]
fn every_scenario_gives_the_report_it_expects() {
    berth_dialect_testing::scenarios(
        berth_dialect_karmada::dialect(),
        concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios"),
    );
}
