//! The configuration that a request applies. Unlike other bodies, it must have apiVersion and kind, and must
//! not have managed fields.

use berth_apimachinery::Status;
use serde_json::Value;

use super::Cx;
use crate::call::Warnings;
use crate::decode::{self, DecodedBody, ExpectedType};
use crate::options::FieldValidation;
use crate::resource::Part;

/// Configuration in the body of an apply.
pub(super) struct Config {
    decoded: DecodedBody,
}

impl Config {
    /// Parses the body of an apply. It must have apiVersion and kind: there are no defaults.
    ///
    /// # Errors
    /// 400 for a body that is not an object of the expected kind, or that has managed fields.
    pub(super) fn read(cx: &Cx<'_>, expected: ExpectedType<'_>) -> Result<Self, Status> {
        let decoded = decode::apply_configuration(&cx.request.body)?;
        let value = &decoded.value;
        let field_text = |field: &str| value[field].as_str().unwrap_or_default();
        let (api_version, kind) = (field_text("apiVersion"), field_text("kind"));
        if api_version != expected.api_version || kind != expected.kind {
            // As in kube-apiserver, an empty version is displayed as a slash.
            let version = if api_version.is_empty() { "/" } else { api_version };
            return Err(Status::bad_request(format!(
                "invalid object type: {version}, Kind={kind}"
            )));
        }
        if !value["metadata"]["managedFields"].is_null() {
            return Err(Status::bad_request("metadata.managedFields must be nil"));
        }
        Ok(Self { decoded })
    }

    pub(super) fn value(&self) -> &Value {
        &self.decoded.value
    }

    /// Converts the configuration of a subresource to a configuration of the whole object, of which the
    /// subresource represents `part`.
    pub(super) fn of_object(mut self, part: &dyn Part) -> Self {
        self.decoded.value = part.to_object_configuration(&self.decoded.value);
        self
    }

    /// Reports duplicate fields as the client requested.
    pub(super) fn check_duplicates(
        &self,
        validation: FieldValidation,
        warnings: &Warnings,
    ) -> Result<(), Status> {
        let texts = self.decoded.duplicates.iter();
        let texts = texts.map(|path| format!("key \"{path}\" already set in map"));
        match validation {
            FieldValidation::Ignore => Ok(()),
            FieldValidation::Warn => {
                texts.for_each(|text| warnings.add(text));
                Ok(())
            }
            FieldValidation::Strict if self.decoded.duplicates.is_empty() => Ok(()),
            FieldValidation::Strict => {
                let texts: Vec<String> = texts.collect();
                Err(Status::bad_request(format!(
                    "error strict decoding YAML: {}",
                    texts.join(", ")
                )))
            }
        }
    }
}
