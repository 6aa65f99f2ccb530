//! Create or replace for `berth load`: first the object, then its status.

use std::sync::atomic::Ordering;

use berth_apimachinery::Status;
use http::Method;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::giving_way::give_way;
use crate::{ATTEMPTS, Client, FieldValidation, Resource, about_fields, collection, describe};

impl Client {
    /// Creates or replaces `object`, then writes its status if it has one and the kind has a status
    /// subresource. Returns the object's name and `created`, `configured` or `unchanged`, as in kubectl's
    /// output. Adds to `notes` the warnings about fields, and the fields of the object that yielded to stored
    /// fields.
    ///
    /// # Errors
    /// When the server does not serve the kind, refused a request or did not answer.
    pub async fn put(&mut self, object: &Value, notes: &mut Vec<String>) -> Result<(String, &'static str)> {
        let resource = self.resource(object).await?;
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let collection = collection(object, &resource);
        let path = format!("{collection}/{name}");
        let description = describe(object);
        let creation = match self.expects_new.load(Ordering::Relaxed) {
            // The reason of a refusal, an existing object or invalid content, is determined below.
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
            let path = self.managed(&format!("{path}/status"), false, validation);
            let result = self.replace(&path, object, merged, &stored, notes).await;
            stored = result.map_err(|cause| {
                cause.partly(match before {
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

    /// Creates or replaces `object`, without its status if that is a subresource. Returns the stored object,
    /// and the resource version before, which is `None` for a new object.
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
                    take_over(&mut merged, &stored, "status");
                }
                let path = self.managed(&path, false, self.validation);
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

    /// Creates `object`, without its status if that is a subresource. Returns the stored object and the
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
        let path = self.managed(collection, false, self.validation);
        let body = Some(("application/json", &main));
        let (answer, warnings) = self.exchange(Method::POST, &path, body).await?;
        let field_warnings = warnings.into_iter().filter(|text| about_fields(text));
        Ok(answer.map(|stored| (stored, field_warnings.collect())))
    }

    /// Replaces `stored` at `path` by `next`, which is based on `object`. Changes that the server refuses are
    /// omitted ([`give_way`]), and the rest is written.
    async fn replace(
        &self,
        path: &str,
        object: &Value,
        mut next: Value,
        stored: &Value,
        notes: &mut Vec<String>,
    ) -> Result<Value> {
        let mut new_notes = Vec::new();
        for _ in 0..ATTEMPTS {
            let body = Some(("application/json", &next));
            let (answer, warnings) = self.exchange(Method::PUT, path, body).await?;
            match answer {
                Ok(written) => {
                    notes.append(&mut new_notes);
                    notes.extend(warnings.into_iter().filter(|text| about_fields(text)));
                    return Ok(written);
                }
                Err(status) => {
                    if !give_way(object, &mut next, stored, &status, &mut new_notes) {
                        return Err(Error::refused(status));
                    }
                }
            }
        }
        Err(Error::Rejected {
            path: path.to_owned(),
            attempts: ATTEMPTS,
        })
    }
}

/// Copies a field from `stored`, or removes the field if `stored` does not have it.
fn take_over(value: &mut Value, stored: &Value, field: &str) {
    let Some(fields) = value.as_object_mut() else {
        return;
    };
    match stored.get(field) {
        Some(stored) => fields.insert(field.to_owned(), stored.clone()),
        None => fields.remove(field),
    };
}

/// Returns `object` as a replacement of `stored`, with the system metadata of `stored`, and with its labels,
/// annotations and finalizers unless `object` has others.
fn replacement(object: &Value, stored: &Value) -> Value {
    let mut merged = object.clone();
    let mut metadata = stored["metadata"].clone();
    json_patch::merge(&mut metadata, &object["metadata"]);
    metadata["resourceVersion"] = stored["metadata"]["resourceVersion"].clone();
    merged["metadata"] = metadata;
    merged
}
