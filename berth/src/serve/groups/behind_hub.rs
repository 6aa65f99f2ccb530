//! A server behind a hub: the hub stores Kubernetes' own kinds and the configurations, and its
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
use berth_publications::{self, Copies, Place};
use berth_scheduling_rest::RegistryCommitter;
use berth_syncer::{OnHub, SyncerObjects};

use super::core_parts::{Core, EarlyParts, Homes, Judges, Surroundings, kinds};
use crate::hub::Hub;
use crate::serve::mirrors;

impl Surroundings for &Hub {
    fn settings(&self, actors: &ActorArgs) -> Settings {
        actors.settings_on_hub()
    }

    fn has(&self, dialect: &str) -> bool {
        Hub::has(self, dialect)
    }

    fn judges(&self, core: &Core<'_>) -> Judges {
        let authorizer = self.delegation.authorizer(core.clock);
        // An observer writes nothing: it needs no admission.
        let is_asked = !core.options.is_observer();
        let hub_policies = is_asked.then(|| self.policies(Arc::clone(&core.stored) as Arc<_>));
        let catalog: Arc<dyn Catalog> = match &hub_policies {
            Some(policies) => Arc::clone(policies) as Arc<_>,
            None => Arc::clone(&core.stored) as Arc<_>,
        };
        let webhooks = is_asked.then(|| {
            let reviewer = Arc::new(Reviewer::new(&authorizer));
            Hub::webhooks(self, core.store, core.options.own_addresses(), reviewer)
        });
        Judges {
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

    fn homes(&self, core: &Core<'_>, built: EarlyParts) -> Result<Homes> {
        let mirrored = mirrored(self, core, &built);
        let resources = mirrored.iter().map(|kind| kind.info().resource()).collect();
        let own: Arc<dyn Committer> = Arc::new(RegistryCommitter(Arc::clone(&built.registry)));
        let committer = self.committer(core.store, resources, own);
        let registry = mirrors::copies(&mirrored, &core.source, core.clock)?;
        let clusters = match Hub::has(self, berth_syncer::DIALECT) {
            true => Arc::clone(&registry),
            false => built.registry,
        };
        let copies = Arc::new(Copies::default());
        Ok(Homes {
            binds_through: Some(Arc::clone(&committer) as Arc<_>),
            sink: self.events(),
            publications: Place::Hub {
                committer: Arc::clone(&committer),
                copies: Arc::clone(&copies),
            },
            copies: Some(copies),
            mirrored,
            shown: SyncerObjects {
                clusters,
                registry,
                home: Some(Arc::new(OnHub(Arc::clone(&committer)))),
                source: Arc::clone(&core.source),
                configuration: core.configured(),
            },
            committer,
            first: Vec::new(),
            last: Vec::new(),
        })
    }
}

/// Kinds that are copied from the hub: Kubernetes' own kinds that decisions read, the configurations,
/// and the kinds of the systems there.
fn mirrored(hub: &Hub, core: &Core<'_>, built: &EarlyParts) -> Vec<Arc<dyn Kind>> {
    let is_observer = core.options.is_observer();
    let resources = match is_observer {
        true => mirrors::observed(&core.dialects),
        false => mirrors::followed(&core.dialects),
    };
    let mut mirrored = kinds(&built.own);
    mirrored.retain(|kind| resources.contains(&kind.info().resource()));
    let configured = built.configuration.resources.iter();
    mirrored.extend(configured.map(|resource| Arc::clone(&resource.kind)));
    if !is_observer {
        mirrored.extend(berth_publications::on_hub());
    }
    let on_hub = core.dialects.iter().filter(|dialect| hub.has(dialect.name()));
    mirrored.extend(on_hub.flat_map(|dialect: &Arc<dyn Dialect>| dialect.kinds()));
    mirrored
}
