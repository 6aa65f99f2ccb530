//! Limits of the work on a client's input, in steps and bytes, so that no input can occupy the server or
//! exhaust its memory.
//!
//! The work itself counts its steps, and stops with [`BudgetExceeded`]. A step takes some nanoseconds: a
//! comparison, reading an element, copying a few dozen bytes. Limits are constants next to the work, far
//! above the needs of any regular input.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Status;

#[cfg(test)]
mod tests;

/// Number of steps between two checks of the [`AbandonedFlag`].
const CHECK_INTERVAL: u64 = 1024;

thread_local! {
    /// Flag of the request whose work runs on this thread.
    static CURRENT_FLAG: RefCell<Option<AbandonedFlag>> = const { RefCell::new(None) };
}

/// Flag that the result of a request is no longer needed, since the request timed out or the client has
/// disconnected.
#[derive(Clone, Debug, Default)]
pub struct AbandonedFlag(Arc<AtomicBool>);

impl AbandonedFlag {
    /// Records that the caller no longer waits for the result.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the caller no longer waits for the result.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Runs `work` on this thread. During the call, every new [`Budget`] and every call of [`check_needed`]
    /// on this thread uses this flag.
    pub fn scope<T>(&self, work: impl FnOnce() -> T) -> T {
        let _guard = FlagGuard(CURRENT_FLAG.replace(Some(self.clone())));
        work()
    }
}

/// Restores the former flag of the thread, also after a panic.
struct FlagGuard(Option<AbandonedFlag>);

impl Drop for FlagGuard {
    fn drop(&mut self) {
        CURRENT_FLAG.set(self.0.take());
    }
}

/// Checks that the result of this thread's work is still needed. Long loops over bounded pieces of work (one
/// decision, one row) call this function between the pieces. Outside of [`AbandonedFlag::scope`], every
/// result counts as needed.
///
/// # Errors
/// [`BudgetExceeded::Abandoned`] when the result is no longer needed.
pub fn check_needed() -> Result<(), BudgetExceeded> {
    let is_abandoned = CURRENT_FLAG.with_borrow(|flag| flag.as_ref().is_some_and(AbandonedFlag::is_set));
    if is_abandoned {
        Err(BudgetExceeded::Abandoned)
    } else {
        Ok(())
    }
}

/// Limits of the steps and bytes of one piece of work, and the numbers spent so far.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Name of the work in messages.
    work: &'static str,
    step_limit: u64,
    byte_limit: u64,
    /// Number of steps spent so far.
    steps: u64,
    /// Number of bytes spent so far.
    bytes: u64,
    /// Number of steps at which the flag is checked next.
    next_check: u64,
    flag: Option<AbandonedFlag>,
}

/// Reason why work on a budget stops early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BudgetExceeded {
    /// The work needs more steps than the limit.
    Steps {
        /// Name of the work in messages.
        work: &'static str,
        /// Highest allowed number of steps.
        limit: u64,
    },
    /// The work needs more bytes than the limit.
    Bytes {
        /// Name of the work in messages.
        work: &'static str,
        /// Highest allowed number of bytes.
        limit: u64,
    },
    /// The caller no longer waits for the result.
    Abandoned,
}

impl Budget {
    /// Creates a budget of `steps` and `bytes`. `work` is the name of the work, and begins the message of an
    /// exceeded limit: "the patch takes more than the limit of …". Inside [`AbandonedFlag::scope`], spending
    /// also fails when the flag is set.
    #[must_use]
    pub fn new(work: &'static str, steps: u64, bytes: u64) -> Self {
        Self {
            work,
            step_limit: steps,
            byte_limit: bytes,
            steps: 0,
            bytes: 0,
            next_check: CHECK_INTERVAL,
            flag: CURRENT_FLAG.with_borrow(Clone::clone),
        }
    }

    /// Spends `steps`.
    ///
    /// # Errors
    /// When fewer steps are left, or a check finds that the caller no longer waits.
    pub fn spend(&mut self, steps: usize) -> Result<(), BudgetExceeded> {
        self.steps = self.steps.saturating_add(steps as u64);
        if self.steps > self.step_limit {
            return Err(BudgetExceeded::Steps {
                work: self.work,
                limit: self.step_limit,
            });
        }
        if self.steps >= self.next_check {
            self.next_check = self.steps + CHECK_INTERVAL;
            if self.flag.as_ref().is_some_and(AbandonedFlag::is_set) {
                return Err(BudgetExceeded::Abandoned);
            }
        }
        Ok(())
    }

    /// Spends `bytes` of memory.
    ///
    /// # Errors
    /// When fewer bytes are left.
    pub fn spend_bytes(&mut self, bytes: usize) -> Result<(), BudgetExceeded> {
        self.bytes = self.bytes.saturating_add(bytes as u64);
        if self.bytes > self.byte_limit {
            return Err(BudgetExceeded::Bytes {
                work: self.work,
                limit: self.byte_limit,
            });
        }
        Ok(())
    }

    /// Number of steps spent so far.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Number of bytes spent so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl fmt::Display for BudgetExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps { work, limit } => {
                write!(f, "{work} takes more than the limit of {limit} steps of work")
            }
            Self::Bytes { work, limit } => write!(f, "{work} takes more than the limit of {limit} bytes"),
            Self::Abandoned => f.write_str("Timeout: request did not complete within the allotted timeout"),
        }
    }
}

impl std::error::Error for BudgetExceeded {}

/// Converts to 422 for steps, 413 for bytes, and 504 for an abandoned request.
impl From<BudgetExceeded> for Status {
    fn from(exceeded: BudgetExceeded) -> Self {
        let text = exceeded.to_string();
        match exceeded {
            BudgetExceeded::Steps { .. } => Self::failure(422, "Invalid", text),
            BudgetExceeded::Bytes { .. } => Self::failure(413, "RequestEntityTooLarge", text),
            BudgetExceeded::Abandoned => Self::timeout(text),
        }
    }
}
