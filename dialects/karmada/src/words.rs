//! Sentences about a decision.

use berth_apimachinery::selector::Selector;
use berth_apimachinery::time;
use berth_dialect_contract::wording::Sentences;
use berth_dialect_contract::{Decision, Outcome, Taint, listing, report, taints};
use berth_scheduling::{Ix, Reason};

use crate::code::Code;
use crate::compiled_placement::CompiledPlacement;
use crate::detail::{Detail, ROOM};
use crate::failure::Failure;
use crate::filters;
use crate::fleet::Fleet;
use crate::ignored::IgnoreReason;
use crate::kind::cluster::Taint as Stored;
use crate::record::Record;
use crate::room::RoomLimit;

/// The beginnings of the messages of the condition Scheduled.
pub(crate) const SENTENCES: Sentences = Sentences(&[
    "every replica has a cluster",
    "no cluster fits",
    "# replicas are wanted",
    "# clusters fit",
    "no # clusters have room",
    "maxGroups is not set",
    "# regions have clusters",
    "no choice of regions",
    "the regions have more combinations",
    "a spread constraint",
    "the strategy of the division is unknown",
    // In a condition that an earlier release wrote.
    "there is no such way to divide",
    "the quota is exceeded",
]);

/// The sentence of a failure.
pub(crate) fn failure(failure: Failure) -> String {
    match failure {
        Failure::NoClusterFit => "no cluster fits".to_owned(),
        Failure::NotEnoughRoom { wanted, available } => {
            format!("{wanted} replicas are wanted, and there is room for {available} on the selected clusters: Karmada places all or none")
        }
        Failure::TooFewClusters { feasible, wanted } => {
            format!("{feasible} clusters fit, and the spread constraint by cluster needs at least {wanted} (minGroups)")
        }
        Failure::NoRoomWithin {
            clusters,
            wanted,
            available,
        } => format!(
            "no {clusters} clusters have room for {wanted} replicas: the roomiest choice has {available} (maxGroups of the spread \
             constraint by cluster)"
        ),
        Failure::NoMaxGroups { field } => {
            format!("maxGroups is not set in the spread constraint by {field}, so Karmada selects no cluster")
        }
        Failure::TooFewRegions { feasible, wanted } => format!(
            "{feasible} regions have clusters that fit, and the spread constraint by region needs at least {wanted} (minGroups)"
        ),
        Failure::NoRegions { wanted } => format!(
            "no choice of regions within the spread constraint by region has {wanted} clusters (minGroups by cluster)"
        ),
        Failure::TooManyRegions => {
            "the regions have more combinations than Berth compares: lower maxGroups of the spread constraint by region".to_owned()
        }
        Failure::UnsupportedSpread => {
            "a spread constraint by cluster or region is needed: constraints by zone or provider only refuse clusters without a zone or provider".to_owned()
        }
        Failure::UnsupportedStrategy => {
            "the strategy of the division is unknown: replicaSchedulingType must be Duplicated or Divided, and with Divided, \
             replicaDivisionPreference must be Aggregated or Weighted"
                .to_owned()
        }
        Failure::QuotaExceeded => "the quota is exceeded".to_owned(),
    }
}

/// The sentence for `problem`, with the quota in `detail` if a quota is exceeded.
fn failure_or_excess(detail: &Detail, problem: Failure) -> String {
    match (&detail.excess, problem) {
        (Some(excess), Failure::QuotaExceeded) => excess.to_string(),
        _ => failure(problem),
    }
}

/// The message of the condition Scheduled.
pub(crate) fn condition(detail: &Detail) -> String {
    match detail.failure {
        None => "every replica has a cluster".to_owned(),
        Some(problem) => failure_or_excess(detail, problem),
    }
}

/// The sentence of a refusal.
pub(crate) fn refusal(fleet: &Fleet, decision: &Decision, candidate: Ix, reason: Reason) -> String {
    let cluster = fleet.columns().row(candidate);
    let record = fleet.bindings.get(&decision.demand);
    match Code::of_reason(reason) {
        Code::Deleting => "the cluster is being deleted".to_owned(),
        Code::NotServed => {
            let template = record.map(|record| &record.spec.resource);
            let template_kind =
                template.map(|template| format!("{} of {}", template.kind, template.api_version));
            format!(
                "the cluster does not report that it serves {}",
                template_kind.unwrap_or_default()
            )
        }
        Code::NoApis => "the cluster has not reported which APIs it serves".to_owned(),
        Code::Untolerated => {
            let tolerations = record
                .and_then(|record| record.placement.as_ref())
                .map_or(&[][..], |policy| policy.raw.cluster_tolerations.as_slice());
            let found = filters::untolerated(&cluster.taints, tolerations);
            taints::untolerated(found.map(|(_, taint)| common_taint(taint)))
        }
        Code::Excluded => format!("{} excludes the cluster by name", group(record, decision)),
        Code::Labels => match label_problem(record, decision) {
            Some(problem) => format!(
                "the label selector of {} is invalid, and matches nothing: {problem}",
                group(record, decision)
            ),
            None => format!("{} requires other labels", group(record, decision)),
        },
        Code::Field => format!(
            "{} requires another provider, region or zone (fieldSelector.matchExpressions[{}])",
            group(record, decision),
            reason.detail
        ),
        Code::Names => format!("{} names other clusters", group(record, decision)),
        Code::NoProvider => missing("provider"),
        Code::NoRegion => missing("region"),
        Code::NoZone => missing("zone"),
        Code::Evicting => {
            "the template is being evicted from the cluster (spec.gracefulEvictionTasks)".to_owned()
        }
        Code::GroupElsewhere => "another workload of its affinity group is not on the cluster".to_owned(),
        Code::GroupHere => "another workload of its anti-affinity group is on the cluster".to_owned(),
    }
}

/// A number for the sentence of [`refusal`]: within one decision, refusals with equal codes and numbers have
/// equal sentences. `None` if the sentence depends on the cluster, such as on the cluster's taints.
pub(crate) fn alike(reason: Reason) -> Option<u32> {
    match Code::of_reason(reason) {
        Code::Untolerated => None,
        Code::Field => Some(reason.detail),
        Code::Deleting
        | Code::NotServed
        | Code::NoApis
        | Code::Excluded
        | Code::Labels
        | Code::Names
        | Code::NoProvider
        | Code::NoRegion
        | Code::NoZone
        | Code::Evicting
        | Code::GroupElsewhere
        | Code::GroupHere => Some(0),
    }
}

fn missing(field: &str) -> String {
    format!("the cluster has no {field}, and a spread constraint is by {field}")
}

/// Converts a taint of Karmada to the type that all dialects share.
pub(crate) fn common_taint(taint: &Stored) -> Taint {
    Taint {
        key: taint.key.clone(),
        value: taint.value.clone(),
        effect: taint.effect.clone(),
    }
}

fn policy(record: Option<&std::sync::Arc<Record>>) -> Option<&CompiledPlacement> {
    record.and_then(|record| record.placement.as_deref())
}

/// The group of clusters that `decision` reports, in words.
fn group(record: Option<&std::sync::Arc<Record>>, decision: &Decision) -> String {
    let place = decision.detail::<Detail>().and_then(|detail| detail.group);
    let group = place.and_then(|place| policy(record)?.groups().get(place));
    group.map_or_else(
        || "the cluster affinity".to_owned(),
        |group| format!("the group \"{}\"", group.name),
    )
}

/// The label selector of the affinity that `decision` reports, if this affinity only requires labels.
pub(crate) fn asked_labels<'a>(fleet: &'a Fleet, decision: &Decision) -> Option<&'a Selector> {
    let policy = fleet.bindings.get(&decision.demand)?.placement.as_deref()?;
    let affinity = match decision.detail::<Detail>()?.group {
        Some(place) => {
            let group = policy.groups().get(place)?;
            Some(&group.own).filter(|_| group.overflow.is_none())?
        }
        None => policy.affinity.as_ref()?,
    };
    affinity.labels_alone()
}

fn label_problem<'a>(record: Option<&'a std::sync::Arc<Record>>, decision: &Decision) -> Option<&'a str> {
    let policy = policy(record)?;
    let place = decision.detail::<Detail>().and_then(|detail| detail.group);
    let affinity = match place {
        Some(place) => Some(&policy.groups().get(place)?.own),
        None => policy.affinity.as_ref(),
    };
    affinity?.problem()
}

/// The limit of the room of the feasible `candidate`, in words; `None` if `scorer` is not the column of room.
pub(crate) fn bound(decision: &Decision, candidate: Ix, scorer: u16) -> Option<String> {
    if &**decision.scorers.get(usize::from(scorer))? != ROOM {
        return None;
    }
    let detail = decision.detail::<Detail>()?;
    detail
        .limits
        .get(decision.solved.row_of(candidate)?)
        .map(limit_in_words)
}

fn limit_in_words(bound: &RoomLimit) -> String {
    match bound {
        RoomLimit::RecentLoads(taken, bound) => {
            format!(
                "{}, minus {taken} replicas for workloads that were recently placed there",
                limit_in_words(bound)
            )
        }
        RoomLimit::Nothing => "the binding requests no replicas".to_owned(),
        RoomLimit::NoSummary => "the cluster has not reported its resources".to_owned(),
        RoomLimit::Pods => "limited by pods".to_owned(),
        RoomLimit::Resource(name) => format!("limited by {name}"),
        RoomLimit::Missing(name) => format!("the cluster has no allocatable {name}"),
        RoomLimit::Models => "limited by the sizes of its nodes (resourceModels)".to_owned(),
        RoomLimit::NotModelled(name) => {
            format!("none of its resourceModels names {name}, so its nodes count as having none")
        }
        RoomLimit::Estimator(known) => match known.at {
            Some(at) => format!(
                "limited by the answer of its estimator at {}",
                time::rfc3339(at.0)
            ),
            None => "limited by the answer of its estimator".to_owned(),
        },
    }
}

/// The token and the sentence for a feasible cluster that is not picked.
pub(crate) fn not_picked(decision: &Decision, candidate: Ix, rank: Option<usize>) -> (&'static str, String) {
    let detail = decision.detail::<Detail>();
    let is_selected = detail.is_some_and(|detail| detail.selected.binary_search(&candidate).is_ok());
    let rank = rank.map_or_else(String::new, |rank| format!("ranks {rank}, and "));
    match detail {
        Some(Detail {
            failure: Some(problem),
            ..
        }) => (problem.token(), format!("fits, but {}", failure(*problem))),
        Some(detail) if detail.is_left_alone() => (
            "NotLookedAt",
            "fits, but nothing makes Karmada decide again, so the clusters stay as they are".to_owned(),
        ),
        Some(Detail { is_chosen: true, .. }) if !is_selected => {
            ("NotChosen", "other clusters were chosen by the caller".to_owned())
        }
        _ if is_selected => ("NoReplicas", format!("{rank}the division gives it no replica")),
        _ => (
            "NotSelected",
            format!("{rank}the spread constraints select other clusters"),
        ),
    }
}

/// The sentence for a binding that is left alone, since nothing makes Karmada decide it.
const NO_TRIGGER: &str = "nothing makes Karmada decide again: its placement is unchanged, and its clusters \
                          have the requested replicas";

/// The summary of a decision in one line.
pub(crate) fn message(fleet: &Fleet, decision: &Decision) -> String {
    let detail = decision.detail::<Detail>();
    if decision.outcome == Outcome::Released {
        let bound = decision.current.iter().map(|entry| &*entry.cluster_name);
        return format!(
            "the binding is being deleted and leaves {}",
            listing::clusters(bound)
        );
    }
    let Some(detail) = detail else {
        return String::new();
    };
    if let Some(ignored) = detail.ignored {
        return ignored_message(fleet, decision, ignored);
    }
    let counts = format!(
        "{} of {} clusters feasible",
        decision.solved.feasible.len(),
        fleet.columns().count()
    );
    let record = fleet.bindings.get(&decision.demand);
    let mut parts = vec![counts];
    parts.extend(groups(record, detail));
    match detail.failure {
        Some(Failure::NoClusterFit) => {
            return report::cause(fleet, decision)
                .map_or_else(|| parts.join("; "), |cause| cause.to_string());
        }
        Some(problem) => parts.push(failure_or_excess(detail, problem)),
        None => {
            let next = decision.changes.iter();
            let cells: Vec<String> = next
                .filter(|change| change.action != berth_dialect_contract::Action::Unbind)
                .map(|change| berth_dialect_contract::amounts::cell(&change.cluster_name, change.amount_to))
                .collect();
            parts.push(format!(
                "picked {}",
                listing::clusters(cells.iter().map(String::as_str))
            ));
            if detail.is_left_alone() {
                parts.push(NO_TRIGGER.to_owned());
            }
        }
    }
    parts.join("; ")
}

/// The outcome of each group that was tried, in words.
fn groups(record: Option<&std::sync::Arc<Record>>, detail: &Detail) -> Vec<String> {
    let Some(policy) = policy(record) else {
        return Vec::new();
    };
    let name = |place: usize| policy.groups().get(place).map_or("", |group| group.name.as_str());
    detail
        .tried
        .iter()
        .filter(|_| !detail.is_left_alone())
        .map(|tried| match tried.failure {
            None => format!("group \"{}\" takes all", name(tried.group)),
            Some(problem) => format!("group \"{}\": {}", name(tried.group), failure(problem)),
        })
        .collect()
}

fn ignored_message(fleet: &Fleet, decision: &Decision, reason: IgnoreReason) -> String {
    let record = fleet.bindings.get(&decision.demand);
    match reason {
        IgnoreReason::Attached => {
            "it has no placement of its own: it follows the bindings that depend on it".to_owned()
        }
        IgnoreReason::OtherScheduler => format!(
            "its scheduler is {}",
            record.map(|record| record.scheduler()).unwrap_or_default()
        ),
        IgnoreReason::Suspended => "spec.suspension.scheduling suspends its scheduling".to_owned(),
        IgnoreReason::Unclaimed => {
            "no policy claims it any more: its clusters stay as they are, and it is not decided again"
                .to_owned()
        }
    }
}

/// Warnings about fields of the binding that have no effect, or hardly the intended effect.
pub(crate) fn warnings(fleet: &Fleet, decision: &Decision) -> Vec<String> {
    let record = fleet.bindings.get(&decision.demand);
    let (Some(record), Some(policy)) = (record, policy(record)) else {
        return Vec::new();
    };
    let mut warnings = Vec::new();
    let constraints = &policy.raw.spread_constraints;
    if policy.ignores_spread && !constraints.is_empty() {
        warnings.push("spec.placement.spreadConstraints: they have no effect with static weights".to_owned());
    }
    for (index, constraint) in constraints.iter().enumerate() {
        let path = format!("spec.placement.spreadConstraints[{index}]");
        if !constraint.spread_by_label.is_empty() {
            warnings.push(format!("{path}.spreadByLabel: Karmada does not implement it"));
        }
        if matches!(constraint.spread_by_field.as_str(), "zone" | "provider") {
            warnings.push(format!(
                "{path}: minGroups and maxGroups by {} have no effect: the constraint only refuses clusters without one",
                constraint.spread_by_field
            ));
        }
    }
    if record.spec.replicas == 0 && record.spec.replica_requirements.is_some() {
        warnings.push("spec.replicas: a workload with 0 replicas is removed from every cluster".to_owned());
    }
    if record.applied == crate::record::AppliedPlacement::Unreadable {
        warnings.push(format!(
            "metadata.annotations[{}]: it is not a valid placement, so a change of the placement causes no new decision",
            crate::names::APPLIED_PLACEMENT
        ));
    }
    let dispatching = record
        .spec
        .suspension
        .and_then(|suspension| suspension.dispatching);
    if dispatching == Some(true) {
        warnings.push(
            "spec.suspension.dispatching: nothing is sent to the clusters, but clusters are still decided"
                .to_owned(),
        );
    }
    warnings
}
