//! The rules of docs/systems/openmcp.md, one folder each.

#[test]
fn scenarios() {
    dialect_testing::scenarios(
        dialect_openmcp::dialect(),
        concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios"),
    );
}
