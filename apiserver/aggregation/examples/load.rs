//! Objects that are computed at each request from another system: here the load averages of `/proc/loadavg`.
//! `cargo run -p berth-aggregation --features options --example load -- --standalone`, then `kubectl get
//! loads`.

use std::io;
use std::sync::Arc;

use berth_aggregation::options::{Options, Program, RunError};
use berth_apimachinery::{Column, Definition, Draft, KindInfo, Object, Schema, Scope, Status};
use berth_apiserver::{Call, Computed, Group, ListQuery, Listing, RequestInfo, Resource};
use clap::Parser;
use serde_json::json;

/// An average of the load.
#[derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize)]
struct Load {
    /// The length of the averaging interval, in minutes.
    minutes: i64,
    /// The average number of running and waiting processes, as a decimal number.
    average: String,
}

static LOAD: Definition = Definition {
    columns: &[
        Column::NAME,
        Column::text("Average", "The average number of running and waiting processes").at(".average"),
    ],
    ..Definition::new(
        KindInfo {
            scope: Scope::Cluster,
            verbs: &["get", "list"],
            ..KindInfo::new("load.example.com", &["v1"], "Load", "loads")
        },
        Schema::of::<Load>,
    )
};

/// The computed objects.
struct Loads;

impl Loads {
    /// Reads the averages from the kernel.
    fn read() -> Result<Vec<Arc<Object>>, Status> {
        let unavailable = |problem: io::Error| Status::internal(format!("/proc/loadavg: {problem}"));
        let text = std::fs::read_to_string("/proc/loadavg").map_err(unavailable)?;
        let averages = [(15, 2), (1, 0), (5, 1)].into_iter();
        averages
            .map(|(minutes, at)| {
                let average = text.split_whitespace().nth(at).unwrap_or_default();
                let load = json!({
                    "apiVersion": "load.example.com/v1", "kind": "Load",
                    "metadata": {"name": format!("{minutes}m")},
                    "minutes": minutes, "average": average,
                });
                let draft = Draft::new(&load).map_err(|problem| Status::internal(problem.to_string()))?;
                Ok(Arc::new(draft.unstored()))
            })
            .collect()
    }
}

#[async_trait::async_trait]
impl Computed for Loads {
    fn effort(&self, _info: &RequestInfo) -> usize {
        0
    }

    async fn get(&self, call: &Call) -> Result<Arc<Object>, Status> {
        let mut all = Self::read()?.into_iter();
        let found = all.find(|load| load.meta().name() == call.name);
        found.ok_or_else(|| Status::not_found(LOAD.info.resource(), &call.name))
    }

    /// All averages, in the order of their names.
    async fn list(&self, _call: &Call, _query: &ListQuery) -> Result<Arc<dyn Listing>, Status> {
        Ok(Arc::new(Self::read()?))
    }
}

/// A program whose loads are computed at each request.
pub(crate) fn program() -> Program {
    let loads = Resource::computed(LOAD.kind(), Loads);
    Program::new("load", vec![Group::new(LOAD.info.group, vec![loads])])
}

#[tokio::main]
#[allow(dead_code, reason = "tests start the server themselves")]
async fn main() -> Result<(), RunError> {
    Options::parse().run(program()).await
}
