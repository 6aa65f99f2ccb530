//! Simulation: decisions on every demand of a set of objects without a server, for `berth simulate` and
//! scenarios (docs/concepts.md, "Simulating").

mod findings;
mod invalid_demand;
mod load;

use std::sync::Arc;

use berth_apimachinery::{FieldError, Key, Object, Timestamp};
use berth_dialect_contract::rules::{EffectiveRules, RulesChoice};
use berth_dialect_contract::{Decision, Dialect, config, names};
use serde_json::Value;

pub use findings::{Findings, SurplusField, UnreadKind};
pub use invalid_demand::InvalidDemand;

pub use crate::fault::{Fault, Problem};
use crate::plan::{self, Plan, Step};
use crate::snapshot::Snapshot;
use crate::what_if::{Catalog, UnreadableObject, World};

/// One object of the input, with its position.
#[derive(Clone, Debug)]
pub struct Input {
    /// Position of the object, for problems: a file and a document, in words.
    pub at: String,
    /// The object.
    pub value: Value,
    /// The paths of fields that the object has twice.
    pub duplicates: Vec<String>,
}

/// A configuration of a system that applies where the input has none.
#[derive(Clone)]
pub struct DefaultConfiguration {
    /// The configured dialect.
    pub dialect: Arc<dyn Dialect>,
    /// The dialect's part of a SchedulerConfiguration.
    pub spec: Value,
    /// The choice of rules.
    pub rules: RulesChoice,
}

impl DefaultConfiguration {
    /// Reads a configuration file of a system itself, or a SchedulerConfiguration.
    ///
    /// # Errors
    /// As [`config::from_file`].
    pub fn from_file(dialects: &[Arc<dyn Dialect>], file: &Value) -> Result<Self, Vec<FieldError>> {
        let (dialect, spec) = config::from_file(dialects, file)?;
        let rules = match config::is_scheduler_configuration(file) {
            true => RulesChoice::of(file),
            false => RulesChoice::default(),
        };
        Ok(Self { dialect, spec, rules })
    }
}

/// Parameters of a simulation.
#[derive(Clone, Debug)]
pub struct SimulationParameters {
    /// The instant of the decisions.
    pub now: Timestamp,
    /// The seed of random strategies; without one, each demand has the seed of a live decision on it.
    pub seed: Option<u64>,
    /// Whether each demand is decided on the input alone, without the writes of earlier decisions.
    pub independent: bool,
}

/// A demand with the decision on it.
pub struct DemandOutcome<'a> {
    /// The world of the decision.
    pub world: &'a World,
    /// The snapshot on which the decision was made.
    pub snapshot: &'a Snapshot,
    /// The decision.
    pub decision: &'a Decision,
    /// The demand's object.
    pub object: &'a Object,
    /// The kind of the object.
    pub kind: &'static str,
}

/// The objects of an input, in one world for each dialect.
pub struct Simulation {
    worlds: Vec<World>,
    /// The accepted objects, in the order of the input.
    objects: Vec<(Key, Arc<Object>)>,
    invalid_demands: Vec<InvalidDemand>,
    findings: Findings,
}

impl Simulation {
    /// Reads `inputs` into one world for each of `dialects`. SchedulerConfigurations may be among them,
    /// and take precedence over `configurations`, as on a server. Unusable objects are set aside, and
    /// [`Simulation::findings`] reports them.
    #[must_use]
    pub fn load(
        dialects: &[Arc<dyn Dialect>],
        catalog: &Catalog,
        configurations: Vec<DefaultConfiguration>,
        inputs: impl IntoIterator<Item = Input>,
        now: Timestamp,
    ) -> Self {
        load::load(dialects, catalog, configurations, inputs, now)
    }

    /// Records that the objects are from a hub on which the systems run.
    pub fn set_on_hub(&mut self) {
        self.worlds.iter_mut().for_each(World::set_on_hub);
    }

    /// Makes every system decide by `rules`, whatever its configuration chooses.
    ///
    /// # Errors
    /// When an existing configuration cannot be read.
    pub fn choose_rules(&mut self, rules: RulesChoice) -> Result<(), UnreadableObject> {
        self.worlds
            .iter_mut()
            .try_for_each(|world| world.choose_rules(rules))
    }

    /// The rules in force of each system that has two sets of them.
    pub fn rules_in_force(&self) -> impl Iterator<Item = (&'static str, EffectiveRules)> {
        self.worlds.iter().filter_map(|world| {
            let Snapshot {
                dialect, inventory, ..
            } = world.snapshot();
            Some((dialect.name(), inventory.rules_in_force()?))
        })
    }

    fn world_mut(&mut self, dialect: &str) -> Option<&mut World> {
        let mut worlds = self.worlds.iter_mut();
        worlds.find(|world| world.snapshot().dialect.name() == dialect)
    }

    /// The accepted objects, in their stored form.
    #[must_use]
    pub fn into_objects(self) -> Vec<(Key, Arc<Object>)> {
        self.objects
    }

    /// The demands that no server would accept, and that are not decided, in output order.
    #[must_use]
    pub fn invalid_demands(&self) -> &[InvalidDemand] {
        &self.invalid_demands
    }

    /// Findings about the input.
    #[must_use]
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// The world of the dialect named `dialect`.
    #[must_use]
    pub fn world(&self, dialect: &str) -> Option<&World> {
        let mut worlds = self.worlds.iter();
        worlds.find(|world| world.snapshot().dialect.name() == dialect)
    }

    /// Number of pairs of a demand and a candidate of the demand's system.
    #[must_use]
    pub fn pair_count(&self) -> usize {
        let worlds = self.worlds.iter().map(|world| &world.snapshot().inventory);
        worlds
            .map(|inventory| {
                inventory
                    .demands()
                    .len()
                    .saturating_mul(inventory.count() as usize)
            })
            .sum()
    }

    /// Every demand with its dialect, in output order: by dialect, namespace and name.
    #[must_use]
    pub fn demands(&self) -> Vec<(&Arc<dyn Dialect>, Key)> {
        let mut list = Vec::new();
        for world in &self.worlds {
            let snapshot = world.snapshot();
            let mut demands = snapshot.inventory.demands();
            demands.sort_by_cached_key(|demand| names::place(&*snapshot.dialect, demand));
            list.extend(demands.into_iter().map(|demand| (&snapshot.dialect, demand)));
        }
        list
    }

    /// Decides the demands that `wanted` accepts, in output order. Each decision is passed to `each` before
    /// its writes are applied.
    ///
    /// # Errors
    /// The first error of `each`, or a [`Fault`] of a dialect.
    pub fn run<E: From<Fault>>(
        &mut self,
        parameters: &SimulationParameters,
        wanted: impl Fn(&dyn Dialect, &Key) -> bool,
        mut each: impl FnMut(&DemandOutcome<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        for world in &mut self.worlds {
            let dialect = Arc::clone(&world.snapshot().dialect);
            let mut demands = world.snapshot().inventory.demands();
            demands.sort_by_cached_key(|demand| names::place(&*dialect, demand));
            for demand in demands.iter().filter(|demand| wanted(&*dialect, demand)) {
                let writes = decide_one(world, demand, parameters, &mut each)?;
                if !parameters.independent {
                    let applied = world.apply(&writes, parameters.now);
                    applied.map_err(|malformed| Fault::new(demand, malformed.to_string()))?;
                }
            }
        }
        Ok(())
    }
}

/// Reason why there is no plan.
#[derive(Debug)]
pub enum NoPlan {
    /// All problems of the changes.
    Problems(Vec<Problem>),
    /// The failure of a decision.
    Fault(Fault),
}

impl Simulation {
    /// Decides all demands, and then returns the plan of `steps` (see [`Plan`]), with entries for the demands
    /// that `wanted` accepts.
    ///
    /// # Errors
    /// All problems of the changes, or the [`Fault`] of a dialect.
    pub fn plan(
        &mut self,
        catalog: &Catalog,
        steps: &[Step],
        parameters: &SimulationParameters,
        wanted: impl Fn(&dyn Dialect, &Key) -> bool,
    ) -> Result<Plan, NoPlan> {
        self.settle(parameters).map_err(NoPlan::Fault)?;
        let before: Vec<Snapshot> = self.worlds.iter_mut().map(World::begin).collect();
        plan::apply(&mut self.worlds, catalog, steps, parameters.now).map_err(NoPlan::Problems)?;
        let mut whole = Plan::default();
        for (before, world) in before.iter().zip(&mut self.worlds) {
            let requested = plan::on_drained(before, steps, parameters.now);
            if world.changes() == 0 && requested.is_empty() {
                continue;
            }
            let dialect = &*before.dialect;
            let (requested, shown) = (
                |demand: &Key| requested.contains(demand),
                |demand: &Key| wanted(dialect, demand),
            );
            let part = Plan::of_some(before, world, &parameters.plan_terms(), requested, shown);
            whole.add(part.map_err(NoPlan::Fault)?);
        }
        Ok(whole)
    }

    /// Decides all demands of both simulations, and then returns the differences of `other` from this one,
    /// for the demands that `wanted` accepts.
    ///
    /// # Errors
    /// The [`Fault`] of a dialect.
    pub fn compare(
        &mut self,
        other: &mut Self,
        parameters: &SimulationParameters,
        wanted: impl Fn(&dyn Dialect, &Key) -> bool,
    ) -> Result<Plan, Fault> {
        self.settle(parameters)?;
        other.settle(parameters)?;
        let mut whole = Plan::default();
        for (before, after) in self.worlds.iter().zip(&other.worlds) {
            let (before, after) = (before.snapshot(), after.snapshot());
            let shown = |demand: &Key| wanted(&*before.dialect, demand);
            whole.add(Plan::between(before, after, &parameters.plan_terms(), shown)?);
        }
        Ok(whole)
    }

    /// Decides every demand and applies the writes.
    fn settle(&mut self, parameters: &SimulationParameters) -> Result<(), Fault> {
        self.run(parameters, |_, _| true, |_| Ok(()))
    }
}

impl SimulationParameters {
    /// Returns the parameters of a plan that is part of the simulation.
    fn plan_terms(&self) -> plan::Terms {
        plan::Terms {
            now: self.now,
            seed: self.seed,
        }
    }
}

/// Decides one demand, passes the decision to `each`, and returns the writes of the binding. A demand that an
/// earlier decision removed is skipped.
fn decide_one<E: From<Fault>>(
    world: &World,
    demand: &Key,
    parameters: &SimulationParameters,
    each: &mut impl FnMut(&DemandOutcome<'_>) -> Result<(), E>,
) -> Result<Vec<berth_dialect_contract::Write>, E> {
    let snapshot = world.snapshot();
    let Some(object) = snapshot.inventory.object(demand) else {
        return Ok(Vec::new());
    };
    let Some(decision) = snapshot.decide_freely(demand, parameters.now, parameters.seed)? else {
        return Ok(Vec::new());
    };
    let kinds = snapshot.dialect.demands().iter();
    let kind = kinds
        .filter(|kind| kind.resource == demand.resource)
        .map(|kind| kind.kind)
        .next()
        .unwrap_or_default();
    each(&DemandOutcome {
        world,
        snapshot,
        decision: &decision,
        object: &object,
        kind,
    })?;
    Ok(snapshot.inventory.writes(&decision))
}
