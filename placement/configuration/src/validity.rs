//! The conditions of SchedulerConfigurations (docs/concepts.md, "Configuration"): Valid reports whether the
//! stored object is in force, and Deciding whether the system is decided. An invalid object is refused on
//! write. But a hub may accept such an object while no webhook answers, and a newer version of Berth may
//! validate a stored object differently.

use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::write::{Verb, Write as Planned};
use berth_apimachinery::{Key, Object, Timestamp, field};
use berth_dialect_contract::{Dialect, config};
use berth_engine::{Commit, Committer, Engine};
use berth_storage::informer::{self, Handler};
use berth_storage::{Scope, StoreError};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::SchedulerConfiguration;
use super::deciding::{DECIDING, DecidingCondition, deciding_condition};
use super::mode::Modes;

/// The type of the condition Valid.
const VALID: &str = "Valid";
/// The actor that writes the conditions.
pub const ACTOR: &str = "berth:scheduler";

/// Starts the task that keeps the conditions of every stored SchedulerConfiguration current, by the `modes`
/// of the dialects of `engine`. The task writes through `committer` while `leading` is true.
pub fn spawn(
    engine: &Arc<Engine>,
    modes: &Arc<Modes>,
    committer: &Arc<dyn Committer>,
    leading: watch::Receiver<bool>,
) -> JoinHandle<()> {
    let dialects: Vec<Arc<dyn Dialect>> = engine.dialects().cloned().collect();
    let updater = ConditionUpdater {
        kind: SchedulerConfiguration::new(dialects),
        engine: Arc::clone(engine),
        committer: Arc::clone(committer),
        leading,
        schedulers: modes.own_scheduler_evidence().changes(),
        modes: Arc::clone(modes),
    };
    // The informer runs until the handle is aborted.
    tokio::spawn(informer::run(
        Arc::clone(engine.source()),
        Scope::One(config::RESOURCE),
        updater,
        std::future::pending(),
    ))
}

/// The task that keeps the conditions of SchedulerConfigurations current.
struct ConditionUpdater {
    kind: SchedulerConfiguration,
    engine: Arc<Engine>,
    committer: Arc<dyn Committer>,
    leading: watch::Receiver<bool>,
    modes: Arc<Modes>,
    /// Changes of the known state of the systems' own schedulers.
    schedulers: watch::Receiver<u64>,
}

impl Handler for ConditionUpdater {
    const RETRY_AFTER: Duration = Duration::from_secs(5);

    async fn work(&mut self) -> bool {
        self.schedulers.mark_unchanged();
        !*self.leading.borrow_and_update() || self.update().await
    }

    /// Waits until this server gains or loses leadership, or the system's own scheduler is started or
    /// stopped.
    async fn woken(&mut self) {
        tokio::select! {
            () = changed(&mut self.leading) => {}
            () = changed(&mut self.schedulers) => {}
        }
    }

    fn ended(&self, problem: &StoreError) -> Duration {
        if matches!(problem, StoreError::Expired { .. }) {
            return Duration::ZERO;
        }
        tracing::warn!(error = %problem, "cannot watch SchedulerConfigurations; retrying");
        Self::RETRY_AFTER
    }
}

/// Waits for a change of the value; waits for ever if the sender is dropped.
async fn changed<T>(receiver: &mut watch::Receiver<T>) {
    if receiver.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

impl ConditionUpdater {
    /// Updates the conditions of every configuration. Returns false if an update failed and has to be tried
    /// again.
    async fn update(&self) -> bool {
        let now = self.engine.clock().now();
        let mut done = true;
        for (key, object) in self.engine.source().cached(config::RESOURCE).iter(None, None) {
            let deciding = deciding(&self.engine, &self.modes, &key.name);
            let Some(updated) = with_verdicts(&self.kind, object, deciding.as_ref(), now) else {
                continue;
            };
            if let Some(problem) = not_in_force(&updated) {
                tracing::warn!(configuration = %key.name, problem, "SchedulerConfiguration is invalid and not in force; fix the fields that the problem names");
            }
            let write = Planned {
                verb: Verb::Update,
                key: Key::new(config::RESOURCE, "", &key.name),
                subresource: "status",
                object: updated,
                base: Some(object.revision()),
            };
            let commit = Commit {
                actor: ACTOR,
                manager: "berth-configuration".to_owned(),
                cause: "whether the configuration is in force, and the system decided".to_owned(),
                writes: vec![write],
                guards: Vec::new(),
                dry_run: false,
            };
            match self.committer.commit(commit).await {
                Ok(_) => {}
                // Another client has changed the object, and that change wakes this task again.
                Err(error) if error.reason.is_outdated() => {}
                Err(error) => {
                    tracing::warn!(
                        configuration = %key.name,
                        problem = %error,
                        "cannot update the conditions of a SchedulerConfiguration, whose status is out of date; retrying"
                    );
                    done = false;
                }
            }
        }
        done
    }
}

/// Returns the condition Deciding of the system `name`; `None` if `engine` has no such dialect.
fn deciding(engine: &Engine, modes: &Modes, name: &str) -> Option<DecidingCondition> {
    let mut dialects = engine.dialects();
    let dialect = dialects.find(|dialect| dialect.name() == name)?;
    let state = modes.deciding_state(name);
    let in_force = engine.configuration(name);
    Some(deciding_condition(&**dialect, &state, in_force.spec()))
}

/// Returns the reason why a configuration is not in force, from condition Valid; `None` if it is in force.
fn not_in_force(configuration: &Value) -> Option<&str> {
    let mut conditions = configuration["status"]["conditions"].as_array()?.iter();
    let valid_condition =
        conditions.find(|condition| condition["type"] == VALID && condition["status"] == "False")?;
    valid_condition["message"].as_str()
}

/// Returns `object` with the present conditions Valid and Deciding; `None` if they are unchanged.
fn with_verdicts(
    kind: &SchedulerConfiguration,
    object: &Object,
    deciding: Option<&DecidingCondition>,
    now: Timestamp,
) -> Option<Value> {
    let errors = kind.problems(object.value(), now);
    let (status, reason, message) = if errors.is_empty() {
        ("True", "Valid", "it is in force".to_owned())
    } else {
        let problems = field::aggregate(&errors);
        let message = format!(
            "it is not in force: {problems}; the last valid configuration stays in force; if there \
             was none since the server started, the system is observed"
        );
        ("False", "Invalid", message)
    };
    let mut conditions = vec![ConditionDraft {
        r#type: VALID,
        status,
        reason,
        message: &message,
    }];
    conditions.extend(deciding.map(|condition| ConditionDraft {
        r#type: DECIDING,
        status: condition.status,
        reason: condition.reason,
        message: &condition.message,
    }));
    with_conditions(object, &conditions, now)
}

/// A condition to set, without lastTransitionTime and observedGeneration.
#[derive(Clone, Copy, Debug)]
pub struct ConditionDraft<'a> {
    /// The type of the condition.
    pub r#type: &'static str,
    /// The status of the condition: True, False or Unknown.
    pub status: &'static str,
    /// The reason for the status, in one word.
    pub reason: &'a str,
    /// The message for people.
    pub message: &'a str,
}

/// Returns `object` with the conditions of `drafts`; `None` if they are unchanged.
pub fn with_conditions(object: &Object, drafts: &[ConditionDraft<'_>], now: Timestamp) -> Option<Value> {
    let mut value = Value::clone(object.value());
    let generation = object.meta().generation();
    let known = value["status"]["conditions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let mut conditions = known.clone();
    for draft in drafts {
        let before = known.iter().find(|condition| condition["type"] == draft.r#type);
        let same = before.filter(|condition| condition["status"] == draft.status);
        let since = same.and_then(|condition| condition["lastTransitionTime"].as_str().map(str::to_owned));
        let condition = json!({
            "type": draft.r#type,
            "status": draft.status,
            "reason": draft.reason,
            "message": draft.message,
            "lastTransitionTime": since.unwrap_or_else(|| berth_apimachinery::time::rfc3339(now)),
            "observedGeneration": generation,
        });
        match conditions.iter_mut().find(|other| other["type"] == draft.r#type) {
            Some(existing) => *existing = condition,
            None => conditions.push(condition),
        }
    }
    if conditions == known {
        return None;
    }
    if !value["status"].is_object() {
        value["status"] = json!({});
    }
    value["status"]["conditions"] = conditions.into();
    Some(value)
}

#[cfg(test)]
mod tests;
