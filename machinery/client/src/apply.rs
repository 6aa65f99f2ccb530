//! Server-side apply of one object: its fields, then its status.

use berth_apimachinery::Status;
use http::Method;
use serde_json::{Value, json};

use crate::{Client, Error, FieldValidation, Result, describe};

/// Media type of an applied configuration in YAML, which includes JSON.
const APPLY: &str = "application/apply-patch+yaml";

impl Client {
    /// Applies `object` as this client's field manager, and then its status if it has one and the kind has
    /// the status subresource. Returns the object's name and `serverside-applied`, as in kubectl's output.
    /// With `force`, the client takes over fields that other managers own and whose values differ; without
    /// `force`, such fields are a conflict.
    ///
    /// # Errors
    /// When the object has no name, or the server does not serve the kind, refused a request or did not
    /// answer.
    pub async fn apply(&mut self, object: &Value, force: bool) -> Result<(String, &'static str)> {
        let name = name_of(object)?;
        let resource = self.resource(object).await?;
        let path = format!("{}/{name}", self.collection(object, &resource));
        let mut main = object.clone();
        let status = match main.as_object_mut() {
            Some(fields) if resource.status => fields.remove("status"),
            _ => None,
        };
        self.apply_at(&path, &main, force).await?;
        if let Some(status) = status {
            let status_config = status_config(object, status);
            let applied = self
                .apply_at(&format!("{path}/status"), &status_config, force)
                .await;
            applied.map_err(|cause| {
                cause.status_not_written(format!("{} was applied without its status", describe(object)))
            })?;
        }
        Ok((describe(object), "serverside-applied"))
    }

    async fn apply_at(&self, path: &str, object: &Value, force: bool) -> Result<()> {
        let path = self.write_path(path, force, None);
        let answer = self.send(Method::PATCH, &path, Some((APPLY, object))).await?;
        answer
            .map(drop)
            .map_err(|status| conflict_or_refused(status, force))
    }

    /// Returns `path` with the query of a write: the client's field manager, with `force` if it is set, and
    /// the handling of unknown fields.
    pub(crate) fn write_path(&self, path: &str, force: bool, validation: Option<FieldValidation>) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if let Some(manager) = &self.manager {
            query.append_pair("fieldManager", manager);
            if force {
                query.append_pair("force", "true");
            }
        }
        if let Some(validation) = validation {
            query.append_pair("fieldValidation", validation.as_str());
        }
        match query.finish() {
            query if query.is_empty() => path.to_owned(),
            query => format!("{path}?{query}"),
        }
    }
}

/// Returns the name of `object`.
///
/// # Errors
/// When the object has no name. A server does not use `generateName` for server-side apply.
fn name_of(object: &Value) -> Result<&str> {
    let name = object["metadata"]["name"].as_str();
    name.filter(|name| !name.is_empty()).ok_or_else(|| {
        Error::Malformed("metadata.name: Required value: name is required for server-side apply".to_owned())
    })
}

/// Returns the configuration for applying a status: the identity of the object and its status.
fn status_config(object: &Value, status: Value) -> Value {
    let metadata = &object["metadata"];
    let mut config = json!({
        "apiVersion": object["apiVersion"], "kind": object["kind"],
        "metadata": {"name": metadata["name"]}, "status": status,
    });
    if let Some(namespace) = metadata.get("namespace") {
        config["metadata"]["namespace"] = namespace.clone();
    }
    config
}

/// Converts a refusal to an error. The error of a conflict says how to resolve the conflict: with a flag of
/// `berth load`, unless the apply already had `force`, since some fields cannot be taken over.
fn conflict_or_refused(status: Box<Status>, force: bool) -> Error {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    if causes
        .into_iter()
        .any(|cause| cause.reason == "FieldManagerConflict")
    {
        let remedy = if force {
            "remove these fields from the file: --force-conflicts cannot take ownership of them"
        } else {
            "remove these fields from the file, or take ownership of them with --force-conflicts"
        };
        let text = format!("{}\n{remedy}", status.message);
        return Error::Refused { text, status };
    }
    Error::refused(status)
}

#[cfg(test)]
mod tests;
