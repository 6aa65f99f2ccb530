//! Limits of the work on a client's input, in steps and bytes, so that no input keeps the server busy
//! or fills its memory.
//!
//! The work itself counts its steps, and stops with [`BudgetExceeded`]. A step takes some nanoseconds: a
//! comparison, reading an element, copying a few dozen bytes. Limits are constants beside the work, far
//! above what honest input needs.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Status;

#[cfg(test)]
mod tests;

/// Number of steps between two checks of [`Ended`].
const LOOK_EVERY: u64 = 1024;

thread_local! {
    /// The request that this thread works for.
    static ENDED: RefCell<Option<AbandonedFlag>> = const { RefCell::new(None) };
}

/// Marks a request whose outcome is not awaited any more: it timed out, or the client is gone.
#[derive(Clone, Debug, Default)]
pub struct AbandonedFlag(Arc<AtomicBool>);

impl AbandonedFlag {
    /// The caller no longer waits for the outcome.
    pub fn end(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the caller no longer waits for the outcome.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Runs `work`, which must stay on this thread. Every [`Budget`] inside it, and [`wanted`], use
    /// this [`Ended`].
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        let _before = Before(ENDED.replace(Some(self.clone())));
        work()
    }
}

/// Restores the former [`Ended`] of the thread, after a panic too.
struct Before(Option<AbandonedFlag>);

impl Drop for Before {
    fn drop(&mut self) {
        ENDED.set(self.0.take());
    }
}

/// Whether the outcome of this thread's work is still awaited. Long loops over bounded pieces of work
/// (one decision, one row) ask this between the pieces. True where no request was set.
///
/// # Errors
/// [`BudgetExceeded::Ended`] when it is not awaited.
pub fn wanted() -> Result<(), BudgetExceeded> {
    let is_ended = ENDED.with_borrow(|ended| ended.as_ref().is_some_and(AbandonedFlag::is_ended));
    if is_ended {
        Err(BudgetExceeded::Ended)
    } else {
        Ok(())
    }
}

/// Remainder to spend on one piece of work.
#[derive(Clone, Debug)]
pub struct Budget {
    what: &'static str,
    most_steps: u64,
    most_bytes: u64,
    steps: u64,
    bytes: u64,
    look_at: u64,
    ended: Option<AbandonedFlag>,
}

/// A budget is spent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BudgetExceeded {
    /// More steps than these.
    Steps {
        /// Work that was being done.
        what: &'static str,
        /// The limit.
        most: u64,
    },
    /// More bytes than these.
    Bytes {
        /// Work that was being done.
        what: &'static str,
        /// The limit.
        most: u64,
    },
    /// The outcome is not awaited any more.
    Ended,
}

impl Budget {
    /// At most `steps` and `bytes` for `what`, which reads well in "the patch takes more than …". It
    /// ends early when the caller no longer waits for this thread's work.
    #[must_use]
    pub fn new(what: &'static str, steps: u64, bytes: u64) -> Self {
        Self {
            what,
            most_steps: steps,
            most_bytes: bytes,
            steps: 0,
            bytes: 0,
            look_at: LOOK_EVERY,
            ended: ENDED.with_borrow(Clone::clone),
        }
    }

    /// Spends `steps`.
    ///
    /// # Errors
    /// When that is more than the rest, or the caller no longer waits.
    pub fn spend(&mut self, steps: usize) -> Result<(), BudgetExceeded> {
        self.steps = self.steps.saturating_add(steps as u64);
        if self.steps > self.most_steps {
            return Err(BudgetExceeded::Steps {
                what: self.what,
                most: self.most_steps,
            });
        }
        if self.steps >= self.look_at {
            self.look_at = self.steps + LOOK_EVERY;
            if self.ended.as_ref().is_some_and(AbandonedFlag::is_ended) {
                return Err(BudgetExceeded::Ended);
            }
        }
        Ok(())
    }

    /// Takes `bytes` of memory.
    ///
    /// # Errors
    /// When that is more than the rest.
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

    /// The steps spent so far.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The bytes taken so far.
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

/// 422 for steps, 413 for bytes, 504 for work that took too long.
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
