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
        reason = "this is the one clock everything else is given"
    )]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}
