//! The right to decide: whether anything is written for a system here, and whether others are kept
//! from the fields that hold its decisions.

/// Source of what the configuration in force says of every system. It is asked before every write
/// and in every review, so it must be cheap.
pub trait Mandate: Send + Sync + 'static {
    /// Whether the decisions of `dialect` are made and written here.
    fn decides(&self, dialect: &str) -> bool;

    /// Whether what they are written in is kept from others. Where another scheduler writes it, it must not be.
    fn guards(&self, dialect: &str) -> bool;
}
