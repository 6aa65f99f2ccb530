//! Directions of a dialect to the controller that keeps decisions current: the pace of the controller, and
//! the Kubernetes events about decisions. Pure, like the rest of this crate.

use std::time::Duration;

use berth_apimachinery::Key;

use crate::decision::{Action, BindingChange, Decision, Outcome};
use crate::words::Words;

/// A capability: the pace at which the controller decides demands, and the events about decisions.
pub trait Control {
    /// Returns the pace of the controller under the configuration in force.
    fn pace(&self) -> Pace {
        Pace::default()
    }

    /// Events on the demand once `decision` is committed. `wrote` is whether the decision changed
    /// anything. `None` where the system has no events of its own; [`default_notes`] then apply.
    fn notes(&self, _decision: &Decision, _wrote: bool) -> Option<Vec<Note>> {
        None
    }
}

/// Exponential back-off: each delay is twice as long as the previous delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The first delay.
    pub first: Duration,
    /// The longest delay.
    pub longest: Duration,
}

impl Backoff {
    /// The delay after the `failures`th failure in a row, counted from 1.
    #[must_use]
    pub fn delay(self, failures: u32) -> Duration {
        let doubled = 2u32.checked_pow(failures.saturating_sub(1));
        let delay = doubled.and_then(|factor| self.first.checked_mul(factor));
        delay.unwrap_or(self.longest).min(self.longest)
    }
}

/// Pace of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Highest number of demands that are decided at once.
    pub parallel: usize,
    /// Back-off for demands that have fewer places than they request. `None` where only changes and
    /// [`Decision::due_at`] make such a demand due again.
    pub unplaced: Option<Backoff>,
    /// Back-off after failed writes.
    pub failed: Backoff,
}

impl Default for Pace {
    /// Failed writes are retried with the delays of Kubernetes' controllers: from 5 ms up to 1,000 s.
    fn default() -> Self {
        Self {
            parallel: 16,
            unplaced: None,
            failed: Backoff {
                first: Duration::from_millis(5),
                longest: Duration::from_secs(1000),
            },
        }
    }
}

/// The type of an event: whether it reports a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteType {
    /// A success.
    Normal,
    /// A failure that may need attention.
    Warning,
}

impl NoteType {
    /// The type, as in the field `type` of an event.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// The second object of an event (`related`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelatedObject {
    /// Group and version of the object.
    pub api_version: &'static str,
    /// Kind of the object.
    pub kind: &'static str,
    /// Key of the object.
    pub key: Key,
}

/// One event on the demand of a decision (docs/reference.md, "Events").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The type of the event.
    pub r#type: NoteType,
    /// The reason of the event, as a token.
    pub reason: &'static str,
    /// The action of the event, as a token.
    pub action: &'static str,
    /// The message of the event, of which at most 1,000 bytes are stored.
    pub text: String,
    /// The second object, if the event has one.
    pub related: Option<RelatedObject>,
}

/// The events of systems without events of their own: `Scheduled` and `FailedScheduling`, as in
/// kube-scheduler. `wrote` is whether the decision changed anything.
#[must_use]
pub fn default_notes(inventory: &(impl Words + ?Sized), decision: &Decision, wrote: bool) -> Vec<Note> {
    let is_new =
        |change: &BindingChange| matches!(change.action, Action::Bind | Action::Restore | Action::Resize);
    let scheduled = match decision.outcome {
        Outcome::Scheduled | Outcome::Provision => wrote,
        Outcome::Partial => wrote && decision.changes.iter().any(is_new),
        _ => false,
    };
    let failed = matches!(
        decision.outcome,
        Outcome::Partial | Outcome::Unschedulable | Outcome::Invalid
    );
    let mut notes = Vec::new();
    if scheduled {
        notes.push(Note {
            r#type: NoteType::Normal,
            reason: "Scheduled",
            action: "Binding",
            text: inventory.message(decision),
            related: None,
        });
    }
    if failed {
        notes.push(failed_scheduling(inventory, decision));
    }
    notes
}

/// The event `FailedScheduling`, with the reason and the summary of the decision.
#[must_use]
pub fn failed_scheduling(inventory: &(impl Words + ?Sized), decision: &Decision) -> Note {
    Note {
        r#type: NoteType::Warning,
        reason: "FailedScheduling",
        action: "Scheduling",
        text: format!("{}: {}", decision.reason, inventory.message(decision)),
        related: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_longest() {
        let backoff = Backoff {
            first: Duration::from_secs(15),
            longest: Duration::from_hours(12),
        };
        let seconds: Vec<u64> = [1, 2, 3, 12, 13, 500, u32::MAX]
            .map(|failures| backoff.delay(failures).as_secs())
            .to_vec();
        assert_eq!(seconds, [15, 30, 60, 30_720, 43_200, 43_200, 43_200]);
    }
}
