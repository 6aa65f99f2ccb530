//! The conditions of Publications: `Valid` reports whether the Publication is in force, `Published` whether
//! all its objects are published.

use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::Key;
use berth_apimachinery::write::{Verb, Write};
use berth_configuration::validity::{self, ACTOR, ConditionDraft};
use berth_engine::{Commit, Committer, Engine};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::PUBLICATIONS;
use super::in_force::Verdict;

/// Delay before a condition that could not be written is tried again.
const RETRY_DELAY: Duration = Duration::from_secs(5);

/// Starts a task that writes the verdicts in `reports` as conditions of Publications, through `committer`.
pub(super) fn spawn(
    engine: Arc<Engine>,
    committer: Arc<dyn Committer>,
    mut reports: watch::Receiver<Vec<Verdict>>,
) -> JoinHandle<()> {
    tokio::spawn(async move {
        loop {
            let verdicts = reports.borrow_and_update().clone();
            let mut all_written = true;
            for verdict in verdicts {
                all_written &= write(&engine, &*committer, &verdict).await;
            }
            let retry = tokio::time::sleep(RETRY_DELAY);
            tokio::select! {
                changed = reports.changed() => if changed.is_err() { return },
                () = retry, if !all_written => {}
            }
        }
    })
}

/// Writes the conditions of one Publication, unless the stored conditions are equal. Returns false if the
/// write has to be repeated.
async fn write(engine: &Engine, committer: &dyn Committer, verdict: &Verdict) -> bool {
    let stored = engine.source().cached(PUBLICATIONS);
    let Some(object) = stored.get("", &verdict.name) else {
        return true;
    };
    let version = (object.meta().uid().to_owned(), object.meta().generation());
    if verdict.version != version {
        // The present state gets a verdict of its own, which is reported since it differs.
        return true;
    }
    let (status, reason, message) = match &verdict.problem {
        None => ("True", "Valid", "it is in force".to_owned()),
        Some((reason, problem)) => ("False", *reason, format!("it is not in force: {problem}")),
    };
    let now = engine.clock().now();
    let valid = ConditionDraft {
        r#type: "Valid",
        status,
        reason,
        message: &message,
    };
    let (status, reason, message) = match &verdict.published {
        None => ("False", "NotInForce", "it is not in force"),
        Some(Ok(())) => ("True", "Published", "everything is published"),
        Some(Err((reason, problem))) => ("False", *reason, problem.as_str()),
    };
    let published = ConditionDraft {
        r#type: "Published",
        status,
        reason,
        message,
    };
    let Some(updated) = validity::with_conditions(object, &[valid, published], now) else {
        return true;
    };
    let commit = Commit {
        actor: ACTOR,
        manager: "berth-publications".to_owned(),
        writes: vec![Write {
            verb: Verb::Update,
            key: Key::new(PUBLICATIONS, "", &verdict.name),
            subresource: "status",
            object: updated,
            base: Some(object.revision()),
        }],
        guards: Vec::new(),
        dry_run: false,
        cause: "whether the Publication is in force".to_owned(),
    };
    match committer.commit(commit).await {
        Ok(_) => true,
        // The Publication has changed in the meantime. An equal verdict is not reported again, so that the
        // write has to be repeated.
        Err(error) if error.reason.is_outdated() => false,
        Err(error) => {
            tracing::warn!(
                publication = verdict.name,
                problem = %error,
                "cannot update the conditions of a Publication, whose status is out of date; retrying"
            );
            false
        }
    }
}
