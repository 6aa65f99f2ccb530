//! Deciding every demand of a set of objects, with no server: what `berth simulate` prints and scenarios test
//! (docs/api.md, "Simulating").

use std::collections::BTreeMap;
use std::sync::Arc;

use dialect_contract::{Decision, Dialect, Refused, config, names};
use meta::{FieldError, Key, Object, Timestamp};
use serde_json::Value;

pub use crate::fault::{Fault, Problem};
use crate::plan::{self, Plan, Step};
use crate::snapshot::Snapshot;
use crate::what_if::{Catalog, Unreadable, World};

/// One object, and where it stands (a file and a document, in words).
#[derive(Clone, Debug)]
pub struct Input {
    /// Where it stands, for problems.
    pub at: String,
    /// The object.
    pub value: Value,
}

/// The circumstances of a simulation.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The instant to decide for.
    pub now: Timestamp,
    /// The seed of random strategies; without one, each demand has the seed a live decision on it would have.
    pub seed: Option<u64>,
    /// Whether each demand is decided on the world as given, not on what earlier decisions make of it.
    pub independent: bool,
}

/// One demand, decided.
pub struct Decided<'a> {
    /// The world it was decided on.
    pub world: &'a World,
    /// The same, to decide on.
    pub snapshot: &'a Snapshot,
    /// The decision.
    pub decision: &'a Decision,
    /// The demand's object.
    pub object: &'a Object,
    /// Its kind.
    pub kind: &'static str,
}

/// A world for each dialect, made of the same objects.
pub struct Simulation {
    worlds: Vec<World>,
    /// The objects no dialect looks at, counted by kind.
    unread: BTreeMap<String, usize>,
}

impl Simulation {
    /// Reads `inputs` into one world for each of `dialects`. SchedulerConfigurations may be among them; those of
    /// `configurations` (a dialect and its part) win over them.
    ///
    /// # Errors
    /// Everything wrong with any object.
    pub fn load(
        dialects: &[Arc<dyn Dialect>],
        catalog: &Catalog,
        configurations: Vec<(Arc<dyn Dialect>, Value)>,
        inputs: Vec<Input>,
        now: Timestamp,
    ) -> Result<Self, Vec<Problem>> {
        let mut loader = Loader {
            dialects,
            catalog,
            now,
            simulation: Self {
                worlds: dialects
                    .iter()
                    .map(|dialect| World::empty(Arc::clone(dialect)))
                    .collect(),
                unread: BTreeMap::new(),
            },
            seen: BTreeMap::new(),
            problems: Vec::new(),
        };
        for input in inputs {
            loader.take(input);
        }
        for (dialect, spec) in configurations {
            loader.configure(String::new(), &*dialect, &spec, "");
        }
        if loader.problems.is_empty() {
            Ok(loader.simulation)
        } else {
            Err(loader.problems)
        }
    }

    /// The kinds of the objects no dialect looks at, with how many there are of each.
    #[must_use]
    pub fn unread(&self) -> &BTreeMap<String, usize> {
        &self.unread
    }

    /// The world of the dialect named `dialect`.
    #[must_use]
    pub fn world(&self, dialect: &str) -> Option<&World> {
        let mut worlds = self.worlds.iter();
        worlds.find(|world| world.snapshot().dialect.name() == dialect)
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

    /// Decides the demands that `wanted` is true for, in output order, and shows each to `each` before its writes are
    /// applied for the next.
    ///
    /// # Errors
    /// The first error of `each`, or a [`Fault`] of a dialect.
    pub fn run<E: From<Fault>>(
        &mut self,
        terms: &Terms,
        wanted: impl Fn(&dyn Dialect, &Key) -> bool,
        mut each: impl FnMut(&Decided<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        for world in &mut self.worlds {
            let dialect = Arc::clone(&world.snapshot().dialect);
            let mut demands = world.snapshot().inventory.demands();
            demands.sort_by_cached_key(|demand| names::place(&*dialect, demand));
            for demand in demands.iter().filter(|demand| wanted(&*dialect, demand)) {
                let writes = step(world, demand, terms, &mut each)?;
                if !terms.independent {
                    let applied = world.make(&writes, terms.now);
                    applied.map_err(|malformed| Fault::new(demand, malformed.to_string()))?;
                }
            }
        }
        Ok(())
    }
}

/// Why there is no plan.
#[derive(Debug)]
pub enum NoPlan {
    /// Everything wrong with the changes.
    Problems(Vec<Problem>),
    /// A dialect is at fault.
    Fault(Fault),
}

impl Simulation {
    /// What `steps` make of the world once all it asks for is decided: see [`Plan`].
    ///
    /// # Errors
    /// Everything wrong with the changes, or the [`Fault`] of a dialect.
    pub fn plan(&mut self, catalog: &Catalog, steps: &[Step], terms: &Terms) -> Result<Plan, NoPlan> {
        self.settle(terms).map_err(NoPlan::Fault)?;
        let before: Vec<Snapshot> = self.worlds.iter_mut().map(World::begin).collect();
        plan::apply(&mut self.worlds, catalog, steps, terms.now).map_err(NoPlan::Problems)?;
        let mut whole = Plan::default();
        let changed = before.iter().zip(&mut self.worlds);
        for (before, world) in changed.filter(|(_, world)| world.changes() > 0) {
            let part = Plan::of(before, world, &terms.for_plans(), |_| false);
            whole.add(part.map_err(NoPlan::Fault)?);
        }
        Ok(whole)
    }

    /// What is different in `other` once all that both ask for is decided.
    ///
    /// # Errors
    /// The [`Fault`] of a dialect.
    pub fn compare(&mut self, other: &mut Self, terms: &Terms) -> Result<Plan, Fault> {
        self.settle(terms)?;
        other.settle(terms)?;
        let mut whole = Plan::default();
        for (before, after) in self.worlds.iter().zip(&other.worlds) {
            whole.add(Plan::between(
                before.snapshot(),
                after.snapshot(),
                &terms.for_plans(),
            )?);
        }
        Ok(whole)
    }

    /// Decides everything and makes the writes.
    fn settle(&mut self, terms: &Terms) -> Result<(), Fault> {
        self.run(terms, |_, _| true, |_| Ok(()))
    }
}

impl Terms {
    fn for_plans(&self) -> plan::Terms {
        plan::Terms {
            now: self.now,
            seed: self.seed,
        }
    }
}

/// Decides one demand and shows it; gives what binding it would write. A demand that an earlier decision removed has
/// nothing to decide.
fn step<E: From<Fault>>(
    world: &World,
    demand: &Key,
    terms: &Terms,
    each: &mut impl FnMut(&Decided<'_>) -> Result<(), E>,
) -> Result<Vec<dialect_contract::Write>, E> {
    let snapshot = world.snapshot();
    let Some(object) = snapshot.inventory.object(demand) else {
        return Ok(Vec::new());
    };
    let decision = match terms.seed {
        Some(seed) => snapshot.decide_with(demand, None, terms.now, seed),
        None => snapshot.decide(demand, None, terms.now),
    };
    let decision = match decision {
        Some(Ok(decision)) => decision,
        // Nothing was chosen, so nothing can be refused.
        Some(Err(Refused { errors })) => {
            return Err(Fault::new(demand, meta::field::aggregate(&errors)).into());
        }
        None => return Ok(Vec::new()),
    };
    let kinds = snapshot.dialect.demands().iter();
    let kind = kinds
        .filter(|kind| kind.resource == demand.resource)
        .map(|kind| kind.kind)
        .next()
        .unwrap_or_default();
    each(&Decided {
        world,
        snapshot,
        decision: &decision,
        object: &object,
        kind,
    })?;
    Ok(snapshot.inventory.writes(&decision))
}

/// Puts inputs where they belong and gathers what is wrong with them.
struct Loader<'a> {
    dialects: &'a [Arc<dyn Dialect>],
    catalog: &'a Catalog,
    now: Timestamp,
    simulation: Simulation,
    /// Where each object was first seen.
    seen: BTreeMap<Key, String>,
    problems: Vec<Problem>,
}

impl Loader<'_> {
    fn take(&mut self, input: Input) {
        let Input { at, value } = input;
        if value["apiVersion"] == format!("{}/{}", config::GROUP, config::VERSION) {
            return self.take_configuration(at, &value);
        }
        let text = |field: &str| value[field].as_str().unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        if !kind.is_empty() && self.catalog.find(api_version, kind).is_none() {
            let (group, _) = api_version.rsplit_once('/').unwrap_or(("", api_version));
            // A kind of a group nobody here knows is none of our business; one of a known group is a mistake.
            if !api_version.is_empty() && !self.catalog.knows_group(group) {
                let kind = format!("{kind}.{group}");
                *self
                    .simulation
                    .unread
                    .entry(kind.trim_end_matches('.').to_owned())
                    .or_default() += 1;
                return;
            }
        }
        let shown = value["kind"].as_str().unwrap_or_default().to_owned();
        match self.catalog.read(value, "", self.now) {
            Err(errors) => self.report(&at, errors),
            Ok((key, object)) => self.put(at, &key, &object, shown),
        }
    }

    fn put(&mut self, at: String, key: &Key, object: &Arc<Object>, kind: String) {
        if let Some(first) = self.seen.get(key) {
            let mut error = FieldError::duplicate("metadata.name", key.name.to_string());
            error.detail = format!("the same object stands in {first}");
            return self.report(&at, vec![error]);
        }
        let mut read = false;
        for world in &mut self.simulation.worlds {
            if !world.reads(key.resource) {
                continue;
            }
            read = true;
            if let Err(Unreadable(problem)) = world.put(key, Arc::clone(object)) {
                let error = FieldError::invalid("metadata.name", key.name.to_string(), problem);
                self.problems.push(Problem {
                    at: at.clone(),
                    error,
                });
            }
        }
        let own = |dialect: &Arc<dyn Dialect>| {
            let mut kinds = dialect.kinds().into_iter();
            kinds.any(|kind| kind.info().resource() == key.resource)
        };
        // What a system serves and its scheduler does not look at (a ClusterProfile) is no surprise.
        if !read && !self.dialects.iter().any(own) {
            *self.simulation.unread.entry(kind).or_default() += 1;
        }
        self.seen.insert(key.clone(), at);
    }

    fn take_configuration(&mut self, at: String, value: &Value) {
        match config::from_file(self.dialects, value) {
            Err(errors) => self.report(&at, errors),
            Ok((dialect, spec)) => {
                let key = config::key(dialect.name());
                if let Some(first) = self.seen.insert(key, at.clone()) {
                    let mut error = FieldError::duplicate("metadata.name", dialect.name());
                    error.detail = format!("the same object stands in {first}");
                    return self.report(&at, vec![error]);
                }
                let path = format!("spec.{}", dialect.name());
                self.configure(at, &*dialect, &spec, &path);
            }
        }
    }

    fn configure(&mut self, at: String, dialect: &dyn Dialect, spec: &Value, path: &str) {
        let worlds = &mut self.simulation.worlds;
        let world = worlds
            .iter_mut()
            .find(|world| world.snapshot().dialect.name() == dialect.name());
        if let Some(Err(errors)) = world.map(|world| world.configure(spec, path)) {
            self.report(&at, errors);
        }
    }

    fn report(&mut self, at: &str, errors: Vec<FieldError>) {
        let problems = errors.into_iter().map(|error| Problem {
            at: at.to_owned(),
            error,
        });
        self.problems.extend(problems);
    }
}
