//! The rules of the system, one folder each.

#[test]
fn scenarios() {
    dialect_testing::scenarios(
        std::sync::Arc::new(dialect_toy::Toys),
        concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios"),
    );
}
