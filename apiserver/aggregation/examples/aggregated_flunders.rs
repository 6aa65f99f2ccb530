//! A kind behind a kube-apiserver: the hub authenticates and authorizes users, and the APIService is
//! registered and kept up to date. `cargo run -p berth-aggregation --features options --example
//! aggregated_flunders -- --kubeconfig FILE`; `--help` has the flags.

use std::sync::Arc;

use berth_aggregation::options::{Options, Program, RunError};
use berth_apimachinery::{Definition, KindInfo, Schema};
use berth_apiserver::{Group, Resource};
use berth_storage::{MemoryStore, Store};
use clap::Parser;

/// A Flunder, as OpenAPI and `kubectl explain` describe it.
#[derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize)]
struct Flunder {
    /// Length in centimetres.
    size: i64,
}

static FLUNDERS: Definition = Definition::new(
    KindInfo::new("wardle.example.com", &["v1"], "Flunder", "flunders"),
    Schema::of::<Flunder>,
);

/// Flunders, kept in memory.
pub(crate) fn program() -> Program {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let flunders = Resource::stored(FLUNDERS.kind(), &store);
    Program::new("flunders", vec![Group::new(FLUNDERS.info.group, vec![flunders])])
}

#[tokio::main]
#[allow(dead_code, reason = "tests start the server themselves")]
async fn main() -> Result<(), RunError> {
    Options::parse().run(program()).await
}
