//! Assembly of the parts of a server, with the served groups: Kubernetes' own kinds, the dialects' kinds, the
//! configurations and the virtual API. The differences between a standalone server and a server behind a hub
//! are in [`Standalone`] and [`Hub`], which implement [`Surroundings`].

mod behind_hub;
mod core_parts;
mod standalone;

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use berth_aggregation::policies::{HubPolicies, HubWebhooks};
use berth_apimachinery::{Clock, GroupResource, Kind};
use berth_apiserver::metrics::{AdmissionMetrics, PolicyMetrics};
use berth_apiserver::{ApiState, Authorizer, Backing, Group, Registry, Resource};
use berth_configuration::Modes;
use berth_dialect_contract::Dialect;
use berth_engine::{Committer, Engine};
use berth_history::History;
use berth_hub::Requirements;
use berth_kubernetes::core;
use berth_kubernetes::protobuf::Protobuf;
use berth_policies::Enforcer;
use berth_publications::{self, Destination};
use berth_scheduling_rest::VirtualApi;
use berth_storage::Store;
use berth_syncer::SyncerViews;

use self::core_parts::{AdmissionParts, Core, EarlyParts, Surroundings, kinds};
use self::standalone::Standalone;
use super::mirrors;
use super::options::Options;
use crate::controllers::{self, ControllerMetrics, EventSink};
use crate::hub::Hub;

/// The parts of a server, standalone or behind a hub.
pub(super) struct Parts {
    /// The served dialects.
    pub dialects: Vec<Arc<dyn Dialect>>,
    /// The engine, which reads objects and decides.
    pub engine: Arc<Engine>,
    /// Modes of the systems.
    pub modes: Arc<Modes>,
    /// The resources that the engine computes.
    pub virtual_api: VirtualApi,
    /// History of the decisions.
    pub history: Arc<History>,
    /// Destination of published objects.
    pub publications: Destination,
    /// Authorizer, by the RBAC objects of this server or by the hub.
    pub authorizer: Arc<dyn Authorizer>,
    /// The API behind the request pipeline.
    pub api: Arc<ApiState>,
    /// Served groups.
    pub groups: Vec<Group>,
    /// Kinds whose objects are copied from the hub; empty without a hub.
    pub mirrored: Vec<Arc<dyn Kind>>,
    /// The resources of [`Self::mirrored`] that each dialect needs.
    pub requirements: Vec<Requirements>,
    /// Committer of decisions.
    pub committer: Arc<dyn Committer>,
    /// Destination of events.
    pub sink: Arc<dyn EventSink>,
    /// The hub's admission webhooks; `None` without a hub and for an observer.
    pub webhooks: Option<Arc<HubWebhooks>>,
    /// The hub's admission policies; `None` without a hub and for an observer.
    pub hub_policies: Option<Arc<HubPolicies>>,
    /// The admission policies in force.
    pub enforcer: Arc<Enforcer>,
    /// Counters of admission policies.
    pub policy_metrics: Arc<PolicyMetrics>,
    /// Parts of admission.
    pub admission: berth_placement_admission::Parts,
    /// Counters of admission.
    pub admission_metrics: Arc<AdmissionMetrics>,
    /// Counters of the controllers.
    pub controller_metrics: Arc<ControllerMetrics>,
    /// Views of kcp's syncers, if kcp is served.
    pub syncer_views: Option<Arc<SyncerViews>>,
    /// Registry of the served resources.
    pub registry: Arc<Registry>,
}

/// Assembles the parts of a server over `store`. Kubernetes' own kinds and the configurations are served only
/// without a hub, since a hub serves them itself (docs/reference.md, "Kubernetes' own kinds").
///
/// # Errors
/// When two parts claim the same resource, or `--controllers` has an unknown name.
pub(super) fn assemble(
    store: &Arc<dyn Store>,
    clock: &Arc<dyn Clock>,
    options: &Options,
    hub: Option<&Hub>,
) -> Result<Parts> {
    let surroundings: &dyn Surroundings = match &hub {
        Some(hub) => hub,
        None => &Standalone,
    };
    let core = Core::new(store, clock, options, surroundings);
    if let Some(hub) = hub {
        let names = core.dialects.iter().map(|dialect| dialect.name());
        names
            .filter(|name| hub.has(name))
            .for_each(|name| core.engine.set_on_hub(name));
    }
    let modes = Arc::new(modes(&core.dialects, &core.engine, options, hub)?);
    core.engine.set_mandate(Arc::clone(&modes) as Arc<_>)?;
    let write_checks = surroundings.write_checks(&core);
    let admission_parts = AdmissionParts::new(&core, &write_checks);
    let registry = Arc::clone(admission_parts.registry.handle());

    let early_parts = early_parts(&core, &registry);
    let mut virtual_api = core.virtual_api(&registry, kinds(&early_parts.own));
    let history = history(&core, surroundings, &virtual_api)?;
    let destinations = surroundings.destinations(&core, early_parts)?;
    virtual_api = virtual_api.serving(berth_publications::flat(&core.engine, destinations.copies));
    if let Some(committer) = destinations.binding_committer {
        virtual_api = virtual_api.binding_through(committer);
    }
    let mut groups = destinations.first_groups;
    groups.extend(owned_groups(&core, surroundings, &virtual_api));
    groups.extend(virtual_api.groups());
    groups.extend(destinations.last_groups);
    let syncer_views = berth_syncer::attach(
        &mut groups,
        destinations.syncer_objects,
        &core.dialects,
        super::version(),
    );
    let registry = admission_parts.registry.build(&groups)?;
    core.stored_policies.serve(&groups);
    let api = Arc::new(ApiState::from_registry(Arc::clone(&registry)).with_codec(Arc::new(Protobuf)));
    Ok(Parts {
        requirements: mirrors::requirements(&core.dialects, &destinations.mirrored),
        committer: destinations.committer,
        sink: destinations.sink,
        dialects: core.dialects,
        engine: core.engine,
        modes,
        virtual_api,
        history,
        publications: destinations.publications,
        authorizer: write_checks.authorizer,
        api,
        groups,
        mirrored: destinations.mirrored,
        webhooks: write_checks.webhooks,
        hub_policies: write_checks.hub_policies,
        enforcer: admission_parts.enforcer,
        policy_metrics: admission_parts.policy_metrics,
        admission: admission_parts.admission,
        admission_metrics: admission_parts.admission_metrics,
        controller_metrics: ControllerMetrics::new(),
        syncer_views,
        registry,
    })
}

/// Modes of the systems, by flags and configurations.
///
/// # Errors
/// When `--controllers` has a name that is neither a dialect's nor a controller's.
fn modes(
    dialects: &[Arc<dyn Dialect>],
    engine: &Engine,
    options: &Options,
    hub: Option<&Hub>,
) -> Result<Modes> {
    let selection =
        controllers::select(&options.args.controllers, dialects).map_err(|problem| anyhow!(problem))?;
    let (mut observed, mut idle) = (BTreeSet::new(), BTreeSet::new());
    for dialect in dialects {
        let name = dialect.name();
        let is_on_hub = hub.is_some_and(|hub| hub.has(name));
        let kinds: Vec<GroupResource> = dialect
            .kinds()
            .iter()
            .map(|kind| kind.info().resource())
            .collect();
        let mut demands = dialect.demands().iter();
        // kcp's demands include namespaces, which are on the hub even if Berth stores kcp's own kinds.
        let has_demands_on_hub =
            hub.is_some() && (is_on_hub || demands.any(|demand| !kinds.contains(&demand.resource)));
        if is_on_hub {
            observed.insert(name);
        }
        if has_demands_on_hub && !selection.deciders.contains(&name) {
            idle.insert(name);
        }
    }
    Ok(Modes::new(engine, options.mode, observed).without_controllers(idle))
}

/// The groups of Kubernetes' own kinds and of the configurations, over the store of `core`.
fn early_parts(core: &Core<'_>, registry: &Arc<Registry>) -> EarlyParts {
    let mut own = core::groups(core.store);
    core::add_registry_subresources(&mut own, registry);
    let mut configuration = berth_configuration::group(core.dialects.clone(), Arc::clone(core.store));
    let publications = berth_publications::resource(&core.dialects, core.store);
    configuration.resources.push(publications);
    EarlyParts {
        own,
        configuration,
        registry: Arc::clone(registry),
    }
}

/// The history of the decisions in `virtual_api`.
fn history(
    core: &Core<'_>,
    surroundings: &dyn Surroundings,
    virtual_api: &VirtualApi,
) -> Result<Arc<History>> {
    let history = History::new(
        &core.engine,
        virtual_api.projection(),
        core.store,
        core.bounds(),
        surroundings.namespaces(),
        surroundings.managers(),
    )?;
    Ok(history)
}

/// The groups of all dialects whose objects this server stores.
fn owned_groups(core: &Core<'_>, surroundings: &dyn Surroundings, virtual_api: &VirtualApi) -> Vec<Group> {
    let mut dialects: Vec<_> = core
        .dialects
        .iter()
        .filter(|dialect| !surroundings.stores_on_hub(dialect.name()))
        .collect();
    dialects.sort_by_key(|dialect| dialect.comes_last());
    dialects
        .into_iter()
        .flat_map(|dialect| groups_of(dialect, virtual_api, core.store))
        .collect()
}

/// The kinds of `dialect`, by group, with the subresources that the virtual API adds.
fn groups_of(dialect: &Arc<dyn Dialect>, virtual_api: &VirtualApi, store: &Arc<dyn Store>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for kind in dialect.stored_kinds() {
        let name = kind.info().group;
        let resource = virtual_api.extended(Resource::new(kind, Backing::Stored(Arc::clone(store))));
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.resources.push(resource),
            None => groups.push(Group {
                name,
                resources: vec![resource],
            }),
        }
    }
    groups
}
