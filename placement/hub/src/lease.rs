//! Lock records on the hub: objects of kind Lease in Berth's own namespace.

use async_trait::async_trait;
use berth_apimachinery::{Key, Status};
use berth_engine::controller::{LEASES, LockRecord, ResourceLock};
use berth_storage::StoreError;
use http::Method;
use kube::Client;
use serde_json::{Value, json};

use super::wire::{self, HubClient, HubRequest};

/// The API version of a Lease.
const VERSION: &str = "coordination.k8s.io/v1";

/// A lock whose record is a Lease of the hub.
pub struct LeaseLock {
    wire: HubClient,
    key: Key,
}

impl LeaseLock {
    /// The lock of the Lease `name` in `namespace`.
    pub fn new(client: Client, namespace: &str, name: &str) -> Self {
        Self {
            wire: HubClient(client),
            key: Key::new(LEASES, namespace, name),
        }
    }

    /// The Lease's name.
    pub fn name(&self) -> &str {
        &self.key.name
    }

    /// Reads the record as [`ResourceLock::read`] does.
    ///
    /// # Errors
    /// The hub's own refusal, or 503 when the hub cannot be reached.
    pub async fn get(&self) -> Result<Option<LockRecord>, Status> {
        let path = wire::object(VERSION, &self.key);
        match self.wire.send(HubRequest::get(&path)).await {
            Ok(value) => Ok(Some(record(value))),
            Err(status) if status.code == 404 => Ok(None),
            Err(status) => Err(status),
        }
    }

    /// Writes the record as [`ResourceLock::write`] does.
    ///
    /// # Errors
    /// The hub's own refusal, or 503 when the hub cannot be reached.
    pub async fn put(
        &self,
        replaced: Option<&LockRecord>,
        value: &Value,
    ) -> Result<Option<LockRecord>, Status> {
        let mut object = value.clone();
        let (method, path) = match replaced {
            Some(record) => {
                object["metadata"]["resourceVersion"] = json!(record.version);
                (Method::PUT, wire::object(VERSION, &self.key))
            }
            None => {
                let collection = wire::collection(VERSION, LEASES, &self.key.namespace);
                (Method::POST, collection)
            }
        };
        let request = HubRequest {
            method,
            path: &path,
            actor: "",
            body: Some(&object),
        };
        match self.wire.send(request).await {
            Ok(value) => Ok(Some(record(value))),
            // A 404 of a create means that the namespace does not exist, which is a permanent error.
            Err(status) if status.code == 409 || (status.code == 404 && replaced.is_some()) => Ok(None),
            Err(status) => Err(status),
        }
    }
}

fn record(value: Value) -> LockRecord {
    let version = value["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    LockRecord {
        version: version.to_owned(),
        value,
    }
}

fn unavailable(status: Status) -> StoreError {
    StoreError::Unavailable(status.message)
}

#[async_trait]
impl ResourceLock for LeaseLock {
    fn place(&self) -> (&str, &str) {
        (&self.key.namespace, &self.key.name)
    }

    async fn read(&self) -> Result<Option<LockRecord>, StoreError> {
        self.get().await.map_err(unavailable)
    }

    async fn write(
        &self,
        replaced: Option<&LockRecord>,
        value: &Value,
    ) -> Result<Option<LockRecord>, StoreError> {
        self.put(replaced, value).await.map_err(unavailable)
    }
}
