//! What is served, and by whom: Kubernetes' own kinds, the dialects' kinds, the configuration and the virtual API.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use berth_aggregation::{HubPolicies, Policies as Webhooks};
use berth_apimachinery::{Clock, GroupResource, Kind};
use berth_apiserver::authz::expressions::Reviewer;
use berth_apiserver::handlers::ApiState;
use berth_apiserver::metrics::{AdmissionMetrics, PolicyMetrics};
use berth_apiserver::registry::Registry;
use berth_apiserver::{Authorizer, Backing, Group, Resource};
use berth_configuration::Modes;
use berth_dialect_contract::Dialect;
use berth_engine::{Committer, Engine};
use berth_history::History;
use berth_hub::Needs;
use berth_kubernetes::protobuf::Protobuf;
use berth_kubernetes::rbac::Rbac;
use berth_kubernetes::{core, reviews};
use berth_placement_admission::{self, AutoBind, StoredPolicies, Surroundings};
use berth_policies::{Catalog, Enforcer};
use berth_publications::{self, Copies, Place};
use berth_scheduling_rest::records::{Bounds, Medium, Records};
use berth_scheduling_rest::{RegistryCommitter, VirtualApi};
use berth_storage::{Source, Store};
use berth_syncer::{OnHub, Shown, SyncerViews};

use super::mirrors;
use super::options::Options;
use crate::controllers::{self, ControllerMetrics, OwnEvents, Sink};
use crate::definitions;
use crate::hub::Hub;
use crate::stores::Storage;

/// The parts of a standalone server.
pub(super) struct Parts {
    /// Every dialect served.
    pub dialects: Vec<Arc<dyn Dialect>>,
    /// What knows and decides.
    pub engine: Arc<Engine>,
    /// Which systems it decides.
    pub modes: Arc<Modes>,
    /// Its resources.
    pub virtual_api: VirtualApi,
    /// What remembers its decisions.
    pub history: Arc<History>,
    /// Where what other tools read is written.
    pub publications: Place,
    /// Who may do what, by the objects served here or the hub's word.
    pub authorizer: Arc<dyn Authorizer>,
    /// The API behind the request pipeline.
    pub api: Arc<ApiState>,
    /// What is served.
    pub groups: Vec<Group>,
    /// What is the hub's, and copied from there; nothing where there is no hub.
    pub mirrored: Vec<Arc<dyn Kind>>,
    /// What each dialect needs of that.
    pub needs: Vec<Needs>,
    /// What decisions are written through.
    pub committer: Arc<dyn Committer>,
    /// What events are written to.
    pub sink: Arc<dyn Sink>,
    /// The hub's admission webhooks, where there is a hub.
    pub webhooks: Option<Arc<Webhooks>>,
    /// The hub's admission policies, where there is a hub.
    pub hub_policies: Option<Arc<HubPolicies>>,
    /// The admission policies in force.
    pub enforcer: Arc<Enforcer>,
    /// What admission policies count.
    pub policy_metrics: Arc<PolicyMetrics>,
    /// What admission is made of.
    pub admission: berth_placement_admission::Parts,
    /// What admission counts.
    pub admission_metrics: Arc<AdmissionMetrics>,
    /// What the controllers count.
    pub controller_metrics: Arc<ControllerMetrics>,
    /// Views of kcp's syncers, where kcp is served.
    pub syncer_views: Option<Arc<SyncerViews>>,
    /// What is served, and how it is written.
    pub registry: Arc<Registry>,
}

/// Puts the parts together over one store. Kubernetes' own kinds and the configurations are served only where no hub
/// does (docs/reference.md, "Kubernetes' own kinds").
///
/// # Errors
/// When two parts claim the same resource.
pub(super) fn assemble(
    store: &Arc<dyn Store>,
    clock: &Arc<dyn Clock>,
    options: &Options,
    hub: Option<&Hub>,
) -> Result<Parts> {
    let mut settings = match hub {
        Some(_) => options.actors.settings_on_hub(),
        None => options.actors.settings(),
    };
    settings.targets_url = options.targets_url();
    let dialects = options.hub.served(berth_dialect_registry::with(&settings));
    let source = Arc::clone(store) as Arc<dyn Source>;
    let engine = Engine::new(dialects.clone(), Arc::clone(&source), Arc::clone(clock));
    let modes = Arc::new(modes(&dialects, &source, options, hub)?);
    engine.mandated(Arc::clone(&modes) as Arc<_>)?;
    let rbac = Rbac::new(Arc::clone(&source));
    let authorizer = match hub {
        Some(hub) => hub.delegation.authorizer(clock),
        None => Arc::clone(&rbac) as Arc<dyn Authorizer>,
    };
    let stored = StoredPolicies::new(&source);
    let admission_metrics = AdmissionMetrics::new();
    let admission = berth_placement_admission::Parts {
        engine: Arc::clone(&engine),
        rbac: Arc::clone(&rbac),
        authorizer: Arc::clone(&authorizer),
        break_glass: options.break_glass_groups.clone(),
        observer: Arc::clone(&admission_metrics) as Arc<_>,
        owners: match hub {
            Some(_) => Vec::new(),
            None => {
                let systems = dialects.iter().flat_map(|dialect| dialect.stored_kinds());
                core::kinds().into_iter().chain(systems).collect()
            }
        },
        policies: hub.is_none().then(|| Arc::clone(&stored)),
    };
    let policy_metrics = PolicyMetrics::new();
    // Where nothing is written, nobody has to be asked.
    let asked = hub.filter(|_| !options.is_observer());
    let hub_policies = asked.map(|hub| hub.policies(Arc::clone(&stored) as Arc<_>));
    let catalog: Arc<dyn Catalog> = match &hub_policies {
        Some(policies) => Arc::clone(policies) as Arc<_>,
        None => Arc::clone(&stored) as Arc<_>,
    };
    let surroundings = Surroundings::new(catalog, &authorizer, &source, &policy_metrics);
    let enforcer = Enforcer::new(Arc::new(surroundings));
    let mut chain = admission
        .in_process(&source)
        .with_policies(Arc::clone(&enforcer) as Arc<_>);
    let webhooks = asked.map(|hub| {
        let reviewer = Arc::new(Reviewer::new(&authorizer));
        hub.webhooks(store, options.own_addresses(), reviewer)
    });
    // In each pass after the policies, as in kube-apiserver.
    if let Some(webhooks) = &webhooks {
        chain = chain.with_policies(Arc::clone(webhooks) as Arc<_>);
    }
    let registry = Registry::new(chain, Arc::clone(clock));
    let committer = Arc::new(RegistryCommitter(Arc::clone(&registry)));
    let auto_bind = AutoBind::new(Arc::clone(&engine), committer, Arc::clone(&registry));
    registry
        .on_create(Arc::new(auto_bind))
        .map_err(|problem| anyhow!(problem))?;

    let mut own = core::groups(store);
    core::write_through(&mut own, &registry);
    let own_kinds = own
        .iter()
        .flat_map(|group| group.resources.iter().map(|resource| Arc::clone(&resource.kind)));
    let own_kinds: Vec<Arc<dyn Kind>> = own_kinds.collect();
    let bounds = Bounds {
        per_decision: options.history_per_decision,
        max_age: options.history_max_age,
        ..Bounds::default()
    };
    let mut virtual_api = VirtualApi::new(Arc::clone(&engine), Arc::clone(&registry), own_kinds.clone())
        .observing(options.agreement_grace)
        .remembering(Records {
            store: Arc::clone(store),
            medium: medium(options.storage),
            bounds,
        });
    let namespaces = hub.is_none().then_some(core::namespace::RESOURCE);
    let managers = hub.map(Hub::managers);
    let projection = virtual_api.projection();
    let history = History::new(&engine, projection, store, bounds, namespaces, managers)?;
    let mut configuration = berth_configuration::group(dialects.clone(), Arc::clone(store));
    configuration
        .resources
        .push(berth_publications::resource(&dialects, store));
    let copies = Arc::new(Copies::default());
    let flat = berth_publications::flat(&engine, hub.map(|_| Arc::clone(&copies)));
    virtual_api = virtual_api.serving(flat);
    let mut place = Place::Here(Arc::clone(&registry));
    let mut mirrored = Vec::new();
    let mut groups = Vec::new();
    let (on_hub, here): (Vec<_>, Vec<_>) = dialects
        .iter()
        .partition(|dialect| hub.is_some_and(|hub| hub.has(dialect.name())));
    let mut committer: Arc<dyn Committer> = Arc::new(RegistryCommitter(Arc::clone(&registry)));
    let mut sink: Arc<dyn Sink> = Arc::new(OwnEvents(Arc::clone(&registry)));
    let mut shown = Shown {
        clusters: Arc::clone(&registry),
        registry: Arc::clone(&registry),
        home: None,
        source: Arc::clone(&source),
    };
    if let Some(hub) = hub {
        let followed = match options.is_observer() {
            true => mirrors::observed(&dialects),
            false => mirrors::followed(&dialects),
        };
        mirrored.extend(
            own_kinds
                .into_iter()
                .filter(|kind| followed.contains(&kind.info().resource())),
        );
        mirrored.extend(configuration.resources.into_iter().map(|resource| resource.kind));
        if !options.is_observer() {
            mirrored.extend(berth_publications::on_hub());
        }
        mirrored.extend(on_hub.iter().flat_map(|dialect| dialect.kinds()));
        let resources = mirrored.iter().map(|kind| kind.info().resource()).collect();
        let on_it = hub.committer(store, resources, committer);
        shown.registry = mirrors::copies(&mirrored, &source, clock)?;
        if hub.has(berth_syncer::DIALECT) {
            shown.clusters = Arc::clone(&shown.registry);
        }
        shown.home = Some(Arc::new(OnHub(Arc::clone(&on_it))));
        place = Place::Hub {
            committer: Arc::clone(&on_it),
            copies: Arc::clone(&copies),
        };
        committer = on_it;
        sink = hub.events();
        virtual_api = virtual_api.binding_through(Arc::clone(&committer));
    } else {
        groups.extend(own);
        groups.extend(reviews::groups(&rbac));
        groups.push(configuration);
        groups.push(definitions::group());
    }
    groups.extend(
        here.into_iter()
            .flat_map(|dialect| owned(dialect, &virtual_api, store)),
    );
    groups.extend(virtual_api.groups());
    // After the systems' own, some of which have kinds of the same names, so that `kubectl` takes theirs for a bare name.
    if hub.is_none() {
        groups.push(berth_publications::group(store));
    }
    let syncer_views = berth_syncer::attach(&mut groups, shown, &dialects, super::version());
    registry.install(&groups).map_err(|problem| anyhow!(problem))?;
    stored.serve(&groups);
    let api = Arc::new(ApiState::over(Arc::clone(&registry)).with_decoder(Arc::new(Protobuf)));
    Ok(Parts {
        needs: mirrors::needs(&dialects, &mirrored),
        committer,
        sink,
        dialects,
        engine,
        modes,
        virtual_api,
        history,
        publications: place,
        authorizer,
        api,
        groups,
        mirrored,
        webhooks,
        hub_policies,
        enforcer,
        policy_metrics,
        admission,
        admission_metrics,
        controller_metrics: ControllerMetrics::new(),
        syncer_views,
        registry,
    })
}

/// Which systems are decided here, by flags and configurations.
///
/// # Errors
/// When `--controllers` names something else than a dialect or one of its controllers.
fn modes(
    dialects: &[Arc<dyn Dialect>],
    source: &Arc<dyn Source>,
    options: &Options,
    hub: Option<&Hub>,
) -> Result<Modes> {
    let selection =
        controllers::select(&options.controllers, dialects).map_err(|problem| anyhow!(problem))?;
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
        // kcp's namespaces are a hub's wherever its own kinds are.
        let places_there =
            hub.is_some() && (is_on_hub || demands.any(|demand| !kinds.contains(&demand.resource)));
        if is_on_hub {
            observed.insert(name);
        }
        if places_there && !selection.deciders.contains(&name) {
            idle.insert(name);
        }
    }
    Ok(Modes::new(Arc::clone(source), options.mode, observed).leaving(idle))
}

fn medium(storage: Storage) -> Medium {
    match storage {
        Storage::Memory => Medium::Memory,
        Storage::Embedded => Medium::Database,
        Storage::Etcd => Medium::Etcd,
    }
}

/// A dialect's own kinds, by group, with the subresources the virtual API adds to them.
fn owned(dialect: &Arc<dyn Dialect>, virtual_api: &VirtualApi, store: &Arc<dyn Store>) -> Vec<Group> {
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
