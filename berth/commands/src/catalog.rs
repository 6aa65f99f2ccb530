//! The kinds that objects of files and hubs may be of.

use std::sync::Arc;

use berth_dialect_contract::Dialect;
use berth_engine::Catalog;
use berth_kubernetes::core;

/// Kubernetes' own kinds, those of `dialects`, and their configuration.
#[must_use]
pub fn catalog(dialects: &[Arc<dyn Dialect>]) -> Catalog {
    let kinds = dialects.iter().flat_map(|dialect| dialect.stored_kinds());
    let configuration = Arc::new(berth_configuration::SchedulerConfiguration::new(
        dialects.to_vec(),
    ));
    Catalog::new(core::kinds().into_iter().chain(kinds).chain([configuration as _]))
}
