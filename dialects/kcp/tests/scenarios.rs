//! Every rule of kcp's placement, one folder each.

#[test]
fn every_rule_holds_in_its_scenario() {
    berth_dialect_testing::scenarios(
        berth_dialect_kcp::dialect(),
        concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios"),
    );
}
