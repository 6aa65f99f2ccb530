//! The implementation of [`Dialect`] for Gardener.

use std::sync::Arc;

use berth_admission::Plugin;
use berth_apimachinery::{FieldError, GroupResource, Kind, Schema};
use berth_dialect_contract::rules::RulesChoice;
use berth_dialect_contract::{
    Concern, Configuration, DemandKind, Dialect, ExtraViews, GuardedResources, Inventory, LeaseName, OnHub,
    OwnPlace, OwnScheduler, ProtectedResource, Reach, config,
};
use serde_json::Value;

use crate::admission::hub_rules;
use crate::admission::{MoveGuard, SeedNameGuard, WhitelistGuard};
use crate::config::{API_VERSION, Config, SCHEMA};
use crate::facts::facts;
use crate::fleet::Fleet;
use crate::fleet::region::has_distances;
use crate::names::{
    ACTOR, CLOUD_PROFILES, CONFIG_MAPS, DIALECT, DISTANCES_SELECTOR, EXPOSURE_CLASSES, MANAGED_SEEDS,
    NAMESPACED_CLOUD_PROFILES, PROJECTS, SEEDS, SHOOTS, VERSION,
};
use crate::{kind, uses};

/// The dialect of Gardener, which places shoots on seeds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gardener;

/// The field of a Shoot with the name of its seed (docs/systems/gardener.md, "Binding").
const SEED_NAME: OwnPlace = OwnPlace {
    resource: SHOOTS,
    place: ["spec", "seedName"],
    verb: "update",
};

const DEMANDS: &[DemandKind] = &[DemandKind {
    resource: SHOOTS,
    kind: "Shoot",
    version: VERSION,
    namespaced: true,
    own_place: Some(&SEED_NAME),
}];

const PROTECTED: &[ProtectedResource] = &[
    ProtectedResource {
        resource: SEEDS,
        used_by: SHOOTS,
    },
    ProtectedResource {
        resource: CLOUD_PROFILES,
        used_by: SHOOTS,
    },
    ProtectedResource {
        resource: NAMESPACED_CLOUD_PROFILES,
        used_by: SHOOTS,
    },
];

/// The user names of gardener-scheduler and gardener-controller-manager in installations by gardener-operator
/// and by charts, and of the gardenlets of Seeds and of self-hosted Shoots.
const USERS: &[&str] = &[
    "system:serviceaccount:kube-system:gardener-scheduler",
    "system:serviceaccount:garden:gardener-scheduler",
    "system:serviceaccount:kube-system:gardener-controller-manager",
    "system:serviceaccount:garden:gardener-controller-manager",
    "gardener.cloud:system:seed:*",
    "gardener.cloud:system:shoot:*",
];

/// The name of the Lease of gardener-scheduler. gardener-operator sets another namespace for the Lease than
/// the default of Gardener's configuration file, so that two namespaces are possible.
const LOCK: &str = "gardener-scheduler-leader-election";

const SCHEDULER: OwnScheduler = OwnScheduler {
    name: "gardener-scheduler",
    leases: &[
        LeaseName {
            namespace: "garden",
            name: LOCK,
        },
        LeaseName {
            namespace: "kube-system",
            name: LOCK,
        },
    ],
    stop: &[
        "kubectl -n garden scale deployment gardener-operator --replicas=0 # on the runtime cluster, if gardener-operator runs there: it would scale gardener-scheduler up again",
        "kubectl -n garden scale deployment gardener-scheduler --replicas=0 # on the runtime cluster",
    ],
    start: &[
        "kubectl -n garden scale deployment gardener-scheduler --replicas=1 # on the runtime cluster, or as many as it had before",
        "kubectl -n garden scale deployment gardener-operator --replicas=1 # on the runtime cluster, if it was stopped",
    ],
    exclusion: None,
    stop_consequence: None,
};

impl Dialect for Gardener {
    fn name(&self) -> &'static str {
        DIALECT
    }

    fn kinds(&self) -> Vec<Arc<dyn Kind>> {
        kind::all()
    }

    fn further_kinds(&self) -> Vec<Arc<dyn Kind>> {
        kind::further()
    }

    fn reads(&self) -> Vec<GroupResource> {
        vec![
            CLOUD_PROFILES,
            NAMESPACED_CLOUD_PROFILES,
            PROJECTS,
            SEEDS,
            SHOOTS,
            CONFIG_MAPS,
            EXPOSURE_CLASSES,
            MANAGED_SEEDS,
            config::RESOURCE,
        ]
    }

    fn reach(&self, resource: GroupResource) -> Reach {
        match resource {
            CLOUD_PROFILES => Reach::everywhere("Shoots of CloudProfiles cannot be decided"),
            SEEDS => Reach::everywhere("no Seed can be chosen"),
            // Shoots in other namespaces use the Seeds, too.
            SHOOTS => Reach::everywhere("Seeds look emptier than they are"),
            PROJECTS => Reach::everywhere("the tolerations that Projects allow are not checked"),
            EXPOSURE_CLASSES => {
                Reach::everywhere("new Shoots do not get the requirements of their ExposureClasses")
            }
            MANAGED_SEEDS => Reach::everywhere(
                "Seeds that are Shoots themselves lack the label with the name of the Seed that hosts them",
            ),
            CONFIG_MAPS => Reach::everywhere("distances are computed from the names of regions")
                .labelled(DISTANCES_SELECTOR),
            NAMESPACED_CLOUD_PROFILES => Reach::within("Shoots of these profiles cannot be decided"),
            _ => Reach::default(),
        }
    }

    fn demands(&self) -> &'static [DemandKind] {
        DEMANDS
    }

    fn target(&self) -> GroupResource {
        SEEDS
    }

    fn actor(&self) -> &'static str {
        ACTOR
    }

    fn inventory(&self) -> Arc<dyn Inventory> {
        Arc::new(Fleet::default())
    }

    fn admission(&self) -> Vec<Arc<dyn Plugin>> {
        vec![
            Arc::new(SeedNameGuard),
            Arc::new(MoveGuard),
            Arc::new(WhitelistGuard),
        ]
    }

    fn configuration(&self) -> &dyn Configuration {
        self
    }

    fn guarded(&self) -> GuardedResources {
        GuardedResources {
            protects: PROTECTED,
            uses: uses::used_objects,
            judges: &[SHOOTS, PROJECTS, SEEDS],
            completes: &[SHOOTS],
            ..GuardedResources::default()
        }
    }

    fn shown(&self) -> ExtraViews {
        ExtraViews {
            facts,
            ..ExtraViews::default()
        }
    }

    fn on_hub(&self) -> OnHub {
        OnHub {
            rules: hub_rules::all(),
            users: USERS,
            scheduler: Some(SCHEDULER),
            concern: Some(concern),
            ..OnHub::default()
        }
    }
}

/// The test whether an object of `resource` concerns the dialect: of ConfigMaps, only ConfigMaps with
/// distances do. `None` if all objects of the resource do.
fn concern(resource: GroupResource) -> Option<Concern> {
    (resource == CONFIG_MAPS).then_some(has_distances as Concern)
}

impl Configuration for Gardener {
    fn own_file(&self, file: &Value) -> Option<Value> {
        let is_own = file["apiVersion"] == API_VERSION;
        let mut spec = file.as_object().filter(|_| is_own)?.clone();
        spec.retain(|name, _| name != "apiVersion" && name != "kind" && name != "metadata");
        Some(Value::Object(spec))
    }

    fn schema(&self) -> &'static Schema {
        &SCHEMA
    }

    fn validate(&self, spec: &Value, path: &str) -> Vec<FieldError> {
        Config::read(Some(spec), path).err().unwrap_or_default()
    }

    fn warnings(&self, spec: &Value, path: &str, _: RulesChoice) -> Vec<String> {
        Config::read(Some(spec), path).map_or_else(|_| Vec::new(), |config| config.warnings(path))
    }
}
