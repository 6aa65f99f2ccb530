//! The system clock.
//!
//! Only programs and the default of a pipeline's builder create a [`SystemClock`]. All other code gets a
//! [`Clock`], so that tests determine the time.

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
