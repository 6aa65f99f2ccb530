//! From inputs to worlds. One object never ends the whole: what cannot be taken is set aside and told.

use std::collections::BTreeMap;
use std::sync::Arc;

use dialect_contract::{Dialect, config};
use meta::{FieldError, Key, Timestamp};
use serde_json::Value;

use super::findings::Findings;
use super::{Input, Simulation};
use crate::fault::Problem;
use crate::what_if::{Catalog, Judged, Unreadable, World};

/// Reads `inputs` into one world for each of `dialects`.
pub(super) fn load(
    dialects: &[Arc<dyn Dialect>],
    catalog: &Catalog,
    configurations: Vec<(Arc<dyn Dialect>, Value)>,
    inputs: Vec<Input>,
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
            findings: Findings::default(),
        },
        seen: BTreeMap::new(),
    };
    for input in inputs {
        loader.take(input);
    }
    for (dialect, spec) in configurations {
        loader.fall_back(&*dialect, &spec);
    }
    loader.simulation
}

/// Puts inputs where they belong and gathers what is to be said of them.
struct Loader<'a> {
    dialects: &'a [Arc<dyn Dialect>],
    catalog: &'a Catalog,
    now: Timestamp,
    simulation: Simulation,
    /// Place where each object was first seen.
    seen: BTreeMap<Key, String>,
}

impl Loader<'_> {
    fn take(&mut self, input: Input) {
        let Input {
            at,
            value,
            duplicates,
        } = input;
        let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        for path in &duplicates {
            self.simulation.findings.surplus(&kind, path, &at, "duplicate");
        }
        if api_version == format!("{}/{}", config::GROUP, config::VERSION) {
            return self.take_configuration(at, value);
        }
        if !kind.is_empty() && !api_version.is_empty() && self.catalog.find(&api_version, &kind).is_none() {
            return self.pass_over(&api_version, &kind);
        }
        let judged = self.catalog.judge(value, "", self.now);
        if self.passed_by(&api_version, &kind) {
            // Whether it is sound is nobody's business here.
            self.simulation.findings.unread(kind);
            if let Ok(Judged {
                key, object, errors, ..
            }) = judged
                && errors.is_empty()
                && self.seen.insert(key.clone(), at).is_none()
            {
                self.simulation.objects.push((key, object));
            }
            return;
        }
        match judged {
            Err(errors) => self.set_aside(&at, &kind, errors),
            Ok(judged) => self.put(at, judged, kind),
        }
    }

    /// Whether no dialect reads or serves objects of a kind that is in the catalog.
    fn passed_by(&self, api_version: &str, kind: &str) -> bool {
        let Some((kind, _)) = self.catalog.find(api_version, kind) else {
            return false;
        };
        let resource = kind.stored_in();
        let own = |dialect: &Arc<dyn Dialect>| {
            let mut kinds = dialect.kinds().into_iter();
            // What a system serves and its scheduler does not look at (a ClusterProfile) is no surprise.
            kinds.any(|kind| kind.info().resource() == resource)
        };
        !self.simulation.worlds.iter().any(|world| world.reads(resource)) && !self.dialects.iter().any(own)
    }

    /// Counts an object of a kind that is not in the catalog: systems have more kinds than those that say where things go.
    fn pass_over(&mut self, api_version: &str, kind: &str) {
        let (group, _) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let full = format!("{kind}.{group}");
        let unread = self
            .simulation
            .findings
            .unread(full.trim_end_matches('.').to_owned());
        if unread.count == 1 {
            unread.near = !group.is_empty() && self.catalog.knows_group(group);
            unread.hint = self.catalog.hint(api_version, kind);
        }
    }

    fn put(&mut self, at: String, judged: Judged, kind: String) {
        let Judged {
            key,
            object,
            unknown,
            errors,
        } = judged;
        if let Some(first) = self.seen.get(&key) {
            let mut error = FieldError::duplicate("metadata.name", key.name.to_string());
            error.detail = format!("the same object stands in {first}");
            return self.set_aside(&at, &kind, vec![error]);
        }
        for path in unknown {
            self.simulation.findings.surplus(&kind, &path, &at, "unknown");
        }
        self.seen.insert(key.clone(), at.clone());
        let demanded = |dialect: &Arc<dyn Dialect>| {
            let mut demands = dialect.demands().iter();
            demands.any(|demand| demand.resource == key.resource)
        };
        let placed = self.dialects.iter().any(demanded);
        if placed && !errors.is_empty() {
            // No server of ours would have it, so there is nothing to place.
            return self.set_aside(&at, &kind, errors);
        }
        let told = !errors.is_empty();
        self.report(&at, errors);
        self.simulation.objects.push((key.clone(), Arc::clone(&object)));
        for world in &mut self.simulation.worlds {
            if !world.reads(key.resource) {
                continue;
            }
            // It stays in the world as what it is, so that what depends on it says so.
            if let Err(Unreadable(problem)) = world.put(&key, Arc::clone(&object)) {
                if told {
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
                // As on a server: it is stored, and not in force.
                self.seen.entry(config::key(name)).or_insert_with(|| at.clone());
                self.report(&at, errors);
            }
            Ok((dialect, spec)) => {
                let key = config::key(dialect.name());
                if let Some(first) = self.seen.get(&key) {
                    let mut error = FieldError::duplicate("metadata.name", dialect.name());
                    error.detail = format!("the same object stands in {first}");
                    return self.set_aside(&at, config::KIND, vec![error]);
                }
                self.seen.insert(key, at.clone());
                let path = format!("spec.{}", dialect.name());
                self.configure(&at, &*dialect, &spec, &path);
                match self.catalog.judge(value, "", self.now) {
                    Err(errors) => self.report(&at, errors),
                    Ok(judged) => {
                        for path in &judged.unknown {
                            self.simulation
                                .findings
                                .surplus(config::KIND, path, &at, "unknown");
                        }
                        self.report(&at, judged.errors);
                        self.simulation.objects.push((judged.key, judged.object));
                    }
                }
            }
        }
    }

    /// Takes a configuration that counts where none is stored.
    fn fall_back(&mut self, dialect: &dyn Dialect, spec: &Value) {
        match self.seen.get(&config::key(dialect.name())) {
            None => self.configure("", dialect, spec, ""),
            Some(at) => self.simulation.findings.unused.push(format!(
                "--config of {} counts for nothing: a {} of it stands in {at}",
                dialect.name(),
                config::KIND
            )),
        }
    }

    fn configure(&mut self, at: &str, dialect: &dyn Dialect, spec: &Value, path: &str) {
        let worlds = &mut self.simulation.worlds;
        let world = worlds
            .iter_mut()
            .find(|world| world.snapshot().dialect.name() == dialect.name());
        if let Some(Err(errors)) = world.map(|world| world.configure(spec, path)) {
            self.report(at, errors);
        }
    }

    /// Tells why an object is in no world.
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
