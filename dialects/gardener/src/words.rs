//! Sentences for codes, and other texts about a decision.

mod networks;
mod places;

use berth_apimachinery::LabelSet;
use berth_apimachinery::selector::Selector;
use berth_dialect_contract::rules::Rules;
use berth_dialect_contract::words::FINAL;
use berth_dialect_contract::{Decision, Outcome, Taint, report};
use berth_scheduling::{Ix, Reason, Rejection};

use crate::code::Code;
use crate::detail::{Detail, Minimum};
use crate::filters::TOO_FEW_TOLERATIONS;
use crate::fleet::Fleet;
use crate::fleet::seed::{Row, unready};
use crate::fleet::shoot::Requirements;
use crate::kind::shoot::spec::CLOUD_PROFILE;
use crate::names::EMERGENCY_STOP;
use crate::relative;
use crate::request::Rule;
use crate::solve::FARTHEST;

/// Whether the sentence of a refusal is the same for all seeds.
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

/// The sentence of one refusal. `minimum` is the smallest distance, if the decision compared distances.
pub(crate) fn refusal(
    fleet: &Fleet,
    row: &Row,
    wants: &Requirements,
    minimum: Option<Minimum>,
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
        Code::ProviderMismatch => {
            let allowed_by = match fleet.rules() {
                Rules::Documented => "the cloud profile and the shoot allow",
                Rules::Current => "the cloud profile allows",
            };
            format!(
                "provider type \"{}\" is not among those {allowed_by} (the shoot's own is \"{}\")",
                provider.r#type, wants.provider
            )
        }
        Code::ProfileMismatch => {
            let profile = fleet.profile_of(wants).map(|profile| &profile.selector);
            format!(
                "the labels do not match the seedSelector of cloud profile \"{}\"{}",
                wants.profile.1,
                profile.map_or_else(String::new, |selector| differing_labels(selector, row))
            )
        }
        Code::ShootMismatch => format!(
            "the labels do not match the shoot's seedSelector ({}){}",
            wants.selector,
            differing_labels(&wants.selector, row)
        ),
        Code::TooFewZones
        | Code::ZonesMissing
        | Code::ZoneMismatch
        | Code::ZoneNotPreferred
        | Code::AccessRestricted
        | Code::DomainUnsupported => places::sentence(fleet, row, wants, reason),
        Code::ReconciliationsStopped => {
            format!("reconciling shoots is stopped on the seed (annotation {EMERGENCY_STOP})")
        }
        Code::Untolerated => untolerated(fleet, detail, row, wants),
        Code::DnsDisabled => "DNS is disabled for shoots of this seed, and the shoot needs it".to_owned(),
        Code::NetworksOverlap => networks::overlaps(detail, row, wants),
        Code::RangeMissing => networks::missing(detail, row, wants),
        Code::RangeReserved => networks::reserved(detail, row, wants),
        Code::Full => {
            let limit = row.facts.limit.unwrap_or_default();
            let are = if row.used == 1 { "is" } else { "are" };
            format!("{} {are} on the seed, which takes {limit}", shoots(row.used))
        }
        Code::NotSameRegion => {
            format!(
                "the seed's region is \"{}\", the shoot's is \"{}\"",
                provider.region, wants.region
            )
        }
        Code::NotSameProvider => {
            format!(
                "the seed's provider type is \"{}\", the shoot's is \"{}\"",
                provider.r#type, wants.provider
            )
        }
        Code::NotMinimalDistance => {
            let (from, to) = (&provider.region, &wants.region);
            let map = fleet
                .region_map(wants)
                .map(|(name, _)| &**name)
                .unwrap_or_default();
            match minimum {
                Some(Minimum::Mapped(least)) => {
                    match fleet
                        .distances_from(wants)
                        .and_then(|distances| distances.to(from))
                    {
                        Some(distance) => format!(
                            "the distance from \"{to}\" to \"{from}\" is {distance} by ConfigMap garden/{map}, the smallest is {least}"
                        ),
                        None => format!(
                            "ConfigMap garden/{map} has no distance from \"{to}\" to \"{from}\", and one of {least} to another seed"
                        ),
                    }
                }
                Some(Minimum::Named(Some(least))) => {
                    format!("the distance from \"{from}\" to \"{to}\" is {detail}, the smallest is {least}")
                }
                Some(Minimum::Named(None)) | None => {
                    format!(
                        "the distance from \"{from}\" to \"{to}\" is {detail}, more than {FARTHEST} is too far"
                    )
                }
            }
        }
    }
}

fn not_ready(row: &Row, rules: Rules) -> String {
    match unready(&row.record.seed, rules) {
        Some((name, "")) => format!("condition {name} is missing"),
        Some((name, status)) => format!("condition {name} is {status}"),
        None => "the seed is ready".to_owned(),
    }
}

/// A clause with the seed's values of the labels that do not match `selector`; empty if all match.
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
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    if parts.is_empty() {
        return String::new();
    }
    format!(": the seed has {}", parts.join(", "))
}

fn untolerated(fleet: &Fleet, detail: u32, row: &Row, wants: &Requirements) -> String {
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
    let own_toleration = wants
        .tolerations
        .iter()
        .rfind(|own_toleration| own_toleration.key == taint.key);
    let forbidden =
        own_toleration.is_some_and(|own_toleration| !fleet.may_tolerate(&wants.namespace, own_toleration));
    match fleet.project_of(&wants.namespace).filter(|_| forbidden) {
        None => format!("the shoot does not tolerate the taint {taint_text}"),
        Some(project) => format!(
            "the shoot's toleration of the taint {taint_text} does not count, since Project \"{}\" does not allow it \
             (spec.tolerations.whitelist)",
            project.name
        ),
    }
}

fn shoots(count: i64) -> String {
    format!("{count} shoot{}", if count == 1 { "" } else { "s" })
}

/// Reason why a feasible seed was not picked.
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
                format!("{}, seed \"{}\" has {}", shoots(row.used), best.name, best.used)
            }
        }
        (_, None) => "no seed was picked".to_owned(),
    };
    (TOKEN, sentence)
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
            let wants = fleet.shoot(&decision.demand).map(|shoot| &shoot.wants);
            if wants.is_some_and(|wants| wants.self_hosted) {
                "the shoot hosts itself (spec.provider.workers[].controlPlane) and needs no seed".to_owned()
            } else {
                let scheduler = wants.map(|wants| wants.scheduler.as_str()).unwrap_or_default();
                format!("the shoot belongs to the scheduler \"{scheduler}\"")
            }
        }
        Outcome::Invalid => invalid(fleet, decision),
        Outcome::Unchanged => {
            let seed = current_seed.unwrap_or_default();
            let note = if fleet.seed(seed).is_none() {
                ", which does not exist"
            } else {
                ""
            };
            format!("bound to {seed}{note}; nothing to do")
        }
        _ => match solved.picked.first() {
            Some(&picked) => {
                let row = fleet.row(picked);
                format!("{}; picked {}{}", feasible(), row.name, far(fleet, decision, row))
            }
            None if fleet.seeds() == 0 => "there are no seeds".to_owned(),
            None => report::cause(fleet, decision).map_or_else(feasible, |cause| cause.to_string()),
        },
    }
}

/// Number of changes that lift a refusal for `reason`; [`FINAL`] if the refusal is for the seed's deletion,
/// region or provider type.
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

/// The region of the shoot, if `candidate` is the only seed in it.
pub(crate) fn only_in_region<'a>(fleet: &'a Fleet, decision: &Decision, candidate: Ix) -> Option<&'a str> {
    let region = fleet.shoot(&decision.demand)?.wants.region.as_str();
    let is_in_region = |candidate: &Ix| fleet.row(*candidate).record.seed.spec.provider.region == region;
    let mut in_region = (0..fleet.seeds()).filter(is_in_region);
    (in_region.next() == Some(candidate) && in_region.next().is_none()).then_some(region)
}

/// Warnings for the reader: seeds that would fit an unplaced shoot if Gardener's steps had another order.
pub(crate) fn warnings(fleet: &Fleet, decision: &Decision) -> Vec<String> {
    if decision.outcome != Outcome::Unschedulable {
        return Vec::new();
    }
    let of_one_seed = |one: &Rejection, next: &Rejection| one.candidate == next.candidate;
    let refused = decision.solved.rejections.chunk_by(of_one_seed);
    let would_fit = refused.filter(|refusals| refusals.iter().all(relative::is_relative));
    let names: Vec<String> = would_fit
        .filter_map(|refusals| Some(format!("\"{}\"", fleet.row(refusals.first()?.candidate).name)))
        .collect();
    if names.is_empty() {
        return Vec::new();
    }
    let more = match names.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    vec![format!(
        "{}{more} would fit, {ORDER}",
        names[..names.len().min(MAX_NAMED)].join(", ")
    )]
}

/// Maximum number of seeds that a warning names.
const MAX_NAMED: usize = 5;

/// The clause of the warning with the reason why a seed that would fit is refused.
const ORDER: &str = "but for other seeds that are preferred for their zones or their default domain, and refused by a later \
                     step: Gardener takes them out of the running before it judges taints, networks, capacity and distance";

/// A note that the seed is not in the region of the shoot, if the purpose of the shoot is testing.
fn far(fleet: &Fleet, decision: &Decision, row: &Row) -> String {
    let is_testing = decision.detail::<Detail>().and_then(|detail| detail.rule) == Some(Rule::SameProvider);
    let requested = fleet
        .shoot(&decision.demand)
        .map(|shoot| shoot.wants.region.as_str());
    let region = &row.record.seed.spec.provider.region;
    match requested.filter(|requested| is_testing && requested != region) {
        Some(requested) => {
            format!(" in {region}: a shoot of purpose testing goes to any region, not only {requested}")
        }
        None => String::new(),
    }
}

fn invalid(fleet: &Fleet, decision: &Decision) -> String {
    if decision.reason == "ConfigInvalid" {
        let problem = fleet.config_problem.as_deref().unwrap_or_default();
        return format!("the scheduler's configuration is invalid: {problem}");
    }
    let Some(shoot) = fleet.shoot(&decision.demand) else {
        return String::new();
    };
    let wants = &shoot.wants;
    if decision.reason == "RegionConfigInvalid" {
        return fleet.distances_problem(wants).unwrap_or_default();
    }
    let (kind, name) = &wants.profile;
    match fleet.root_of(&wants.namespace, &wants.profile) {
        Some(root) if root != name || kind != CLOUD_PROFILE => {
            format!("{CLOUD_PROFILE} \"{root}\" not found, which {kind} \"{name}\" is made of")
        }
        _ => format!("{kind} \"{name}\" not found"),
    }
}
