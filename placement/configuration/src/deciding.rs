//! The condition Deciding of SchedulerConfigurations: whether Berth decides the system, and if not, the
//! reason.

use berth_dialect_contract::{Dialect, OwnScheduler};
use serde_json::Value;

use super::mode::DecidingState;
use super::requests;

/// The type of the condition Deciding.
pub const DECIDING: &str = "Deciding";

/// The reason of condition Deciding while Berth waits until the system's own scheduler is stopped.
pub const WAITING: &str = "OtherSchedulerRuns";

/// Status, reason and message of the condition Deciding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecidingCondition {
    /// True or False.
    pub status: &'static str,
    /// The reason for the status, in one word.
    pub reason: &'static str,
    /// The message, in one or more sentences.
    pub message: String,
}

/// Returns the condition Deciding of `dialect`, by the `state` of the dialect. `spec` is the spec of the
/// configuration in force, from which the state comes, too: a stored configuration may be invalid.
#[must_use]
pub fn deciding_condition(dialect: &dyn Dialect, state: &DecidingState, spec: &Value) -> DecidingCondition {
    let name = dialect.name();
    match state {
        DecidingState::Observes => DecidingCondition {
            status: "False",
            reason: "Observing",
            message: format!("Berth observes {name}: another scheduler decides, and nothing is guarded"),
        },
        DecidingState::Misconfigured => DecidingCondition {
            status: "False",
            reason: "ConfigurationInvalid",
            message: format!(
                "Berth observes {name} until this configuration is valid (see condition Valid), since there \
                 was no valid one since the server started"
            ),
        },
        DecidingState::Waits(evidence) => DecidingCondition {
            status: "False",
            reason: WAITING,
            message: waiting(dialect.on_hub().scheduler, evidence),
        },
        DecidingState::Decides => DecidingCondition {
            status: "True",
            reason: "Deciding",
            message: match spec.get(requests::FIELD).is_some_and(Value::is_object) {
                true => format!(
                    "Berth decides the requests of {name} that spec.requests selects, and observes the others"
                ),
                false => format!("Berth decides {name}"),
            },
        },
    }
}

/// Returns the message while Berth waits: the evidence that the scheduler runs, and how to stop the
/// scheduler.
fn waiting(scheduler: Option<OwnScheduler>, evidence: &str) -> String {
    let mut text = format!("{evidence}. Until it is stopped Berth observes");
    let Some(scheduler) = scheduler else {
        return text;
    };
    if let Some(consequence) = scheduler.stop_consequence {
        text.push_str(&format!("; {consequence}"));
    }
    text.push_str(&format!(
        ". Stop it: {}. Or set spec.otherScheduler: Ignore to decide beside it",
        scheduler.stop.join("; ")
    ));
    text
}
