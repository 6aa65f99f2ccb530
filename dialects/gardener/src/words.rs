//! The words for codes: made when somebody reads a decision, never while deciding.

use dialect_contract::{Decision, Outcome};
use scheduling::{Ix, Reason};

use crate::detail::Detail;
use crate::filters::{Code, NAMES, TOO_FEW_TOLERATIONS};
use crate::fleet::Fleet;
use crate::fleet::seed::{Row, unready};
use crate::fleet::shoot::Wants;
use crate::kind::shoot::spec::CLOUD_PROFILE;
use crate::request::Rule;

/// The token of a refusal.
pub(crate) fn token(reason: Reason) -> &'static str {
    Code::ALL
        .get(usize::from(reason.code))
        .map_or("", |code| code.token())
}

/// Whether the sentence of a refusal tells nothing of the seed.
pub(crate) fn is_alike(reason: Reason) -> bool {
    matches!(
        Code::ALL.get(usize::from(reason.code)),
        Some(
            Code::Deleting
                | Code::Invisible
                | Code::ProfileMismatch
                | Code::ShootMismatch
                | Code::DnsDisabled
                | Code::RangeMissing
        )
    )
}

/// The token and sentence of one refusal. `minimum` is the smallest distance, where distances count.
pub(crate) fn refusal(
    row: &Row,
    wants: &Wants,
    minimum: Option<u32>,
    reason: Reason,
) -> (&'static str, String) {
    let Some(&code) = Code::ALL.get(usize::from(reason.code)) else {
        return ("", String::new());
    };
    (code.token(), sentence(code, reason.detail, row, wants, minimum))
}

fn sentence(code: Code, detail: u32, row: &Row, wants: &Wants, minimum: Option<u32>) -> String {
    let provider = &row.record.seed.spec.provider;
    match code {
        Code::Deleting => "the seed is being deleted".to_owned(),
        Code::NotReady => not_ready(row),
        Code::Invisible => {
            "the seed is not visible to the scheduler (spec.settings.scheduling.visible)".to_owned()
        }
        Code::ProviderMismatch => format!(
            "provider type \"{}\" is not among those the cloud profile and the shoot allow (the shoot's own is \"{}\")",
            provider.r#type, wants.provider
        ),
        Code::ProfileMismatch => {
            format!(
                "the labels do not match the seedSelector of cloud profile \"{}\"",
                wants.profile.1
            )
        }
        Code::ShootMismatch => format!(
            "the labels do not match the shoot's seedSelector ({})",
            wants.selector
        ),
        Code::Untolerated => untolerated(detail, row),
        Code::DnsDisabled => "DNS is disabled for shoots of this seed, and the shoot needs it".to_owned(),
        Code::NetworksOverlap => overlaps(detail, row, wants),
        Code::RangeMissing => missing(detail),
        Code::Full => {
            let limit = row.facts.limit.unwrap_or_default();
            format!("{} shoots are on the seed, which takes {limit}", row.used)
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
            let least = minimum.unwrap_or_default();
            let (from, to) = (&provider.region, &wants.region);
            format!("the distance from \"{from}\" to \"{to}\" is {detail}, the smallest is {least}")
        }
    }
}

fn not_ready(row: &Row) -> String {
    match unready(&row.record.seed) {
        Some((name, "")) => format!("condition {name} is missing"),
        Some((name, status)) => format!("condition {name} is {status}"),
        None => "the seed is ready".to_owned(),
    }
}

fn untolerated(detail: u32, row: &Row) -> String {
    let taints = &row.facts.taints;
    match taints.get(detail as usize) {
        Some(taint) if detail != TOO_FEW_TOLERATIONS => match taint.value.as_deref() {
            None | Some("") => format!("the shoot does not tolerate the taint {}", taint.key),
            Some(value) => format!("the shoot does not tolerate the taint {}={value}", taint.key),
        },
        _ => format!(
            "the seed has {} taints, more than the shoot has tolerations",
            taints.len()
        ),
    }
}

const RANGES: [&str; 3] = ["nodes", "pods", "services"];

fn missing(bits: u32) -> String {
    let names: Vec<&str> = (0..3)
        .filter(|bit| bits >> bit & 1 == 1)
        .map(|bit| RANGES[bit])
        .collect();
    format!(
        "neither the shoot nor the seed's shootDefaults give a range for {}",
        names.join(" and ")
    )
}

fn overlaps(pairs: u32, row: &Row, wants: &Wants) -> String {
    let networks = &row.record.seed.spec.networks;
    let seeds = [
        networks.nodes.as_deref(),
        Some(networks.pods.as_str()),
        Some(networks.services.as_str()),
    ];
    let defaults = networks.shoot_defaults.as_ref();
    let given = [
        None,
        defaults.and_then(|all| all.pods.as_deref()),
        defaults.and_then(|all| all.services.as_deref()),
    ];
    let texts = (0..9).filter(|bit| pairs >> bit & 1 == 1).map(|bit| {
        let (shoot, seed) = (bit / 3, bit % 3);
        let (whose, range) = match wants.ranges[shoot].as_deref() {
            Some(range) => ("shoot's", range),
            None => ("default", given[shoot].unwrap_or_default()),
        };
        let other = seeds[seed].unwrap_or_default();
        format!(
            "{whose} {} {range} and seed's {} {other}",
            RANGES[shoot], RANGES[seed]
        )
    });
    format!("networks overlap: {}", texts.collect::<Vec<_>>().join(", "))
}

/// Why a feasible seed was not picked.
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
                format!("{} shoots, seed \"{}\" has {}", row.used, best.name, best.used)
            }
        }
        (_, None) => "no seed was picked".to_owned(),
    };
    (TOKEN, sentence)
}

/// The summary line.
pub(crate) fn message(fleet: &Fleet, decision: &Decision) -> String {
    let solved = &decision.solved;
    let held = decision.current.first().map(|current| &*current.cluster_name);
    let feasible = || format!("{} of {} seeds feasible", solved.feasible.len(), fleet.seeds());
    match decision.outcome {
        Outcome::Released => match held {
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
            let seed = held.unwrap_or_default();
            let gone = if fleet.seed(seed).is_none() {
                ", which does not exist"
            } else {
                ""
            };
            format!("bound to {seed}{gone}; nothing to do")
        }
        _ => match solved.picked.first() {
            Some(&picked) => format!("{}; picked {}", feasible(), fleet.row(picked).name),
            None if fleet.seeds() == 0 => "there are no seeds".to_owned(),
            None => format!("{}{}", feasible(), failures(decision)),
        },
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
    let (kind, name) = &shoot.wants.profile;
    if kind == CLOUD_PROFILE {
        format!("CloudProfile \"{name}\" not found")
    } else {
        format!("{kind} \"{name}\" not found: only profiles of kind {CLOUD_PROFILE} are read")
    }
}

/// How often each reason stands, in the order of the filters: `: 3 Strategy/NotSameRegion, 1 Taints/Untolerated`.
fn failures(decision: &Decision) -> String {
    let mut counts = [0usize; Code::ALL.len()];
    let mut plugins = [0u16; Code::ALL.len()];
    for rejection in &decision.solved.rejections {
        let code = usize::from(rejection.reason.code);
        counts[code] += 1;
        plugins[code] = rejection.plugin;
    }
    let parts = Code::ALL
        .iter()
        .enumerate()
        .filter(|&(index, _)| counts[index] > 0)
        .map(|(index, code)| {
            format!(
                "{} {}/{}",
                counts[index],
                NAMES[usize::from(plugins[index])],
                code.token()
            )
        });
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() {
        String::new()
    } else {
        format!(": {}{}", parts.join(", "), wanted(decision))
    }
}

/// What the strategy wanted, when it had a say.
fn wanted(decision: &Decision) -> &'static str {
    match decision.detail::<Detail>().and_then(|detail| detail.rule) {
        Some(Rule::SameProvider) => " (purpose testing)",
        Some(Rule::SameRegion) => " (strategy SameRegion)",
        Some(Rule::MinimalDistance) => " (strategy MinimalDistance)",
        None => "",
    }
}
