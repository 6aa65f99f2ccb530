//! `patch`: a patch is applied to the object, or to its status.

use axum::body::Body;
use berth_apimachinery::{FieldError, Object, Schema, Status};
use http::{Response, StatusCode};
use serde_json::Value;

use super::update::write;
use super::{Cx, apply};
use crate::decode::{self, ExpectedType};
use crate::negotiation::Answer;
use crate::options::WriteOptions;
use crate::patch_body::{APPLY, Formats, PatchBody};
use crate::registry::WriteIntent;
use crate::{registry, render};

pub(super) async fn handle(cx: &Cx<'_>, subresource: &'static str) -> Result<Response<Body>, Status> {
    let formats = Formats {
        strategic: cx.served.info().strategic_merge_patch,
        apply: cx.served.store().is_some(),
    };
    if formats.apply && decode::media_type(&cx.request.headers) == APPLY {
        return apply::handle(cx, subresource).await;
    }
    let accepted = cx.negotiate(Answer::Object)?;
    let patch = PatchRequest::read(cx, formats)?;
    let schema = cx.served.kind().schema(cx.served.version);
    let edit = |current: &Object| {
        // The managed fields are omitted if the patch does not concern them: parsing them takes as long as
        // parsing the rest.
        let changes_managers = patch.body.is_about_managers();
        let before = match changes_managers {
            true => render::value(cx.served, current),
            false => render::unmanaged(cx.served, current),
        };
        let value = patch.apply(cx, cx.expected(), Some(schema), &before)?;
        Ok(
            match !changes_managers && render::is_as_stored(cx.served, current) {
                true => WriteIntent::Patched { value, before },
                false => WriteIntent::Sent(value),
            },
        )
    };
    // A patch that removes the resource version applies to any version.
    let object = write(cx, patch.options.dry_run, subresource, true, edit).await?;
    cx.object(accepted, StatusCode::OK, &object)
}

/// A patch with its options, parsed once and applied again after each concurrent write.
pub(super) struct PatchRequest {
    pub(super) options: WriteOptions,
    body: PatchBody,
    /// Problems in the text of the patch, such as duplicate fields, which are reported as the client
    /// requests.
    problems: Vec<String>,
}

impl PatchRequest {
    pub(super) fn read(cx: &Cx<'_>, formats: Formats) -> Result<Self, Status> {
        let request = cx.request;
        let media_type = decode::media_type(&request.headers);
        let (body, problems) = PatchBody::parse(&media_type, &request.body, formats)?;
        let options = WriteOptions::parse(&request.info.query, "PatchOptions")?;
        Ok(Self {
            options,
            body,
            problems,
        })
    }

    /// Applies the patch to `before`, and checks the result like the body of an update.
    pub(super) fn apply(
        &self,
        cx: &Cx<'_>,
        expected: ExpectedType<'_>,
        schema: Option<&Schema>,
        before: &Value,
    ) -> Result<Value, Status> {
        let mut value = self.body.apply(schema, before.clone())?;
        let invalid = |status: Status| invalid_patch(cx, &status.message);
        decode::identify(&mut value, expected).map_err(invalid)?;
        registry::drop_nulls(&mut value);
        decode::metadata_types(&value, expected).map_err(invalid)?;
        if let (true, Some(schema)) = (cx.served.has_own_type(), schema) {
            decode::own_types(&value, schema, expected).map_err(invalid)?;
        }
        check_uid(cx, &value, before)?;
        // Unknown fields are kept, and reported unless they existed before the patch.
        let unknown = || cx.unknown_fields(expected, schema, &value, before);
        decode::check_fields(
            cx.served.has_own_type(),
            self.options.field_validation,
            unknown,
            self.problems.clone(),
            &cx.request.warnings,
        )
        .map_err(|problem| invalid_patch(cx, &problem))?;
        registry::check_namespace(&value, cx.served, cx.namespace)?;
        cx.check_name(&value)?;
        Ok(value)
    }
}

/// Checks that the patch does not change the UID; the error is 422. An update with another UID is a conflict
/// instead, since the body is meant for another object.
fn check_uid(cx: &Cx<'_>, value: &Value, before: &Value) -> Result<(), Status> {
    let uid = |object: &Value| object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    let patched = uid(value);
    if patched.is_empty() || patched == uid(before) {
        return Ok(());
    }
    let info = cx.served.info();
    let error = FieldError::invalid("metadata.uid", patched, "field is immutable");
    Err(Status::invalid(info.group, info.kind, cx.name, &[error]))
}

/// Returns the error 422 on `patch`, which is kube-apiserver's answer to a patch with an invalid result, for
/// example with unknown fields. The error names no object, since there is no valid object.
fn invalid_patch(cx: &Cx<'_>, problem: &str) -> Status {
    let error = FieldError::invalid(
        "patch",
        String::from_utf8_lossy(&cx.request.body).into_owned(),
        problem,
    );
    let info = cx.served.info();
    Status::invalid(info.group, info.kind, cx.name, &[error]).without_object()
}
