//! `berth console -f`: a folder of files in the console, decided as `berth simulate --independent` does, with no server
//! (docs/console.md, "Files").

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use apiserver::SystemClock;
use commands::args::FilesArgs;
use commands::manifest;
use commands::simulate::{MALFORMED, catalog, configurations, input};
use console::{Console, PageArgs};
use engine::Simulation;
use meta::{Clock, Key, Object, Timestamp};
use serde_json::json;

use crate::readable;
use crate::serve::InMemory;

/// Shows the files until Ctrl-C. What is wrong with them goes to standard error, all of it, and ends it with exit code 2.
///
/// # Errors
/// When the console cannot start.
pub async fn run(args: &FilesArgs, page: &PageArgs) -> Result<ExitCode> {
    let now = args.at.unwrap_or_else(|| SystemClock.now());
    let objects = match objects(args, now) {
        Ok(objects) => objects,
        Err(problems) => {
            for problem in problems {
                anstream::eprintln!("error: {problem}");
            }
            return Ok(ExitCode::from(MALFORMED));
        }
    };
    let served = InMemory::serve(objects, &args.config, now).await?;
    let about = json!({
        "context": named(&args.filename),
        "server": format!("files, decided for {}", meta::time::rfc3339(now)),
        "namespace": "default",
        "writes": false,
    });
    let console = Console::over(page, readable::groups(), served.client(), about)
        .await
        .context("starting the console")?;
    console
        .until_ctrl_c(
            page,
            "What is in the files is behind this address. Ctrl-C ends it.",
        )
        .await?;
    Ok(ExitCode::SUCCESS)
}

/// The files, as the page names them.
fn named(paths: &[PathBuf]) -> String {
    let first = paths.first().map(|path| path.display().to_string());
    match paths.len() {
        0 | 1 => first.unwrap_or_default(),
        some => format!("{} and {} more", first.unwrap_or_default(), some - 1),
    }
}

/// The objects of the files that some scheduler or server knows, or everything wrong with the files.
fn objects(args: &FilesArgs, now: Timestamp) -> Result<Vec<(Key, Arc<Object>)>, Vec<String>> {
    let dialects = dialect_registry::all();
    let catalog = catalog(&dialects);
    let mut problems = Vec::new();
    let given = configurations(&args.config, &dialects, &mut problems);
    let (documents, unread) = manifest::read_all(&args.filename);
    problems.extend(unread.iter().map(ToString::to_string));
    let inputs = documents.iter().cloned().map(input).collect();
    // The same judgement as of `simulate`.
    match Simulation::load(&dialects, &catalog, given, inputs, now) {
        Ok(simulation) => {
            for (kind, count) in simulation.unread() {
                anstream::eprintln!("note: no system schedules by {kind}: {count} left out of account");
            }
        }
        Err(found) => problems.extend(found.iter().map(ToString::to_string)),
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let known = documents
        .into_iter()
        .filter(|document| catalog.find(document.api_version(), document.kind()).is_some());
    let mut objects = Vec::new();
    for document in known {
        let at = format!("{}: document {}", document.file, document.number);
        match catalog.read(document.object, "", now) {
            Ok(object) => objects.push(object),
            Err(errors) => problems.extend(errors.iter().map(|error| format!("{at}: {error}"))),
        }
    }
    if problems.is_empty() {
        Ok(objects)
    } else {
        Err(problems)
    }
}
