//! The condition Valid of SchedulerConfigurations (docs/api.md, "Configuration"): whether what is stored is in force.
//! An invalid one is refused on write, but a hub may take one in while no webhook answers, and a newer version may
//! think otherwise of what is stored.

use std::sync::Arc;
use std::time::Duration;

use dialect_contract::{Dialect, config};
use engine::{Commit, Committer, Engine};
use meta::{FieldError, Key, Object, Timestamp, Verb, Write as Planned, field};
use serde_json::{Value, json};
use storage::informer::{self, Handler};
use storage::{Scope, StoreError};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::SchedulerConfiguration;

/// The condition's type.
const VALID: &str = "Valid";
/// Who writes it.
pub const ACTOR: &str = "berth:scheduler";

/// Keeps the condition of every stored configuration of `engine`'s dialects, writing through `committer`, while `leading`
/// says that this server is the one to do it.
pub fn spawn(
    engine: &Arc<Engine>,
    committer: &Arc<dyn Committer>,
    leading: watch::Receiver<bool>,
) -> JoinHandle<()> {
    let dialects: Vec<Arc<dyn Dialect>> = engine.dialects().cloned().collect();
    let keeper = Keeper {
        kind: SchedulerConfiguration::new(dialects),
        engine: Arc::clone(engine),
        committer: Arc::clone(committer),
        leading,
    };
    // It runs until the handle is aborted.
    tokio::spawn(informer::run(
        Arc::clone(engine.source()),
        Scope::One(config::RESOURCE),
        keeper,
        std::future::pending(),
    ))
}

struct Keeper {
    kind: SchedulerConfiguration,
    engine: Arc<Engine>,
    committer: Arc<dyn Committer>,
    leading: watch::Receiver<bool>,
}

impl Handler for Keeper {
    const RETRY_AFTER: Duration = Duration::from_secs(5);

    async fn work(&mut self) -> bool {
        !*self.leading.borrow_and_update() || self.look().await
    }

    /// When this server begins or ceases to be the one to do it. Where nobody is elected that is never.
    async fn woken(&mut self) {
        if self.leading.changed().await.is_err() {
            std::future::pending::<()>().await;
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

impl Keeper {
    /// Brings every condition up to date. Whether that worked.
    async fn look(&self) -> bool {
        let now = self.engine.clock().now();
        let mut done = true;
        for (name, object) in self.engine.source().cached(config::RESOURCE).iter(None, None) {
            let Some(told) = told(&self.kind, object, now) else {
                continue;
            };
            if let Some(problem) = not_in_force(&told) {
                tracing::warn!(configuration = %name.name, problem, "SchedulerConfiguration is invalid and not in force; fix the fields that are named");
            }
            let write = Planned {
                verb: Verb::Update,
                key: Key::new(config::RESOURCE, "", &name.name),
                subresource: "status",
                object: told,
                base: Some(object.revision()),
            };
            let commit = Commit {
                actor: ACTOR,
                manager: "berth-configuration".to_owned(),
                cause: "whether the configuration is in force".to_owned(),
                writes: vec![write],
                guards: Vec::new(),
                dry_run: false,
            };
            match self.committer.commit(commit).await {
                // Somebody was faster, and the change wakes this task again.
                Ok(_) => {}
                Err(error) if error.why.is_moved() => {}
                Err(error) => {
                    tracing::warn!(
                        configuration = %name.name,
                        problem = %error,
                        "cannot update the condition Valid of a SchedulerConfiguration, whose status is out of date; retrying"
                    );
                    done = false;
                }
            }
        }
        done
    }
}

/// What is wrong with a stored configuration.
fn errors(kind: &SchedulerConfiguration, value: &Value, now: Timestamp) -> Vec<FieldError> {
    let mut errors = kind.problems(value, now);
    // Whatever else the status says, it is no configuration.
    errors.retain(|error| !error.path.starts_with("status"));
    errors
}

/// What the condition says against a configuration.
fn not_in_force(configuration: &Value) -> Option<&str> {
    let mut conditions = configuration["status"]["conditions"].as_array()?.iter();
    let said = conditions.find(|condition| condition["type"] == VALID && condition["status"] == "False")?;
    said["message"].as_str()
}

/// `object` with the condition that is true of it; `None` when it has it already.
fn told(kind: &SchedulerConfiguration, object: &Object, now: Timestamp) -> Option<Value> {
    let errors = errors(kind, object.value(), now);
    let (status, reason, message) = if errors.is_empty() {
        ("True", "Valid", "it is in force".to_owned())
    } else {
        let problems = field::aggregate(&errors);
        let message = format!(
            "it is not in force: {problems}; what was valid before stays in force, or the defaults where nothing was"
        );
        ("False", "Invalid", message)
    };
    let said = Said {
        r#type: VALID,
        status,
        reason,
        message: &message,
    };
    with_conditions(object, &[said], now)
}

/// A condition as it is to be.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    /// Its type.
    pub r#type: &'static str,
    /// True, False or Unknown.
    pub status: &'static str,
    /// One word.
    pub reason: &'a str,
    /// One sentence.
    pub message: &'a str,
}

/// `object` with the conditions as they are `said`; `None` when it has them already.
pub fn with_conditions(object: &Object, said: &[Said<'_>], now: Timestamp) -> Option<Value> {
    let mut value = Value::clone(object.value());
    let generation = object.meta().generation();
    let known = value["status"]["conditions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let mut conditions = known.clone();
    for said in said {
        let before = known.iter().find(|condition| condition["type"] == said.r#type);
        let same = before.filter(|condition| condition["status"] == said.status);
        let since = same.and_then(|condition| condition["lastTransitionTime"].as_str().map(str::to_owned));
        let condition = json!({
            "type": said.r#type,
            "status": said.status,
            "reason": said.reason,
            "message": said.message,
            "lastTransitionTime": since.unwrap_or_else(|| meta::time::rfc3339(now)),
            "observedGeneration": generation,
        });
        match conditions.iter_mut().find(|other| other["type"] == said.r#type) {
            Some(place) => *place = condition,
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
