//! Bindings that a change of an object makes due (docs/systems/karmada.md, "When it decides").

use berth_apimachinery::Key;
use berth_dialect_contract::AffectedDemands;

use super::Fleet;
use crate::affinity::Affinity;
use crate::cluster::Cluster;
use crate::record::Record;
use crate::settled;

/// The demands at `keys`.
fn affected(keys: Vec<Key>) -> AffectedDemands {
    match keys.is_empty() {
        true => AffectedDemands::None,
        false => AffectedDemands::Some(keys),
    }
}

/// Bindings that a change of a cluster from `old` to `new` makes due: bindings whose affinity matches `old`
/// or `new`, if the labels or the spec changed or the deletion of the cluster began. A change of the status
/// makes no binding due, and neither does a new or a deleted cluster.
pub(super) fn cluster(fleet: &Fleet, old: Option<&Cluster>, new: Option<&Cluster>) -> AffectedDemands {
    let (Some(old), Some(new)) = (old, new) else {
        return AffectedDemands::None;
    };
    let begins_deletion = new.is_deleting() && !old.is_deleting();
    let spec = |cluster: &Cluster| cluster.object.value()["spec"].clone();
    let differs = old.labels() != new.labels() || spec(old) != spec(new);
    if !begins_deletion && !differs {
        return AffectedDemands::None;
    }
    let matching = fleet.bindings.iter().filter(|(_, record)| {
        let Some(affinity) = limiting_affinity(record) else {
            return record.placement.is_some();
        };
        affinity.matches(new) || differs && affinity.matches(old)
    });
    affected(matching.map(|(key, _)| key.clone()).collect())
}

/// The affinity that limits the clusters of `record`: the affinity of the observed group, or else of the
/// first group, or else of the placement. `None` if nothing limits the clusters, or there is no placement.
fn limiting_affinity(record: &Record) -> Option<&Affinity> {
    let placement = record.placement.as_ref()?;
    let observed = &record.status.scheduler_observed_affinity_name;
    let groups = placement.groups();
    let group = groups
        .iter()
        .find(|group| group.name == *observed)
        .or(groups.first());
    group.map(|group| &group.own).or(placement.affinity.as_ref())
}

/// The binding at `key` if its change from `old` to `new` makes it due. If only the listed clusters changed,
/// as by the scheduler's own write, the binding is due only if a decision would change them.
pub(super) fn binding(
    fleet: &Fleet,
    key: &Key,
    old: Option<&Record>,
    new: Option<&Record>,
) -> AffectedDemands {
    let Some(new) = new else {
        return AffectedDemands::None;
    };
    let is_due = match old {
        None => true,
        Some(old) if requirements_differ(old, new) => true,
        Some(old) if old.spec.clusters != new.spec.clusters => {
            // A decision from scratch depends on the present clusters, and is not repeated after its own
            // write.
            !new.is_rescheduled()
                && !settled::is_settled(
                    fleet.columns(),
                    &fleet.neighbors(key, new, None),
                    new,
                    &fleet.settings,
                )
        }
        Some(_) => false,
    };
    affected(if is_due { vec![key.clone()] } else { Vec::new() })
}

/// Whether `new` differs from `old` in the requirements, the claim or the deletion. The listed clusters and
/// the resourceVersion of the template are not compared.
fn requirements_differ(old: &Record, new: &Record) -> bool {
    let requirements = |record: &Record| {
        let mut spec = record.spec.clone();
        spec.clusters.clear();
        spec.resource.resource_version.clear();
        spec
    };
    old.is_claimed() != new.is_claimed()
        || old.is_deleting() != new.is_deleting()
        || requirements(old) != requirements(new)
}
