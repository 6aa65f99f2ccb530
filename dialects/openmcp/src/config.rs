//! The scheduler's configuration in openMCP's own form (docs/systems/openmcp.md, "Configuration"),
//! under `spec.openmcp`: `scheduler.scope`, `.strategy`, `.selectors` and `.purposeMappings`.
//!
//! Read by its schema; openMCP's own defaults apply on read.

mod form;
mod purpose;
#[cfg(test)]
mod tests;
mod warn;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use berth_apimachinery::selector::{LabelSelector, Selector};
use berth_apimachinery::{FieldError, ReadValue, Schema};
use berth_dialect_contract::rules::Rules;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::naming::Naming;
use form::{Form, PurposeMapping};

pub use warn::warnings;

/// Clusters that are considered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Scope {
    /// Those of one namespace: the template's, else the request's.
    Namespaced,
    /// All.
    Cluster,
}

impl Scope {
    /// The scope of a configuration that has none, which is another one since v0.14.
    #[must_use]
    pub const fn by(rules: Rules) -> Self {
        match rules {
            Rules::Documented => Self::Namespaced,
            Rules::Current => Self::Cluster,
        }
    }

    /// The token.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Namespaced => "Namespaced",
            Self::Cluster => "Cluster",
        }
    }
}

/// Choice of a Cluster when several will do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Strategy {
    /// The one with the fewest requests, the first of these.
    #[default]
    #[serde(alias = "")]
    Balanced,
    /// Any.
    Random,
    /// The first by namespace and name.
    Simple,
}

impl Strategy {
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

/// Number of requests that a Cluster made for a purpose takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tenancy {
    /// One, for good: each request gets a Cluster of its own.
    Exclusive,
    /// So many; `None` is any number.
    Shared(Option<u32>),
}

/// Configuration of the scheduler.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// `scope`, where it is set.
    pub scope: Option<Scope>,
    /// `strategy`.
    pub strategy: Strategy,
    /// `selectors.clusters`.
    pub clusters: Selector,
    /// `selectors.requests`.
    pub requests: Selector,
    /// `purposeMappings`, by purpose.
    pub purposes: BTreeMap<String, Arc<Mapping>>,
}

/// Mapping of a purpose.
#[derive(Clone, Debug, PartialEq)]
pub struct Mapping {
    /// `template.spec.tenancy` and `tenancyCount`.
    pub tenancy: Tenancy,
    /// `selectors.clusters` and the purpose's own `selector`: both must match.
    pub selector: Selector,
    /// Rule for the names of new Clusters.
    pub naming: Naming,
    /// The template of new Clusters.
    pub template: Template,
}

/// Template of new Clusters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Template {
    /// `metadata.generateName`, where set: objects with a random name keep it.
    pub generate_name: Option<String>,
    /// `metadata.namespace`, where set.
    pub namespace: Option<Arc<str>>,
    /// `metadata.labels` and, unless it is among them, the label that lets a Cluster go with its last
    /// request.
    pub labels: BTreeMap<String, String>,
    /// `metadata.annotations`.
    pub annotations: BTreeMap<String, String>,
    /// `spec`, the purpose among its purposes.
    pub spec: Value,
}

/// The form.
pub(crate) static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::part::<Form>);

impl Config {
    /// Reads `spec`, the dialect's part of a SchedulerConfiguration, at `path`. `None` when it is
    /// absent: then there is no configuration.
    ///
    /// # Errors
    /// Everything that is wrong.
    pub fn read(spec: &Value, path: &str) -> Result<Option<Self>, Vec<FieldError>> {
        if spec.is_null() {
            return Ok(None);
        }
        // Another release's fields are warned of, and otherwise ignored, as openMCP does.
        let (mut form, _) = SCHEMA.read_known::<Form>(spec, path);
        let scheduler = std::mem::take(&mut form.value.scheduler);
        let selectors = &scheduler.selectors;
        let clusters = compiled(&mut form, &selectors.clusters, "scheduler.selectors.clusters");
        let requests = compiled(&mut form, &selectors.requests, "scheduler.selectors.requests");
        let purposes = read_purposes(&mut form, scheduler.purpose_mappings, clusters.as_ref());
        form.finish(|_| {
            Some(Self {
                scope: scheduler.scope,
                strategy: scheduler.strategy,
                clusters: clusters?,
                requests: requests?,
                purposes,
            })
        })
    }

    /// The namespace whose Clusters a request in `namespace` may use by `rules`; `None` is all.
    #[must_use]
    pub fn within<'a>(&self, mapping: &'a Mapping, namespace: &'a str, rules: Rules) -> Option<&'a str> {
        match self.scope.unwrap_or(Scope::by(rules)) {
            Scope::Cluster => None,
            Scope::Namespaced => Some(mapping.home(namespace)),
        }
    }
}

impl Mapping {
    /// The namespace of new Clusters for a request in `namespace`.
    #[must_use]
    pub fn home<'a>(&'a self, namespace: &'a str) -> &'a str {
        self.template.namespace.as_deref().unwrap_or(namespace)
    }
}

/// The selector at `path`; `None`, and refused, when it does not parse.
fn compiled(form: &mut ReadValue<Form>, selector: &LabelSelector, path: &str) -> Option<Selector> {
    match Selector::compile(selector, path) {
        Ok(selector) => Some(selector),
        Err(errors) => {
            errors.into_iter().for_each(|error| form.refuse(error));
            None
        }
    }
}

fn read_purposes(
    form: &mut ReadValue<Form>,
    mappings: BTreeMap<String, Option<PurposeMapping>>,
    clusters: Option<&Selector>,
) -> BTreeMap<String, Arc<Mapping>> {
    let path = "scheduler.purposeMappings";
    let mut purposes = BTreeMap::new();
    for (purpose, mapping) in mappings {
        if purpose.is_empty() {
            form.refuse(FieldError::invalid(path, "", "a purpose may not be empty"));
        }
        let at = format!("{path}.{purpose}");
        let Some(mapping) = mapping else {
            let detail = "give the purpose a template, or take it out";
            form.refuse(FieldError::required(at, detail));
            continue;
        };
        if let Some(mapping) = purpose::read(form, &purpose, mapping, &at, clusters) {
            purposes.insert(purpose, Arc::new(mapping));
        }
    }
    purposes
}
