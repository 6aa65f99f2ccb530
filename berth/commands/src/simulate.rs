//! `berth simulate`: decides every object to schedule in files or on a hub, in this process and for the
//! clusters in the same files or on the same hub (docs/concepts.md, "Simulating"). With changes, it prints a
//! plan.

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
use berth_engine::simulate::{
    DefaultConfiguration, DemandOutcome, Fault, Findings, Input, InvalidDemand, SimulationParameters,
};
use berth_engine::{Catalog, Simulation};
use serde_json::Value;

use crate::args::{ConnectionArgs, Reasons, SimulateArgs, SimulateOutput};
use crate::catalog::catalog;
use crate::manifest::{self, Document};
use crate::reading::{ReadResult, Scope};
use crate::terminal;
use demand_filter::DemandFilter;
use output::ListWriter;
use table::Tables;

/// Exit code if everything was decided.
pub const DONE: u8 = 0;
/// Exit code of a simulation with `--exit-code`, if an object has no place or less than it requested.
pub const UNPLACED: u8 = 1;
/// Exit code of a plan or a comparison with `--exit-code`, if a decision differs.
pub const DIFFERENT: u8 = 1;
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
    /// The computation of advice failed.
    #[error(transparent)]
    NoAdvice(#[from] NoAdvice),
}

/// Decides the objects in the files of `args`, or on the hub if there are no files, and prints the result.
///
/// # Errors
/// When there is no kubeconfig, or the hub does not answer, has none of the systems or lets nothing be read.
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
    reading.print_summary(&client).await?;
    reading.check_not_refused()?;
    Ok(run(args, namespace, reading.inputs()))
}

/// Decides the objects in the files of `args` and in `inputs`, and prints the result. With a `namespace`,
/// only its objects and cluster-scoped objects are decided; with `--for`, only one object. The other objects
/// only affect the decisions. Findings about the input go to standard error, and the exit code depends on
/// them too.
#[must_use]
pub fn run(
    args: &SimulateArgs,
    namespace: Option<&str>,
    inputs: impl IntoIterator<Item = Input>,
) -> ExitCode {
    let parameters = SimulationParameters {
        now: args.at.unwrap_or_else(|| SystemClock.now()),
        seed: args.seed,
        independent: args.independent,
    };
    if args.output == SimulateOutput::Markdown && args.change.is_empty() && args.against.is_empty() {
        crate::say_error!("error: -o markdown is for plans: with --change, --drain, --delete or --against");
        return ExitCode::from(MALFORMED);
    }
    let options = LoadOptions {
        config: &args.config,
        rules: args.rules,
        now: parameters.now,
    };
    let loaded = load(&args.filename, &options, args.strict, inputs).and_then(|input| {
        let filter = demand_filter_of(args, namespace, &input.simulation)?;
        Ok((input, filter))
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
    input.print_incomplete();
    if !args.change.is_empty() || !args.against.is_empty() {
        return plan::run(args, input, &parameters, &filter);
    }
    let LoadedInput {
        mut simulation,
        is_complete,
        heartbeat,
    } = input;
    let mut tally = Tally::default();
    let result = print(&mut simulation, args, &parameters, &filter, &mut tally);
    if args.at.is_none() && tally.stale {
        print_stale(heartbeat);
    }
    match result {
        Err(Stop::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::from(DONE),
        Err(stop) => {
            crate::say_error!("error: {stop}");
            ExitCode::FAILURE
        }
        Ok(()) if !is_complete => ExitCode::from(SET_ASIDE),
        Ok(()) if tally.unplaced && args.exit_code => ExitCode::from(UNPLACED),
        Ok(()) => ExitCode::from(DONE),
    }
}

/// Returns the filter of the demands to decide: the demand of `--for`, or the demands of `namespace`.
fn demand_filter_of<'a>(
    args: &SimulateArgs,
    namespace: Option<&'a str>,
    simulation: &Simulation,
) -> Result<DemandFilter<'a>, Vec<String>> {
    let Some(text) = &args.r#for else {
        return Ok(DemandFilter::Within(namespace));
    };
    let demand = demand_filter::find(simulation, text, namespace).map_err(|problem| vec![problem])?;
    Ok(DemandFilter::One(demand))
}

/// Facts about all decisions together, for the exit code and the warnings.
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

/// Reason with which filters refuse a cluster whose heartbeat is too old.
const HEARTBEAT: &str = "HeartbeatStale";

/// Prints a note that the heartbeats are too old, and the time at which the `newest` was sent.
fn print_stale(newest: Option<Timestamp>) {
    let at = match newest {
        Some(newest) => format!(
            ", such as --at {}, the time of the newest heartbeat",
            berth_apimachinery::time::rfc3339(newest)
        ),
        None => String::new(),
    };
    crate::say_error!(
        "note: the clusters' heartbeats are too old now. If this is an earlier export, --at decides for another instant{at}"
    );
}

fn print(
    simulation: &mut Simulation,
    args: &SimulateArgs,
    parameters: &SimulationParameters,
    filter: &DemandFilter<'_>,
    tally: &mut Tally,
) -> Result<(), Stop> {
    let choose = |dialect: &dyn Dialect, demand: &berth_apimachinery::Key| filter.accepts(dialect, demand);
    let catalog = catalog(&berth_dialect_registry::all());
    let advice_of = |outcome: &DemandOutcome<'_>| -> Result<Option<Value>, Stop> {
        match args.advice {
            true => find_advice(outcome, &catalog, parameters).map(Some),
            false => Ok(None),
        }
    };
    let mut out = BufWriter::with_capacity(1 << 16, anstream::AutoStream::auto(io::stdout().lock()));
    match args.output {
        SimulateOutput::Table => {
            let mut tables = Tables::default();
            simulation.run(parameters, choose, |outcome| -> Result<(), Stop> {
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
            let mut list = ListWriter::new(args.output, reasons(args, simulation));
            simulation.run(parameters, choose, |outcome| -> Result<(), Stop> {
                tally.add(outcome);
                let advice = advice_of(outcome)?;
                Ok(list.write(&mut out, outcome, advice)?)
            })?;
            for aside in aside(simulation, &choose) {
                tally.unplaced = true;
                list.write_aside(&mut out, aside, parameters.now)?;
            }
            list.end(&mut out)?;
        }
    }
    Ok(out.flush()?)
}

/// Returns the objects that were set aside and that `choose` accepts.
fn aside<'a>(
    simulation: &'a Simulation,
    choose: &impl Fn(&dyn Dialect, &berth_apimachinery::Key) -> bool,
) -> impl Iterator<Item = &'a InvalidDemand> {
    let all = simulation.invalid_demands().iter();
    all.filter(|aside| choose(&*aside.dialect, &aside.demand))
}

/// Highest number of pairs of a request and a cluster that are listed with every reason, unless all reasons
/// are requested.
const PAIRS_LIMIT: usize = 10_000;

/// Returns the detail about clusters that are not picked.
fn reasons(args: &SimulateArgs, simulation: &Simulation) -> Reasons {
    args.reasons.unwrap_or_else(|| match simulation.pair_count() {
        // With one request, the number of pairs is only the number of clusters.
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

/// Computes advice: the changes after which targets would fit.
fn find_advice(
    outcome: &DemandOutcome<'_>,
    catalog: &Catalog,
    parameters: &SimulationParameters,
) -> Result<Value, Stop> {
    let terms = berth_engine::advice::Terms {
        now: parameters.now,
        seed: parameters.seed,
        limit: berth_engine::advice::TARGETS,
        only: None,
        can_bind: true,
    };
    let advice = berth_engine::advice::advise(outcome.world, catalog, &outcome.decision.demand, &terms)?;
    Ok(serde_json::to_value(advice.short()).expect("texts and numbers are JSON"))
}

/// Simulation with the objects and configurations that were read.
pub(crate) struct LoadedInput {
    pub(crate) simulation: Simulation,
    /// Whether the input has no problems. A document with a problem is set aside, or used as it is.
    pub(crate) is_complete: bool,
    /// Time of the newest heartbeat of a cluster.
    heartbeat: Option<Timestamp>,
}

/// Options of [`load`]: configuration, rules and instant of the decisions.
#[derive(Clone, Copy)]
pub(crate) struct LoadOptions<'a> {
    /// Files with configurations.
    pub(crate) config: &'a [PathBuf],
    /// The rules; `None` means the rules of the configurations.
    pub(crate) rules: Option<RulesChoice>,
    /// The instant of the decisions.
    pub(crate) now: Timestamp,
}

impl LoadedInput {
    /// Prints a note if the input has problems: with `--strict`, no object would be decided.
    fn print_incomplete(&self) {
        if !self.is_complete {
            crate::say_error!(
                "note: documents that cannot be used are ignored, and the rest is decided; with --strict, nothing is decided"
            );
        }
    }
}

/// Reads `files`, adds `inputs` from a hub, and prints findings on standard error.
///
/// # Errors
/// The problems of the configurations; all problems of the files, if one cannot be read at all; the problem
/// of the rules in `options`; with `strict`, all findings of [`print_findings`].
pub(crate) fn load(
    files: &[PathBuf],
    options: &LoadOptions<'_>,
    strict: bool,
    inputs: impl IntoIterator<Item = Input>,
) -> Result<LoadedInput, Vec<String>> {
    let dialects = berth_dialect_registry::all();
    let configurations = configurations(options.config, &dialects)?;
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
    let mut simulation = Simulation::load(
        &dialects,
        &catalog(&dialects),
        configurations,
        inputs,
        options.now,
    );
    if is_of_hub {
        simulation.set_on_hub();
    }
    if let Some(rules) = options.rules {
        simulation
            .choose_rules(rules)
            .map_err(|problem| vec![problem.to_string()])?;
    }
    for (system, in_force) in simulation.rules_in_force() {
        if in_force.rules == Rules::Current {
            crate::say_error!(
                "note: {system} decides by the rules of today (Current): {}",
                in_force.because
            );
        }
    }
    let is_complete = print_findings(&problems, simulation.findings(), strict)?;
    Ok(LoadedInput {
        simulation,
        is_complete,
        heartbeat,
    })
}

/// Prints the findings about the input on standard error. Returns whether the input has no problems.
///
/// # Errors
/// With `strict`: problems, unknown and duplicate fields, and objects of kinds that no scheduler reads
/// although they resemble a kind of a system. In this case, the error contains all of them, and nothing is
/// printed.
pub fn print_findings(
    unread: &[manifest::Problem],
    findings: &Findings,
    strict: bool,
) -> Result<bool, Vec<String>> {
    let unread_texts = |is_note: bool| {
        let unread = unread.iter().filter(move |problem| problem.is_note == is_note);
        unread.map(ToString::to_string)
    };
    let problems = unread_texts(false).chain(findings.problems.iter().map(ToString::to_string));
    let surplus = findings.surplus.values().map(ToString::to_string);
    let unread_kinds = |resembles_known: bool| {
        let kinds = findings.unread.iter();
        let kinds = kinds
            .filter(move |(_, unread)| (unread.in_known_group || unread.hint.is_some()) == resembles_known);
        kinds.map(|(kind, unread)| {
            let hint = unread.hint.as_deref().or(unread.counterpart);
            let hint = hint.map(|hint| format!("; {hint}"));
            let count = unread.count;
            format!(
                "no scheduler reads {kind}: {count} ignored{}",
                hint.unwrap_or_default()
            )
        })
    };
    if strict && (unread.iter().any(|problem| !problem.is_note) || findings.fail_strict()) {
        return Err(problems.chain(surplus).chain(unread_kinds(true)).collect());
    }
    let mut count = 0;
    for problem in problems {
        crate::say_error!("error: {}", terminal::shown(&problem));
        count += 1;
    }
    for surplus in surplus {
        crate::say_error!("warning: {}", terminal::shown(&surplus));
    }
    for warning in &findings.warnings {
        crate::say_error!("warning: {warning}");
    }
    for note in unread_texts(true)
        .chain(unread_kinds(true))
        .chain(unread_kinds(false))
        .chain(findings.unused.iter().cloned())
    {
        crate::say_error!("note: {}", terminal::shown(&note));
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

/// Reads the configurations in the `files` of `--config`, at most one for each dialect.
///
/// # Errors
/// All problems of all files.
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
                problems.push(format!(
                    "{name}: there is already another --config of {dialect}: pass only one"
                ));
            }
            Ok(configuration) => list.push(configuration),
        }
    }
    match problems.is_empty() {
        true => Ok(list),
        false => Err(problems),
    }
}

/// Reads the configuration in one file of `--config`.
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
