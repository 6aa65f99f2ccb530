//! The rules of the system, one folder each.

#[test]
fn scenarios() {
    berth_dialect_testing::scenarios(
        std::sync::Arc::new(berth_dialect_toy::Toys),
        concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios"),
    );
}
