//! Events on the hub, written as the user of the decision: people look for them there, and the hub
//! deletes them in time.

use async_trait::async_trait;
use berth_hub::wire::{self, Ask, Wire};
use http::Method;
use kube::Client;
use serde_json::{Map, Value};

use crate::controllers::{EventWrite, Sink, WriteResult};

/// The API version of written events.
const VERSION: &str = "events.k8s.io/v1";

/// Writes events to the hub.
pub(crate) struct HubEvents {
    wire: Wire,
}

impl HubEvents {
    /// Events written through `client`.
    pub(crate) fn new(client: Client) -> Self {
        Self { wire: Wire(client) }
    }
}

/// The event in the hub's form: revisions of copies mean nothing there.
fn for_the_hub(mut event: Value) -> Value {
    if let Some(regarding) = event.get_mut("regarding").and_then(Value::as_object_mut) {
        Map::remove(regarding, "resourceVersion");
    }
    event
}

#[async_trait]
impl Sink for HubEvents {
    async fn store(&self, write: EventWrite) -> WriteResult {
        let all = wire::collection(VERSION, crate::controllers::EVENTS, &write.namespace);
        let one = format!("{all}/{}", write.name);
        let event = for_the_hub(write.object);
        let (method, path) = if write.is_stored {
            // A patch, since the rest of the event does not change.
            (Method::PATCH, &one)
        } else {
            (Method::POST, &all)
        };
        let ask = |actor| Ask {
            method: method.clone(),
            path,
            actor,
            body: Some(&event),
        };
        let mut written = self.wire.send(ask(write.actor)).await;
        if matches!(&written, Err(status) if status.code == 403) {
            // Where Berth decides only about its own objects, it has no right to impersonate.
            written = self.wire.send(ask("")).await;
        }
        match written {
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
