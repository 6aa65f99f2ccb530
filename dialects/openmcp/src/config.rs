//! The scheduler's configuration in openMCP's own form (docs/systems/openmcp.md, "Configuration"), under
//! `spec.openmcp`: `scheduler.scope`, `.strategy`, `.selectors` and `.purposeMappings`.
//!
//! The schema parses the configuration, and openMCP's own defaults apply on read.

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

/// The Clusters that are considered for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Scope {
    /// The Clusters in one namespace: the namespace of the template, else of the request.
    Namespaced,
    /// The Clusters in all namespaces.
    Cluster,
}

impl Scope {
    /// The default scope by `rules`. Before v0.14, openMCP's default was Namespaced.
    #[must_use]
    pub const fn default_by(rules: Rules) -> Self {
        match rules {
            Rules::Documented => Self::Namespaced,
            Rules::Current => Self::Cluster,
        }
    }

    /// The value in the configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Namespaced => "Namespaced",
            Self::Cluster => "Cluster",
        }
    }
}

/// The choice among several suitable Clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Strategy {
    /// The Cluster with the fewest requests. Among equals, the first by namespace and name.
    #[default]
    #[serde(alias = "")]
    Balanced,
    /// Any Cluster, at random.
    Random,
    /// The first Cluster by namespace and name.
    Simple,
}

impl Strategy {
    /// The value in the configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Balanced => "Balanced",
            Self::Random => "Random",
            Self::Simple => "Simple",
        }
    }
}

/// The number of requests that may use a Cluster for a purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tenancy {
    /// One request: each request gets its own Cluster.
    Exclusive,
    /// At most this number of requests; `None` means any number.
    Shared(Option<u32>),
}

/// The configuration of the scheduler.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The field `scope`, if it is set.
    pub scope: Option<Scope>,
    /// The field `strategy`.
    pub strategy: Strategy,
    /// The field `selectors.clusters`.
    pub clusters: Selector,
    /// The field `selectors.requests`.
    pub requests: Selector,
    /// The field `purposeMappings`, by purpose.
    pub purposes: BTreeMap<String, Arc<Mapping>>,
}

/// The rules and the template for the Clusters of one purpose.
#[derive(Clone, Debug, PartialEq)]
pub struct Mapping {
    /// The fields `template.spec.tenancy` and `tenancyCount`.
    pub tenancy: Tenancy,
    /// A selector that combines `selectors.clusters` and the purpose's own `selector`.
    pub selector: Selector,
    /// The rule for the names of new Clusters.
    pub naming: Naming,
    /// The template of new Clusters.
    pub template: Template,
}

/// The template of new Clusters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Template {
    /// The field `metadata.namespace`, if it is set.
    pub namespace: Option<Arc<str>>,
    /// The field `metadata.labels`, with a default for the label by which a Cluster is deleted with its last
    /// request.
    pub labels: BTreeMap<String, String>,
    /// The field `metadata.annotations`.
    pub annotations: BTreeMap<String, String>,
    /// The field `spec`, with the purpose of the mapping in the field `purposes`.
    pub spec: Value,
}

/// The schema of the dialect's part of a SchedulerConfiguration.
pub(crate) static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::part::<Form>);

impl Config {
    /// Reads `spec`, the dialect's part of a SchedulerConfiguration, which is at `path`. Returns `None` if
    /// `spec` is null, which means that there is no configuration.
    ///
    /// # Errors
    /// All errors in `spec`.
    pub fn read(spec: &Value, path: &str) -> Result<Option<Self>, Vec<FieldError>> {
        if spec.is_null() {
            return Ok(None);
        }
        // Fields of other releases are ignored, as in openMCP, apart from a warning.
        let (mut form, _) = SCHEMA.read_known::<Form>(spec, path);
        let scheduler = std::mem::take(&mut form.value.scheduler);
        let selectors = &scheduler.selectors;
        let clusters = compile_selector(&mut form, &selectors.clusters, "scheduler.selectors.clusters");
        let requests = compile_selector(&mut form, &selectors.requests, "scheduler.selectors.requests");
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

    /// The only namespace whose Clusters a request in `namespace` may use; `None` means all namespaces. If no
    /// scope is configured, `rules` determine it.
    #[must_use]
    pub fn only_namespace<'a>(
        &self,
        mapping: &'a Mapping,
        namespace: &'a str,
        rules: Rules,
    ) -> Option<&'a str> {
        match self.scope.unwrap_or(Scope::default_by(rules)) {
            Scope::Cluster => None,
            Scope::Namespaced => Some(mapping.cluster_namespace(namespace)),
        }
    }
}

impl Mapping {
    /// The namespace of new Clusters for a request in `namespace`.
    #[must_use]
    pub fn cluster_namespace<'a>(&'a self, namespace: &'a str) -> &'a str {
        self.template.namespace.as_deref().unwrap_or(namespace)
    }
}

/// Compiles the selector at `path`. If it is invalid, adds its errors and returns `None`.
fn compile_selector(form: &mut ReadValue<Form>, selector: &LabelSelector, path: &str) -> Option<Selector> {
    match Selector::compile(selector, path) {
        Ok(selector) => Some(selector),
        Err(errors) => {
            errors.into_iter().for_each(|error| form.refuse(error));
            None
        }
    }
}

/// Reads `purposeMappings`. `clusters` is `selectors.clusters`, if it could be compiled.
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
        let entry_path = format!("{path}.{purpose}");
        let Some(mapping) = mapping else {
            let detail = "give the purpose a template, or remove it";
            form.refuse(FieldError::required(entry_path, detail));
            continue;
        };
        if let Some(mapping) = purpose::read(form, &purpose, mapping, &entry_path, clusters) {
            purposes.insert(purpose, Arc::new(mapping));
        }
    }
    purposes
}
