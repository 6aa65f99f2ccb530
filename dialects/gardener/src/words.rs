//! Sentences for refusals, and other texts about a decision.

mod networks;
mod places;

use berth_apimachinery::LabelSet;
use berth_apimachinery::selector::Selector;
use berth_dialect_contract::rules::Rules;
use berth_dialect_contract::words::FINAL;
use berth_dialect_contract::{Decision, Outcome, Taint, report};
use berth_scheduling::{Ix, Reason};

use crate::code::Code;
use crate::comparison;
use crate::detail::{Detail, MinimumDistance};
use crate::filters::TOO_FEW_TOLERATIONS;
use crate::fleet::Fleet;
use crate::fleet::seed::{Row, unready};
use crate::fleet::shoot::Requirements;
use crate::kind::shoot::spec::CLOUD_PROFILE;
use crate::names::{EMERGENCY_STOP, SEEDS};
use crate::request::{EffectiveStrategy, Request};
use crate::solve::{self, MAX_DISTANCE};

/// Whether the sentence of a refusal with `reason` is equal for all seeds.
pub(crate) fn is_alike(reason: Reason) -> bool {
    match Code::of_reason(reason) {
        Code::Deleting
        | Code::NeverReconciled
        | Code::Invisible
        | Code::ReconciliationsStopped
        | Code::DnsDisabled => true,
        Code::NotReady
        | Code::ProviderMismatch
        | Code::ProfileMismatch
        | Code::ShootMismatch
        | Code::TooFewZones
        | Code::ZonesMissing
        | Code::ZoneMismatch
        | Code::ZoneNotPreferred
        | Code::AccessRestricted
        | Code::DomainUnsupported
        | Code::Untolerated
        | Code::NetworksOverlap
        | Code::RangeMissing
        | Code::RangeReserved
        | Code::Full
        | Code::NotSameRegion
        | Code::NotSameProvider
        | Code::NotMinimalDistance => false,
    }
}

/// The sentence of a refusal of the seed in `row`. `minimum` is the smallest distance, if the decision
/// compared distances.
pub(crate) fn refusal(
    fleet: &Fleet,
    row: &Row,
    requirements: &Requirements,
    minimum: Option<MinimumDistance>,
    reason: Reason,
) -> String {
    let provider = &row.record.seed.spec.provider;
    let detail = reason.detail;
    match Code::of_reason(reason) {
        Code::Deleting => "the seed is being deleted".to_owned(),
        Code::NotReady => not_ready(row, fleet.rules()),
        Code::NeverReconciled => {
            "the seed was never reconciled: its gardenlet has not written status.lastOperation yet".to_owned()
        }
        Code::Invisible => {
            "the seed is not visible to the scheduler (spec.settings.scheduling.visible)".to_owned()
        }
        Code::ProviderMismatch => provider_mismatch(fleet, row, requirements),
        Code::ProfileMismatch => profile_mismatch(fleet, row, requirements),
        Code::ShootMismatch => format!(
            "the labels do not match the shoot's seedSelector ({}){}",
            requirements.selector,
            differing_labels(&requirements.selector, row)
        ),
        Code::TooFewZones
        | Code::ZonesMissing
        | Code::ZoneMismatch
        | Code::ZoneNotPreferred
        | Code::AccessRestricted
        | Code::DomainUnsupported => places::sentence(fleet, row, requirements, reason),
        Code::ReconciliationsStopped => {
            format!("reconciling shoots is stopped on the seed (annotation {EMERGENCY_STOP})")
        }
        Code::Untolerated => untolerated(fleet, detail, row, requirements),
        Code::DnsDisabled => "DNS is disabled for shoots of this seed, and the shoot needs it".to_owned(),
        Code::NetworksOverlap => networks::overlapping_ranges(detail, row, requirements),
        Code::RangeMissing => networks::missing_ranges(detail, row, requirements),
        Code::RangeReserved => networks::reserved_ranges(detail, row, requirements),
        Code::Full => {
            let limit = row.facts.limit.unwrap_or_default();
            let are = if row.used == 1 { "is" } else { "are" };
            format!("{} {are} on the seed, which takes {limit}", shoot_count(row.used))
        }
        Code::NotSameRegion => {
            format!(
                "the seed's region is \"{}\", the shoot's is \"{}\"",
                provider.region, requirements.region
            )
        }
        Code::NotSameProvider => {
            format!(
                "the seed's provider type is \"{}\", the shoot's is \"{}\"",
                provider.r#type, requirements.provider
            )
        }
        Code::NotMinimalDistance => not_nearest(fleet, row, requirements, minimum, detail),
    }
}

/// The sentence for a provider type that the seed selectors do not admit.
fn provider_mismatch(fleet: &Fleet, row: &Row, requirements: &Requirements) -> String {
    let allowed_by = match fleet.rules() {
        Rules::Documented => "the cloud profile and the shoot allow",
        Rules::Current => "the cloud profile allows",
    };
    format!(
        "provider type \"{}\" is not among those {allowed_by} (the shoot's own is \"{}\")",
        row.record.seed.spec.provider.r#type, requirements.provider
    )
}

/// The sentence for labels that the seed selector of the cloud profile does not match.
fn profile_mismatch(fleet: &Fleet, row: &Row, requirements: &Requirements) -> String {
    let profile = fleet.profile_of(requirements).map(|profile| &profile.selector);
    format!(
        "the labels do not match the seedSelector of cloud profile \"{}\"{}",
        requirements.profile.1,
        profile.map_or_else(String::new, |selector| differing_labels(selector, row))
    )
}

/// The sentence for a seed that is not at the smallest distance. `computed` is the distance by the names of
/// regions, which does not count if the smallest distance is from a ConfigMap.
fn not_nearest(
    fleet: &Fleet,
    row: &Row,
    requirements: &Requirements,
    minimum: Option<MinimumDistance>,
    computed: u32,
) -> String {
    let (from, to) = (&row.record.seed.spec.provider.region, &requirements.region);
    let least = match minimum {
        Some(MinimumDistance::ByConfigMap(least)) => least,
        Some(MinimumDistance::ByName(Some(least))) => {
            return format!(
                "the distance from \"{from}\" to \"{to}\" is {computed}, the smallest is {least}"
            );
        }
        Some(MinimumDistance::ByName(None)) | None => {
            return format!(
                "the distance from \"{from}\" to \"{to}\" is {computed}, more than {MAX_DISTANCE} is too far"
            );
        }
    };
    let map = fleet
        .region_map(requirements)
        .map(|(name, _)| &**name)
        .unwrap_or_default();
    let distance = fleet
        .distances_from(requirements)
        .and_then(|distances| distances.to(from));
    match distance {
        Some(distance) => format!(
            "the distance from \"{to}\" to \"{from}\" is {distance} by ConfigMap garden/{map}, the smallest is {least}"
        ),
        None => format!(
            "ConfigMap garden/{map} has no distance from \"{to}\" to \"{from}\", but the distance {least} to the region of \
             another seed"
        ),
    }
}

/// The sentence for the first condition that keeps the seed from being ready.
fn not_ready(row: &Row, rules: Rules) -> String {
    match unready(&row.record.seed, rules) {
        Some((name, "")) => format!("condition {name} is missing"),
        Some((name, status)) => format!("condition {name} is {status}"),
        None => "the seed is ready".to_owned(),
    }
}

/// A clause with the seed's values of the labels that do not match `selector`; empty if all labels match.
fn differing_labels(selector: &Selector, row: &Row) -> String {
    let mut parts: Vec<String> = Vec::new();
    for requirement in &selector.requirements {
        let seed_value = row.record.labels.value(&requirement.key);
        if requirement.matches(seed_value) {
            continue;
        }
        let part = match seed_value {
            Some(value) => format!("{}={value}", requirement.key),
            None => format!("no {}", requirement.key),
        };
        // Requirements are sorted by key, so that those on one label follow each other.
        if parts.last() != Some(&part) {
            parts.push(part);
        }
    }
    if parts.is_empty() {
        return String::new();
    }
    format!(": the seed has {}", parts.join(", "))
}

/// The sentence for a taint that the shoot does not tolerate. `detail` is the index of the taint, or
/// [`TOO_FEW_TOLERATIONS`].
fn untolerated(fleet: &Fleet, detail: u32, row: &Row, requirements: &Requirements) -> String {
    let taints = row.facts.taints.under(fleet.rules());
    let Some(taint) = taints
        .get(detail as usize)
        .filter(|_| detail != TOO_FEW_TOLERATIONS)
    else {
        return format!(
            "the seed has {} taints, more than the shoot has tolerations that count",
            taints.len()
        );
    };
    let taint_text = Taint::from(taint);
    let own_toleration = requirements
        .tolerations
        .iter()
        .rfind(|own_toleration| own_toleration.key == taint.key);
    let forbidden = own_toleration
        .is_some_and(|own_toleration| !fleet.may_tolerate(&requirements.namespace, own_toleration));
    match fleet.project_of(&requirements.namespace).filter(|_| forbidden) {
        None => format!("the shoot does not tolerate the taint {taint_text}"),
        Some(project) => format!(
            "the shoot's toleration of the taint {taint_text} does not count, since Project \"{}\" does not allow it \
             (spec.tolerations.whitelist)",
            project.name
        ),
    }
}

/// The number of shoots in words, such as `2 shoots`.
fn shoot_count(count: i64) -> String {
    format!("{count} shoot{}", if count == 1 { "" } else { "s" })
}

/// The token and the sentence for a feasible seed that is not picked.
pub(crate) fn not_picked(fleet: &Fleet, decision: &Decision, candidate: Ix) -> (&'static str, String) {
    const TOKEN: &str = "Utilization";
    let chosen = decision.detail::<Detail>().is_some_and(|detail| detail.chosen);
    let row = fleet.row(candidate);
    let sentence = match (decision.outcome, decision.solved.picked.first()) {
        (Outcome::Unchanged, _) => {
            let seed = decision
                .current
                .first()
                .map(|current| &*current.cluster_name)
                .unwrap_or_default();
            format!("the shoot stays on seed \"{seed}\"")
        }
        (_, Some(&picked)) if chosen => format!("seed \"{}\" was asked for", fleet.row(picked).name),
        (_, Some(&picked)) => {
            let best = fleet.row(picked);
            if best.used == row.used {
                format!(
                    "as many shoots ({}) as seed \"{}\", which comes first by name",
                    row.used, best.name
                )
            } else {
                format!(
                    "{}, seed \"{}\" has {}",
                    shoot_count(row.used),
                    best.name,
                    best.used
                )
            }
        }
        (_, None) => "no seed was picked".to_owned(),
    };
    (TOKEN, sentence)
}

/// The clause about an object that is not known: it cannot be parsed because of `problem`, or does not exist.
pub(crate) fn absence(problem: Option<String>) -> String {
    match problem {
        Some(problem) => format!("cannot be read: {problem}"),
        None => "does not exist".to_owned(),
    }
}

/// The sentence about the seed `name`, which is not known: it cannot be parsed, or does not exist.
pub(crate) fn missing_seed(fleet: &Fleet, name: &str) -> String {
    match fleet.seed_problem(name) {
        Some(problem) => format!("seed \"{name}\" cannot be read: {problem}"),
        None => format!("there is no seed \"{name}\""),
    }
}

/// The summary of a decision in one line.
pub(crate) fn message(fleet: &Fleet, decision: &Decision) -> String {
    let solved = &decision.solved;
    let current_seed = decision.current.first().map(|current| &*current.cluster_name);
    let feasible = || format!("{} of {} seeds feasible", solved.feasible.len(), fleet.seeds());
    match decision.outcome {
        Outcome::Released => match current_seed {
            Some(seed) => format!("the shoot is being deleted and leaves seed \"{seed}\""),
            None => "the shoot is being deleted".to_owned(),
        },
        Outcome::Ignored => {
            let requirements = fleet.shoot(&decision.demand).map(|shoot| &shoot.requirements);
            if requirements.is_some_and(|requirements| requirements.self_hosted) {
                "the shoot is self-hosted (spec.provider.workers[].controlPlane) and needs no seed".to_owned()
            } else {
                let scheduler = requirements
                    .map(|requirements| requirements.scheduler.as_str())
                    .unwrap_or_default();
                format!("the shoot belongs to the scheduler \"{scheduler}\"")
            }
        }
        Outcome::Invalid => invalid_message(fleet, decision),
        Outcome::Unchanged => {
            let seed = current_seed.unwrap_or_default();
            let note = match fleet.seed(seed) {
                Some(_) => String::new(),
                None => format!(", which {}", absence(fleet.seed_problem(seed))),
            };
            format!("bound to {seed}{note}; nothing to do")
        }
        _ => match solved.picked.first() {
            Some(&picked) => {
                let row = fleet.row(picked);
                format!(
                    "{}; picked {}{}",
                    feasible(),
                    row.name,
                    region_note(fleet, decision, row)
                )
            }
            None if fleet.seeds() == 0 => {
                let are_unreadable = fleet.unusable.keys().any(|key| key.resource == SEEDS);
                match are_unreadable {
                    true => "none of the seeds can be read".to_owned(),
                    false => "there are no seeds".to_owned(),
                }
            }
            None => report::cause(fleet, decision).map_or_else(feasible, |cause| cause.to_string()),
        },
    }
}

/// Number of changes that lift a refusal with `reason`; [`FINAL`] if the refusal is for the deletion, the
/// region or the provider type of the seed.
pub(crate) fn steps(reason: Reason) -> usize {
    match Code::of_reason(reason) {
        Code::Deleting
        | Code::ProviderMismatch
        | Code::NotSameRegion
        | Code::NotSameProvider
        | Code::NotMinimalDistance => FINAL,
        Code::NotReady
        | Code::NeverReconciled
        | Code::Invisible
        | Code::ProfileMismatch
        | Code::ShootMismatch
        | Code::TooFewZones
        | Code::ZonesMissing
        | Code::ZoneMismatch
        | Code::ZoneNotPreferred
        | Code::AccessRestricted
        | Code::DomainUnsupported
        | Code::ReconciliationsStopped
        | Code::Untolerated
        | Code::DnsDisabled
        | Code::NetworksOverlap
        | Code::RangeMissing
        | Code::RangeReserved
        | Code::Full => 1,
    }
}

/// The region of the shoot, if `candidate` is the only seed in this region.
pub(crate) fn only_in_region<'a>(fleet: &'a Fleet, decision: &Decision, candidate: Ix) -> Option<&'a str> {
    let region = fleet.shoot(&decision.demand)?.requirements.region.as_str();
    let is_in_region = |candidate: &Ix| fleet.row(*candidate).record.seed.spec.provider.region == region;
    let mut in_region = (0..fleet.seeds()).filter(is_in_region);
    (in_region.next() == Some(candidate) && in_region.next().is_none()).then_some(region)
}

/// Warnings about an unscheduled shoot: the seeds that would fit if Gardener compared seeds after all
/// filters.
pub(crate) fn warnings(fleet: &Fleet, decision: &Decision) -> Vec<String> {
    if decision.outcome != Outcome::Unschedulable {
        return Vec::new();
    }
    let names: Vec<String> = feasible_by_late_comparison(fleet, decision)
        .into_iter()
        .map(|candidate| format!("\"{}\"", fleet.row(candidate).name))
        .collect();
    if names.is_empty() {
        return Vec::new();
    }
    let more = match names.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    vec![format!(
        "{}{more} would fit, {REASON_BY_ORDER}",
        names[..names.len().min(MAX_NAMED)].join(", ")
    )]
}

/// The seeds that would be feasible for an unscheduled shoot if Gardener compared seeds after all filters.
fn feasible_by_late_comparison(fleet: &Fleet, decision: &Decision) -> Vec<Ix> {
    let rejections = decision.solved.rejections.as_slice();
    let shoot = fleet
        .shoot(&decision.demand)
        .filter(|_| rejections.iter().any(comparison::is_by_comparison));
    let Some((shoot, profile)) =
        shoot.and_then(|shoot| Some((shoot, fleet.profile_of(&shoot.requirements)?)))
    else {
        return Vec::new();
    };
    let request = Request::new(fleet, &shoot.requirements, profile, &shoot.occupied.0);
    solve::feasible_by_late_comparison(&request, rejections)
}

/// Maximum number of seeds that a warning names.
const MAX_NAMED: usize = 5;

/// The clause of a warning with the reason why seeds that would fit are refused.
const REASON_BY_ORDER: &str = "but for other seeds that are preferred for their zones or their default domain, and refused by a later \
                               step: Gardener compares seeds before it judges taints, networks, capacity and distance";

/// The note that a seed for a shoot of purpose testing is in another region than the shoot; empty otherwise.
fn region_note(fleet: &Fleet, decision: &Decision, row: &Row) -> String {
    let is_testing = decision.detail::<Detail>().and_then(|detail| detail.strategy)
        == Some(EffectiveStrategy::SameProvider);
    let requested = fleet
        .shoot(&decision.demand)
        .map(|shoot| shoot.requirements.region.as_str());
    let region = &row.record.seed.spec.provider.region;
    match requested.filter(|requested| is_testing && requested != region) {
        Some(requested) => {
            format!(" in {region}: a shoot of purpose testing goes to any region, not only {requested}")
        }
        None => String::new(),
    }
}

/// The reason why a decision is invalid, in words.
fn invalid_message(fleet: &Fleet, decision: &Decision) -> String {
    if decision.reason == "ConfigInvalid" {
        let problem = fleet.config_problem.as_deref().unwrap_or_default();
        return format!("the scheduler's configuration is invalid: {problem}");
    }
    let Some(shoot) = fleet.shoot(&decision.demand) else {
        return String::new();
    };
    let requirements = &shoot.requirements;
    if decision.reason == "RegionConfigInvalid" {
        return fleet.distances_problem(requirements).unwrap_or_default();
    }
    let (kind, name) = &requirements.profile;
    if let Some(problem) = fleet.profile_problem(&requirements.namespace, (kind, name)) {
        return format!("{kind} \"{name}\" cannot be read: {problem}");
    }
    match fleet.root_of(&requirements.namespace, &requirements.profile) {
        Some(root) if root != name || kind != CLOUD_PROFILE => {
            format!("{CLOUD_PROFILE} \"{root}\" not found, which {kind} \"{name}\" extends")
        }
        _ => format!("{kind} \"{name}\" not found"),
    }
}
