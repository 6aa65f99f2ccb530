//! Remedies for refusals (docs/adding-a-system.md, "Advice"): setting labels that a location requires, and
//! ending a cordon or an eviction.

use std::sync::Arc;

use berth_apimachinery::Key;
use berth_dialect_contract::remedy::labels;
use berth_dialect_contract::{ChangeOwner, Decision, Edit, Remedy};
use berth_scheduling::{Ix, Rejection};
use serde_json::{Value, json};

use crate::code::Code;
use crate::detail::Detail;
use crate::fleet::{Fleet, LocationRecord, Row};
use crate::names::WORKLOAD_CLUSTERS;
use crate::select::Scope;

/// Highest number of locations for which remedies are proposed.
const MAX_LOCATIONS: usize = 4;

/// Remedies for `refusal` of a workload cluster; without a refusal, for a feasible workload cluster that is
/// not picked.
pub(crate) fn remedies(
    fleet: &Fleet,
    decision: &Decision,
    candidate: Ix,
    refusal: Option<&Rejection>,
) -> Vec<Remedy> {
    let row = fleet.row(candidate);
    let Some(refusal) = refusal else {
        return not_picked(decision);
    };
    match Code::of_reason(refusal.reason) {
        Code::NotInLocation | Code::OtherLocation => label_for_location(fleet, decision, row),
        Code::NotReady if row.record.problem.is_some() => {
            vec![Remedy::none(
                "the WorkloadCluster cannot be read: correct it first",
            )]
        }
        Code::NotReady => vec![Remedy::none(
            "the cluster or its syncer must be mended: its conditions and heartbeats decide whether it is ready",
        )],
        Code::Cordoned => vec![edit_cluster(
            row,
            "uncordon",
            json!({"spec": {"unschedulable": false}}),
        )],
        Code::Evicting => vec![edit_cluster(
            row,
            "remove spec.evictAfter of",
            json!({"spec": {"evictAfter": null}}),
        )],
        Code::AlreadyPlaced => vec![Remedy::none(
            "a namespace can only return to a workload cluster after it has left that cluster completely",
        )],
    }
}

fn edit_cluster(row: &Row, action: &str, patch: Value) -> Remedy {
    let edit = Edit::Merge {
        key: Key::new(WORKLOAD_CLUSTERS, "", &row.name),
        patch,
    };
    Remedy::new(
        ChangeOwner::Target,
        format!("{action} WorkloadCluster {}", row.name),
        edit,
    )
}

/// Remedies that label the workload cluster so that it is in one of the possible locations.
fn label_for_location(fleet: &Fleet, decision: &Decision, row: &Row) -> Vec<Remedy> {
    let scope = fleet
        .namespace(&decision.demand)
        .map(|record| fleet.keep(record, true, decision.now).scope);
    let is_in_scope = |(_, location): &(&Arc<str>, &Arc<LocationRecord>)| match &scope {
        Some(Scope::Only(numbers)) => numbers.contains(&location.number),
        _ => true,
    };
    let current_labels = row.record.object.meta().labels();
    let remedy = |(name, location): (&Arc<str>, &Arc<LocationRecord>)| {
        let changes = labels::to_match(location.selector.as_ref()?, current_labels)?;
        let instruction = labels::words(&format!("WorkloadCluster {}", row.name), &changes);
        let edit = Edit::Merge {
            key: Key::new(WORKLOAD_CLUSTERS, "", &row.name),
            patch: labels::patch(&changes),
        };
        let text = format!("{instruction}, so that it is in location {name}");
        Some(Remedy::new(ChangeOwner::Target, text, edit))
    };
    let locations = fleet.locations.iter().filter(is_in_scope);
    locations.filter_map(remedy).take(MAX_LOCATIONS).collect()
}

/// Remedies for a feasible workload cluster that is not picked. If the namespace needs no new cluster, the
/// only entry says why there is no remedy. Else the list is empty.
fn not_picked(decision: &Decision) -> Vec<Remedy> {
    let settled = decision.detail::<Detail>().is_some_and(|detail| detail.settled);
    if !settled {
        return Vec::new();
    }
    vec![Remedy::none(
        "the namespace already has a workload cluster; it only moves if it must leave that cluster, for example at spec.evictAfter",
    )]
}
