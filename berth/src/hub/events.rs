//! Events on the hub, written as the actor of the decision. Users look for events on the hub, and the hub
//! deletes expired events.

use async_trait::async_trait;
use berth_hub::wire::{self, Ask, Wire};
use http::Method;
use kube::Client;
use serde_json::{Map, Value};

use crate::controllers::{EventWrite, Sink, WriteResult};

/// The API version of written events.
const VERSION: &str = "events.k8s.io/v1";

/// Destination that writes events to the hub.
pub(crate) struct HubEvents {
    wire: Wire,
}

impl HubEvents {
    /// A destination that writes through `client`.
    pub(crate) fn new(client: Client) -> Self {
        Self { wire: Wire(client) }
    }
}

/// The event without the resourceVersion of its object: the revisions of copies have no meaning on the hub.
fn for_the_hub(mut event: Value) -> Value {
    if let Some(regarding) = event.get_mut("regarding").and_then(Value::as_object_mut) {
        Map::remove(regarding, "resourceVersion");
    }
    event
}

#[async_trait]
impl Sink for HubEvents {
    async fn store(&self, write: EventWrite) -> WriteResult {
        let collection = wire::collection(VERSION, crate::controllers::EVENTS, &write.namespace);
        let item = format!("{collection}/{}", write.name);
        let event = for_the_hub(write.object);
        let (method, path) = if write.is_stored {
            // A patch, since the rest of the event does not change.
            (Method::PATCH, &item)
        } else {
            (Method::POST, &collection)
        };
        let ask = |actor| Ask {
            method: method.clone(),
            path,
            actor,
            body: Some(&event),
        };
        let mut result = self.wire.send(ask(write.actor)).await;
        if matches!(&result, Err(status) if status.code == 403) {
            // If Berth decides only about its own objects, it has no right to impersonate the actor.
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
