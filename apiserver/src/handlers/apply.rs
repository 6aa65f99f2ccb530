//! `patch` with `application/apply-patch+yaml`: the fields of one manager are merged with the fields of
//! other managers.

mod config;
mod last_applied;

use axum::body::Body;
use berth_apimachinery::write::{CommitError, WriteRefusal};
use berth_apimachinery::{FieldError, Object, Schema, Status, WriteOperation};
use berth_apply::{ApplyError, Managers, Reset, SingleVersion, Types, Writer};
use http::{Response, StatusCode};
use serde_json::{Value, json};

use super::Cx;
use super::update::{operation_of, write};
use crate::call::Reply;
use crate::decode::{self, ExpectedType};
use crate::negotiation::Answer;
use crate::options::WriteOptions;
use crate::registry;
use crate::registry::{
    Application, CONFLICT_ATTEMPTS, Ownership, StoredApplication, WriteIntent, drop_nulls, metadata, text,
};
use crate::resource::Part;
use config::Config;

pub(super) async fn handle(cx: &Cx<'_>, subresource: &'static str) -> Result<Response<Body>, Status> {
    let accepted = cx.negotiate(Answer::Object)?;
    let options = WriteOptions::of_apply(&cx.request.info.query)?;
    let config = Config::read(cx, cx.expected())?;
    let apply = Apply {
        cx,
        options,
        config: &config,
        subresource,
    };
    let mut attempt = 1;
    loop {
        let edit = |current: &Object| apply.apply_to(current);
        let missing = match write(cx, options.dry_run, subresource, true, edit).await {
            Ok(object) => return cx.object(accepted, StatusCode::OK, &object),
            Err(missing)
                if subresource.is_empty()
                    && cx.served.supports("create")
                    && missing.reason == WriteRefusal::Gone =>
            {
                missing
            }
            Err(error) => return Err(error.into()),
        };
        match apply.create().await {
            Ok(object) => return cx.object(accepted, StatusCode::CREATED, &object),
            // Another client has created the object concurrently.
            Err(error) if error.reason == WriteRefusal::Exists && attempt < CONFLICT_ATTEMPTS => attempt += 1,
            Err(error) if error.reason == WriteRefusal::Exists => return Err(missing.into()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Applies a configuration to `subresource`, which represents the `part` of an object.
pub(super) async fn to_part(
    cx: &Cx<'_>,
    subresource: &'static str,
    expected: ExpectedType<'_>,
    schema: Option<&Schema>,
    part: &dyn Part,
) -> Result<Reply, Status> {
    let options = WriteOptions::of_apply(&cx.request.info.query)?;
    let config = Config::read(cx, expected)?;
    if let Some(schema) = schema {
        check_schema(schema, expected, cx, config.value())?;
    }
    let config = config.of_object(part);
    let apply = Apply {
        cx,
        options,
        config: &config,
        subresource,
    };
    let edit = |current: &Object| apply.apply_to(current);
    let object = write(cx, options.dry_run, subresource, true, edit).await?;
    Ok(Reply::Value(part.part_of(&object)))
}

/// Checks that `config` fits the schema of a subresource.
fn check_schema(
    schema: &Schema,
    expected: ExpectedType<'_>,
    cx: &Cx<'_>,
    config: &Value,
) -> Result<(), Status> {
    let only = SingleVersion {
        api_version: expected.api_version,
        types: &Types::of(schema),
    };
    let writer = Writer {
        manager: &cx.manager,
        subresource: "",
        api_version: expected.api_version,
        now: cx.request.now,
        reset: &Reset::Nothing,
    };
    let empty = json!({"apiVersion": expected.api_version, "kind": expected.kind});
    let applied = Managers::default().apply(&only, &empty, config, &writer, false);
    applied.map(drop).map_err(|problem| refusal(&problem))
}

/// One server-side apply of a client.
struct Apply<'a> {
    cx: &'a Cx<'a>,
    options: WriteOptions,
    config: &'a Config,
    subresource: &'static str,
}

impl Apply<'_> {
    /// Whether the client sent the configuration in the form of the whole object; otherwise it was in the
    /// form of the subresource, and [`to_part`] has converted it.
    fn is_whole_object(&self) -> bool {
        matches!(self.subresource, "" | "status")
    }

    fn application(&self, operation: WriteOperation) -> Application<'_> {
        let cx = self.cx;
        let index = cx.state.registry.index();
        Application {
            ownership: Ownership::new(index, cx.served, operation, &cx.manager, cx.request.now),
            served: cx.served,
            config: self.config.value(),
        }
    }

    /// Applies the configuration to the stored object `current`.
    fn apply_to(&self, current: &Object) -> Result<WriteIntent, Status> {
        let (cx, config) = (self.cx, self.config.value());
        let application = self.application(operation_of(self.subresource));
        let stored = application.for_stored(current);
        let is_kept = self.conflicts_with_keeper(&stored)?;
        let force = !is_kept && self.options.force;
        let applied = match stored.apply(force) {
            Err(ApplyError::Conflicts(conflicts)) => {
                // kubectl owns the fields that it applied on the client side before, except the keeper's. The
                // last-applied annotation describes whole objects, not the form of a subresource.
                let foreign = match self.is_whole_object() && !is_kept {
                    true => last_applied::foreign(cx, &stored.live, conflicts),
                    false => conflicts,
                };
                if !foreign.is_empty() {
                    return Err(refusal(&ApplyError::Conflicts(foreign)));
                }
                stored.apply(true)
            }
            other => other,
        };
        let mut applied = applied.map_err(|problem| refusal(&problem))?;
        let uid = text(config, "uid");
        if !uid.is_empty() && uid != current.meta().uid() {
            return Err(self.invalid(FieldError::invalid("metadata.uid", uid, "field is immutable")));
        }
        if self.is_whole_object() {
            last_applied::update_annotation(cx, &stored.live, config, &mut applied.object);
        }
        self.check(&mut applied.object)?;
        Ok(stored.into_intent(applied))
    }

    /// Whether the configuration conflicts with fields that the keeper of the kind applied.
    ///
    /// # Errors
    /// 403 when the request uses the keeper's field manager.
    fn conflicts_with_keeper(&self, stored: &StoredApplication<'_>) -> Result<bool, Status> {
        let cx = self.cx;
        let Some(keeper) = cx.served.kind().keeper() else {
            return Ok(false);
        };
        registry::check_not_keeper(keeper, &cx.manager)
            .map_err(|text| Status::forbidden(cx.served.name, cx.name, &text))?;
        Ok(match stored.apply(false) {
            Err(ApplyError::Conflicts(conflicts)) => registry::concerns(keeper, &conflicts),
            _ => false,
        })
    }

    /// Creates the object from the configuration alone.
    async fn create(&self) -> Result<std::sync::Arc<Object>, CommitError> {
        let (cx, config) = (self.cx, self.config);
        cx.may_create().await?;
        let uid = text(config.value(), "uid");
        if !uid.is_empty() {
            let problem = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            );
            return Err(Status::conflict(cx.served.name, cx.name, &problem).into());
        }
        if text(config.value(), "name").is_empty() {
            let text = format!(
                "the name of the object ({} based on URL) was undeterminable: name must be provided",
                cx.name
            );
            return Err(Status::bad_request(text).into());
        }
        let application = self.application(WriteOperation::Create);
        let body = || {
            let applied = application.apply_to_absent(self.options.force);
            let mut applied = applied.map_err(|problem| refusal(&problem))?;
            self.check(&mut applied.object)?;
            metadata(&mut applied.object).remove("resourceVersion");
            Ok(WriteIntent::of_first_apply(applied))
        };
        let actor = cx.actor(self.options.dry_run);
        let registry = &cx.state.registry;
        registry
            .create_for_client(cx.served, actor, cx.namespace, body)
            .await
    }

    /// Checks the resulting object like the body of an update or a create.
    fn check(&self, value: &mut Value) -> Result<(), Status> {
        let cx = self.cx;
        drop_nulls(value);
        decode::metadata_types(value, cx.expected())?;
        registry::check_namespace(value, cx.served, cx.namespace)?;
        cx.check_name(value)?;
        self.config
            .check_duplicates(self.options.field_validation, &cx.request.warnings)
    }

    fn invalid(&self, error: FieldError) -> Status {
        let info = self.cx.served.info();
        Status::invalid(info.group, info.kind, self.cx.name, &[error])
    }
}

/// The error of a failed apply: 409 with a cause for each field in conflict, which kubectl reads, or 400.
fn refusal(error: &ApplyError) -> Status {
    if !matches!(error, ApplyError::Conflicts(_)) {
        return Status::bad_request(error.to_string());
    }
    let status = Status::failure(409, "Conflict", error.to_string());
    error.causes().fold(status, |status, (message, field)| {
        status.with_cause("FieldManagerConflict", message, &field)
    })
}
