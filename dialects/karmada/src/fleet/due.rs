//! Bindings that a change makes due again (docs/systems/karmada.md, "When it decides").

use berth_apimachinery::Key;
use berth_dialect_contract::AffectedDemands;

use super::Fleet;
use crate::affinity::Affinity;
use crate::cluster::Cluster;
use crate::record::Record;
use crate::settled;

/// The affected demands with these keys.
fn of(keys: Vec<Key>) -> AffectedDemands {
    match keys.is_empty() {
        true => AffectedDemands::None,
        false => AffectedDemands::Some(keys),
    }
}

/// Bindings that a change of a cluster from `old` to `new` makes due: bindings whose affinity matches the old
/// or the new state, if the labels or the spec of the cluster changed or its deletion begins. A change of the
/// status makes no binding due, and neither does a new or a deleted cluster.
pub(super) fn cluster(fleet: &Fleet, old: Option<&Cluster>, new: Option<&Cluster>) -> AffectedDemands {
    let (Some(old), Some(new)) = (old, new) else {
        return AffectedDemands::None;
    };
    let leaves = new.is_leaving() && !old.is_leaving();
    let spec = |cluster: &Cluster| cluster.object.value()["spec"].clone();
    let differs = old.labels() != new.labels() || spec(old) != spec(new);
    if !leaves && !differs {
        return AffectedDemands::None;
    }
    let affected = fleet.bindings.iter().filter(|(_, record)| {
        let Some(affinity) = limiting_affinity(record) else {
            return record.policy.is_some();
        };
        affinity.matches(new) || differs && affinity.matches(old)
    });
    of(affected.map(|(key, _)| key.clone()).collect())
}

/// The affinity that limits the clusters of `record`: the affinity of the observed group, or else of the
/// first group. `None` if nothing limits the clusters, or there is no placement.
fn limiting_affinity(record: &Record) -> Option<&Affinity> {
    let policy = record.policy.as_ref()?;
    let observed = &record.status.scheduler_observed_affinity_name;
    let groups = policy.groups();
    let group = groups
        .iter()
        .find(|group| group.name == *observed)
        .or(groups.first());
    group.map(|group| &group.own).or(policy.affinity.as_ref())
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
        Some(old) if requests_differ(old, new) => true,
        Some(old) if old.spec.clusters != new.spec.clusters => {
            // A decision from scratch depends on the present clusters, and is not repeated after its own
            // write.
            !new.is_rescheduled()
                && !settled::is_settled(
                    fleet.columns(),
                    &fleet.around(key, new, None),
                    new,
                    &fleet.settings,
                )
        }
        Some(_) => false,
    };
    of(if is_due { vec![key.clone()] } else { Vec::new() })
}

/// Whether `new` differs from `old` in its request, its claim or its deletion. Decisions are not compared.
fn requests_differ(old: &Record, new: &Record) -> bool {
    let request = |record: &Record| {
        let mut spec = record.spec.clone();
        spec.clusters.clear();
        spec.resource.resource_version.clear();
        spec
    };
    old.is_claimed() != new.is_claimed()
        || old.is_leaving() != new.is_leaving()
        || request(old) != request(new)
}
