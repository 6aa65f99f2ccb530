//! CustomResourceDefinitions: of Berth's own kinds on a hub, of published kinds, and of the systems' kinds.

use std::sync::Arc;

use berth_configuration::SchedulerConfiguration;
use berth_dialect_contract::Dialect;
use berth_publications::{self, Publication};
use serde_json::Value;

/// The CustomResourceDefinition of SchedulerConfiguration: behind an aggregator, the hub always serves
/// this kind (docs/concepts.md, "Configuration"). Berth's admission webhook checks rules that a schema cannot
/// express (the object has the name of a system, and the system's configuration is valid).
#[must_use]
pub fn scheduler_configurations() -> Value {
    berth_openapi::crd::definition(&SchedulerConfiguration::new(berth_dialect_registry::all()))
}

/// The CustomResourceDefinition of Publication: behind an aggregator, the hub serves this kind.
#[must_use]
pub fn publications() -> Value {
    berth_openapi::crd::definition(&Publication::new(&berth_dialect_registry::all()))
}

/// The CustomResourceDefinitions of the kinds that Publications publish, for hubs that do not have these
/// kinds. Never apply them over existing definitions.
#[must_use]
pub fn published_definitions() -> Vec<Value> {
    let kinds = berth_publications::kinds_on_hub();
    kinds
        .iter()
        .map(|kind| berth_openapi::crd::definition(&**kind))
        .collect()
}

/// The CustomResourceDefinitions of the systems' kinds, for hubs without the systems. Never apply them over
/// the systems' own definitions: `kubectl create` does not change existing definitions.
#[must_use]
pub fn system_definitions<'a>(dialects: impl IntoIterator<Item = &'a Arc<dyn Dialect>>) -> Vec<Value> {
    let kinds = dialects.into_iter().flat_map(|dialect| dialect.kinds());
    kinds.map(|kind| berth_openapi::crd::definition(&*kind)).collect()
}
