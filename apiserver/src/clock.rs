//! The system clock.
//!
//! Only a program makes one; everything else is given a [`Clock`], so that tests decide what time it is.

use berth_apimachinery::{Clock, Timestamp};

/// Reads the operating system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one clock everything else is given"
    )]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}
