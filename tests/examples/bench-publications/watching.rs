//! Watchers of published objects, which count events.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use berth_tests::bench::http::{Call, Connection, Protocol, Target};
use http_body_util::BodyExt as _;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use crate::fleet::PUBLISHED;

/// One event.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// The time of its arrival.
    pub(crate) at: Instant,
    /// The name of its object.
    pub(crate) name: String,
}

/// A watcher of one resource.
pub(crate) struct Watching {
    seen: Arc<Mutex<Vec<Seen>>>,
    task: JoinHandle<Result<()>>,
}

/// The path of the published objects of a resource.
pub(crate) fn path(resource: &str) -> String {
    format!("/apis/multicluster.x-k8s.io/v1alpha1/namespaces/{PUBLISHED}/{resource}")
}

impl Watching {
    /// Starts a watch of `resource`.
    pub(crate) async fn start(target: &Target, resource: &str) -> Result<Self> {
        let mut connection = Connection::open(target, Protocol::One).await?;
        let path = path(resource);
        let list = connection.read(&Call::get(format!("{path}?limit=1"))).await?;
        let list: Value = serde_json::from_slice(&list)?;
        let from = list["metadata"]["resourceVersion"]
            .as_str()
            .context("a list has a version")?;
        let watch = Call::get(format!(
            "{path}?watch=1&resourceVersion={from}&timeoutSeconds=36000"
        ));
        let mut body = connection.send(&watch).await?.into_body();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let noting = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            // The watch ends with the connection.
            let _connection = connection;
            let mut rest = Vec::new();
            while let Some(frame) = body.frame().await {
                let Ok(data) = frame?.into_data() else { continue };
                rest.extend_from_slice(&data);
                while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = rest.drain(..=end).collect();
                    noting.lock().await.push(event(&line)?);
                }
            }
            Ok(())
        });
        Ok(Self { seen, task })
    }

    /// Events since the last call.
    pub(crate) async fn take(&self) -> Result<Vec<Seen>> {
        ensure!(!self.task.is_finished(), "a watch has ended");
        Ok(std::mem::take(&mut *self.seen.lock().await))
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn event(line: &[u8]) -> Result<Seen> {
    let event: Value = serde_json::from_slice(line)?;
    ensure!(event["type"] != "ERROR", "the watch says {event}");
    let name = event["object"]["metadata"]["name"]
        .as_str()
        .context("an object has a name")?;
    Ok(Seen {
        at: Instant::now(),
        name: name.to_owned(),
    })
}

/// The distinct names in `seen`.
pub(crate) fn names(seen: &[Seen]) -> BTreeSet<&str> {
    seen.iter().map(|seen| &*seen.name).collect()
}
