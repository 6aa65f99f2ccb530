//! Lock records on the hub: objects of kind Lease in Berth's own namespace.

use async_trait::async_trait;
use berth_apimachinery::{Key, Status};
use berth_engine::controller::{LEASES, Record, ResourceLock};
use berth_storage::StoreError;
use http::Method;
use kube::Client;
use serde_json::{Value, json};

use super::wire::{self, Ask, Wire};

/// The API version of a Lease.
const VERSION: &str = "coordination.k8s.io/v1";

/// Lock record in one Lease of the hub.
pub struct LeaseLock {
    wire: Wire,
    key: Key,
}

impl LeaseLock {
    /// The lock of the Lease `name` in `namespace`.
    pub fn new(client: Client, namespace: &str, name: &str) -> Self {
        Self {
            wire: Wire(client),
            key: Key::new(LEASES, namespace, name),
        }
    }

    /// The Lease's name.
    pub fn name(&self) -> &str {
        &self.key.name
    }

    /// Reads the record as [`ResourceLock::read`] does, with the hub's own answer where it refuses.
    pub async fn get(&self) -> Result<Option<Record>, Status> {
        let path = wire::object(VERSION, &self.key);
        match self.wire.send(Ask::get(&path)).await {
            Ok(value) => Ok(Some(record(value))),
            Err(status) if status.code == 404 => Ok(None),
            Err(status) => Err(status),
        }
    }

    /// Writes the record as [`ResourceLock::write`] does, with the hub's own answer where it refuses.
    pub async fn put(&self, replaced: Option<&Record>, value: &Value) -> Result<Option<Record>, Status> {
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
        let ask = Ask {
            method,
            path: &path,
            actor: "",
            body: Some(&object),
        };
        match self.wire.send(ask).await {
            Ok(value) => Ok(Some(record(value))),
            // A 404 of a create means that the namespace does not exist, which is a permanent error.
            Err(status) if status.code == 409 || (status.code == 404 && replaced.is_some()) => Ok(None),
            Err(status) => Err(status),
        }
    }
}

fn record(value: Value) -> Record {
    let version = value["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    Record {
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

    async fn read(&self) -> Result<Option<Record>, StoreError> {
        self.get().await.map_err(unavailable)
    }

    async fn write(&self, replaced: Option<&Record>, value: &Value) -> Result<Option<Record>, StoreError> {
        self.put(replaced, value).await.map_err(unavailable)
    }
}
