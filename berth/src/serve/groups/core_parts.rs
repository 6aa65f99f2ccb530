//! Parts of every server, and the interface to the parts that differ between a standalone server and a server
//! behind a hub.

use std::sync::Arc;

use anyhow::Result;
use berth_aggregation::policies::{HubPolicies, HubWebhooks};
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
use berth_publications::{Copies, Destination};
use berth_scheduling_rest::records::{Bounds, Medium, Records};
use berth_scheduling_rest::{RegistryCommitter, VirtualApi};
use berth_storage::{Source, Store};
use berth_syncer::{ConfigurationReader, SyncerObjects};

use crate::controllers::EventSink;
use crate::serve::options::Options;

/// Surroundings of a server: standalone, or behind a hub. They provide the parts that differ.
pub(super) trait Surroundings {
    /// Settings of the systems from the command line.
    fn settings(&self, actors: &ActorArgs) -> Settings;
    /// Whether the hub stores the objects of the system named `dialect`; always false without a hub.
    fn stores_on_hub(&self, dialect: &str) -> bool;
    /// Authorization, policies and webhooks for writes to this server.
    fn write_checks(&self, core: &Core<'_>) -> WriteChecks;
    /// The resource of namespaces, if namespaces are served here.
    fn namespaces(&self) -> Option<GroupResource>;
    /// The field managers of objects that the hub stores; `None` without a hub.
    fn managers(&self) -> Option<Managers>;
    /// The destinations of decisions, events and publications, and the groups that are served in addition to
    /// the groups of the systems.
    ///
    /// # Errors
    /// When two parts claim the same resource.
    fn destinations(&self, core: &Core<'_>, early_parts: EarlyParts) -> Result<Destinations>;
}

/// Parts of every server that depend on the surroundings only through the settings of the systems.
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

    /// Reader of the configuration in force of each system, for crates that do not depend on the engine.
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

    /// The virtual API over `registry`; `kinds` are Kubernetes' own kinds.
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
pub(super) struct WriteChecks {
    /// Authorizer of the users who write.
    pub(super) authorizer: Arc<dyn Authorizer>,
    /// Kinds whose objects may be owners of objects that are stored here.
    pub(super) owners: Vec<Arc<dyn Kind>>,
    /// The stored admission policies, which are validated when they are written; `None` behind a hub, which
    /// stores them.
    pub(super) policies: Option<Arc<StoredPolicies>>,
    /// The admission policies that apply to writes to this server.
    pub(super) catalog: Arc<dyn Catalog>,
    /// The admission policies of the hub; `None` without a hub and for an observer.
    pub(super) hub_policies: Option<Arc<HubPolicies>>,
    /// The admission webhooks of the hub; `None` without a hub and for an observer.
    pub(super) webhooks: Option<Arc<HubWebhooks>>,
}

/// The builder of the registry, and the parts of admission that a write passes.
pub(super) struct AdmissionParts {
    pub(super) registry: RegistryBuilder,
    pub(super) admission: berth_placement_admission::Parts,
    pub(super) enforcer: Arc<Enforcer>,
    pub(super) admission_metrics: Arc<AdmissionMetrics>,
    pub(super) policy_metrics: Arc<PolicyMetrics>,
}

impl AdmissionParts {
    pub(super) fn new(core: &Core<'_>, write_checks: &WriteChecks) -> Self {
        let (admission_metrics, policy_metrics) = (AdmissionMetrics::new(), PolicyMetrics::new());
        let admission = berth_placement_admission::Parts {
            engine: Arc::clone(&core.engine),
            rbac: Arc::clone(&core.rbac),
            authorizer: Arc::clone(&write_checks.authorizer),
            break_glass: core.options.args.break_glass_group.clone(),
            observer: Arc::clone(&admission_metrics) as Arc<_>,
            owners: write_checks.owners.clone(),
            policies: write_checks.policies.clone(),
        };
        let catalog = Arc::clone(&write_checks.catalog);
        let surroundings = berth_placement_admission::Surroundings::new(
            catalog,
            &write_checks.authorizer,
            &core.source,
            &policy_metrics,
        );
        let enforcer = Enforcer::new(Arc::new(surroundings));
        let mut chain = admission
            .in_process(&core.source)
            .with_policies(Arc::clone(&enforcer) as Arc<_>);
        // Webhooks come after the policies in each pass, as in kube-apiserver.
        if let Some(webhooks) = &write_checks.webhooks {
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

/// Parts that are assembled before the destinations of writes.
pub(super) struct EarlyParts {
    /// The groups of Kubernetes' own kinds.
    pub(super) own: Vec<Group>,
    /// The group of the configurations.
    pub(super) configuration: Group,
    /// The registry of the served resources, which is built later.
    pub(super) registry: Arc<Registry>,
}

/// The kinds of `groups`.
pub(super) fn kinds(groups: &[Group]) -> Vec<Arc<dyn Kind>> {
    let resources = groups.iter().flat_map(|group| &group.resources);
    resources.map(|resource| Arc::clone(&resource.kind)).collect()
}

/// The destinations of writes, and the groups that are served in addition to the groups of the systems.
pub(super) struct Destinations {
    /// Writer of decisions.
    pub(super) committer: Arc<dyn Committer>,
    /// Committer of Bindings; `None` if the registry commits Bindings.
    pub(super) binding_committer: Option<Arc<dyn Committer>>,
    /// Writer of events.
    pub(super) sink: Arc<dyn EventSink>,
    /// Destination of published objects.
    pub(super) publications: Destination,
    /// Copies of Publications from the hub; `None` without a hub.
    pub(super) copies: Option<Arc<Copies>>,
    /// Kinds whose objects are copied from the hub.
    pub(super) mirrored: Vec<Arc<dyn Kind>>,
    /// Access to the objects that syncers see.
    pub(super) syncer_objects: SyncerObjects,
    /// Groups that are listed before the groups of the systems.
    pub(super) first_groups: Vec<Group>,
    /// Groups that are listed after the groups of the virtual API.
    pub(super) last_groups: Vec<Group>,
}
