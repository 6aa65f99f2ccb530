//! Create or replace for `berth load`: first the object, then its status.

use std::sync::atomic::Ordering;

use berth_apimachinery::Status;
use http::Method;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::refused_changes::revert_refused_changes;
use crate::{Client, FieldValidation, MAX_ATTEMPTS, Resource, about_fields, describe};

impl Client {
    /// Creates or replaces `object`, then writes its status if it has one and the kind has a status
    /// subresource. Returns the object's name and `created`, `configured` or `unchanged`, as in kubectl's
    /// output. Adds to `notes` the warnings about fields, and the fields of `object` that the server did not
    /// allow to change and that were left as they are stored.
    ///
    /// # Errors
    /// When the server does not serve the kind, refused a request or did not answer.
    pub async fn put(&mut self, object: &Value, notes: &mut Vec<String>) -> Result<(String, &'static str)> {
        let resource = self.resource(object).await?;
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let collection = self.collection(object, &resource);
        let path = format!("{collection}/{name}");
        let description = describe(object);
        let creation = match self.expects_new.load(Ordering::Relaxed) {
            // After a refusal, `put_main` finds out whether the object exists or its content is invalid.
            true => self.create(object, &resource, &collection).await?.ok(),
            false => None,
        };
        let (mut stored, before) = match creation {
            Some((stored, warnings)) => {
                notes.extend(warnings);
                (stored, None)
            }
            None => self.put_main(object, &resource, &collection, notes).await?,
        };
        self.expects_new.store(before.is_none(), Ordering::Relaxed);
        if resource.status && object.get("status").is_some() {
            let mut merged = stored.clone();
            merged["status"] = object["status"].clone();
            let validation = self.validation.map(|validation| match validation {
                FieldValidation::Strict => FieldValidation::Warn,
                other => other,
            });
            let path = self.write_path(&format!("{path}/status"), false, validation);
            let result = self.replace(&path, object, merged, &stored, notes).await;
            stored = result.map_err(|cause| {
                cause.status_not_written(match before {
                    None => format!("{description} was created without its status"),
                    Some(_) => format!("{description} was written, and its status was not"),
                })
            })?;
        }
        Ok((
            description,
            match before {
                None => "created",
                Some(before) if before == stored["metadata"]["resourceVersion"] => "unchanged",
                Some(_) => "configured",
            },
        ))
    }

    /// Creates or replaces `object`, without its status if the status is a subresource. Returns the stored
    /// object, and the resource version before the write, which is `None` for a new object.
    async fn put_main(
        &self,
        object: &Value,
        resource: &Resource,
        collection: &str,
        notes: &mut Vec<String>,
    ) -> Result<(Value, Option<Value>)> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let path = format!("{collection}/{name}");
        match self.send(Method::GET, &path, None).await? {
            Ok(stored) => {
                let before = stored["metadata"]["resourceVersion"].clone();
                let mut merged = replacement(object, &stored);
                if resource.status {
                    copy_field(&mut merged, &stored, "status");
                }
                let path = self.write_path(&path, false, self.validation);
                let written = self.replace(&path, object, merged, &stored, notes).await?;
                Ok((written, Some(before)))
            }
            Err(status) if status.code == 404 => {
                let created = self.create(object, resource, collection).await?;
                let (stored, warnings) = created.map_err(Error::refused)?;
                notes.extend(warnings);
                Ok((stored, None))
            }
            Err(status) => Err(Error::refused(status)),
        }
    }

    /// Creates `object`, without its status if the status is a subresource. Returns the stored object and the
    /// warnings about its fields.
    async fn create(
        &self,
        object: &Value,
        resource: &Resource,
        collection: &str,
    ) -> Result<std::result::Result<(Value, Vec<String>), Box<Status>>> {
        let mut main = object.clone();
        if resource.status
            && let Some(fields) = main.as_object_mut()
        {
            fields.remove("status");
        }
        let path = self.write_path(collection, false, self.validation);
        let body = Some(("application/json", &main));
        let (answer, warnings) = self.exchange(Method::POST, &path, body).await?;
        let field_warnings = warnings.into_iter().filter(|text| about_fields(text));
        Ok(answer.map(|stored| (stored, field_warnings.collect())))
    }

    /// Replaces `stored` at `path` by `next`, which is based on `object`. Refused changes that
    /// [`revert_refused_changes`] can revert are omitted, and the rest is written.
    async fn replace(
        &self,
        path: &str,
        object: &Value,
        mut next: Value,
        stored: &Value,
        notes: &mut Vec<String>,
    ) -> Result<Value> {
        let (mut new_notes, mut message) = (Vec::new(), String::new());
        for _ in 0..MAX_ATTEMPTS {
            let body = Some(("application/json", &next));
            let (answer, warnings) = self.exchange(Method::PUT, path, body).await?;
            match answer {
                Ok(written) => {
                    notes.append(&mut new_notes);
                    notes.extend(warnings.into_iter().filter(|text| about_fields(text)));
                    return Ok(written);
                }
                Err(status) => {
                    if !revert_refused_changes(object, &mut next, stored, &status, &mut new_notes) {
                        return Err(Error::refused(status));
                    }
                    message = status.message;
                }
            }
        }
        Err(Error::Rejected {
            path: path.split('?').next().unwrap_or(path).to_owned(),
            attempts: MAX_ATTEMPTS,
            message,
        })
    }
}

/// Copies `field` from `stored` to `value`, or removes the field if `stored` does not have it.
fn copy_field(value: &mut Value, stored: &Value, field: &str) {
    let Some(fields) = value.as_object_mut() else {
        return;
    };
    match stored.get(field) {
        Some(stored) => fields.insert(field.to_owned(), stored.clone()),
        None => fields.remove(field),
    };
}

/// Returns `object` as a replacement of `stored`. The metadata of `object` is merged into the metadata of
/// `stored`, and the resource version is the version of `stored`.
fn replacement(object: &Value, stored: &Value) -> Value {
    let mut merged = object.clone();
    let mut metadata = stored["metadata"].clone();
    json_patch::merge(&mut metadata, &object["metadata"]);
    metadata["resourceVersion"] = stored["metadata"]["resourceVersion"].clone();
    merged["metadata"] = metadata;
    merged
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http::{Request, Response};
    use kube::client::Body;
    use serde_json::json;
    use tower::service_fn;

    use super::*;

    #[tokio::test]
    async fn the_last_of_several_refusals_is_reported_with_the_path_of_the_object() {
        let mut number = 0;
        let service = service_fn(move |_: Request<Body>| {
            number += 1;
            let field = format!("spec.f{number}");
            let status = json!({"apiVersion": "v1", "kind": "Status", "code": 422, "message": format!("{field} is immutable"),
                "details": {"causes": [{"reason": "FieldValueInvalid", "message": "is immutable", "field": field}]}});
            async move {
                let answer = Response::builder()
                    .status(422)
                    .body(Body::from(status.to_string().into_bytes()));
                Ok::<_, Infallible>(answer.unwrap())
            }
        });
        let client = Client::new(kube::Client::new(service, "default"));
        let stored = json!({"spec": {"f1": 1, "f2": 2, "f3": 3, "f4": 4}});
        let (object, path) = (json!({"spec": {}}), "/apis/g/v1/foos/a?fieldManager=m");
        let refused = client
            .replace(path, &object, object.clone(), &stored, &mut Vec::new())
            .await;
        let text = refused.unwrap_err().to_string();
        assert!(
            text.starts_with("/apis/g/v1/foos/a: rejected 4 times") && text.contains("spec.f4 is immutable"),
            "{text}"
        );
    }
}
