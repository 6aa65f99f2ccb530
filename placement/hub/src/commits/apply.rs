//! Server-side apply on the hub, for objects with several writers.

use std::sync::Arc;

use berth_apimachinery::write::{CommitError, Verb, Write};
use berth_apimachinery::{Key, Object, Revision};
use http::Method;
use serde_json::{Value, json};

use super::{HubCommitter, refusal};
use crate::wire::{self, HubRequest};

/// A server-side apply.
#[derive(Clone, Copy, Debug)]
pub struct ApplyRequest<'a> {
    /// The user of the request.
    pub actor: &'a str,
    /// The field manager.
    pub manager: &'a str,
    /// Key of the object.
    pub key: &'a Key,
    /// `status`, or the empty string.
    pub subresource: &'static str,
    /// The configuration to apply.
    pub config: &'a Value,
    /// The revision of the copy that the decision read; `None` where the object did not exist.
    pub base: Option<Revision>,
}

impl HubCommitter {
    /// Applies a configuration to the object in the state that the decision read, and returns the copy after
    /// the write. In an existing object, the apply takes over fields of other managers. Where the object did
    /// not exist, it takes over no fields: if another client has created the object since, and set other
    /// values, this is a conflict.
    ///
    /// # Errors
    /// When the object has changed, or the hub refuses the configuration.
    pub async fn apply(&self, request: ApplyRequest<'_>) -> Result<Arc<Object>, CommitError> {
        let ApplyRequest {
            actor,
            manager,
            key,
            subresource,
            config,
            base,
        } = request;
        let mut object = config.clone();
        let write = Write {
            verb: base.map_or(Verb::Create, |_| Verb::Update),
            key: key.clone(),
            subresource,
            object: Value::Null,
            base,
        };
        let version = match base {
            Some(_) => Some(self.version(&write)?),
            None => None,
        };
        if let Some(version) = &version {
            object["metadata"]["resourceVersion"] = json!(version);
        }
        let api_version = config["apiVersion"].as_str().unwrap_or_default();
        let object_path = wire::object(api_version, key);
        let segment = if subresource.is_empty() {
            String::new()
        } else {
            format!("/{subresource}")
        };
        let request = HubRequest {
            method: Method::PATCH,
            path: &format!(
                "{object_path}{segment}?fieldManager={manager}&force={}",
                base.is_some()
            ),
            actor,
            body: Some(&object),
        };
        let answer = self.wire.apply(request).await;
        match answer.map_err(|status| refusal(write.verb, status)) {
            Ok(answer) => self.result(&write, &answer, false).await,
            Err(error) => {
                if error.reason.is_outdated() {
                    self.wait_for_conflict(&write, version.as_deref(), error.reason)
                        .await;
                }
                Err(error)
            }
        }
    }
}
