//! Every rule of kcp's placement, each in a folder of its own.

#[test]
fn every_rule_holds_in_its_scenario() {
    dialect_testing::scenarios(
        dialect_kcp::dialect(),
        concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios"),
    );
}
