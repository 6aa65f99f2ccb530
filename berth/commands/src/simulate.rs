//! `berth simulate`: decides every placeable object in files or on a hub in this process, with the clusters
//! there (docs/concepts.md, "Simulating"). It is the "plan" step for a placement change.

pub mod advice;
pub(crate) mod demand_filter;
mod heartbeat;
mod output;
mod plan;
mod table;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use berth_apimachinery::{Clock, Timestamp};
use berth_apiserver::SystemClock;
use berth_dialect_contract::rules::{Rules, RulesChoice};
use berth_dialect_contract::{Dialect, Outcome};
use berth_engine::advice::NoAdvice;
use berth_engine::simulate::{Aside, DefaultConfiguration, DemandOutcome, Fault, Findings, Input, Terms};
use berth_engine::{Catalog, Simulation};
use serde_json::Value;

use crate::args::{ConnectionArgs, Reasons, SimulateArgs, SimulateOutput};
use crate::catalog::catalog;
use crate::manifest::{self, Document};
use crate::reading::{ReadResult, Scope};
use crate::terminal;
use demand_filter::DemandFilter;
use output::List;
use table::Tables;

/// Exit code if everything was decided.
pub const DONE: u8 = 0;
/// Exit code with `--exit-code`, if an object has no place or less than it requested, or if a decision
/// differs.
pub const UNPLACED: u8 = 1;
/// Exit code if the question or the configuration is malformed; with `--strict`, also if the input is
/// malformed.
pub const MALFORMED: u8 = 2;
/// Exit code if a part of the input was set aside, and the rest was decided.
pub const SET_ASIDE: u8 = 3;

/// Reason why a simulation ended early.
#[derive(Debug, thiserror::Error)]
enum Stop {
    /// The output failed, or is closed.
    #[error(transparent)]
    Output(#[from] io::Error),
    /// A dialect is at fault.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// A dialect is at fault in the computation of advice, or cannot advise.
    #[error(transparent)]
    NoAdvice(#[from] NoAdvice),
}

/// Reads the hub if no files are given, decides and prints.
///
/// # Errors
/// When there is no kubeconfig, or the hub does not answer or has none of the systems.
pub async fn run_on(args: &SimulateArgs, connection: &ConnectionArgs) -> anyhow::Result<ExitCode> {
    let namespace = connection.namespace.as_deref();
    if !args.filename.is_empty() {
        return Ok(run(args, namespace, []));
    }
    let client = connection.client().await?;
    let scope = Scope {
        systems: None,
        namespace: connection.namespace.clone(),
    };
    let reading = ReadResult::of(&client, &scope).await?;
    reading.tell(&client).await?;
    Ok(run(args, namespace, reading.inputs()))
}

/// Decides the objects in the files of `args` and in `inputs`, and prints the result. With a `namespace`,
/// only its objects and cluster-scoped objects are decided; with `--for`, only one object. Other objects are
/// input only. Findings about the input go to standard error, and the exit code depends on them too.
#[must_use]
pub fn run(
    args: &SimulateArgs,
    namespace: Option<&str>,
    inputs: impl IntoIterator<Item = Input>,
) -> ExitCode {
    let terms = Terms {
        now: args.at.unwrap_or_else(|| SystemClock.now()),
        seed: args.seed,
        independent: args.independent,
    };
    if args.output == SimulateOutput::Markdown && args.change.is_empty() && args.against.is_empty() {
        crate::say_error!("error: -o markdown is for plans: with --change, --drain, --delete or --against");
        return ExitCode::from(MALFORMED);
    }
    let by = By {
        config: &args.config,
        rules: args.rules,
        now: terms.now,
    };
    let loaded = load(&args.filename, &by, args.strict, inputs).and_then(|input| {
        let only = args.r#for.as_deref();
        let one = only.map(|only| demand_filter::find(&input.simulation, only, namespace));
        let one = one.transpose().map_err(|problem| vec![problem])?;
        Ok((
            input,
            one.map_or(DemandFilter::Within(namespace), DemandFilter::One),
        ))
    });
    let (input, filter) = match loaded {
        Ok(loaded) => loaded,
        Err(problems) => {
            for problem in problems {
                crate::say_error!("error: {problem}");
            }
            return ExitCode::from(MALFORMED);
        }
    };
    input.tell_rest();
    if !args.change.is_empty() || !args.against.is_empty() {
        return plan::run(args, input, &terms, &filter);
    }
    let LoadedInput {
        mut simulation,
        whole,
        heartbeat,
    } = input;
    let mut tally = Tally::default();
    let result = print(&mut simulation, args, &terms, &filter, &mut tally);
    if args.at.is_none() && tally.stale {
        tell_stale(heartbeat);
    }
    match result {
        Err(Stop::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::from(DONE),
        Err(stop) => {
            crate::say_error!("error: {stop}");
            ExitCode::FAILURE
        }
        Ok(()) if !whole => ExitCode::from(SET_ASIDE),
        Ok(()) if tally.unplaced && args.exit_code => ExitCode::from(UNPLACED),
        Ok(()) => ExitCode::from(DONE),
    }
}

/// Outcome of all decisions together: the facts for the exit code and the warnings.
#[derive(Default)]
struct Tally {
    /// Whether an object found no place, or less than it requested.
    unplaced: bool,
    /// Whether an object found no cluster, and the heartbeats of most clusters were too old.
    stale: bool,
}

impl Tally {
    fn add(&mut self, outcome: &DemandOutcome<'_>) {
        let decision = outcome.decision;
        self.unplaced |= matches!(
            decision.outcome,
            Outcome::Partial | Outcome::Unschedulable | Outcome::Invalid
        );
        let inventory = &*outcome.snapshot.inventory;
        let stale = |candidate: u32| {
            let mut refusals = decision.solved.rejections_of(candidate).iter();
            refusals.any(|refusal| inventory.token(refusal.plugin, refusal.reason) == HEARTBEAT)
        };
        if decision.solved.ranked.is_empty() && !decision.solved.rejections.is_empty() {
            let count = inventory.count() as usize;
            let old = (0..inventory.count())
                .filter(|candidate| stale(*candidate))
                .count();
            self.stale |= old * 2 > count;
        }
    }
}

/// The token of refusals of a cluster for a stale heartbeat.
const HEARTBEAT: &str = "HeartbeatStale";

fn tell_stale(newest: Option<Timestamp>) {
    let at = match newest {
        Some(newest) => format!(
            ", such as --at {}, when the last of them was",
            berth_apimachinery::time::rfc3339(newest)
        ),
        None => String::new(),
    };
    crate::say_error!(
        "note: the clusters' heartbeats are too old now. Is this an earlier export? --at decides for another instant{at}"
    );
}

fn print(
    simulation: &mut Simulation,
    args: &SimulateArgs,
    terms: &Terms,
    filter: &DemandFilter<'_>,
    tally: &mut Tally,
) -> Result<(), Stop> {
    let choose = |dialect: &dyn Dialect, demand: &berth_apimachinery::Key| filter.accepts(dialect, demand);
    let catalog = catalog(&berth_dialect_registry::all());
    let advice_of = |outcome: &DemandOutcome<'_>| -> Result<Option<Value>, Stop> {
        match args.advice {
            true => find_advice(outcome, &catalog, terms).map(Some),
            false => Ok(None),
        }
    };
    let mut out = BufWriter::with_capacity(1 << 16, anstream::AutoStream::auto(io::stdout().lock()));
    match args.output {
        SimulateOutput::Table => {
            let mut tables = Tables::default();
            simulation.run(terms, choose, |outcome| -> Result<(), Stop> {
                tally.add(outcome);
                tables.write(&mut out, outcome)?;
                if let Some(advice) = advice_of(outcome)? {
                    advice::edits(&mut out, &advice, true, terminal::width())?;
                }
                Ok(())
            })?;
            for aside in aside(simulation, &choose) {
                tally.unplaced = true;
                tables.write_aside(&mut out, aside)?;
            }
            tables.end(&mut out)?;
        }
        SimulateOutput::Json | SimulateOutput::Yaml | SimulateOutput::Markdown => {
            let mut list = List::new(args.output, reasons(args, simulation));
            simulation.run(terms, choose, |outcome| -> Result<(), Stop> {
                tally.add(outcome);
                let advice = advice_of(outcome)?;
                Ok(list.write(&mut out, outcome, advice)?)
            })?;
            for aside in aside(simulation, &choose) {
                tally.unplaced = true;
                list.write_aside(&mut out, aside, terms.now)?;
            }
            list.end(&mut out)?;
        }
    }
    Ok(out.flush()?)
}

/// The objects that were set aside and that `choose` accepts.
fn aside<'a>(
    simulation: &'a Simulation,
    choose: &impl Fn(&dyn Dialect, &berth_apimachinery::Key) -> bool,
) -> impl Iterator<Item = &'a Aside> {
    let all = simulation.aside().iter();
    all.filter(|aside| choose(&*aside.dialect, &aside.demand))
}

/// Highest number of pairs of a request and a cluster that are listed with every reason, unless all reasons
/// are requested.
const PAIRS_LIMIT: usize = 10_000;

/// Detail about clusters that are not picked.
fn reasons(args: &SimulateArgs, simulation: &Simulation) -> Reasons {
    args.reasons.unwrap_or_else(|| match simulation.pairs() {
        // One request has one fleet.
        _ if args.r#for.is_some() => Reasons::All,
        ..=PAIRS_LIMIT => Reasons::All,
        pairs => {
            crate::say_error!(
                "note: {pairs} pairs of a request and a cluster: reasons are counted; --reasons=all shows each, --for one request"
            );
            Reasons::Counts
        }
    })
}

/// Computes the advice by which targets would fit.
fn find_advice(outcome: &DemandOutcome<'_>, catalog: &Catalog, terms: &Terms) -> Result<Value, Stop> {
    let terms = berth_engine::advice::Terms {
        now: terms.now,
        seed: terms.seed,
        limit: berth_engine::advice::TARGETS,
        only: None,
    };
    let advice = berth_engine::advice::advise(outcome.world, catalog, &outcome.decision.demand, &terms)?;
    Ok(serde_json::to_value(advice.short()).expect("texts and numbers are JSON"))
}

/// Objects and configurations that were read.
pub(crate) struct LoadedInput {
    pub(crate) simulation: Simulation,
    /// Whether no document was set aside.
    pub(crate) whole: bool,
    /// Time of the newest heartbeat.
    heartbeat: Option<Timestamp>,
}

/// Terms of a decision: configuration, rules and instant.
#[derive(Clone, Copy)]
pub(crate) struct By<'a> {
    /// Files of configuration.
    pub(crate) config: &'a [PathBuf],
    /// The rules, which override configurations.
    pub(crate) rules: Option<RulesChoice>,
    /// The instant.
    pub(crate) now: Timestamp,
}

impl LoadedInput {
    /// Prints a note about `--strict` if not everything could be read: with this flag, no object would be
    /// decided.
    fn tell_rest(&self) {
        if !self.whole {
            crate::say_error!(
                "note: what could not be read is left out, and the rest is decided; with --strict nothing is decided"
            );
        }
    }
}

/// Reads files, adds `inputs` from a hub, and prints findings.
pub(crate) fn load(
    files: &[PathBuf],
    by: &By<'_>,
    strict: bool,
    inputs: impl IntoIterator<Item = Input>,
) -> Result<LoadedInput, Vec<String>> {
    let dialects = berth_dialect_registry::all();
    let configurations = configurations(by.config, &dialects)?;
    let (documents, problems) = manifest::read_all(files);
    // A missing file is an error in the question.
    if problems.iter().any(|problem| problem.number == 0) {
        return Err(problems.iter().map(ToString::to_string).collect());
    }
    let mut hub_inputs = inputs.into_iter().peekable();
    let is_of_hub = hub_inputs.peek().is_some();
    let mut heartbeat = None;
    let inputs = documents.into_iter().map(input).chain(hub_inputs);
    let inputs = inputs.inspect(|input| heartbeat = heartbeat.max(heartbeat::newest(&input.value)));
    let mut simulation = Simulation::load(&dialects, &catalog(&dialects), configurations, inputs, by.now);
    if is_of_hub {
        simulation.set_on_hub();
    }
    if let Some(rules) = by.rules {
        simulation
            .go_by(rules)
            .map_err(|problem| vec![problem.to_string()])?;
    }
    for (system, in_force) in simulation.rules_in_force() {
        if in_force.rules == Rules::Current {
            crate::say_error!(
                "note: {system} decides by the rules of today, Current: {}",
                in_force.because
            );
        }
    }
    let whole = print_findings(&problems, simulation.findings(), strict)?;
    Ok(LoadedInput {
        simulation,
        whole,
        heartbeat,
    })
}

/// Prints findings about files on standard error. Returns whether no document was set aside.
///
/// # Errors
/// With `strict`, everything that the files should not have.
pub fn print_findings(
    unread: &[manifest::Problem],
    findings: &Findings,
    strict: bool,
) -> Result<bool, Vec<String>> {
    let broken = |is_note: bool| {
        let unread = unread.iter().filter(move |problem| problem.is_note == is_note);
        unread.map(ToString::to_string)
    };
    let problems = broken(false).chain(findings.problems.iter().map(ToString::to_string));
    let surplus = findings.surplus.values().map(ToString::to_string);
    let passed_over = |of: bool| {
        let kinds = findings.unread.iter();
        let kinds = kinds.filter(move |(_, unread)| (unread.near || unread.hint.is_some()) == of);
        kinds.map(|(kind, unread)| {
            let hint = unread.hint.as_deref().or(unread.counterpart);
            let hint = hint.map(|hint| format!("; {hint}"));
            let count = unread.count;
            format!(
                "no system schedules by {kind}: {count} left out of account{}",
                hint.unwrap_or_default()
            )
        })
    };
    if strict && (unread.iter().any(|problem| !problem.is_note) || findings.any()) {
        return Err(problems.chain(surplus).chain(passed_over(true)).collect());
    }
    let mut count = 0;
    for problem in problems {
        crate::say_error!("error: {}", terminal::shown(&problem));
        count += 1;
    }
    for surplus in surplus {
        crate::say_error!("warning: {}", terminal::shown(&surplus));
    }
    for doubtful in &findings.doubtful {
        crate::say_error!("warning: {doubtful}");
    }
    for kind in broken(true)
        .chain(passed_over(true))
        .chain(passed_over(false))
        .chain(findings.unused.iter().cloned())
    {
        crate::say_error!("note: {}", terminal::shown(&kind));
    }
    Ok(count == 0)
}

/// Converts a document to an input of a simulation, whose problems name the file and the document.
pub fn input(document: Document) -> Input {
    Input {
        at: format!("{}: document {}", document.file, document.number),
        value: document.object,
        duplicates: document.duplicates,
    }
}

/// The configurations of `--config`, each for its dialect.
///
/// # Errors
/// All problems of all these files.
pub fn configurations(
    files: &[PathBuf],
    dialects: &[Arc<dyn Dialect>],
) -> Result<Vec<DefaultConfiguration>, Vec<String>> {
    let mut problems = Vec::new();
    let mut list: Vec<DefaultConfiguration> = Vec::new();
    for file in files {
        match configuration_file(file, dialects) {
            Err(errors) => problems.extend(errors),
            Ok(configuration)
                if list
                    .iter()
                    .any(|other| other.dialect.name() == configuration.dialect.name()) =>
            {
                let (name, dialect) = (file.display(), configuration.dialect.name());
                problems.push(format!("{name}: there is another --config of {dialect}"));
            }
            Ok(configuration) => list.push(configuration),
        }
    }
    match problems.is_empty() {
        true => Ok(list),
        false => Err(problems),
    }
}

/// The configuration in a file of `--config`, and its system.
fn configuration_file(
    file: &Path,
    dialects: &[Arc<dyn Dialect>],
) -> Result<DefaultConfiguration, Vec<String>> {
    let in_file = |problem: String| vec![format!("{}: {problem}", file.display())];
    let text = manifest::text(file).map_err(in_file)?;
    let value: Value = berth_yaml::from_str(&text).map_err(in_file)?;
    DefaultConfiguration::from_file(dialects, &value).map_err(|errors| {
        let errors = errors.iter();
        errors.flat_map(|error| in_file(error.to_string())).collect()
    })
}
