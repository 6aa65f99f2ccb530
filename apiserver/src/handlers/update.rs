//! `update`: the object, or its status, is replaced. A missing object is created if the kind allows this.

use std::sync::Arc;

use axum::body::Body;
use berth_apimachinery::write::{CommitError, WriteRefusal};
use berth_apimachinery::{Object, Status, WriteOperation};
use http::{Response, StatusCode};

use super::Cx;
use crate::auth::Attributes;
use crate::errors;
use crate::negotiation::Answer;
use crate::options::WriteOptions;
use crate::registry::{CONFLICT_ATTEMPTS, WriteIntent, metadata, text};
use crate::resource::{Backing, Change};

pub(super) async fn handle(cx: &Cx<'_>, subresource: &'static str) -> Result<Response<Body>, Status> {
    let accepted = cx.negotiate(Answer::Object)?;
    let options = WriteOptions::parse(&cx.request.info.query, "UpdateOptions")?;
    let schema = cx.served.kind().schema(cx.served.version);
    let parse_body = || cx.read_body(cx.expected(), Some(schema), options);
    let value = parse_body()?;
    cx.check_name(&value)?;
    // Further attempts, which are rare, parse the body again; so the first attempt needs no copy.
    let mut first = Some(value);
    let mut body = || first.take().map_or_else(parse_body, Ok).map(WriteIntent::Sent);
    let creates = subresource.is_empty() && cx.served.kind().creates_on_update();
    let unconditional = cx.served.info().unconditional_update;
    let mut attempt = 1;
    loop {
        let missing = match write(cx, options.dry_run, subresource, unconditional, |_| body()).await {
            Ok(object) => return cx.object(accepted, StatusCode::OK, &object),
            Err(missing) if creates && missing.reason == WriteRefusal::Gone => missing,
            Err(error) => return Err(error.into()),
        };
        match create(cx, options.dry_run, &mut body).await {
            Ok(object) => return cx.object(accepted, StatusCode::CREATED, &object),
            // Another client has created the object concurrently.
            Err(error) if error.reason == WriteRefusal::Exists && attempt < CONFLICT_ATTEMPTS => attempt += 1,
            Err(error) if error.reason == WriteRefusal::Exists => return Err(missing.into()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Creates the object when the update did not find it.
async fn create(
    cx: &Cx<'_>,
    dry_run: bool,
    body: &mut impl FnMut() -> Result<WriteIntent, Status>,
) -> Result<Arc<Object>, CommitError> {
    cx.may_create().await?;
    let new_object = || {
        let mut intent = body()?;
        let uid = text(intent.value(), "uid");
        if !uid.is_empty() {
            let problem = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            );
            return Err(Status::conflict(cx.served.name, cx.name, &problem));
        }
        let version = text(intent.value(), "resourceVersion");
        if !version.is_empty() && version.parse::<u64>().is_err() {
            return Err(errors::invalid_version(cx.served.info(), cx.name, version));
        }
        metadata(intent.value_mut()).remove("resourceVersion");
        Ok(intent)
    };
    let actor = cx.actor(dry_run);
    let registry = &cx.state.registry;
    registry
        .create_for_client(cx.served, actor, cx.namespace, new_object)
        .await
}

impl Cx<'_> {
    /// Checks that the user may create the object. An update or a server-side apply that creates a missing
    /// object requires this.
    pub(super) async fn may_create(&self) -> Result<(), Status> {
        let create = Attributes {
            verb: "create".to_owned(),
            is_resource: true,
            group: self.served.name.group.to_owned(),
            version: self.served.version.to_owned(),
            resource: self.served.name.resource.to_owned(),
            namespace: self.namespace.to_owned(),
            name: self.name.to_owned(),
            path: self.request.info.path.clone(),
            ..Attributes::default()
        };
        self.call(false).require(create).await
    }
}

/// Stores the result of `edit` for the object in the path: in the store, or through the view of the resource.
pub(super) async fn write(
    cx: &Cx<'_>,
    dry_run: bool,
    subresource: &'static str,
    unconditional: bool,
    mut edit: impl FnMut(&Object) -> Result<WriteIntent, Status> + Send,
) -> Result<Arc<Object>, CommitError> {
    let actor = cx.actor(dry_run);
    if let Backing::View(view) = &cx.served.resource.backing {
        let change = Change {
            version: cx.served.version,
            key: &cx.address().key(),
            subresource,
            actor,
            unconditional,
            edit: &mut |current| edit(current).map(WriteIntent::into_value),
        };
        return view.update(change).await;
    }
    let registry = &cx.state.registry;
    registry
        .update(
            cx.address(),
            actor,
            operation_of(subresource),
            unconditional,
            edit,
        )
        .await
}

/// Returns the operation: an update of `subresource`, or of the object itself if it is empty.
pub(super) fn operation_of(subresource: &'static str) -> WriteOperation {
    if subresource.is_empty() {
        WriteOperation::Update
    } else {
        WriteOperation::Subresource(subresource)
    }
}
