//! The applied configuration. Unlike other bodies, it must contain its apiVersion and kind, and no managed
//! fields.

use berth_apimachinery::Status;
use serde_json::Value;

use super::Cx;
use crate::call::Warnings;
use crate::decode::{self, DecodedBody, ExpectedType};
use crate::options::FieldValidation;
use crate::resource::Part;

/// Object in the state that one manager applies.
pub(super) struct Config {
    decoded: DecodedBody,
}

impl Config {
    /// Parses the body of an apply. It must have apiVersion and kind: there are no defaults.
    ///
    /// # Errors
    /// 400 for a body that is not an object of the expected kind, or that has managed fields.
    pub(super) fn read(cx: &Cx<'_>, expected: ExpectedType<'_>) -> Result<Self, Status> {
        let decoded = decode::applied(&cx.request.body)?;
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

    /// Completes the configuration of a subresource with the identity of its object.
    pub(super) fn of_object(mut self, part: &dyn Part) -> Self {
        self.decoded.value = part.of_object(&self.decoded.value);
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
