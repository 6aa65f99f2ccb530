//! Subresources: `status`, for every kind whose stored objects have a status, and the subresources of the
//! program.

use axum::body::Body;
use berth_admission::client::{ObjectKind, VersionedWrite};
use berth_admission::{Operation, Request};
use berth_apimachinery::{Schema, Status, StatusReason};
use http::{Response, StatusCode};
use serde_json::{Value, json};

use super::patch::PatchRequest;
use super::{Cx, apply};
use crate::call::{Call, Reply};
use crate::decode::{self, ExpectedType};
use crate::negotiation::Answer;
use crate::options::WriteOptions;
use crate::patch_body::{APPLY, Formats};
use crate::registry::{Admission, AdmissionInput, CONFLICT_ATTEMPTS, Purpose, metadata, text};
use crate::resource::{Part, Subresource};
use crate::{render, validation};

pub(super) async fn handle(cx: &Cx<'_>) -> Result<Response<Body>, Status> {
    let info = &cx.request.info;
    if cx.name.is_empty() {
        return Err(Status::no_such_path());
    }
    if let Some(subresource) = cx.served.subresource(&info.subresource) {
        return CustomSubresource::new(cx, subresource).handle().await;
    }
    if info.subresource != "status" || !cx.served.has_status() {
        return Err(Status::no_such_path());
    }
    match info.verb {
        "get" => super::get::handle(cx).await,
        "update" => super::update::handle(cx, "status").await,
        "patch" => super::patch::handle(cx, "status").await,
        _ => Err(Status::method_not_allowed()),
    }
}

/// A subresource that the program handles.
struct CustomSubresource<'a> {
    cx: &'a Cx<'a>,
    subresource: &'a Subresource,
    api_version: String,
}

impl<'a> CustomSubresource<'a> {
    fn new(cx: &'a Cx<'a>, subresource: &'a Subresource) -> Self {
        Self {
            cx,
            subresource,
            api_version: cx.served.api_version_of(subresource).into_owned(),
        }
    }

    async fn handle(&self) -> Result<Response<Body>, Status> {
        let verb = self.cx.request.info.verb;
        if !self.subresource.verbs.contains(&verb) {
            return Err(Status::method_not_allowed());
        }
        let handler = &self.subresource.handler;
        if let Some(api) = handler.api(&self.cx.call(false)).await? {
            self.admit_connect().await?;
            return api.answer(self.cx.request).await;
        }
        let accepted = self.cx.negotiate(Answer::Object)?;
        let (code, reply) = match verb {
            "get" => (StatusCode::OK, handler.get(&self.cx.call(false)).await?),
            "create" => {
                let (call, body) = self.body(Operation::Create, "CreateOptions", None).await?;
                (StatusCode::CREATED, handler.create(&call, body).await?)
            }
            "update" => {
                let before = self.object_before().await?;
                let (call, body) = self
                    .body(Operation::Update, "UpdateOptions", before.as_ref())
                    .await?;
                self.cx.check_name(&body)?;
                (StatusCode::OK, handler.update(&call, body).await?)
            }
            "patch" => match self.applied_part() {
                Some(part) => (StatusCode::OK, self.apply(part).await?),
                None => (StatusCode::OK, self.patch().await?),
            },
            _ => return Err(Status::method_not_allowed()),
        };
        self.cx.reply(accepted, code, &reply)
    }

    /// Runs admission for a connect, as kube-apiserver does for every request to a proxy. The admitted object
    /// is the options of the connect, which contain the path.
    async fn admit_connect(&self) -> Result<(), Status> {
        let rest = &self.cx.request.info.rest;
        let path = if rest.is_empty() {
            String::new()
        } else {
            format!("/{rest}")
        };
        let options = json!({"apiVersion": self.api_version, "kind": self.subresource.kind, "path": path});
        self.run_admission(Operation::Connect, false, None, options)
            .await
            .map(drop)
    }

    fn expected(&self) -> ExpectedType<'_> {
        ExpectedType {
            api_version: &self.api_version,
            kind: self.subresource.kind,
        }
    }

    /// Returns the schema of the subresource's bodies; for bodies of the resource's own kind, the schema of
    /// the resource.
    fn schema(&self) -> Option<&Schema> {
        let served = self.cx.served;
        let own =
            || (self.subresource.kind == served.info().kind).then(|| served.kind().schema(served.version));
        self.subresource.schema.as_deref().or_else(own)
    }

    /// Returns the object before an update, for policies and webhooks. `None` if the subresource cannot be
    /// read, or has no schema: a body of the resource's own kind is admitted when it is written.
    async fn object_before(&self) -> Result<Option<Value>, Status> {
        if self.subresource.schema.is_none() || !self.subresource.verbs.contains(&"get") {
            return Ok(None);
        }
        let reply = self.subresource.handler.get(&self.cx.call(false)).await?;
        self.value_of(reply).map(Some)
    }

    /// Returns the object of `reply`.
    fn value_of(&self, reply: Reply) -> Result<Value, Status> {
        match reply {
            Reply::Value(value) => Ok(value),
            Reply::Document(document) => serde_json::from_slice(&document.json()?)
                .map_err(|problem| Status::internal(problem.to_string())),
            Reply::Object(object) => Ok(render::value(self.cx.served, &object)),
        }
    }

    /// Parses the body of a create or an update, fills in the name and the namespace, and admits the body.
    async fn body(
        &self,
        operation: Operation,
        options: &str,
        before: Option<&Value>,
    ) -> Result<(Call, Value), Status> {
        let options = WriteOptions::parse(&self.cx.request.info.query, options)?;
        let mut value = self.cx.read_body(self.expected(), self.schema(), options)?;
        if text(&value, "name").is_empty() {
            metadata(&mut value).insert("name".to_owned(), self.cx.name.into());
        }
        self.cx.check_name(&value)?;
        if !self.cx.namespace.is_empty() {
            metadata(&mut value).insert("namespace".to_owned(), self.cx.namespace.into());
        }
        let value = self.admit(operation, options.dry_run, before, value).await?;
        Ok((self.cx.call(options.dry_run), value))
    }

    /// Admits and validates a body, if the subresource has a schema. A body of the resource's own kind is
    /// admitted when it is written.
    async fn admit(
        &self,
        operation: Operation,
        dry_run: bool,
        before: Option<&Value>,
        value: Value,
    ) -> Result<Value, Status> {
        if self.subresource.schema.is_none() {
            return Ok(value);
        }
        self.run_admission(operation, dry_run, before, value).await
    }

    /// Runs all plugins, policies and webhooks on `value`, and validates it.
    async fn run_admission(
        &self,
        operation: Operation,
        dry_run: bool,
        before: Option<&Value>,
        value: Value,
    ) -> Result<Value, Status> {
        let cx = self.cx;
        let request = Request {
            operation,
            resource: cx.served.name,
            kind: self.subresource.kind,
            subresource: self.subresource.name,
            namespace: cx.namespace,
            name: cx.name,
            user: &cx.request.user,
            old: before,
            dry_run,
        };
        let (group, version) = self
            .api_version
            .split_once('/')
            .unwrap_or(("", &self.api_version));
        let write = VersionedWrite {
            request: &request,
            version: cx.served.version,
            versions: cx.served.info().versions,
            object_kind: ObjectKind::Unconverted {
                group,
                version,
                kind: self.subresource.kind,
            },
        };
        let admission_input = AdmissionInput {
            request: &request,
            write: Some(&write),
            purpose: Purpose::Handle,
        };
        let admission = Admission {
            chain: cx.state.registry.chain(),
            warnings: &cx.request.warnings,
            annotations: &cx.request.annotations,
        };
        let mut finish = |value: Value| self.validate(value);
        let (value, _) = admission.admit(admission_input, value, &mut finish).await?;
        Ok(value)
    }

    /// Fills in the defaults of the subresource's schema and validates a body by the schema. A body of the
    /// resource's own kind is validated when it is written.
    fn validate(&self, mut value: Value) -> Result<Value, Status> {
        let Some(schema) = &self.subresource.schema else {
            return Ok(value);
        };
        schema.default(&mut value);
        let mut errors = validation::labels_and_annotations(&value);
        errors.extend(schema.validate(&value));
        if errors.is_empty() {
            return Ok(value);
        }
        let group = self.api_version.split_once('/').map_or("", |(group, _)| group);
        Err(Status::invalid(
            group,
            self.subresource.kind,
            self.cx.name,
            &errors,
        ))
    }

    /// Returns the part of the object that the request applies; `None` if the request is no apply, or if the
    /// subresource does not support apply.
    fn applied_part(&self) -> Option<&dyn Part> {
        let is_apply = decode::media_type(&self.cx.request.headers) == APPLY;
        self.subresource.handler.part().filter(|_| is_apply)
    }

    async fn apply(&self, part: &dyn Part) -> Result<Reply, Status> {
        let (subresource, expected) = (self.subresource.name, self.expected());
        apply::to_part(self.cx, subresource, expected, self.schema(), part).await
    }

    /// Reads, patches and updates the object. Repeats this after a concurrent write, unless the patch changes
    /// the resource version.
    async fn patch(&self) -> Result<Reply, Status> {
        let cx = self.cx;
        let patch = PatchRequest::read(
            cx,
            Formats {
                strategic: self.schema().is_some() && cx.served.info().strategic_merge_patch,
                apply: self.subresource.handler.part().is_some(),
            },
        )?;
        let call = cx.call(patch.options.dry_run);
        let mut attempt = 1;
        loop {
            let before = self.value_of(self.subresource.handler.get(&call).await?)?;
            let revision = text(&before, "resourceVersion").to_owned();
            let after = patch.apply(cx, self.expected(), self.schema(), &before)?;
            let after = self
                .admit(Operation::Update, patch.options.dry_run, Some(&before), after)
                .await?;
            let keeps_version = text(&after, "resourceVersion") == revision;
            match self.subresource.handler.update(&call, after).await {
                Err(status)
                    if status.is(StatusReason::Conflict) && keeps_version && attempt < CONFLICT_ATTEMPTS =>
                {
                    attempt += 1
                }
                result => return result,
            }
        }
    }
}
