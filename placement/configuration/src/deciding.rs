//! The condition Deciding of SchedulerConfigurations: whether Berth decides the system, and if not, why
//! it waits.

use berth_dialect_contract::{Dialect, OwnScheduler};
use serde_json::Value;

use super::mode::DecidingState;
use super::requests;

/// The condition's type.
pub const DECIDING: &str = "Deciding";

/// The reason of the condition while Berth waits for the scheduler that the system brings along.
pub const WAITING: &str = "OtherSchedulerRuns";

/// State of the condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// True or False.
    pub status: &'static str,
    /// The reason, in one word.
    pub reason: &'static str,
    /// The message, of one or more sentences.
    pub message: String,
}

/// The condition of the `configuration` of `dialect`, by the `state` of the dialect.
#[must_use]
pub fn words(dialect: &dyn Dialect, state: &DecidingState, configuration: &Value) -> Words {
    let name = dialect.name();
    match state {
        DecidingState::Observes => Words {
            status: "False",
            reason: "Observing",
            message: format!("Berth observes {name}: another scheduler decides, and nothing is guarded"),
        },
        DecidingState::Misconfigured => Words {
            status: "False",
            reason: "ConfigurationInvalid",
            message: format!(
                "Berth observes {name} until this configuration is valid, as condition Valid says: there was no valid one \
                 since the server started"
            ),
        },
        DecidingState::Waits(evidence) => Words {
            status: "False",
            reason: WAITING,
            message: waiting(dialect.on_hub().scheduler, evidence),
        },
        DecidingState::Decides => Words {
            status: "True",
            reason: "Deciding",
            message: match configuration["spec"]
                .get(requests::FIELD)
                .is_some_and(Value::is_object)
            {
                true => format!(
                    "Berth decides the requests of {name} that spec.requests selects, and observes the others"
                ),
                false => format!("Berth decides {name}"),
            },
        },
    }
}

/// The reason why Berth waits, and the way to end the wait.
fn waiting(scheduler: Option<OwnScheduler>, evidence: &str) -> String {
    let mut text = format!("{evidence}. Until it is stopped Berth observes");
    let Some(scheduler) = scheduler else {
        return text;
    };
    if let Some(consequence) = scheduler.is_part_of {
        text.push_str(&format!("; {consequence}"));
    }
    text.push_str(&format!(
        ". Stop it: {}. Or set spec.otherScheduler: Ignore to decide beside it",
        scheduler.stop.join("; ")
    ));
    text
}
