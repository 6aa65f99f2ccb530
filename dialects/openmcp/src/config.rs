//! The scheduler's configuration in openMCP's own form (docs/systems/openmcp.md, "Configuration"), as it stands under
//! `spec.openmcp`: `scheduler.scope`, `.strategy`, `.selectors` and `.purposeMappings`.
//!
//! Read by hand, not by serde, so that every mistake is found with its path. Defaults apply on read.

mod fields;
mod purpose;
mod selectors;
#[cfg(test)]
mod tests;
mod warn;

use std::collections::BTreeMap;
use std::sync::Arc;

use meta::FieldError;
use meta::selector::Selector;
use serde_json::Value;

use crate::naming::Naming;
use fields::Fields;

pub use warn::warnings;

/// Which Clusters are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Those of one namespace: the template's, else the request's.
    #[default]
    Namespaced,
    /// All.
    Cluster,
}

/// Which Cluster is taken when several will do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// The one with the fewest requests, the first of these.
    #[default]
    Balanced,
    /// Any.
    Random,
    /// The first by namespace and name.
    Simple,
}

impl Strategy {
    const ALL: [Self; 3] = [Self::Balanced, Self::Random, Self::Simple];

    /// The token.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Balanced => "Balanced",
            Self::Random => "Random",
            Self::Simple => "Simple",
        }
    }
}

/// How many requests a Cluster made for a purpose takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tenancy {
    /// One, for good: each request gets a Cluster of its own.
    Exclusive,
    /// So many; `None` is any number.
    Shared(Option<u32>),
}

/// What the scheduler goes by.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// `scope`.
    pub scope: Scope,
    /// `strategy`.
    pub strategy: Strategy,
    /// `selectors.clusters`.
    pub clusters: Selector,
    /// `selectors.requests`.
    pub requests: Selector,
    /// `purposeMappings`, by purpose.
    pub purposes: BTreeMap<String, Arc<Mapping>>,
}

/// What a purpose means.
#[derive(Clone, Debug, PartialEq)]
pub struct Mapping {
    /// `template.spec.tenancy` and `tenancyCount`.
    pub tenancy: Tenancy,
    /// `selectors.clusters` and the purpose's own `selector`: both must match.
    pub selector: Selector,
    /// How new Clusters are named.
    pub naming: Naming,
    /// The template of new Clusters.
    pub template: Template,
}

/// What new Clusters are made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Template {
    /// `metadata.generateName`, where set: objects with a random name keep it.
    pub generate_name: Option<String>,
    /// `metadata.namespace`, where set.
    pub namespace: Option<Arc<str>>,
    /// `metadata.labels` and, unless it is among them, the label that lets a Cluster go with its last request.
    pub labels: BTreeMap<String, String>,
    /// `metadata.annotations`.
    pub annotations: BTreeMap<String, String>,
    /// `spec`, the purpose among its purposes.
    pub spec: Value,
}

impl Config {
    /// Reads `spec`, the dialect's part of a SchedulerConfiguration, which stands at `path`. `None` when it is absent:
    /// then there is no configuration.
    ///
    /// # Errors
    /// Everything that is wrong.
    pub fn read(spec: &Value, path: &str) -> Result<Option<Self>, Vec<FieldError>> {
        if spec.is_null() {
            return Ok(None);
        }
        let mut errors = Vec::new();
        let config = read_root(spec, path, &mut errors);
        if errors.is_empty() {
            Ok(config)
        } else {
            Err(errors)
        }
    }

    /// The namespace whose Clusters a request in `namespace` may use; `None` is all.
    #[must_use]
    pub fn within<'a>(&self, mapping: &'a Mapping, namespace: &'a str) -> Option<&'a str> {
        match self.scope {
            Scope::Cluster => None,
            Scope::Namespaced => Some(mapping.home(namespace)),
        }
    }
}

impl Mapping {
    /// The namespace new Clusters for a request in `namespace` are made in.
    #[must_use]
    pub fn home<'a>(&'a self, namespace: &'a str) -> &'a str {
        self.template.namespace.as_deref().unwrap_or(namespace)
    }
}

fn read_root(spec: &Value, path: &str, errors: &mut Vec<FieldError>) -> Option<Config> {
    let mut root = Fields::of(spec, path, errors)?;
    let scheduler = root.get("scheduler");
    let at = root.at("scheduler");
    root.end(errors);
    let Some(scheduler) = scheduler else {
        errors.push(FieldError::required(
            at,
            "the scheduler has no configuration without it",
        ));
        return None;
    };
    let mut fields = Fields::of(scheduler, &at, errors)?;
    let scope = match fields.one_of("scope", &["Cluster", "Namespaced"], errors) {
        Some(0) => Scope::Cluster,
        _ => Scope::Namespaced,
    };
    let strategies = Strategy::ALL.map(Strategy::as_str);
    let strategy = fields.one_of("strategy", &strategies, errors);
    let (clusters, requests) = read_selectors(&mut fields, errors);
    let purposes = read_purposes(&mut fields, clusters.as_ref(), errors);
    fields.end(errors);
    Some(Config {
        scope,
        strategy: strategy.map_or(Strategy::default(), |index| Strategy::ALL[index]),
        clusters: clusters?,
        requests: requests?,
        purposes,
    })
}

/// `selectors.clusters` and `selectors.requests`; `None` for one that does not parse.
fn read_selectors(
    scheduler: &mut Fields<'_>,
    errors: &mut Vec<FieldError>,
) -> (Option<Selector>, Option<Selector>) {
    let everything = || Some(Selector::default());
    let at = scheduler.at("selectors");
    let Some(value) = scheduler.get("selectors") else {
        return (everything(), everything());
    };
    let Some(mut fields) = Fields::of(value, &at, errors) else {
        return (None, None);
    };
    let mut one = |name| {
        let at = fields.at(name);
        match fields.get(name) {
            Some(value) => selectors::read(value, &at, errors),
            None => everything(),
        }
    };
    let both = (one("clusters"), one("requests"));
    fields.end(errors);
    both
}

fn read_purposes(
    scheduler: &mut Fields<'_>,
    clusters: Option<&Selector>,
    errors: &mut Vec<FieldError>,
) -> BTreeMap<String, Arc<Mapping>> {
    let path = scheduler.at("purposeMappings");
    let mut purposes = BTreeMap::new();
    let Some(value) = scheduler.get("purposeMappings") else {
        return purposes;
    };
    let Some(entries) = fields::object(value, &path, errors) else {
        return purposes;
    };
    for (purpose, value) in entries {
        if purpose.is_empty() {
            errors.push(FieldError::invalid(
                path.as_str(),
                "",
                "a purpose may not be empty",
            ));
        }
        let at = format!("{path}[{purpose}]");
        if value.is_null() {
            let detail = "give the purpose a template, or take it out";
            errors.push(FieldError::required(at, detail));
        } else if let Some(mapping) = purpose::read(purpose, value, &at, clusters, errors) {
            purposes.insert(purpose.clone(), Arc::new(mapping));
        }
    }
    purposes
}
