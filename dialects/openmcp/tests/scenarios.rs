//! The rules of docs/systems/openmcp.md, one folder each.

#[test]
fn scenarios() {
    berth_dialect_testing::scenarios(
        berth_dialect_openmcp::dialect(),
        concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios"),
    );
}
