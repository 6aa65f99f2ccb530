//! `berth console -f`: shows the objects of files in the console without a server, with the decisions of
//! `berth simulate --independent` (docs/console.md, "Files").

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use berth_apimachinery::{Clock, Key, Object, Timestamp};
use berth_apiserver::SystemClock;
use berth_commands::args::FilesArgs;
use berth_commands::catalog::catalog;
use berth_commands::manifest;
use berth_commands::simulate::{MALFORMED, configurations, input, print_findings};
use berth_console::{Console, PageArgs};
use berth_engine::Simulation;
use serde_json::json;

use crate::readable;
use crate::serve::{InMemory, Settings};

/// Shows the objects of the files until Ctrl-C or the idle timeout. Problems are printed on standard error.
/// If a file cannot be read at all, or a configuration is invalid, the exit code is 2.
///
/// # Errors
/// When the console cannot start, or a listener fails.
pub async fn run(args: &FilesArgs, page: &PageArgs) -> Result<ExitCode> {
    let args = &FilesArgs {
        filename: args.paths(),
        ..args.clone()
    };
    let now = args.at.unwrap_or_else(|| SystemClock.now());
    let objects = match read_objects(args, now) {
        Ok(objects) => objects,
        Err(problems) => {
            for problem in problems {
                berth_commands::say_error!("error: {problem}");
            }
            return Ok(ExitCode::from(MALFORMED));
        }
    };
    let settings = Settings {
        configurations: &args.config,
        rules: args.origin.rules,
        is_of_hub: false,
    };
    let in_memory = InMemory::serve(objects, settings, now).await?;
    let about = json!({
        "context": file_names(&args.filename),
        "server": format!("files, decided for {}", berth_apimachinery::time::rfc3339(now)),
        "namespace": "default",
        "writes": false,
    });
    let console = Console::with_client(page, readable::groups(), in_memory.client(), about)
        .await
        .context("starting the console")?;
    console
        .until_ctrl_c(
            page,
            "This address gives access to the contents of the files. Ctrl-C ends it.",
        )
        .await?;
    Ok(ExitCode::SUCCESS)
}

/// Text for the page that names the first file, and the number of further files.
fn file_names(paths: &[PathBuf]) -> String {
    let first = paths.first().map(|path| path.display().to_string());
    match paths.len() {
        0 | 1 => first.unwrap_or_default(),
        count => format!("{} and {} more", first.unwrap_or_default(), count - 1),
    }
}

/// Reads the objects of the files. Problems of single objects are printed on standard error.
///
/// # Errors
/// The problems, if a file cannot be read at all or a configuration is invalid.
pub(crate) fn read_objects(args: &FilesArgs, now: Timestamp) -> Result<Vec<(Key, Arc<Object>)>, Vec<String>> {
    let dialects = berth_dialect_registry::all();
    let catalog = catalog(&dialects);
    let defaults = configurations(&args.config, &dialects)?;
    let (documents, unread) = manifest::read_all(&args.filename);
    if unread.iter().any(|problem| problem.number == 0) {
        return Err(unread.iter().map(ToString::to_string).collect());
    }
    let inputs = documents.into_iter().map(input);
    // Findings about the files are printed as by `berth simulate`.
    let simulation = Simulation::load(&dialects, &catalog, defaults, inputs, now);
    print_findings(&unread, simulation.findings(), false)?;
    Ok(simulation.into_objects())
}
