//! Parts that all servers have, and the additions of the surroundings.

use std::sync::Arc;

use anyhow::Result;
use berth_aggregation::policies::{HubPolicies, Policies as Webhooks};
use berth_apimachinery::{Clock, GroupResource, Kind};
use berth_apiserver::metrics::{AdmissionMetrics, PolicyMetrics};
use berth_apiserver::{Authorizer, Group, Registry, RegistryBuilder};
use berth_deploy::Storage;
use berth_dialect_contract::Dialect;
use berth_dialect_registry::{ActorArgs, Settings};
use berth_engine::{Committer, Engine};
use berth_history::causes::Managers;
use berth_kubernetes::rbac::Rbac;
use berth_placement_admission::{AutoBind, StoredPolicies};
use berth_policies::{Catalog, Enforcer};
use berth_publications::{Copies, Place};
use berth_scheduling_rest::records::{Bounds, Medium, Records};
use berth_scheduling_rest::{RegistryCommitter, VirtualApi};
use berth_storage::{Source, Store};
use berth_syncer::{ConfigurationReader, SyncerObjects};

use crate::controllers::Sink;
use crate::serve::options::Options;

/// Surroundings of a server: standalone, or behind a hub.
pub(super) trait Surroundings {
    /// Settings of the systems from the command line.
    fn settings(&self, actors: &ActorArgs) -> Settings;
    /// Whether the hub stores the objects of the system named `dialect`; always false without a hub.
    fn has(&self, dialect: &str) -> bool;
    /// Authorization, policies and webhooks for writes to this server.
    fn judges(&self, core: &Core<'_>) -> Judges;
    /// The resource of namespaces, if namespaces are served here.
    fn namespaces(&self) -> Option<GroupResource>;
    /// The field managers of objects that the hub stores; `None` without a hub.
    fn managers(&self) -> Option<Managers>;
    /// The destinations of decisions, events and publications, and the groups in addition to the
    /// systems'.
    ///
    /// # Errors
    /// When two parts claim the same resource.
    fn destinations(&self, core: &Core<'_>, early_parts: EarlyParts) -> Result<Destinations>;
}

/// Parts that need only settings from the surroundings.
pub(super) struct Core<'a> {
    pub(super) store: &'a Arc<dyn Store>,
    pub(super) clock: &'a Arc<dyn Clock>,
    pub(super) options: &'a Options,
    pub(super) source: Arc<dyn Source>,
    pub(super) dialects: Vec<Arc<dyn Dialect>>,
    pub(super) engine: Arc<Engine>,
    pub(super) rbac: Arc<Rbac>,
    /// The admission policies among the objects that are stored here.
    pub(super) stored_policies: Arc<StoredPolicies>,
}

impl<'a> Core<'a> {
    pub(super) fn new(
        store: &'a Arc<dyn Store>,
        clock: &'a Arc<dyn Clock>,
        options: &'a Options,
        surroundings: &dyn Surroundings,
    ) -> Self {
        let mut settings = surroundings.settings(&options.args.actors);
        settings.targets_url = options.targets_url();
        let dialects = options.args.hub.served(berth_dialect_registry::with(&settings));
        let source = Arc::clone(store) as Arc<dyn Source>;
        Self {
            engine: Engine::new(dialects.clone(), Arc::clone(&source), Arc::clone(clock)),
            rbac: Rbac::new(Arc::clone(&source)),
            stored_policies: StoredPolicies::new(&source),
            store,
            clock,
            options,
            source,
            dialects,
        }
    }

    /// Reader of each system's configuration in force, for crates that do not depend on the engine.
    pub(super) fn configuration_reader(&self) -> ConfigurationReader {
        let configurations = Arc::clone(self.engine.configurations());
        Arc::new(move |dialect: &str| configurations.of(dialect).object().cloned())
    }

    /// Bounds of the history.
    pub(super) fn bounds(&self) -> Bounds {
        Bounds {
            per_decision: self.options.args.history_per_decision,
            max_age: self.options.args.history_max_age,
            ..Bounds::default()
        }
    }

    /// The virtual API over `registry`, which has Kubernetes' own `kinds`.
    pub(super) fn virtual_api(&self, registry: &Arc<Registry>, kinds: Vec<Arc<dyn Kind>>) -> VirtualApi {
        VirtualApi::new(Arc::clone(&self.engine), Arc::clone(registry), kinds)
            .observing(self.options.args.agreement_grace_period)
            .remembering(Records {
                store: Arc::clone(self.store),
                medium: medium(self.options.args.storage),
                bounds: self.bounds(),
            })
    }
}

fn medium(storage: Storage) -> Medium {
    match storage {
        Storage::Memory => Medium::Memory,
        Storage::Embedded => Medium::Database,
        Storage::Etcd => Medium::Etcd,
    }
}

/// Authorization, policies and webhooks for writes to this server.
pub(super) struct Judges {
    /// Authorization.
    pub(super) authorizer: Arc<dyn Authorizer>,
    /// Kinds whose objects may be owners of other objects here.
    pub(super) owners: Vec<Arc<dyn Kind>>,
    /// The admission policies that are checked when they are written here.
    pub(super) policies: Option<Arc<StoredPolicies>>,
    /// The admission policies in force.
    pub(super) catalog: Arc<dyn Catalog>,
    /// The admission policies of the hub.
    pub(super) hub_policies: Option<Arc<HubPolicies>>,
    /// The admission webhooks of the hub.
    pub(super) webhooks: Option<Arc<Webhooks>>,
}

/// The builder of the registry, and the admission that a write passes.
pub(super) struct AdmissionParts {
    pub(super) registry: RegistryBuilder,
    pub(super) admission: berth_placement_admission::Parts,
    pub(super) enforcer: Arc<Enforcer>,
    pub(super) admission_metrics: Arc<AdmissionMetrics>,
    pub(super) policy_metrics: Arc<PolicyMetrics>,
}

impl AdmissionParts {
    pub(super) fn new(core: &Core<'_>, judges: &Judges) -> Self {
        let (admission_metrics, policy_metrics) = (AdmissionMetrics::new(), PolicyMetrics::new());
        let admission = berth_placement_admission::Parts {
            engine: Arc::clone(&core.engine),
            rbac: Arc::clone(&core.rbac),
            authorizer: Arc::clone(&judges.authorizer),
            break_glass: core.options.args.break_glass_group.clone(),
            observer: Arc::clone(&admission_metrics) as Arc<_>,
            owners: judges.owners.clone(),
            policies: judges.policies.clone(),
        };
        let catalog = Arc::clone(&judges.catalog);
        let surroundings = berth_placement_admission::Surroundings::new(
            catalog,
            &judges.authorizer,
            &core.source,
            &policy_metrics,
        );
        let enforcer = Enforcer::new(Arc::new(surroundings));
        let mut chain = admission
            .in_process(&core.source)
            .with_policies(Arc::clone(&enforcer) as Arc<_>);
        // Webhooks come after the policies in each pass, as in kube-apiserver.
        if let Some(webhooks) = &judges.webhooks {
            chain = chain.with_policies(Arc::clone(webhooks) as Arc<_>);
        }
        let registry = Registry::builder(chain, Arc::clone(core.clock));
        let handle = registry.handle();
        let committer = Arc::new(RegistryCommitter(Arc::clone(handle)));
        let auto_bind = AutoBind::new(Arc::clone(&core.engine), committer, Arc::clone(handle));
        Self {
            registry: registry.on_create(Arc::new(auto_bind)),
            admission,
            enforcer,
            admission_metrics,
            policy_metrics,
        }
    }
}

/// Parts that exist before the destinations of writes are known.
pub(super) struct EarlyParts {
    /// Kubernetes' own groups.
    pub(super) own: Vec<Group>,
    /// The group of configurations.
    pub(super) configuration: Group,
    pub(super) registry: Arc<Registry>,
}

/// The kinds of `groups`.
pub(super) fn kinds(groups: &[Group]) -> Vec<Arc<dyn Kind>> {
    let resources = groups.iter().flat_map(|group| &group.resources);
    resources.map(|resource| Arc::clone(&resource.kind)).collect()
}

/// The destinations of writes, and the groups in addition to the systems'.
pub(super) struct Destinations {
    /// Writer of decisions.
    pub(super) committer: Arc<dyn Committer>,
    /// Committer of Bindings, if the registry does not commit them.
    pub(super) binds_through: Option<Arc<dyn Committer>>,
    /// Writer of events.
    pub(super) sink: Arc<dyn Sink>,
    /// Destination of publications.
    pub(super) publications: Place,
    /// Copies of Publications, if the hub stores them.
    pub(super) copies: Option<Arc<Copies>>,
    /// Kinds that are copied from the hub.
    pub(super) mirrored: Vec<Arc<dyn Kind>>,
    /// Objects that syncers see.
    pub(super) syncer_objects: SyncerObjects,
    /// Groups before the groups of the systems.
    pub(super) first: Vec<Group>,
    /// Groups that follow the groups of the virtual API.
    pub(super) last: Vec<Group>,
}
