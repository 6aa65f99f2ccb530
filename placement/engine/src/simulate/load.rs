//! Loading of inputs into worlds. An invalid object does not end the simulation: it is set aside and
//! reported.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_apimachinery::{FieldError, GroupResource, Key, Object, Timestamp};
use berth_dialect_contract::rules::RulesChoice;
use berth_dialect_contract::{DemandKind, Dialect, config};
use serde_json::Value;

use super::findings::Findings;
use super::{DefaultConfiguration, Input, InvalidDemand, Simulation};
use crate::fault::Problem;
use crate::what_if::{Catalog, UnreadableObject, World, WriteVerdict};

/// Reads `inputs` into one world for each of `dialects`.
pub(super) fn load(
    dialects: &[Arc<dyn Dialect>],
    catalog: &Catalog,
    configurations: Vec<DefaultConfiguration>,
    inputs: impl IntoIterator<Item = Input>,
    now: Timestamp,
) -> Simulation {
    let worlds = dialects.iter().map(|dialect| World::empty(Arc::clone(dialect)));
    let mut loader = Loader {
        dialects,
        catalog,
        now,
        simulation: Simulation {
            worlds: worlds.collect(),
            objects: Vec::new(),
            invalid_demands: Vec::new(),
            findings: Findings::default(),
        },
        places: BTreeMap::new(),
        new: BTreeSet::new(),
        incomplete: BTreeMap::new(),
        other_groups: BTreeSet::new(),
    };
    for input in inputs {
        loader.take(input);
    }
    for configuration in configurations {
        loader.fall_back(&configuration);
    }
    loader.add_built_in();
    loader.complete_new();
    loader.judge_new();
    loader.carry_out();
    let mut simulation = loader.simulation;
    let order: BTreeMap<&str, usize> = dialects.iter().map(|dialect| dialect.name()).zip(0..).collect();
    simulation
        .invalid_demands
        .sort_by_cached_key(|invalid| (order[invalid.dialect.name()], invalid.place()));
    simulation
}

/// Names, labels and apiVersion of an object in the input.
struct ObjectNames {
    namespace: String,
    name: String,
    labels: Value,
    api_version: String,
}

/// Distributes the inputs and collects the findings.
struct Loader<'a> {
    dialects: &'a [Arc<dyn Dialect>],
    catalog: &'a Catalog,
    now: Timestamp,
    simulation: Simulation,
    /// Position of each object in the input.
    places: BTreeMap<Key, String>,
    /// The demands that no server has stored yet.
    new: BTreeSet<Key>,
    /// Errors in the completion of new objects.
    incomplete: BTreeMap<Key, Vec<FieldError>>,
    /// The apiVersions and kinds about whose API group there is a warning already.
    other_groups: BTreeSet<(String, String)>,
}

impl Loader<'_> {
    /// Adds an object of the input to the worlds that read it, or to the findings.
    fn take(&mut self, input: Input) {
        let Input {
            at,
            value,
            duplicates,
        } = input;
        let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        for path in &duplicates {
            self.simulation
                .findings
                .add_surplus_field(&kind, path, &at, "duplicate");
        }
        if config::is_scheduler_configuration(&value) {
            return self.take_configuration(at, value);
        }
        if !kind.is_empty() && !api_version.is_empty() && self.catalog.find(&api_version, &kind).is_none() {
            return self.count_unknown_kind(&api_version, &kind);
        }
        self.warn_about_group(&api_version, &kind, &at);
        let name = |field: &str| value["metadata"][field].as_str().unwrap_or_default().to_owned();
        let names = ObjectNames {
            namespace: name("namespace"),
            name: name("name"),
            labels: value["metadata"]["labels"].clone(),
            api_version: api_version.clone(),
        };
        let verdict = self.catalog.judge(value, "", self.now);
        if self.is_unread(&api_version, &kind) {
            // Problems of such an object are not reported, and an invalid one is left out.
            self.simulation.findings.count_unread(kind);
            if let Ok(WriteVerdict {
                key, object, errors, ..
            }) = verdict
                && errors.is_empty()
                && self.places.insert(key.clone(), at).is_none()
            {
                for world in self
                    .simulation
                    .worlds
                    .iter_mut()
                    .filter(|world| world.reads(key.resource))
                {
                    // Decisions do not read the object, so that no dialect has to parse it.
                    drop(world.put(&key, Arc::clone(&object)));
                }
                self.simulation.objects.push((key, object));
            }
            return;
        }
        match verdict {
            Err(errors) => {
                self.set_aside(&at, &kind, errors.clone());
                self.add_invalid_demand(at, &names, &kind, errors);
            }
            Ok(verdict) => self.put(at, verdict, kind, &names),
        }
    }

    /// Warns once about each kind whose API group in the input is from another release, and that is read in
    /// the served group.
    fn warn_about_group(&mut self, api_version: &str, kind: &str, at: &str) {
        let Some((found, version)) = self.catalog.find(api_version, kind) else {
            return;
        };
        let served = found.info().api_version(version);
        if served != api_version
            && self
                .other_groups
                .insert((api_version.to_owned(), kind.to_owned()))
        {
            self.simulation.findings.warnings.push(format!(
                "{at}: {kind} of {api_version} is read as {served}, the API version that Berth serves and writes"
            ));
        }
    }

    /// Adds an object to the invalid demands, if a dialect places objects of its kind.
    fn add_invalid_demand(&mut self, at: String, names: &ObjectNames, kind: &str, errors: Vec<FieldError>) {
        let Some((known, _)) = self.catalog.find(&names.api_version, kind) else {
            return;
        };
        let resource = known.stored_in();
        let Some((dialect, demand)) = self.placing_dialect(resource) else {
            return;
        };
        let namespace = match (known.info().namespaced(), names.namespace.as_str()) {
            (false, _) => "",
            (true, "") => "default",
            (true, namespace) => namespace,
        };
        let demand_kind = demand.kind;
        self.simulation.invalid_demands.push(InvalidDemand {
            dialect: Arc::clone(dialect),
            demand: Key::new(resource, namespace, &names.name),
            labels: names.labels.clone(),
            api_version: names.api_version.clone(),
            kind: demand_kind,
            at,
            errors,
        });
    }

    /// The dialect that places objects of `resource`, with the description of their kind.
    fn placing_dialect(&self, resource: GroupResource) -> Option<(&Arc<dyn Dialect>, &'static DemandKind)> {
        self.dialects.iter().find_map(|dialect| {
            let mut demands = dialect.demands().iter();
            Some((dialect, demands.find(|demand| demand.resource == resource)?))
        })
    }

    /// Adds the objects that every installation of a system has, and that files usually lack.
    fn add_built_in(&mut self) {
        for dialect in self.dialects {
            let world = self.simulation.world(dialect.name());
            let inventory = world.map(|world| &world.snapshot().inventory);
            if inventory.is_none_or(|inventory| inventory.count() == 0 && inventory.demands().is_empty()) {
                continue;
            }
            for (key, value) in dialect.built_in() {
                if self.places.contains_key(&key) {
                    continue;
                }
                match self.catalog.judge(value, "", self.now) {
                    Ok(verdict) => self.put_built_in(&verdict),
                    Err(errors) => self.report(&key.to_string(), errors),
                }
            }
        }
    }

    fn put_built_in(&mut self, WriteVerdict { key, object, .. }: &WriteVerdict) {
        self.simulation.objects.push((key.clone(), Arc::clone(object)));
        for world in &mut self.simulation.worlds {
            if world.reads(key.resource)
                && let Err(UnreadableObject(problem)) = world.put(key, Arc::clone(object))
            {
                let error = FieldError::invalid("metadata.name", key.name.to_string(), problem);
                self.simulation.findings.problems.push(Problem {
                    at: key.to_string(),
                    error,
                });
            }
        }
    }

    /// Sets the fields that a server sets on create, in objects that were never stored.
    fn complete_new(&mut self) {
        let mut objects = std::mem::take(&mut self.simulation.objects);
        for (key, object) in &mut objects {
            if self.new.contains(key)
                && let Some(completed) = self.completed(key, object)
            {
                *object = completed;
            }
        }
        self.simulation.objects = objects;
    }

    /// The object at `key` with the fields that a server sets on create; `None` if it sets none.
    fn completed(&mut self, key: &Key, object: &Object) -> Option<Arc<Object>> {
        let (dialect, _) = self.placing_dialect(key.resource)?;
        let name = dialect.name();
        if !dialect.guarded().completes.contains(&key.resource) {
            return None;
        }
        let world = self.simulation.world_mut(name)?;
        let mut value = object.parse();
        let guarding = world.snapshot().inventory.guarding();
        let errors = guarding.complete(key.resource, &mut value);
        if !errors.is_empty() {
            self.incomplete.insert(key.clone(), errors);
            return None;
        }
        if value == **object.value() {
            return None;
        }
        let completed = Arc::new(Object::new(&value, object.revision()).ok()?);
        // The object was readable before, and stays so with the further fields.
        drop(world.put(key, Arc::clone(&completed)));
        Some(completed)
    }

    /// Sets objects aside whose create a server would refuse because of other objects.
    fn judge_new(&mut self) {
        let mut refused = BTreeMap::new();
        for (key, object) in &self.simulation.objects {
            if !self.new.contains(key) {
                continue;
            }
            let Some((dialect, _)) = self.placing_dialect(key.resource) else {
                continue;
            };
            let world = self.simulation.world(dialect.name());
            let mut errors = self.incomplete.get(key).cloned().unwrap_or_default();
            if let Some(world) = world.filter(|_| dialect.guarded().judges.contains(&key.resource)) {
                let guarding = world.snapshot().inventory.guarding();
                errors.extend(guarding.judge_offline(key.resource, object.value()));
            }
            if !errors.is_empty() {
                refused.insert(key.clone(), (Arc::clone(object), errors));
            }
        }
        self.simulation
            .objects
            .retain(|(key, _)| !refused.contains_key(key));
        for (key, (object, errors)) in refused {
            for world in &mut self.simulation.worlds {
                world.remove(&key);
            }
            let names = ObjectNames {
                namespace: key.namespace.to_string(),
                name: key.name.to_string(),
                labels: object.value()["metadata"]["labels"].clone(),
                api_version: object.api_version().to_owned(),
            };
            let at = self.places.get(&key).cloned().unwrap_or_default();
            let kind = object.value()["kind"].as_str().unwrap_or_default();
            self.set_aside(&at, kind, errors.clone());
            self.add_invalid_demand(at, &names, kind, errors);
        }
    }

    /// Applies the writes of the systems' own controllers that come before any decision.
    fn carry_out(&mut self) {
        let mut changed = BTreeSet::new();
        for world in &mut self.simulation.worlds {
            world.follow(self.now);
            world.mark_all_due();
            match world.carry_out() {
                Ok(written) => changed.extend(written),
                Err(malformed) => {
                    let at = world.snapshot().dialect.name().to_owned();
                    let error = FieldError::invalid("", "", malformed.to_string());
                    self.simulation.findings.problems.push(Problem { at, error });
                }
            }
            if world.snapshot().inventory.demands().is_empty() {
                continue;
            }
            // Objects from which controllers create demands count as read, where there are demands.
            let kinds = world
                .followed()
                .iter()
                .filter_map(|resource| self.catalog.stored_in(*resource));
            for kind in kinds {
                self.simulation.findings.unread.remove(kind.info().kind);
            }
        }
        let Simulation { worlds, objects, .. } = &mut self.simulation;
        let now_is = |key: &Key| worlds.iter().find_map(|world| world.get(key)).cloned();
        for (key, object) in &mut *objects {
            if changed.remove(key)
                && let Some(newest) = now_is(key)
            {
                *object = newest;
            }
        }
        objects.extend(
            changed
                .into_iter()
                .filter_map(|key| Some((key.clone(), now_is(&key)?))),
        );
    }

    /// Whether the catalog has the kind, but no dialect serves it and no decision reads it.
    fn is_unread(&self, api_version: &str, kind: &str) -> bool {
        let Some((kind, _)) = self.catalog.find(api_version, kind) else {
            return false;
        };
        let resource = kind.stored_in();
        let own = |dialect: &Arc<dyn Dialect>| {
            let mut kinds = dialect.stored_kinds().into_iter();
            // A kind that a system serves, but its scheduler does not read (a ClusterProfile), is
            // expected.
            kinds.any(|kind| kind.info().resource() == resource)
        };
        let mut worlds = self.simulation.worlds.iter();
        !worlds.any(|world| world.decides_by(resource)) && !self.dialects.iter().any(own)
    }

    /// Counts an object of a kind that is not in the catalog, since systems have more kinds than scheduling
    /// reads.
    fn count_unknown_kind(&mut self, api_version: &str, kind: &str) {
        let (group, _) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let full = format!("{kind}.{group}");
        let unread = self
            .simulation
            .findings
            .count_unread(full.trim_end_matches('.').to_owned());
        if unread.count == 1 {
            unread.in_known_group = self.catalog.knows_group(group);
            unread.hint = self.catalog.hint(api_version, kind);
        }
    }

    /// Puts an object of a known kind into the worlds that read it.
    fn put(&mut self, at: String, verdict: WriteVerdict, kind: String, names: &ObjectNames) {
        let WriteVerdict {
            key,
            object,
            is_new,
            unknown,
            errors,
        } = verdict;
        if let Some(first) = self.places.get(&key) {
            let mut error = FieldError::duplicate("metadata.name", key.name.to_string());
            error.detail = format!("the same object is in {first}: keep one of the two");
            return self.set_aside(&at, &kind, vec![error]);
        }
        for path in unknown {
            self.simulation
                .findings
                .add_surplus_field(&kind, &path, &at, "unknown");
        }
        self.places.insert(key.clone(), at.clone());
        let mut counterparts = self.dialects.iter();
        let counterpart = counterparts.find_map(|dialect| dialect.counterpart(key.resource));
        if counterpart.is_some() {
            let full = format!("{kind}.{}", key.resource.group);
            self.simulation.findings.count_unread(full).counterpart = counterpart;
        }
        if self.placing_dialect(key.resource).is_some() {
            if !errors.is_empty() {
                // No server of Berth would store the object, so that it is not placed.
                self.set_aside(&at, &kind, errors.clone());
                return self.add_invalid_demand(at, names, &kind, errors);
            }
            self.new.extend(is_new.then(|| key.clone()));
        }
        let is_reported = !errors.is_empty();
        self.report(&at, errors);
        self.simulation.objects.push((key.clone(), Arc::clone(&object)));
        for world in &mut self.simulation.worlds {
            if !world.reads(key.resource) {
                continue;
            }
            // The object stays in the world unchanged, so that decisions that depend on it report the
            // problem.
            if let Err(UnreadableObject(problem)) = world.put(&key, Arc::clone(&object)) {
                if is_reported {
                    continue;
                }
                let error = FieldError::invalid("metadata.name", key.name.to_string(), problem);
                self.simulation.findings.problems.push(Problem {
                    at: at.clone(),
                    error,
                });
            }
        }
    }

    fn take_configuration(&mut self, at: String, value: Value) {
        match config::from_file(self.dialects, &value) {
            Err(errors) => {
                let name = value["metadata"]["name"].as_str().unwrap_or_default();
                // As on a server, the configuration is stored, but not in force.
                self.places.entry(config::key(name)).or_insert_with(|| at.clone());
                self.report(&at, errors);
            }
            Ok((dialect, spec)) => {
                let key = config::key(dialect.name());
                if let Some(first) = self.places.get(&key) {
                    let mut error = FieldError::duplicate("metadata.name", dialect.name());
                    error.detail = format!("the same object is in {first}: keep one of the two");
                    return self.set_aside(&at, config::KIND, vec![error]);
                }
                self.places.insert(key, at.clone());
                let path = format!("spec.{}", dialect.name());
                let rules = RulesChoice::of(&value);
                self.configure(&at, &*dialect, &spec, (&path, rules));
                self.choose_rules(&at, &*dialect, rules);
                match self.catalog.judge(value, "", self.now) {
                    Err(errors) => self.report(&at, errors),
                    Ok(verdict) => {
                        for path in &verdict.unknown {
                            self.simulation
                                .findings
                                .add_surplus_field(config::KIND, path, &at, "unknown");
                        }
                        self.report(&at, verdict.errors);
                        self.simulation.objects.push((verdict.key, verdict.object));
                    }
                }
            }
        }
    }

    /// Applies a configuration where none is stored.
    fn fall_back(&mut self, configuration: &DefaultConfiguration) {
        let dialect = &*configuration.dialect;
        match self.places.get(&config::key(dialect.name())) {
            None => {
                self.configure("", dialect, &configuration.spec, ("", configuration.rules));
                self.choose_rules("", dialect, configuration.rules);
            }
            Some(at) => self.simulation.findings.unused.push(format!(
                "--config of {} has no effect: {at} contains a {} for this system",
                dialect.name(),
                config::KIND
            )),
        }
    }

    fn configure(
        &mut self,
        at: &str,
        dialect: &dyn Dialect,
        spec: &Value,
        (path, rules): (&str, RulesChoice),
    ) {
        let world = self.simulation.world_mut(dialect.name());
        match world.map(|world| world.configure(spec, path)) {
            Some(Err(errors)) => self.report(at, errors),
            Some(Ok(())) => {
                let place = match at {
                    "" => format!("configuration of {}", dialect.name()),
                    at => at.to_owned(),
                };
                let warnings = dialect.configuration().warnings(spec, path, rules).into_iter();
                let texts = warnings.map(|warning| format!("{place}: {}", warning.trim_start_matches('.')));
                self.simulation.findings.warnings.extend(texts);
            }
            None => {}
        }
    }

    fn choose_rules(&mut self, at: &str, dialect: &dyn Dialect, rules: RulesChoice) {
        let world = self.simulation.world_mut(dialect.name());
        if let Some(Err(UnreadableObject(problem))) = world.map(|world| world.choose_rules(rules)) {
            let path = format!("spec.{}", RulesChoice::FIELD);
            self.report(at, vec![FieldError::invalid(path, rules.as_str(), problem)]);
        }
    }

    /// Reports that the object of `kind` at the position `at` is set aside, with the reasons.
    fn set_aside(&mut self, at: &str, kind: &str, errors: Vec<FieldError>) {
        let kind = if kind.is_empty() { "an object" } else { kind };
        self.report(&format!("{kind} is set aside: {at}"), errors);
    }

    fn report(&mut self, at: &str, errors: Vec<FieldError>) {
        let problems = errors.into_iter().map(|error| Problem {
            at: at.to_owned(),
            error,
        });
        self.simulation.findings.problems.extend(problems);
    }
}

#[cfg(test)]
mod tests {
    use berth_dialect_toy::Toys;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_publication_is_no_configuration_of_the_system_with_its_name() {
        let dialects: [Arc<dyn Dialect>; 1] = [Arc::new(Toys)];
        let value = json!({
            "apiVersion": "config.berth.dev/v1alpha1", "kind": "Publication", "metadata": {"name": "toy"},
        });
        let input = Input {
            at: String::new(),
            value,
            duplicates: Vec::new(),
        };
        let catalog = Catalog::new(Toys.kinds());
        let simulation = load(&dialects, &catalog, Vec::new(), [input], Timestamp::UNIX_EPOCH);
        assert!(simulation.findings.problems.is_empty());
        let unread: Vec<&String> = simulation.findings.unread.keys().collect();
        assert_eq!(unread, ["Publication.config.berth.dev"]);
    }
}
