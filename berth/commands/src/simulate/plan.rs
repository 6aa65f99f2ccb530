//! `--change`, `--drain`, `--delete` and `--against`: the differences that a change would make.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use berth_apimachinery::Key;
use berth_dialect_contract::Dialect;
use berth_engine::simulate::{NoPlan, SimulationParameters};
use berth_engine::{Plan, Simulation};

use super::demand_filter::DemandFilter;
use super::{DIFFERENT, DONE, LoadOptions, LoadedInput, MALFORMED, SET_ASIDE, load};
use crate::args::SimulateArgs;
use crate::catalog::catalog;
use crate::plan::{changes, print};

/// Computes the plan of the demands that `filter` accepts, and prints it.
pub(super) fn run(
    args: &SimulateArgs,
    input: LoadedInput,
    parameters: &SimulationParameters,
    filter: &DemandFilter<'_>,
) -> ExitCode {
    let mut is_complete = input.is_complete;
    match plan(args, input.simulation, parameters, filter, &mut is_complete) {
        Ok(plan) => print_plan(args, &plan, is_complete),
        Err(problems) => {
            for problem in problems {
                crate::say_error!("error: {problem}");
            }
            ExitCode::from(MALFORMED)
        }
    }
}

/// Computes the plan, or the differences from the objects of `--against`. Sets `is_complete` to false if
/// documents were set aside.
fn plan(
    args: &SimulateArgs,
    mut simulation: Simulation,
    parameters: &SimulationParameters,
    filter: &DemandFilter<'_>,
    is_complete: &mut bool,
) -> Result<Plan, Vec<String>> {
    let choose = |dialect: &dyn Dialect, demand: &Key| filter.accepts(dialect, demand);
    if !args.against.is_empty() {
        let options = LoadOptions {
            config: &args.config,
            rules: args.rules,
            now: parameters.now,
        };
        let mut other = load(&args.against, &options, args.strict, Vec::new())?;
        other.print_incomplete();
        *is_complete &= other.is_complete;
        return simulation
            .compare(&mut other.simulation, parameters, choose)
            .map_err(|fault| vec![fault.to_string()]);
    }
    let catalog = catalog(&berth_dialect_registry::all());
    let changes = changes::read(&args.change, &catalog, None);
    for note in &changes.notes {
        crate::say_error!("note: {note}");
    }
    if args.strict && !(changes.aside.is_empty() && changes.doubtful.is_empty()) {
        return Err([changes.aside, changes.problems, changes.doubtful].concat());
    }
    for note in &changes.doubtful {
        crate::say_error!("note: {note}");
    }
    for aside in &changes.aside {
        crate::say_error!("error: {aside}");
    }
    if !changes.problems.is_empty() {
        return Err(changes.problems);
    }
    *is_complete &= changes.aside.is_empty();
    let steps = changes.steps()?;
    simulation
        .plan(&catalog, &steps, parameters, choose)
        .map_err(|no_plan| match no_plan {
            NoPlan::Problems(problems) => {
                let problems = problems.iter().map(ToString::to_string);
                problems.map(|problem| changes::sentence(&problem)).collect()
            }
            NoPlan::Fault(fault) => vec![fault.to_string()],
        })
}

fn print_plan(args: &SimulateArgs, plan: &Plan, is_complete: bool) -> ExitCode {
    let mut out = BufWriter::with_capacity(1 << 16, anstream::AutoStream::auto(io::stdout().lock()));
    let value = serde_json::to_value(plan).map_err(io::Error::from);
    let result = value.and_then(|value| print::print(&mut out, &value, args.output));
    let result = result.and_then(|()| out.flush());
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::from(DONE),
        Err(error) => {
            crate::say_error!("error: {error}");
            ExitCode::FAILURE
        }
        Ok(()) if !is_complete => ExitCode::from(SET_ASIDE),
        Ok(()) if args.exit_code && plan.counts.changed() > 0 => ExitCode::from(DIFFERENT),
        Ok(()) => ExitCode::from(DONE),
    }
}
