//! CustomResourceDefinitions.

use std::sync::Arc;

use configuration::SchedulerConfiguration;
use dialect_contract::Dialect;
use publications::{self, Publication};
use serde_json::Value;

/// The CustomResourceDefinition of SchedulerConfiguration, which behind an aggregator is always the hub's to serve
/// (docs/api.md, "Configuration"). What a schema cannot say (a name is that of a system, a system's configuration is
/// valid) is for the webhook.
#[must_use]
pub fn scheduler_configurations() -> Value {
    openapi::crd::definition(&SchedulerConfiguration::new(dialect_registry::all()))
}

/// The CustomResourceDefinition of Publication, which is the hub's to serve as well.
#[must_use]
pub fn publications() -> Value {
    openapi::crd::definition(&Publication::new(&dialect_registry::all()))
}

/// The CustomResourceDefinitions of what is published, for hubs that do not have them from elsewhere. Never to be applied
/// over others.
#[must_use]
pub fn published_definitions() -> Vec<Value> {
    let kinds = publications::on_hub();
    kinds
        .iter()
        .map(|kind| openapi::crd::definition(&**kind))
        .collect()
}

/// The CustomResourceDefinitions of the systems' kinds, for hubs without the systems. Never to be applied over the
/// systems' own: `kubectl create` leaves alone what is there.
#[must_use]
pub fn system_definitions<'a>(dialects: impl IntoIterator<Item = &'a Arc<dyn Dialect>>) -> Vec<Value> {
    let kinds = dialects.into_iter().flat_map(|dialect| dialect.kinds());
    kinds.map(|kind| openapi::crd::definition(&*kind)).collect()
}
