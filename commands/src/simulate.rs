//! `berth simulate`: decides every placeable object in files against the clusters in them, with no server (docs/api.md,
//! "Simulating"). The "plan" step for a placement change.

pub mod advice;
mod output;
mod plan;
mod table;
mod wanted;

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use apiserver::SystemClock;
use dialect_contract::{Dialect, Outcome, config};
use engine::advice::NoAdvice;
use engine::simulate::{Decided, Fault, Input, Terms};
use engine::{Catalog, Simulation};
use kubernetes::core;
use meta::Clock;
use serde_json::Value;

use crate::args::{SimulateArgs, SimulateOutput};
use crate::manifest::{self, Document};
use output::List;
use table::Tables;

/// Everything was decided.
pub const DONE: u8 = 0;
/// With `--exit-code`: something found no place, or not all it asked for.
pub const UNPLACED: u8 = 1;
/// The input or the configuration is malformed.
pub const MALFORMED: u8 = 2;

/// Why a simulation ended early.
#[derive(Debug, thiserror::Error)]
enum Stop {
    /// Nobody reads any more.
    #[error(transparent)]
    Output(#[from] io::Error),
    /// A dialect is at fault.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// So it is when advice was asked for.
    #[error(transparent)]
    NoAdvice(#[from] NoAdvice),
}

/// Decides and prints; problems of the input go to standard error, all of them, and end it with exit code 2.
#[must_use]
pub fn run(args: &SimulateArgs) -> ExitCode {
    let terms = Terms {
        now: args.at.unwrap_or_else(|| SystemClock.now()),
        seed: args.seed,
        independent: args.independent,
    };
    if args.output == SimulateOutput::Markdown && args.change.is_empty() && args.against.is_empty() {
        anstream::eprintln!("error: -o markdown is for plans: with --change, --drain, --delete or --against");
        return ExitCode::from(MALFORMED);
    }
    let loaded = load(args, &terms).and_then(|simulation| {
        let only = args.r#for.as_deref();
        let wanted = only.map(|only| wanted::find(&simulation, only)).transpose();
        Ok((simulation, wanted.map_err(|problem| vec![problem])?))
    });
    let (mut simulation, wanted) = match loaded {
        Ok(loaded) => loaded,
        Err(problems) => {
            for problem in problems {
                anstream::eprintln!("error: {problem}");
            }
            return ExitCode::from(MALFORMED);
        }
    };
    for (kind, count) in simulation.unread() {
        anstream::eprintln!("note: no system schedules by {kind}: {count} left out of account");
    }
    if !args.change.is_empty() || !args.against.is_empty() {
        return plan::run(args, simulation, &terms);
    }
    let mut unplaced = false;
    let decided = print(&mut simulation, args, &terms, wanted.as_ref(), &mut unplaced);
    match decided {
        Err(Stop::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::from(DONE),
        Err(stop) => {
            anstream::eprintln!("error: {stop}");
            ExitCode::FAILURE
        }
        Ok(()) if unplaced && args.exit_code => ExitCode::from(UNPLACED),
        Ok(()) => ExitCode::from(DONE),
    }
}

fn print(
    simulation: &mut Simulation,
    args: &SimulateArgs,
    terms: &Terms,
    wanted: Option<&wanted::Wanted>,
    unplaced: &mut bool,
) -> Result<(), Stop> {
    let choose = |dialect: &dyn Dialect, demand: &meta::Key| {
        wanted.is_none_or(|wanted| wanted.is(dialect.name(), demand))
    };
    let mut note = |outcome: Outcome| {
        *unplaced |= matches!(
            outcome,
            Outcome::Partial | Outcome::Unschedulable | Outcome::Invalid
        );
    };
    let catalog = catalog(&dialect_registry::all());
    let advised = |decided: &Decided<'_>| -> Result<Option<Value>, Stop> {
        match args.advice {
            true => found(decided, &catalog, terms).map(Some),
            false => Ok(None),
        }
    };
    let mut out = BufWriter::with_capacity(1 << 16, anstream::AutoStream::auto(io::stdout().lock()));
    match args.output {
        SimulateOutput::Table => {
            let mut tables = Tables::default();
            simulation.run(terms, choose, |decided| -> Result<(), Stop> {
                note(decided.decision.outcome);
                tables.write(&mut out, decided)?;
                if let Some(advice) = advised(decided)? {
                    advice::targets(&mut out, &advice)?;
                }
                Ok(())
            })?;
            tables.end(&mut out)?;
        }
        SimulateOutput::Json | SimulateOutput::Yaml | SimulateOutput::Markdown => {
            let mut list = List::new(args.output);
            simulation.run(terms, choose, |decided| -> Result<(), Stop> {
                note(decided.decision.outcome);
                let advice = advised(decided)?;
                Ok(list.write(&mut out, decided, advice)?)
            })?;
            list.end(&mut out)?;
        }
    }
    Ok(out.flush()?)
}

/// What may be done so that targets fit.
fn found(decided: &Decided<'_>, catalog: &Catalog, terms: &Terms) -> Result<Value, Stop> {
    let terms = engine::advice::Terms {
        now: terms.now,
        seed: terms.seed,
        limit: engine::advice::TARGETS,
        only: None,
    };
    let found = engine::advice::advise(decided.world, catalog, &decided.decision.demand, &terms)?;
    Ok(found.short())
}

fn load(args: &SimulateArgs, terms: &Terms) -> Result<Simulation, Vec<String>> {
    let dialects = dialect_registry::all();
    let mut problems = Vec::new();
    let configurations = configurations(&args.config, &dialects, &mut problems);
    let (documents, unread) = manifest::read_all(&args.filename);
    problems.extend(unread.iter().map(ToString::to_string));
    let inputs = documents.into_iter().map(input).collect();
    let catalog = catalog(&dialects);
    match Simulation::load(&dialects, &catalog, configurations, inputs, terms.now) {
        Ok(simulation) if problems.is_empty() => Ok(simulation),
        Ok(_) => Err(problems),
        Err(found) => {
            problems.extend(found.iter().map(ToString::to_string));
            Err(problems)
        }
    }
}

/// The kinds that files may have objects of.
pub fn catalog(dialects: &[Arc<dyn Dialect>]) -> Catalog {
    let kinds = dialects.iter().flat_map(|dialect| dialect.kinds());
    let configuration = Arc::new(configuration::SchedulerConfiguration::new(dialects.to_vec()));
    Catalog::new(core::kinds().into_iter().chain(kinds).chain([configuration as _]))
}

/// A document as a simulation reads it, which tells its problems by file and document.
pub fn input(document: Document) -> Input {
    Input {
        at: format!("{}: document {}", document.file, document.number),
        value: document.object,
    }
}

/// The configurations of `--config`, each for its dialect.
pub fn configurations(
    files: &[PathBuf],
    dialects: &[Arc<dyn Dialect>],
    problems: &mut Vec<String>,
) -> Vec<(Arc<dyn Dialect>, Value)> {
    let mut list: Vec<(Arc<dyn Dialect>, Value)> = Vec::new();
    for file in files {
        let name = file.display();
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) => {
                problems.push(format!("{name}: {error}"));
                continue;
            }
        };
        let read: Result<Value, _> = serde_saphyr::from_str(&text);
        match read.map(|value| config::from_file(dialects, &value)) {
            Err(error) => problems.push(format!("{name}: {error}")),
            Ok(Err(errors)) => problems.extend(errors.iter().map(|error| format!("{name}: {error}"))),
            Ok(Ok((dialect, _))) if list.iter().any(|(other, _)| other.name() == dialect.name()) => {
                problems.push(format!("{name}: there is another --config of {}", dialect.name()));
            }
            Ok(Ok(found)) => list.push(found),
        }
    }
    list
}
