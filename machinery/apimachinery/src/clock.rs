//! Clocks, the source of the current instant.

use jiff::Timestamp;

/// Source of the current instant. A server uses the system clock. Servers for a snapshot of objects use a
/// fixed clock, and tests a fixed or a stepped one.
pub trait Clock: Send + Sync + 'static {
    /// The current instant.
    fn now(&self) -> Timestamp;
}

/// A clock that is always at the same instant.
#[derive(Clone, Copy, Debug)]
pub struct FixedClock(pub Timestamp);

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        self.0
    }
}
