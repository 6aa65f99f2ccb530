//! Events on the hub, written as the actor of the decision. Users look for events on the hub, and the hub
//! deletes expired events.

use async_trait::async_trait;
use berth_hub::wire::{self, HubClient, HubRequest};
use http::Method;
use kube::Client;
use serde_json::{Map, Value};

use crate::controllers::{EventSink, EventWrite, WriteResult};

/// The API version of written events.
const VERSION: &str = "events.k8s.io/v1";

/// Destination that writes events to the hub.
pub(crate) struct HubEvents {
    wire: HubClient,
}

impl HubEvents {
    /// A destination that writes through `client`.
    pub(crate) fn new(client: Client) -> Self {
        Self {
            wire: HubClient(client),
        }
    }
}

/// The event without the resourceVersion of the regarding object, since revisions of copies have no meaning
/// on the hub.
fn without_revision(mut event: Value) -> Value {
    if let Some(regarding) = event.get_mut("regarding").and_then(Value::as_object_mut) {
        Map::remove(regarding, "resourceVersion");
    }
    event
}

#[async_trait]
impl EventSink for HubEvents {
    async fn store(&self, write: EventWrite) -> WriteResult {
        let collection = wire::collection(VERSION, crate::controllers::EVENTS, &write.namespace);
        let item = format!("{collection}/{}", write.name);
        let event = without_revision(write.object);
        let (method, path) = if write.is_stored {
            // A patch, since the rest of the event does not change.
            (Method::PATCH, &item)
        } else {
            (Method::POST, &collection)
        };
        let ask = |actor| HubRequest {
            method: method.clone(),
            path,
            actor,
            body: Some(&event),
        };
        let mut result = self.wire.send(ask(write.actor)).await;
        if matches!(&result, Err(status) if status.code == 403) {
            // The manifests grant no right to impersonate the actor if Berth stores the objects of the
            // system. The event is then written as Berth itself.
            result = self.wire.send(ask("")).await;
        }
        match result {
            Ok(_) => WriteResult::Stored,
            Err(status) if status.code == 404 && write.is_stored => WriteResult::Gone,
            Err(status) => {
                tracing::info!(
                    name = write.name,
                    namespace = write.namespace,
                    cause = status.message,
                    "cannot write an Event; it is lost"
                );
                WriteResult::Refused
            }
        }
    }
}
