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

/// Flag of a request whose result is no longer needed: it timed out, or the client has disconnected.
#[derive(Clone, Debug, Default)]
pub struct AbandonedFlag(Arc<AtomicBool>);

impl AbandonedFlag {
    /// Records that the caller no longer waits for the result.
    pub fn end(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the caller no longer waits for the result.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Runs `work`, which must stay on this thread. Every [`Budget`] inside it, and [`wanted`], use this
    /// flag.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> T {
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
/// decision, one row) call this between the pieces. Without a request the result counts as needed.
///
/// # Errors
/// [`BudgetExceeded::Ended`] when the result is no longer needed.
pub fn wanted() -> Result<(), BudgetExceeded> {
    let is_ended = CURRENT_FLAG.with_borrow(|flag| flag.as_ref().is_some_and(AbandonedFlag::is_ended));
    if is_ended {
        Err(BudgetExceeded::Ended)
    } else {
        Ok(())
    }
}

/// Limits of the steps and bytes of one piece of work, and the numbers spent so far.
#[derive(Clone, Debug)]
pub struct Budget {
    what: &'static str,
    most_steps: u64,
    most_bytes: u64,
    steps: u64,
    bytes: u64,
    next_check: u64,
    flag: Option<AbandonedFlag>,
}

/// A used up budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BudgetExceeded {
    /// The work needs more steps than the limit.
    Steps {
        /// Description of the work.
        what: &'static str,
        /// The limit.
        most: u64,
    },
    /// The work needs more bytes than the limit.
    Bytes {
        /// Description of the work.
        what: &'static str,
        /// The limit.
        most: u64,
    },
    /// The result is no longer needed.
    Ended,
}

impl Budget {
    /// A budget of `steps` and `bytes` for `what`, which is part of the message "the patch takes more than
    /// …". It ends early when the caller no longer waits for this thread's work.
    #[must_use]
    pub fn new(what: &'static str, steps: u64, bytes: u64) -> Self {
        Self {
            what,
            most_steps: steps,
            most_bytes: bytes,
            steps: 0,
            bytes: 0,
            next_check: CHECK_INTERVAL,
            flag: CURRENT_FLAG.with_borrow(Clone::clone),
        }
    }

    /// Spends `steps`.
    ///
    /// # Errors
    /// When fewer steps are left, or the caller no longer waits.
    pub fn spend(&mut self, steps: usize) -> Result<(), BudgetExceeded> {
        self.steps = self.steps.saturating_add(steps as u64);
        if self.steps > self.most_steps {
            return Err(BudgetExceeded::Steps {
                what: self.what,
                most: self.most_steps,
            });
        }
        if self.steps >= self.next_check {
            self.next_check = self.steps + CHECK_INTERVAL;
            if self.flag.as_ref().is_some_and(AbandonedFlag::is_ended) {
                return Err(BudgetExceeded::Ended);
            }
        }
        Ok(())
    }

    /// Spends `bytes` of memory.
    ///
    /// # Errors
    /// When fewer bytes are left.
    pub fn take(&mut self, bytes: usize) -> Result<(), BudgetExceeded> {
        self.bytes = self.bytes.saturating_add(bytes as u64);
        if self.bytes > self.most_bytes {
            return Err(BudgetExceeded::Bytes {
                what: self.what,
                most: self.most_bytes,
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
            Self::Steps { what, most } => {
                write!(f, "{what} takes more than the limit of {most} steps of work")
            }
            Self::Bytes { what, most } => write!(f, "{what} takes more than the limit of {most} bytes"),
            Self::Ended => f.write_str("Timeout: request did not complete within the allotted timeout"),
        }
    }
}

impl std::error::Error for BudgetExceeded {}

/// Converts to 422 for steps, 413 for bytes, and 504 for a result that is no longer needed.
impl From<BudgetExceeded> for Status {
    fn from(exceeded: BudgetExceeded) -> Self {
        let text = exceeded.to_string();
        match exceeded {
            BudgetExceeded::Steps { .. } => Self::failure(422, "Invalid", text),
            BudgetExceeded::Bytes { .. } => Self::failure(413, "RequestEntityTooLarge", text),
            BudgetExceeded::Ended => Self::timeout(text),
        }
    }
}
