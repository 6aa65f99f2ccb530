//! Effects and rules of writes through the subresource `shoots/binding`, by the scheduler and by users
//! (docs/systems/gardener.md, "Binding").

use berth_apimachinery::FieldError;
use serde_json::{Map, Value, json};

use super::defaults::label_seeds;
use super::spec::Toleration;
use crate::cidr::{Families, Range};
use crate::kind::{child, fill};

/// The error of a change of `spec.seedName` in a write of the Shoot itself.
pub const ONLY_BY_BINDING: &str = "may only be changed through the subresource shoots/binding";

/// Values that a binding sets in the spec of a shoot if the shoot does not have them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeedDefaults<'a> {
    /// The default range of the seed for pods.
    pub pods: Option<&'a str>,
    /// The default range of the seed for services.
    pub services: Option<&'a str>,
    /// The domain of the shoot below the first default domain of the seed.
    pub domain: Option<String>,
    /// The default tolerations of the configuration and of the project whose keys no toleration of the shoot
    /// has.
    pub tolerations: Vec<&'a Toleration>,
}

/// Binds the raw `shoot` to `seed`: sets `spec.seedName`, the missing fields in `defaults` and the labels of
/// seeds, and adds the tolerations in `defaults`. If the shoot had no seed, also removes a pending Create
/// from the status, which a failed attempt to schedule the shoot may have left.
pub fn bind(shoot: &mut Value, seed: &str, defaults: &SeedDefaults<'_>) {
    let uid = shoot.pointer("/metadata/uid").and_then(Value::as_str);
    let own_services = own_services(uid.unwrap_or_default());
    let Some(root) = shoot.as_object_mut() else { return };
    let had_no_seed = seed_name(root).is_none();
    if let Some(spec) = child(root, "spec") {
        spec.insert("seedName".to_owned(), seed.into());
        fill_ranges(spec, defaults, &own_services);
        if let Some(domain) = &defaults.domain
            && let Some(dns) = child(spec, "dns")
        {
            fill(dns, "domain", domain.as_str());
        }
        add_tolerations(spec, &defaults.tolerations);
    }
    if had_no_seed {
        remove_pending_create(root);
    }
    label_seeds(root);
}

/// Adds `tolerations` to the spec of a shoot.
fn add_tolerations(spec: &mut Map<String, Value>, tolerations: &[&Toleration]) {
    if tolerations.is_empty() {
        return;
    }
    fill(spec, "tolerations", Value::Array(Vec::new()));
    if let Some(list) = spec.get_mut("tolerations").and_then(Value::as_array_mut) {
        list.extend(tolerations.iter().map(|toleration| json!(toleration)));
    }
}

/// Whether the shoot has no worker pools, and thus no pods.
fn is_workerless(spec: &Map<String, Value>) -> bool {
    let workers = spec.get("provider").and_then(|provider| provider.get("workers"));
    workers.and_then(Value::as_array).is_none_or(Vec::is_empty)
}

/// Sets the missing ranges of the shoot to the default ranges of the seed that are of an IP family of the
/// shoot. A shoot without worker pools gets no range for pods. If such a shoot has IPv6 and the seed has no
/// fitting default for services, the services get the range `own_services`: other shoots get IPv6 ranges with
/// their nodes.
fn fill_ranges(spec: &mut Map<String, Value>, defaults: &SeedDefaults<'_>, own_services: &str) {
    let names = spec
        .get("networking")
        .and_then(|networking| networking.get("ipFamilies"));
    let names = names.and_then(Value::as_array).into_iter().flatten();
    let families = Families::of(names.filter_map(Value::as_str));
    let workerless = is_workerless(spec);
    let fits = |range: &&str| families.admit(Range::of(Some(range)));
    let own_range = Some(own_services).filter(|range| workerless && fits(range));
    let ranges = [
        ("pods", defaults.pods.filter(|range| !workerless && fits(range))),
        ("services", defaults.services.filter(fits).or(own_range)),
    ];
    if ranges.iter().all(|(_, range)| range.is_none()) {
        return;
    }
    let Some(networking) = child(spec, "networking") else {
        return;
    };
    for (name, range) in ranges {
        if let Some(range) = range {
            fill(networking, name, range);
        }
    }
}

/// A unique local IPv6 range for services. The 40 random bits of the range are derived from the `uid` of the
/// shoot, so that repeated decisions result in equal ranges.
fn own_services(uid: &str) -> String {
    // The FNV-1a hash.
    let hash = uid.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let [_, _, _, a, b, c, d, e] = hash.to_be_bytes();
    format!("fd{a:02x}:{b:02x}{c:02x}:{d:02x}{e:02x}::/112")
}

/// Restores the status of the stored object `old` in `new`, since a binding does not write the status. If the
/// shoot had no seed before, also removes a pending Create from the status.
pub(super) fn keep_status(old: &Value, new: &mut Map<String, Value>) {
    match old.get("status") {
        Some(status) => new.insert("status".to_owned(), status.clone()),
        None => new.remove("status"),
    };
    let had_no_seed = old.as_object().is_none_or(|old| seed_name(old).is_none());
    if had_no_seed && seed_name(new).is_some() {
        remove_pending_create(new);
    }
}

fn seed_name(root: &Map<String, Value>) -> Option<&str> {
    root.get("spec")?.get("seedName")?.as_str()
}

fn remove_pending_create(root: &mut Map<String, Value>) {
    let Some(status) = root.get_mut("status").and_then(Value::as_object_mut) else {
        return;
    };
    let has_text = |field: &str, text: &str| {
        status
            .get("lastOperation")
            .and_then(|operation| operation.get(field)?.as_str())
            == Some(text)
    };
    if has_text("type", "Create") && has_text("state", "Pending") {
        status.remove("lastOperation");
    }
}

/// Errors in the change of `spec.seedName` by a binding: the field must be set, and must change. If the shoot
/// had a seed before, all other fields of the spec must stay.
pub(super) fn check_seed_name(old: &Value, new: &Value) -> Vec<FieldError> {
    const PATH: &str = "spec.seedName";
    let name = |value: &Value| {
        value
            .pointer("/spec/seedName")
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    match (name(old), name(new)) {
        (_, None) => vec![FieldError::required(
            PATH,
            "must be the name of a seed: a binding cannot remove the shoot from its seed",
        )],
        (None, Some(_)) => Vec::new(),
        (Some(current), Some(requested)) if current == requested => {
            vec![FieldError::invalid(
                PATH,
                requested,
                "the shoot is bound to this seed already",
            )]
        }
        (Some(_), Some(_)) if other_fields_changed(old, new) => {
            vec![FieldError::forbidden(
                "spec",
                "only seedName may change when a bound shoot moves to another seed",
            )]
        }
        (Some(_), Some(_)) => Vec::new(),
    }
}

fn other_fields_changed(old: &Value, new: &Value) -> bool {
    let rest = |value: &Value| {
        let mut spec = value.get("spec").cloned().unwrap_or_default();
        spec.as_object_mut().map(|spec| spec.remove("seedName"));
        spec
    };
    rest(old) != rest(new)
}
