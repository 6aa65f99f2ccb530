//! The system clock.
//!
//! Programs create a [`SystemClock`], and a pipeline's builder has it as the default. Other code gets a
//! [`Clock`], so that tests can determine the time.

use berth_apimachinery::{Clock, Timestamp};

/// Clock of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the time of the operating system is read only here; all other code gets a clock"
    )]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}
