//! A standalone server: everything is stored and served here.

use std::sync::Arc;

use anyhow::Result;
use berth_apimachinery::GroupResource;
use berth_dialect_registry::{ActorArgs, Settings};
use berth_history::causes::Managers;
use berth_kubernetes::{core, reviews};
use berth_publications::{self, Destination};
use berth_scheduling_rest::RegistryCommitter;
use berth_syncer::SyncerObjects;

use super::core_parts::{Core, Destinations, EarlyParts, Surroundings, WriteChecks};
use crate::controllers::OwnEvents;
use crate::definitions;

/// Surroundings of a standalone server: there is no hub.
pub(super) struct Standalone;

impl Surroundings for Standalone {
    fn settings(&self, actors: &ActorArgs) -> Settings {
        actors.settings()
    }

    fn stores_on_hub(&self, _: &str) -> bool {
        false
    }

    fn write_checks(&self, core: &Core<'_>) -> WriteChecks {
        let systems = core.dialects.iter().flat_map(|dialect| dialect.stored_kinds());
        WriteChecks {
            authorizer: Arc::clone(&core.rbac) as Arc<_>,
            owners: core::kinds().into_iter().chain(systems).collect(),
            policies: Some(Arc::clone(&core.stored_policies)),
            catalog: Arc::clone(&core.stored_policies) as Arc<_>,
            hub_policies: None,
            webhooks: None,
        }
    }

    fn namespaces(&self) -> Option<GroupResource> {
        Some(core::namespace::RESOURCE)
    }

    fn managers(&self) -> Option<Managers> {
        None
    }

    fn destinations(&self, core: &Core<'_>, early_parts: EarlyParts) -> Result<Destinations> {
        let EarlyParts {
            own,
            configuration,
            registry,
        } = early_parts;
        let mut first_groups = own;
        first_groups.extend(reviews::groups(&core.rbac));
        first_groups.extend([configuration, definitions::group()]);
        Ok(Destinations {
            committer: Arc::new(RegistryCommitter(Arc::clone(&registry))),
            binding_committer: None,
            sink: Arc::new(OwnEvents(Arc::clone(&registry))),
            publications: Destination::Registry(Arc::clone(&registry)),
            copies: None,
            mirrored: Vec::new(),
            syncer_objects: SyncerObjects {
                clusters: Arc::clone(&registry),
                registry,
                hub: None,
                source: Arc::clone(&core.source),
                configuration: core.configuration_reader(),
            },
            first_groups,
            // This group is the last one: some systems have kinds with these names, and `kubectl` uses the
            // first kind for a bare name.
            last_groups: vec![berth_publications::group(core.store)],
        })
    }
}
