//! `berth load`: writes objects with their status, which `kubectl apply` cannot do. The objects of the files
//! replace the stored objects, or are applied by server-side apply.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use berth_client::Client;
use futures::{StreamExt, stream};

use crate::args::Validate;
use crate::manifest::{self, Document};
use crate::terminal::shown;

/// Number of objects that are written at once in a large run.
const CONCURRENCY: usize = 32;
/// Length from which a run of consecutive objects of one kind is large, and written concurrently. The objects
/// of a shorter run are written one after the other, since their order may matter: the first object is placed
/// first.
const LARGE_RUN: usize = 100;
/// Interval of the progress lines.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);

/// Way of writing objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// Creates each object, or replaces the stored object.
    Replace,
    /// Applies each object by server-side apply.
    Apply {
        /// Whether the command takes ownership of fields that other managers own.
        force: bool,
    },
}

impl WriteMode {
    /// The mode that `--server-side` and `--force-conflicts` select.
    #[must_use]
    pub fn of(server_side: bool, force_conflicts: bool) -> Self {
        if server_side {
            Self::Apply {
                force: force_conflicts,
            }
        } else {
            Self::Replace
        }
    }
}

/// Writes every object of `paths` (namespaces first), each with its status, and prints a line for each.
/// With [`WriteMode::Replace`], fields of schedulers stay as stored; if a file has other values, there is a
/// line on standard error. With [`WriteMode::Apply`], the server refuses such an object. Large runs of one kind
/// are written concurrently.
///
/// # Errors
/// When a file cannot be read: in this case, nothing is written. After all other objects are written: when a
/// document is not an object, an object has duplicate fields and `validate` is strict, or the server refused
/// an object. When the client gave up waiting for the server: in this case, no further object is written.
pub async fn run(client: &mut Client, paths: &[PathBuf], mode: WriteMode, validate: Validate) -> Result<()> {
    let (documents, problems) = manifest::read_all(paths);
    if problems.iter().any(|problem| problem.number == 0) {
        bail!(lines(&problems));
    }
    let (notes, problems): (Vec<_>, Vec<_>) = problems.into_iter().partition(|problem| problem.is_note);
    for note in notes {
        crate::say_error!("note: {note}");
    }
    let mut refusals: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let documents = without_duplicates(namespaces_first(documents), validate, &mut refusals);
    let mut progress = Progress::of(documents.len());
    'all: for run in documents.chunk_by(|a, b| (a.api_version(), a.kind()) == (b.api_version(), b.kind())) {
        let at_once = if run.len() < LARGE_RUN { 1 } else { CONCURRENCY };
        // The write of the first object finds the URL of the kind, which the others then use.
        let (first, rest) = run.split_at(1);
        for document in first {
            let outcome = write(client, document, mode).await;
            let is_over = outcome.is_err() && client.gave_up();
            refusals.extend(print_outcome(outcome));
            if is_over {
                break 'all;
            }
            progress.add_one();
        }
        let clients = std::iter::repeat_with(|| client.clone());
        let writes = rest.iter().zip(clients);
        let mut outcomes = stream::iter(writes)
            .map(async |(document, mut client)| write(&mut client, document, mode).await)
            .buffered(at_once);
        while let Some(outcome) = outcomes.next().await {
            let is_over = outcome.is_err() && client.gave_up();
            refusals.extend(print_outcome(outcome));
            if is_over {
                break 'all;
            }
            progress.add_one();
        }
    }
    progress.end();
    if client.gave_up() {
        refusals.push(format!(
            "stopped after {} of {} objects: --timeout waits longer; load the same files again to write the others",
            progress.done, progress.all
        ));
    }
    if refusals.is_empty() {
        Ok(())
    } else {
        bail!(lines(&refusals))
    }
}

/// Prints the `reason` why the command waits for the server on standard error.
pub fn print_waiting(reason: &str) {
    crate::say_error!("waiting for the server: {}", shown(reason));
}

/// Reports the first duplicate field of each document, unless `validate` is `Ignore`: the server cannot
/// report duplicates, since the parsed objects no longer contain them. With `Strict`, removes the objects
/// with duplicate fields.
fn without_duplicates(
    documents: Vec<Document>,
    validate: Validate,
    refusals: &mut Vec<String>,
) -> Vec<Document> {
    let mut keep = |document: &Document| {
        let Some(path) = document.duplicates.first() else {
            return true;
        };
        let place = format!("{}: document {}", document.file, document.number);
        match validate {
            Validate::Strict => {
                refusals.push(format!(
                    "{place}: duplicate field \"{path}\": remove one, or use the last one with --validate=warn"
                ));
                return false;
            }
            Validate::Warn => crate::say_error!("Warning: {place}: duplicate field \"{}\"", shown(path)),
            Validate::Ignore => {}
        }
        true
    };
    documents.into_iter().filter(|document| keep(document)).collect()
}

/// Output about a written object: the line on standard output, and notes about fields for standard error.
type LoadedLine = (String, Vec<String>);

/// Writes one object; returns the output, or the problem with the place of the document.
async fn write(client: &mut Client, document: &Document, mode: WriteMode) -> Result<LoadedLine, String> {
    let mut notes = Vec::new();
    let result = match mode {
        WriteMode::Replace => client.put(&document.object, &mut notes).await,
        WriteMode::Apply { force } => client.apply(&document.object, force).await,
    };
    match result {
        Ok((name, result)) => {
            let notes = notes.into_iter().map(|note| format!("{name}: {note}"));
            Ok((format!("{name} {result}"), notes.collect()))
        }
        Err(error) => Err(format!(
            "{}: document {}: {error:#}",
            document.file, document.number
        )),
    }
}

/// Prints the line and the notes of a written object; returns the problem of an object that was not written.
fn print_outcome(outcome: Result<LoadedLine, String>) -> Option<String> {
    match outcome {
        Ok((line, notes)) => {
            crate::say!("{line}");
            notes.iter().for_each(|note| crate::say_error!("{note}"));
            None
        }
        Err(refusal) => Some(refusal),
    }
}

/// Progress of a load, printed on standard error if the load takes long or has many objects.
struct Progress {
    /// Number of all objects.
    all: usize,
    /// Number of objects that were written or refused.
    done: usize,
    start: Instant,
    printed_at: Instant,
}

impl Progress {
    fn of(all: usize) -> Self {
        let now = Instant::now();
        Self {
            all,
            done: 0,
            start: now,
            printed_at: now,
        }
    }

    fn add_one(&mut self) {
        self.done += 1;
        if self.printed_at.elapsed() >= PROGRESS_INTERVAL {
            self.printed_at = Instant::now();
            self.print();
        }
    }

    fn end(&self) {
        if self.all >= LARGE_RUN {
            self.print();
        }
    }

    fn print(&self) {
        let rate = self.done as f64 / self.start.elapsed().as_secs_f64();
        crate::say_error!("{} of {} objects, {rate:.0} a second", self.done, self.all);
    }
}

fn lines<T: ToString>(list: &[T]) -> String {
    list.iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Moves Namespaces before all other objects; otherwise keeps the order.
#[must_use]
pub fn namespaces_first(mut documents: Vec<Document>) -> Vec<Document> {
    documents.sort_by_key(|document| !(document.api_version() == "v1" && document.kind() == "Namespace"));
    documents
}
