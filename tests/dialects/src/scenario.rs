//! The runner of scenario folders, which have objects in files and the expected reports beside them.
//!
//! A folder is named after the rule that it shows, and contains `inventory.yaml` (clusters and other stored
//! objects), `request.yaml` (the requests for places), optionally `config.yaml` (the system's own
//! configuration file, or a SchedulerConfiguration) and `expected.yaml`:
//!
//! ```yaml
//! at: 2021-10-28T09:00:00Z   # the instant to decide for; this one where it is left out
//! seed: 7                    # of random strategies; each demand's own where it is left out
//! independent: false         # whether writes of one decision stay unseen by the next
//! items:                     # the Schedulings, in output order, each matched as a subset
//! - metadata: {namespace: default, name: p1.ocm}
//!   status: {outcome: Scheduled, picked: [{clusterName: c1}]}
//! errors: []                 # or: what each problem of the input says, in their order
//! plan: {counts: {lost: 1}}  # with a change.yaml: what its changes (as in `spec.changes` of a SchedulingReview) do,
//!                            # instead of items
//! advice:                    # changes that let targets fit, by demand in output order, each matched as a
//! - targets: []              # subset; instead of items. adviceLimit: 2 leaves the other targets out
//! ```
//!
//! With `SCENARIO=<folder>` in the environment, only that scenario runs, and its reports are printed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use berth_apimachinery::Timestamp;
use berth_dialect_contract::{Dialect, names};
use berth_engine::plan::Step;
use berth_engine::simulate::{DefaultConfiguration, Fault, Input, NoPlan, SimulationParameters};
use berth_engine::{Catalog, Simulation};
use serde_json::{Value, json};

use crate::foreign;
use crate::matching::differences;

/// The instant of decisions of scenarios that set none: the seeds' examples are of that time.
const DEFAULT_NOW: &str = "2021-10-28T09:00:00Z";

/// Runs every scenario in `folder` for `dialect`.
///
/// # Panics
/// With every difference of every scenario, or when the folder has none.
pub fn scenarios(dialect: Arc<dyn Dialect>, folder: &str) {
    let only = std::env::var("SCENARIO").ok();
    let all = folders(Path::new(folder));
    let chosen: Vec<&PathBuf> = all
        .iter()
        .filter(|path| only.as_deref().is_none_or(|only| path.ends_with(only)))
        .collect();
    assert!(!chosen.is_empty(), "no scenario in {folder}");
    let mut failures = Vec::new();
    for path in chosen {
        let scenario = Scenario::read(path);
        let outcome = scenario.run(&dialect);
        if only.is_some() {
            println!("{}", outcome_text(&outcome));
        }
        let problems = scenario.judge(&outcome);
        if !problems.is_empty() {
            failures.push(format!("{}:\n  {}", path.display(), problems.join("\n  ")));
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} scenarios fail:\n{}",
        failures.len(),
        all.len(),
        failures.join("\n")
    );
}

fn folders(root: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root).unwrap_or_else(|error| panic!("{}: {error}", root.display()));
    let mut list: Vec<PathBuf> = entries
        .map(|entry| {
            entry
                .unwrap_or_else(|error| panic!("{}: {error}", root.display()))
                .path()
        })
        .filter(|path| path.is_dir())
        .collect();
    list.sort();
    list
}

fn outcome_text(outcome: &Result<Answer, Vec<String>>) -> String {
    match outcome {
        Ok(Answer::Plan(plan)) => serde_saphyr::to_string(plan).unwrap_or_else(|error| error.to_string()),
        Ok(Answer::Advice(items) | Answer::Items(items)) => {
            serde_saphyr::to_string(items).unwrap_or_else(|error| error.to_string())
        }
        Err(problems) => problems.join("\n"),
    }
}

/// One scenario folder.
struct Scenario {
    inputs: Vec<Input>,
    config: Option<Value>,
    /// Changes, where the scenario is a plan.
    changes: Option<Vec<Value>>,
    expected: Value,
}

/// Result of a scenario.
enum Answer {
    /// Advice about each demand.
    Advice(Vec<Value>),
    /// The Schedulings.
    Items(Vec<Value>),
    /// The plan.
    Plan(Value),
}

impl Scenario {
    fn read(folder: &Path) -> Self {
        let mut inputs = Vec::new();
        for name in ["inventory.yaml", "request.yaml"] {
            for (number, value) in (1..).zip(documents(&folder.join(name))) {
                let at = format!("{name}: document {number}");
                inputs.push(Input {
                    at,
                    value,
                    duplicates: Vec::new(),
                });
            }
        }
        let one = |name: &str| documents(&folder.join(name)).into_iter().next();
        let expected = one("expected.yaml");
        Self {
            inputs,
            config: one("config.yaml"),
            changes: one("change.yaml").map(|list| list.as_array().cloned().unwrap_or_default()),
            expected: expected.unwrap_or_else(|| panic!("{}: expected.yaml is missing", folder.display())),
        }
    }

    /// The Schedulings or the plan, or the problems of the input.
    fn run(&self, dialect: &Arc<dyn Dialect>) -> Result<Answer, Vec<String>> {
        let parameters = self.parameters();
        let catalog = Catalog::new(dialect.stored_kinds().into_iter().chain(foreign::kinds()));
        let dialects = [Arc::clone(dialect)];
        let mut configurations = Vec::new();
        if let Some(file) = &self.config {
            let found = DefaultConfiguration::from_file(&dialects, file);
            let found = found.map_err(|errors| -> Vec<String> {
                let errors = errors.iter();
                errors.map(|error| format!("config.yaml: {error}")).collect()
            });
            configurations.push(found?);
        }
        let loaded = Simulation::load(
            &dialects,
            &catalog,
            configurations,
            self.inputs.clone(),
            parameters.now,
        );
        let problems = &loaded.findings().problems;
        if !problems.is_empty() {
            return Err(problems.iter().map(ToString::to_string).collect());
        }
        let mut simulation = loaded;
        if let Some(changes) = &self.changes {
            return plan(&mut simulation, &catalog, changes, &parameters);
        }
        if self.expected["advice"].is_array() {
            let limit = self.expected["adviceLimit"].as_u64().unwrap_or(u64::MAX);
            return advice(
                &simulation,
                &catalog,
                &parameters,
                usize::try_from(limit).unwrap_or(usize::MAX),
            );
        }
        let mut items = Vec::new();
        let result = simulation.run::<Fault>(
            &parameters,
            |_, _| true,
            |decided| {
                let (namespace, name) = names::place(&*decided.snapshot.dialect, &decided.decision.demand);
                let report = serde_json::to_value(decided.snapshot.report(decided.decision));
                items.push(json!({
                    "metadata": {"namespace": namespace, "name": name},
                    "status": report.unwrap_or_else(|error| error.to_string().into()),
                }));
                Ok(())
            },
        );
        result.map_err(|fault| vec![fault.to_string()])?;
        Ok(Answer::Items(items))
    }

    fn parameters(&self) -> SimulationParameters {
        let at = self.expected["at"].as_str().unwrap_or(DEFAULT_NOW);
        let now: Timestamp = at
            .parse()
            .unwrap_or_else(|error| panic!("expected.yaml: at: {at:?}: {error}"));
        SimulationParameters {
            now,
            seed: self.expected["seed"].as_u64(),
            independent: self.expected["independent"].as_bool().unwrap_or_default(),
        }
    }

    /// Differences from the expectation.
    fn judge(&self, outcome: &Result<Answer, Vec<String>>) -> Vec<String> {
        let errors = self.expected["errors"].as_array().filter(|list| !list.is_empty());
        match (outcome, errors) {
            (Ok(Answer::Plan(plan)), None) => {
                let expected = &self.expected["plan"];
                if !expected.is_object() {
                    return vec!["expected.yaml: plan: an object is required".to_owned()];
                }
                differences(&json!({ "plan": expected }), &json!({ "plan": plan }))
            }
            (Ok(Answer::Advice(found)), None) => {
                let expected = &self.expected["advice"];
                differences(&json!({ "advice": expected }), &json!({ "advice": found }))
            }
            (Ok(Answer::Items(items)), None) => {
                let expected = &self.expected["items"];
                if !expected.is_array() {
                    return vec!["expected.yaml: items: a list is required".to_owned()];
                }
                differences(&json!({ "items": expected }), &json!({ "items": items }))
            }
            (Ok(_), Some(_)) => vec!["expected the input to be refused".to_owned()],
            (Err(problems), None) => problems.clone(),
            (Err(problems), Some(expected)) => refused(expected, problems),
        }
    }
}

/// The plan of `changes`.
fn plan(
    simulation: &mut Simulation,
    catalog: &Catalog,
    changes: &[Value],
    parameters: &SimulationParameters,
) -> Result<Answer, Vec<String>> {
    let steps = Step::read_all(changes, "change.yaml", "changes");
    let steps = steps.map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    let plan = simulation
        .plan(catalog, &steps, parameters, |_, _| true)
        .map_err(|no_plan| match no_plan {
            NoPlan::Problems(problems) => problems.iter().map(ToString::to_string).collect(),
            NoPlan::Fault(fault) => vec![fault.to_string()],
        })?;
    serde_json::to_value(&plan)
        .map(Answer::Plan)
        .map_err(|error| vec![error.to_string()])
}

/// Changes that would let targets fit each demand.
fn advice(
    simulation: &Simulation,
    catalog: &Catalog,
    parameters: &SimulationParameters,
    limit: usize,
) -> Result<Answer, Vec<String>> {
    let mut found = Vec::new();
    for (dialect, demand) in simulation.demands() {
        let options = berth_engine::advice::Terms {
            now: parameters.now,
            seed: parameters.seed,
            limit,
            only: None,
            can_bind: true,
        };
        let Some(world) = simulation.world(dialect.name()) else {
            continue;
        };
        let advice = berth_engine::advice::advise(world, catalog, &demand, &options);
        let advice = advice.map_err(|problem| vec![problem.to_string()])?;
        let status = serde_json::to_value(advice.status(world.snapshot()));
        found.push(status.map_err(|error| vec![error.to_string()])?);
    }
    Ok(Answer::Advice(found))
}

/// Differences between the problems and the expected ones.
fn refused(expected: &[Value], problems: &[String]) -> Vec<String> {
    if expected.len() != problems.len() {
        let (wanted, found) = (expected.len(), problems.join("\n    "));
        return vec![format!(
            "errors: expected {wanted}, found {}:\n    {found}",
            problems.len()
        )];
    }
    let pairs = expected.iter().zip(problems);
    pairs
        .filter(|(expected, problem)| !problem.contains(expected.as_str().unwrap_or("a text is required")))
        .map(|(expected, problem)| format!("errors: expected {expected}, found {problem:?}"))
        .collect()
}

/// The documents of a file; empty where there is no such file.
fn documents(path: &Path) -> Vec<Value> {
    match std::fs::read_to_string(path) {
        Ok(text) => {
            let documents = berth_yaml::documents(&text).into_iter();
            documents
                .map(|found| {
                    found
                        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
                        .value
                })
                .collect()
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => panic!("{}: {error}", path.display()),
    }
}
