//! Changes that the hub's own policies and webhooks make to a decision. Policies and webhooks run while the
//! hub stores a write, after every guard of Berth. So the stored object is compared with the decision, and
//! differences are reverted and reported.

use berth_apimachinery::overruled::{self, AbsentField};
use berth_apimachinery::write::{CommitError, Verb, Write, WriteRefusal};
use berth_apimachinery::{FieldError, Status};
use berth_engine::Commit;
use http::Method;
use serde_json::{Value, json};

use super::HubCommitter;
use crate::wire::{self, HubRequest};

/// A write whose content the hub's policies or webhooks changed.
pub(super) struct OverruledWrite {
    /// The hub's present object; `None` where a created object was deleted again, and in a dry run.
    pub(super) remaining: Option<Value>,
    /// The refusal, with a message about the changes.
    pub(super) error: CommitError,
}

impl HubCommitter {
    /// Checks that `answer` is the result of `write` on `before` (null for a new object). If it is not, the
    /// write is reverted, as far as the hub allows this.
    pub(super) async fn check_result(
        &self,
        commit: &Commit,
        write: &Write,
        before: &Value,
        answer: &Value,
    ) -> Result<(), Box<OverruledWrite>> {
        let Some(path) = difference(write, before, answer) else {
            return Ok(());
        };
        let (remaining, outcome) = match commit.dry_run {
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
        Err(Box::new(OverruledWrite {
            remaining,
            error: CommitError::new(WriteRefusal::Overruled, status),
        }))
    }

    /// Reverts the hub's result of `write`. Returns the hub's present object, if any, and a clause about the
    /// outcome.
    async fn undo(
        &self,
        actor: &str,
        write: &Write,
        before: &Value,
        answer: &Value,
    ) -> (Option<Value>, String) {
        let failed = |status: Status| {
            let text = format!(
                "the changed object is still stored, since it could not be reverted: {}",
                status.message
            );
            (Some(answer.clone()), text)
        };
        if write.verb == Verb::Create {
            return match self.delete_created(actor, write, answer).await {
                Ok(()) => (None, "the created object was deleted again".to_owned()),
                Err(status) => failed(status),
            };
        }
        match self.restore(actor, write, before, answer).await {
            Ok(now) if is_reverted(write, before, answer, &now) => (
                Some(now),
                "the object was reverted to its former state".to_owned(),
            ),
            Ok(now) => (
                Some(now),
                "the changed object is still stored, since the write that reverts it was changed as well"
                    .to_owned(),
            ),
            Err(status) => failed(status),
        }
    }

    /// Writes `before` over `answer`, unless the object changed meanwhile.
    async fn restore(
        &self,
        actor: &str,
        write: &Write,
        before: &Value,
        answer: &Value,
    ) -> Result<Value, Status> {
        let mut object = before.clone();
        object["metadata"]["resourceVersion"] = answer["metadata"]["resourceVersion"].clone();
        let api_version = before["apiVersion"].as_str().unwrap_or_default();
        let subresource = self
            .subresource_path(api_version, write)
            .await
            .map_err(Status::from)?;
        let object_path = wire::object(api_version, &write.key);
        let request = HubRequest {
            method: Method::PUT,
            path: &format!("{object_path}{subresource}"),
            actor,
            body: Some(&object),
        };
        self.wire.send(request).await
    }
}

/// The path of the first field in which `answer` differs from the result of `write` on `before`; `None`
/// without a difference.
fn difference(write: &Write, before: &Value, answer: &Value) -> Option<String> {
    if write.verb == Verb::Delete {
        return None;
    }
    if write.subresource != "status" {
        return overruled::first_difference(&write.object, before, answer, AbsentField::MayBePruned);
    }
    // Only the status is written through the subresource.
    let status = |object: &Value| json!({"status": object["status"]});
    let [decided, before, answer] = [&write.object, before, answer].map(status);
    overruled::first_difference(&decided, &before, &answer, AbsentField::MayBePruned)
}

/// Whether `now` has the values of `before` in the fields that `answer` had changed.
fn is_reverted(write: &Write, before: &Value, answer: &Value, now: &Value) -> bool {
    let back = Write {
        object: before.clone(),
        ..write.clone()
    };
    difference(&back, answer, now).is_none()
}
