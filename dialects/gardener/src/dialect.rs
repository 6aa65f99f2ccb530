//! Gardener as one of the dialects.

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

/// The field with the place of a shoot (docs/systems/gardener.md, "Binding").
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
        by: SHOOTS,
    },
    ProtectedResource {
        resource: CLOUD_PROFILES,
        by: SHOOTS,
    },
    ProtectedResource {
        resource: NAMESPACED_CLOUD_PROFILES,
        by: SHOOTS,
    },
];

/// User names of gardener-scheduler and gardener-controller-manager, as the operator and the charts
/// authorize them, and of every gardenlet, of Seeds and of self-hosted Shoots.
const USERS: &[&str] = &[
    "system:serviceaccount:kube-system:gardener-scheduler",
    "system:serviceaccount:garden:gardener-scheduler",
    "system:serviceaccount:kube-system:gardener-controller-manager",
    "system:serviceaccount:garden:gardener-controller-manager",
    "gardener.cloud:system:seed:*",
    "gardener.cloud:system:shoot:*",
];

/// Name of the scheduler's Lease. gardener-operator sets another namespace for the Lease than the default of
/// Gardener's configuration file.
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
        "kubectl -n garden scale deployment gardener-operator --replicas=0 # on the runtime cluster, where there is one: it would start it again",
        "kubectl -n garden scale deployment gardener-scheduler --replicas=0 # on the runtime cluster",
    ],
    start: &[
        "kubectl -n garden scale deployment gardener-scheduler --replicas=1 # on the runtime cluster, with as many as it had",
        "kubectl -n garden scale deployment gardener-operator --replicas=1 # on the runtime cluster, where there is one",
    ],
    leaves_out: None,
    is_part_of: None,
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
            CLOUD_PROFILES => Reach::everywhere("no Seed is known to fit a Shoot's CloudProfile"),
            SEEDS => Reach::everywhere("no Seed can be chosen"),
            // Shoots in other namespaces use the Seeds, too.
            SHOOTS => Reach::everywhere("Seeds look emptier than they are"),
            PROJECTS => Reach::everywhere("tolerations are not checked against those that Projects allow"),
            EXPOSURE_CLASSES => {
                Reach::everywhere("Shoots that were never stored lack what their ExposureClass asks for")
            }
            MANAGED_SEEDS => {
                Reach::everywhere("Seeds that are Shoots themselves have the labels that Gardener gave them")
            }
            CONFIG_MAPS => {
                Reach::everywhere("distances are those of the regions' names").labelled(DISTANCES_SELECTOR)
            }
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
            uses: uses::of,
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

/// The test for objects of `resource`: of ConfigMaps, only those with distances concern this dialect.
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
