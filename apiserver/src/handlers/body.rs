//! Conversion of a request body to the value that is written.

use berth_apimachinery::{Schema, Status, UnknownFields};
use serde_json::Value;

use super::Cx;
use crate::decode::{self, Doubles, ExpectedType};
use crate::options::WriteOptions;
use crate::registry;

impl Cx<'_> {
    /// Returns the apiVersion and kind that bodies of the resource must have; subresources may have others.
    pub(super) fn expected(&self) -> ExpectedType<'_> {
        ExpectedType {
            api_version: &self.served.api_version,
            kind: self.served.info().kind,
        }
    }

    /// Parses the body of a create or an update. Checks the kind, the namespace and the types of the metadata
    /// (for kinds with a Go type in kube-apiserver, the types of all fields), and reports unknown and
    /// duplicate fields as the client requests.
    pub(super) fn read_body(
        &self,
        expected: ExpectedType<'_>,
        schema: Option<&Schema>,
        options: WriteOptions,
    ) -> Result<Value, Status> {
        let request = self.request;
        let codec = self.state.codec.as_deref();
        let has_own_type = self.served.has_own_type();
        let doubles = if has_own_type {
            Doubles::AsDouble
        } else {
            Doubles::AsInteger
        };
        let decoded = decode::body(codec, &request.headers, &request.body, doubles)?;
        let mut value = decoded.value;
        if decode::media_type(&request.headers).contains("protobuf") {
            request
                .annotations
                .record_request_body(|| value.to_string().into_bytes());
        }
        decode::identify(&mut value, expected)?;
        registry::drop_nulls(&mut value);
        decode::metadata_types(&value, expected)?;
        if let (true, Some(schema)) = (has_own_type, schema) {
            decode::own_types(&value, schema, expected)?;
        }
        let unknown = || self.unknown_fields(expected, schema, &value, &Value::Null);
        decode::check_fields(
            has_own_type,
            options.field_validation,
            unknown,
            decode::duplicate_fields(&decoded.duplicates),
            &request.warnings,
        )
        .map_err(|problem| expected.cannot_be_handled(&problem))?;
        registry::check_namespace(&value, self.served, self.namespace)?;
        Ok(value)
    }

    /// Returns the fields of `value` that are unknown and that `before` does not have. For a kind whose
    /// protobuf message the codec knows, fields outside of the message are unknown; for other kinds, fields
    /// outside of `schema`.
    pub(super) fn unknown_fields(
        &self,
        expected: ExpectedType<'_>,
        schema: Option<&Schema>,
        value: &Value,
        before: &Value,
    ) -> UnknownFields {
        let ExpectedType { api_version, kind } = expected;
        let codec = self.state.codec.as_ref();
        let unknown = codec
            .and_then(|codec| codec.unknown_fields(api_version, kind, value, before, decode::MAX_REPORTED));
        let schema = || schema.map(|schema| schema.new_unknown_fields(value, before, decode::MAX_REPORTED));
        unknown.or_else(schema).unwrap_or_default()
    }

    /// Checks that the body has the name of the object in the path.
    pub(super) fn check_name(&self, value: &Value) -> Result<(), Status> {
        let name = registry::text(value, "name");
        if name == self.name {
            return Ok(());
        }
        Err(Status::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            self.name
        )))
    }
}
