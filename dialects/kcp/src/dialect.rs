//! kcp as a [`Dialect`].

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use berth_admission::Plugin;
use berth_apimachinery::{FieldError, GroupResource, Kind, Schema};
use berth_dialect_contract::rules::RulesChoice;
use berth_dialect_contract::{
    Concern, Configuration, Controllers, DemandKind, Dialect, ExtraViews, Finalizer, Inventory, OnHub, Reach,
    Reconciler, ResourceFinalizer, SystemUsers, config,
};
use serde_json::Value;

use crate::admission::{PlacementGuard, PlacementValues, Role, Settings, hub_rules, user_of};
use crate::config::{Config, SCHEMA};
use crate::edit::identifiers;
use crate::fleet::Fleet;
use crate::kind;
use crate::machine::Actor;
use crate::names::{DIALECT, LOCATIONS, NAMESPACES, SYNCED_BY_DEFAULT, SYNCER_FINALIZER, WORKLOAD_CLUSTERS};
use crate::reconcilers::{self, ResourceController};

/// The dialect of kcp, which places namespaces on workload clusters.
#[derive(Clone, Debug, Default)]
pub struct Kcp {
    /// The settings by the program's flags, which apply where a configuration does not override them.
    settings: Settings,
    /// The resources that were synced since the start of the program, by any configuration.
    synced: Arc<Mutex<BTreeSet<GroupResource>>>,
}

impl Kcp {
    /// Creates the dialect with these settings.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            synced: Arc::default(),
        }
    }

    /// Records that `resources` are synced. Returns all resources that were synced since the start of the
    /// program.
    fn record_synced(&self, resources: &[GroupResource]) -> Vec<GroupResource> {
        let mut synced = self.synced.lock().unwrap_or_else(PoisonError::into_inner);
        synced.extend(resources);
        synced.iter().copied().collect()
    }

    /// The settings under the configuration `spec`, whose `syncedResources` override the program's flags.
    fn settings(&self, spec: Option<&Value>) -> Settings {
        let mut settings = self.settings.clone();
        let configured = spec.filter(|spec| !spec["syncedResources"].is_null());
        if let Some(Ok(config)) = configured.map(|spec| Config::read(Some(spec), "")) {
            settings.synced_resources = config.synced_resources;
        }
        settings
    }
}

/// The admission plugins with these settings.
fn rules(settings: Settings) -> Vec<Arc<dyn Plugin>> {
    vec![
        Arc::new(PlacementGuard::new(settings.clone())),
        Arc::new(PlacementValues::new(settings)),
    ]
}

const DEMANDS: &[DemandKind] = &[DemandKind {
    resource: NAMESPACES,
    kind: "Namespace",
    version: "v1",
    namespaced: true,
    own_place: None,
}];

/// The resources of which kcp reads all objects.
const READS: [GroupResource; 4] = [LOCATIONS, WORKLOAD_CLUSTERS, NAMESPACES, config::RESOURCE];

impl Dialect for Kcp {
    fn name(&self) -> &'static str {
        DIALECT
    }

    fn kinds(&self) -> Vec<Arc<dyn Kind>> {
        kind::all()
    }

    fn reads(&self) -> Vec<GroupResource> {
        READS.to_vec()
    }

    fn reach(&self, resource: GroupResource) -> Reach {
        match resource {
            LOCATIONS => Reach::everywhere("no Location can be chosen"),
            WORKLOAD_CLUSTERS => Reach::everywhere("no WorkloadCluster can be chosen"),
            NAMESPACES => Reach::everywhere("there is nothing to place"),
            _ => Reach::default(),
        }
    }

    fn demands(&self) -> &'static [DemandKind] {
        DEMANDS
    }

    fn target(&self) -> GroupResource {
        WORKLOAD_CLUSTERS
    }

    fn actor(&self) -> &'static str {
        user_of(Actor::PlacementController)
    }

    fn inventory(&self) -> Arc<dyn Inventory> {
        let defaults = Config {
            namespace_selector: self.settings.namespace_selector.clone(),
            location_cluster: Arc::clone(&self.settings.location_cluster),
            ..Config::default()
        };
        Arc::new(Fleet::with_defaults(defaults).restricted_to(self.settings.syncable()))
    }

    fn admission(&self) -> Vec<Arc<dyn Plugin>> {
        rules(self.settings.clone())
    }

    fn configuration(&self) -> &dyn Configuration {
        self
    }

    fn controllers(&self) -> &dyn Controllers {
        self
    }

    /// Users may read locations, but never the workload clusters in them.
    fn shown(&self) -> ExtraViews {
        ExtraViews {
            readable: &[LOCATIONS],
            ..ExtraViews::default()
        }
    }

    fn on_hub(&self) -> OnHub {
        let synced = &self.settings.synced_resources;
        // Syncers set finalizers on synced objects.
        let finalizers = synced.iter().map(|resource| ResourceFinalizer {
            resource: *resource,
            version: "v1",
            finalizer: Finalizer::Prefix(SYNCER_FINALIZER),
        });
        OnHub {
            rules: hub_rules::of(synced),
            finalizers: finalizers.collect(),
            concern: Some(concern),
            ..OnHub::default()
        }
    }
}

/// The test by which objects of a synced `resource` concern kcp: whether an object has metadata of a cluster.
/// `None` for resources of which kcp reads all objects.
fn concern(resource: GroupResource) -> Option<Concern> {
    let reads_all = READS.contains(&resource);
    (!reads_all).then_some(|object| !identifiers(object).is_empty())
}

impl Controllers for Kcp {
    fn decider(&self) -> Option<&'static str> {
        Some("kcp-placement")
    }

    fn reconcilers(&self, spec: Option<&Value>) -> Vec<Arc<dyn Reconciler>> {
        let synced = self.settings(spec).synced_resources;
        let configured = Config::read(spec, "")
            .ok()
            .and_then(|config| config.coordinated_resources);
        let coordinated = configured.unwrap_or_else(|| {
            let has_coordinator = self
                .settings
                .users
                .values()
                .any(|role| *role == Role::Coordination);
            if has_coordinator {
                synced.clone()
            } else {
                Vec::new()
            }
        });
        // Resources that may have been synced before, by default, by the program's flags, or by an earlier
        // configuration.
        let mut former: Vec<GroupResource> = SYNCED_BY_DEFAULT.to_vec();
        former.extend(&self.settings.synced_resources);
        former.extend(self.record_synced(&synced));
        former.sort_unstable();
        former.dedup();
        former.retain(|resource| !synced.contains(resource));
        let resources = ResourceController {
            synced,
            coordinated,
            former,
        };
        reconcilers::all(resources, self.settings.targets_url.clone())
    }
}

impl Configuration for Kcp {
    fn schema(&self) -> &'static Schema {
        &SCHEMA
    }

    fn validate(&self, spec: &Value, path: &str) -> Vec<FieldError> {
        let read = Config::read_within(Some(spec), path, self.settings.syncable());
        read.err().unwrap_or_default()
    }

    fn warnings(&self, spec: &Value, path: &str, _: RulesChoice) -> Vec<String> {
        let Ok(config) = Config::read(Some(spec), path) else {
            return Vec::new();
        };
        let mut warnings = config.warnings(path);
        if spec["syncedResources"].is_null() {
            warnings.extend(config.unsynced_warning(&self.settings.synced_resources, path));
        }
        warnings
    }

    /// The field with the selector of namespaces. Namespaces that stop matching are drained.
    fn request_selection_field(&self) -> Option<&'static str> {
        Some("namespaceSelector")
    }

    fn admission_under(&self, spec: Option<&Value>, _: &SystemUsers) -> Option<Vec<Arc<dyn Plugin>>> {
        spec.map(|spec| rules(self.settings(Some(spec))))
    }

    /// The guarded resources: namespaces and synced resources.
    fn guards(&self, spec: Option<&Value>) -> Vec<GroupResource> {
        let mut guarded = self.settings(spec).synced_resources;
        guarded.push(NAMESPACES);
        guarded
    }
}
