//! Objects, fleets and decisions for tests.

use std::sync::Arc;

use berth_apimachinery::{Change, GroupResource, Key, Object, Revision, Timestamp};
use berth_dialect_contract::{Ask, ChoiceRefusal, Decision, Inventory, Targets, Words, config};
use serde_json::{Value, json};

use crate::fleet::Fleet;
use crate::names::{
    CLOUD_PROFILES, CONFIG_MAPS, DIALECT, EXPOSURE_CLASSES, MANAGED_SEEDS, NAMESPACED_CLOUD_PROFILES,
    PROJECTS, SEEDS, SHOOTS,
};

/// A ready seed whose networks do not overlap with one another, nor with the networks of [`shoot`].
pub(crate) fn seed(name: &str, provider: &str, region: &str) -> Value {
    json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Seed", "metadata": {"name": name},
        "spec": {
            "provider": {"type": provider, "region": region},
            "networks": {
                "nodes": "10.1.0.0/16", "pods": "10.2.0.0/16", "services": "10.3.0.0/16",
                "shootDefaults": {"pods": "100.96.0.0/11", "services": "100.64.0.0/13"},
            },
        },
        "status": {"conditions": [
            {"type": "GardenletReady", "status": "True"}, {"type": "Bootstrapped", "status": "True"},
        ]},
    })
}

/// A shoot of profile `aws` in namespace `garden-dev` with one worker pool, without a seed.
pub(crate) fn shoot(name: &str, region: &str) -> Value {
    json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot",
        "metadata": {"name": name, "namespace": "garden-dev", "uid": format!("uid-{name}"), "generation": 1},
        "spec": {
            "cloudProfileName": "aws", "region": region,
            "provider": {"type": "aws", "workers": [{"name": "pool"}]},
            "networking": {"nodes": "10.250.0.0/16"},
        },
    })
}

/// A CloudProfile of the provider type `name`, without a seed selector.
pub(crate) fn profile(name: &str) -> Value {
    json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "CloudProfile", "metadata": {"name": name},
        "spec": {"type": name},
    })
}

/// A project with the namespace `garden-dev`, and with these default and allowed tolerations.
pub(crate) fn project(defaults: &Value, allowed: &Value) -> Value {
    json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Project", "metadata": {"name": "dev"},
        "spec": {"namespace": "garden-dev", "tolerations": {"defaults": defaults, "whitelist": allowed}},
    })
}

/// A NamespacedCloudProfile in the namespace `garden-dev` with the parent `parent`.
pub(crate) fn own_profile(name: &str, parent: &str) -> Value {
    json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "NamespacedCloudProfile",
        "metadata": {"name": name, "namespace": "garden-dev"},
        "spec": {"parent": {"kind": "CloudProfile", "name": parent}},
    })
}

/// The configuration object with the strategy `strategy`.
pub(crate) fn configuration(strategy: &str) -> Value {
    configured(&json!({"schedulers": {"shoot": {"candidateDeterminationStrategy": strategy}}}))
}

/// The configuration object with `part` as Gardener's settings.
pub(crate) fn configured(part: &Value) -> Value {
    configured_with(&json!({DIALECT: part}))
}

/// The configuration object with the spec `spec`.
pub(crate) fn configured_with(spec: &Value) -> Value {
    json!({
        "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration", "metadata": {"name": DIALECT},
        "spec": spec,
    })
}

/// Returns `value` with the value at `pointer` replaced. Missing maps on the path are created.
pub(crate) fn with(mut value: Value, pointer: &str, new: Value) -> Value {
    let mut place = &mut value;
    for part in pointer.split('/').skip(1) {
        place = &mut place[part];
    }
    *place = new;
    value
}

/// The resource of an object, by its kind; by default, the resource of configurations.
fn resource(value: &Value) -> GroupResource {
    match value["kind"].as_str() {
        Some("Seed") => SEEDS,
        Some("Shoot") => SHOOTS,
        Some("CloudProfile") => CLOUD_PROFILES,
        Some("NamespacedCloudProfile") => NAMESPACED_CLOUD_PROFILES,
        Some("Project") => PROJECTS,
        Some("ConfigMap") => CONFIG_MAPS,
        Some("ExposureClass") => EXPOSURE_CLASSES,
        Some("ManagedSeed") => MANAGED_SEEDS,
        _ => config::RESOURCE,
    }
}

/// The key of an object.
pub(crate) fn key(value: &Value) -> Key {
    let text = |field: &str| value["metadata"][field].as_str().unwrap_or_default();
    Key::new(resource(value), text("namespace"), text("name"))
}

/// The change that stores `value`.
pub(crate) fn stored(value: &Value) -> Change {
    Change::added(key(value), Arc::new(Object::new(value, Revision(7)).unwrap()))
}

/// The change that deletes `value`.
pub(crate) fn gone(value: &Value) -> Change {
    let old = Arc::new(Object::new(value, Revision(9)).unwrap());
    Change {
        revision: Revision(9),
        key: key(value),
        old: Some(old),
        new: None,
    }
}

/// A fleet with these objects and the profile `aws`.
pub(crate) fn fleet(objects: &[Value]) -> Fleet {
    let mut fleet = Fleet::default();
    fleet.fold(&stored(&profile("aws")));
    for object in objects {
        fleet.fold(&stored(object));
    }
    fleet
}

/// The decision on the shoot `demand`; `chosen` are the seeds that a user chose, if any.
pub(crate) fn ask(
    fleet: &Fleet,
    demand: &Value,
    chosen: Option<&[String]>,
) -> Result<Decision, ChoiceRefusal> {
    let demand = key(demand);
    fleet
        .decide(&Ask {
            demand: &demand,
            now: Timestamp::UNIX_EPOCH,
            seed: 1,
            chosen,
        })
        .unwrap()
}

/// The decision on the shoot `demand`, without a chosen seed.
pub(crate) fn decide(fleet: &Fleet, demand: &Value) -> Decision {
    ask(fleet, demand, None).unwrap()
}

/// The name of the seed that is picked for the shoot `demand`; `None` if no seed is picked.
pub(crate) fn picked(fleet: &Fleet, demand: &Value) -> Option<String> {
    let decision = decide(fleet, demand);
    decision
        .solved
        .picked
        .first()
        .map(|&candidate| fleet.cluster_name(candidate).to_string())
}

/// The refusals of the seed `name` as `Plugin/Reason`.
pub(crate) fn refusals(fleet: &Fleet, decision: &Decision, name: &str) -> Vec<String> {
    let candidate = fleet.candidate(name).unwrap();
    let refusals = decision.solved.rejections_of(candidate).iter();
    refusals
        .map(|refusal| {
            let token = fleet.token(refusal.plugin, refusal.reason);
            format!("{}/{token}", fleet.filters()[usize::from(refusal.plugin)])
        })
        .collect()
}
