//! A server behind a hub: the hub stores Kubernetes' own kinds and the configurations, and the hub's
//! admission applies to objects that are stored here.

use std::sync::Arc;

use anyhow::Result;
use berth_apimachinery::{GroupResource, Kind};
use berth_apiserver::authz::expressions::Reviewer;
use berth_dialect_contract::Dialect;
use berth_dialect_registry::{ActorArgs, Settings};
use berth_engine::Committer;
use berth_history::causes::Managers;
use berth_policies::Catalog;
use berth_publications::{self, Copies, Destination};
use berth_scheduling_rest::RegistryCommitter;
use berth_syncer::{OnHub, SyncerObjects};

use super::core_parts::{Core, Destinations, EarlyParts, Surroundings, WriteChecks, kinds};
use crate::hub::Hub;
use crate::serve::mirrors;

impl Surroundings for &Hub {
    fn settings(&self, actors: &ActorArgs) -> Settings {
        actors.settings_on_hub()
    }

    fn stores_on_hub(&self, dialect: &str) -> bool {
        Hub::has(self, dialect)
    }

    fn write_checks(&self, core: &Core<'_>) -> WriteChecks {
        let authorizer = self.delegation.authorizer(core.clock);
        // An observer does not write objects, so it needs no admission.
        let has_admission = !core.options.is_observer();
        let hub_policies = has_admission.then(|| self.policies(Arc::clone(&core.stored_policies) as Arc<_>));
        let catalog: Arc<dyn Catalog> = match &hub_policies {
            Some(policies) => Arc::clone(policies) as Arc<_>,
            None => Arc::clone(&core.stored_policies) as Arc<_>,
        };
        let webhooks = has_admission.then(|| {
            let reviewer = Arc::new(Reviewer::new(&authorizer));
            Hub::webhooks(self, core.store, core.options.own_addresses(), reviewer)
        });
        WriteChecks {
            authorizer,
            owners: Vec::new(),
            policies: None,
            catalog,
            hub_policies,
            webhooks,
        }
    }

    fn namespaces(&self) -> Option<GroupResource> {
        None
    }

    fn managers(&self) -> Option<Managers> {
        Some(Hub::managers(self))
    }

    fn destinations(&self, core: &Core<'_>, early_parts: EarlyParts) -> Result<Destinations> {
        let mirrored = mirrored(self, core, &early_parts);
        let resources = mirrored.iter().map(|kind| kind.info().resource()).collect();
        let own: Arc<dyn Committer> = Arc::new(RegistryCommitter(Arc::clone(&early_parts.registry)));
        let committer = self.committer(core.store, resources, own);
        let registry = mirrors::copies(&mirrored, &core.source, core.clock)?;
        let clusters = match Hub::has(self, berth_syncer::DIALECT) {
            true => Arc::clone(&registry),
            false => early_parts.registry,
        };
        let copies = Arc::new(Copies::default());
        Ok(Destinations {
            binding_committer: Some(Arc::clone(&committer) as Arc<_>),
            sink: self.events(),
            publications: Destination::Hub {
                committer: Arc::clone(&committer),
                copies: Arc::clone(&copies),
            },
            copies: Some(copies),
            mirrored,
            syncer_objects: SyncerObjects {
                clusters,
                registry,
                hub: Some(Arc::new(OnHub(Arc::clone(&committer)))),
                source: Arc::clone(&core.source),
                configuration: core.configuration_reader(),
            },
            committer,
            first_groups: Vec::new(),
            last_groups: Vec::new(),
        })
    }
}

/// Kinds that are copied from the hub: Kubernetes' own kinds that Berth reads, the configurations, the
/// published kinds (not for an observer), and the kinds of the systems whose objects are on the hub.
fn mirrored(hub: &Hub, core: &Core<'_>, early_parts: &EarlyParts) -> Vec<Arc<dyn Kind>> {
    let is_observer = core.options.is_observer();
    let resources = match is_observer {
        true => mirrors::observed_resources(&core.dialects),
        false => mirrors::copied_resources(&core.dialects),
    };
    let mut mirrored = kinds(&early_parts.own);
    mirrored.retain(|kind| resources.contains(&kind.info().resource()));
    let configuration_resources = early_parts.configuration.resources.iter();
    mirrored.extend(configuration_resources.map(|resource| Arc::clone(&resource.kind)));
    if !is_observer {
        mirrored.extend(berth_publications::kinds_on_hub());
    }
    let on_hub = core.dialects.iter().filter(|dialect| hub.has(dialect.name()));
    mirrored.extend(on_hub.flat_map(|dialect: &Arc<dyn Dialect>| dialect.kinds()));
    mirrored
}
