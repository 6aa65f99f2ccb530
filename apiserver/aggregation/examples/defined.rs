//! A kind that is defined by a CustomResourceDefinition in a file: stored in memory, with every verb. `cargo
//! run -p berth-aggregation --features options --example defined -- --standalone --definition gizmos.yaml`.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use berth_aggregation::options::{Options, Program};
use berth_apimachinery::{CustomKind, Kind, field};
use berth_apiserver::{Group, Resource};
use berth_storage::{MemoryStore, Store};
use clap::Parser;

/// Flags of the server.
#[derive(Parser)]
pub(crate) struct Arguments {
    /// The CustomResourceDefinition.
    #[arg(long, value_name = "FILE")]
    pub(crate) definition: PathBuf,
    #[command(flatten)]
    pub(crate) options: Options,
}

/// A program with the kind that `file` defines.
///
/// # Errors
/// When the file cannot be read, or has errors, which are all reported.
pub(crate) fn program(file: &Path) -> Result<Program, Box<dyn Error>> {
    let text = std::fs::read_to_string(file)?;
    let definition =
        CustomKind::read(&berth_yaml::value(&text)?).map_err(|errors| field::aggregate(&errors))?;
    let group = definition.info().group;
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let resource = Resource::stored(definition, &store);
    Ok(Program::new("defined", vec![Group::new(group, vec![resource])]))
}

#[tokio::main]
#[allow(dead_code, reason = "tests start the server themselves")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let program = program(&arguments.definition)?;
    Ok(arguments.options.run(program).await?)
}
