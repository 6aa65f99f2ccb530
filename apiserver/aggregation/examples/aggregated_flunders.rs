//! A kind behind a kube-apiserver: users and their rights are the hub's, and the APIService is registered and
//! kept current. `cargo run -p berth-aggregation --features options --example aggregated_flunders --
//! --kubeconfig FILE`; `--help` has the flags.

use std::sync::{Arc, LazyLock};

use berth_aggregation::options::{Options, Program, RunError};
use berth_apimachinery::{Kind, KindInfo, Schema};
use berth_apiserver::{Group, Resource};
use berth_storage::{MemoryStore, Store};
use clap::Parser;

/// A Flunder, as OpenAPI and `kubectl explain` describe it.
#[derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize)]
struct Flunder {
    /// Length in centimetres.
    size: i64,
}

static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::of::<Flunder>);
static INFO: KindInfo = KindInfo::new("wardle.example.com", &["v1"], "Flunder", "flunders");

/// The kind.
struct Flunders;

impl Kind for Flunders {
    fn info(&self) -> &KindInfo {
        &INFO
    }

    fn schema(&self, _version: &str) -> &Schema {
        &SCHEMA
    }
}

/// Flags of the server.
#[derive(Parser)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) options: Options,
}

/// Flunders, kept in memory.
pub(crate) fn program() -> Program {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let group = Group::new(INFO.group, vec![Resource::stored(Flunders, &store)]);
    Program::new("flunders", vec![group])
}

#[tokio::main]
#[allow(dead_code, reason = "tests start the server themselves")]
async fn main() -> Result<(), RunError> {
    Arguments::parse().options.run(program()).await
}
