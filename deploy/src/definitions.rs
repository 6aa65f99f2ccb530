//! CustomResourceDefinitions.

use std::sync::Arc;

use berth_configuration::SchedulerConfiguration;
use berth_dialect_contract::Dialect;
use berth_publications::{self, Publication};
use serde_json::Value;

/// The CustomResourceDefinition of SchedulerConfiguration: behind an aggregator, the hub always serves
/// this kind (docs/concepts.md, "Configuration"). The webhook checks rules that a schema cannot express
/// (the object has the name of a system, and the system's configuration is valid).
#[must_use]
pub fn scheduler_configurations() -> Value {
    berth_openapi::crd::definition(&SchedulerConfiguration::new(berth_dialect_registry::all()))
}

/// The CustomResourceDefinition of Publication, a kind that the hub serves, too.
#[must_use]
pub fn publications() -> Value {
    berth_openapi::crd::definition(&Publication::new(&berth_dialect_registry::all()))
}

/// The CustomResourceDefinitions of published kinds, for hubs that do not have them. They must never be
/// applied over existing ones.
#[must_use]
pub fn published_definitions() -> Vec<Value> {
    let kinds = berth_publications::on_hub();
    kinds
        .iter()
        .map(|kind| berth_openapi::crd::definition(&**kind))
        .collect()
}

/// The CustomResourceDefinitions of the systems' kinds, for hubs without the systems. Never apply them
/// over the systems' own: `kubectl create` leaves existing ones alone.
#[must_use]
pub fn system_definitions<'a>(dialects: impl IntoIterator<Item = &'a Arc<dyn Dialect>>) -> Vec<Value> {
    let kinds = dialects.into_iter().flat_map(|dialect| dialect.kinds());
    kinds.map(|kind| berth_openapi::crd::definition(&*kind)).collect()
}
