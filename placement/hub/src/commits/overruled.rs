//! Changes that the hub's own policies and webhooks make to a decision. They are asked while the hub stores a
//! write, behind every guard of Berth's, so what came of it is compared with what was decided. What differs
//! is put back as it was, and told.

use berth_apimachinery::overruled::{self, Absent};
use berth_apimachinery::{CommitError, FieldError, Status, Verb, Why, Write};
use berth_engine::Commit;
use http::Method;
use serde_json::{Value, json};

use super::HubCommitter;
use crate::wire::{self, Ask};

/// A write of which the hub made something else.
pub(super) struct Overruled {
    /// Object as the hub has it now; `None` where what was created is gone again.
    pub(super) left: Option<Value>,
    /// Refusal that tells it.
    pub(super) error: CommitError,
}

impl HubCommitter {
    /// Whether `answer` is what `write` decides to make of `before` (null for what is new). What is not is
    /// put back, as far as the hub lets it.
    pub(super) async fn stands(
        &self,
        commit: &Commit,
        write: &Write,
        before: &Value,
        answer: &Value,
    ) -> Result<(), Box<Overruled>> {
        let Some(path) = changed(write, before, answer) else {
            return Ok(());
        };
        let (left, outcome) = match commit.dry_run {
            true => (None, "this was a dry run".to_owned()),
            false => self.undo(commit.actor, write, before, answer).await,
        };
        let actor = commit.actor;
        tracing::warn!(key = %write.key, %path, %actor, %outcome, "a mutating webhook or policy of the hub changed what was decided");
        let detail = format!(
            "{actor} decided it, and a mutating webhook or a MutatingAdmissionPolicy of the hub changed it ({outcome}); \
             exclude this user there with a matchCondition"
        );
        let error = FieldError::forbidden(path, detail);
        let status = Status::forbidden(write.key.resource, &write.key.name, &error.to_string());
        let status = status.with_cause(error.kind.reason(), error.message(), &error.path);
        Err(Box::new(Overruled {
            left,
            error: CommitError::new(Why::Overruled, status),
        }))
    }

    /// Takes back what the hub made of `write`: what it has now, and how that went.
    async fn undo(
        &self,
        actor: &str,
        write: &Write,
        before: &Value,
        answer: &Value,
    ) -> (Option<Value>, String) {
        let failed = |status: Status| {
            let text = format!("it stands, for it could not be put back: {}", status.message);
            (Some(answer.clone()), text)
        };
        if write.verb == Verb::Create {
            return match self.take_back(actor, write, answer).await {
                Ok(()) => (None, "what was created was deleted again".to_owned()),
                Err(status) => failed(status),
            };
        }
        match self.put_back(actor, write, before, answer).await {
            Ok(now) if changed_back(write, before, answer, &now) => {
                (Some(now), "it was put back as it was".to_owned())
            }
            Ok(now) => (
                Some(now),
                "it stands, for what was to put it back was changed as well".to_owned(),
            ),
            Err(status) => failed(status),
        }
    }

    /// Writes `before` over `answer`, unless somebody has changed that meanwhile.
    async fn put_back(
        &self,
        actor: &str,
        write: &Write,
        before: &Value,
        answer: &Value,
    ) -> Result<Value, Status> {
        let mut object = before.clone();
        object["metadata"]["resourceVersion"] = answer["metadata"]["resourceVersion"].clone();
        let api_version = before["apiVersion"].as_str().unwrap_or_default();
        let subresource = self.served(api_version, write).await.map_err(Status::from)?;
        let one = wire::object(api_version, &write.key);
        let ask = Ask {
            method: Method::PUT,
            path: &format!("{one}{subresource}"),
            actor,
            body: Some(&object),
        };
        self.wire.send(ask).await
    }
}

/// Words about the fields in which `answer` differs from what `write` makes of `before`; `None` where it does
/// not.
fn changed(write: &Write, before: &Value, answer: &Value) -> Option<String> {
    if write.verb == Verb::Delete {
        return None;
    }
    if write.subresource != "status" {
        return overruled::first(&write.object, before, answer, Absent::MayBePruned);
    }
    // Nothing else is written through it.
    let status = |object: &Value| json!({"status": object["status"]});
    let [decided, before, answer] = [&write.object, before, answer].map(status);
    overruled::first(&decided, &before, &answer, Absent::MayBePruned)
}

/// Whether `now` has of `before` what `answer` had changed.
fn changed_back(write: &Write, before: &Value, answer: &Value, now: &Value) -> bool {
    let back = Write {
        object: before.clone(),
        ..write.clone()
    };
    changed(&back, answer, now).is_none()
}
