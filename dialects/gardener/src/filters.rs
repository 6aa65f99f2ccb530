//! The filters of the pipeline, in the order of docs/systems/gardener.md, "Filters". Each filter judges every
//! seed, so that all refusals of a seed are known. The exceptions are the zone preferences and the default
//! domains of seeds: `crate::comparison` judges them among the seeds that remain.

pub(crate) mod networks;
pub(crate) mod zones;

use berth_dialect_contract::rules::Rules;
use berth_scheduling::{Filter, Ix, Verdict};

use crate::code::{Code, Plugin};
use crate::fleet::seed::Row;
use crate::fleet::shoot::Requirements;
use crate::request::{EffectiveStrategy, Request};

/// The detail of [`Code::Untolerated`] if all taints are tolerated, but there are more taints than
/// tolerations.
pub(crate) const TOO_FEW_TOLERATIONS: u32 = u32::MAX;

impl Filter<Request<'_>> for Plugin {
    fn plugin(&self) -> u16 {
        self.number()
    }

    fn check(&self, request: &Request<'_>, candidate: Ix) -> Verdict {
        let row = request.row(candidate);
        let (facts, requirements) = (&row.facts, request.requirements);
        match self {
            Self::Usable => usable(row, request.rules),
            Self::Provider => Code::ProviderMismatch.unless(request.admits_provider(row)),
            Self::CloudProfileSelector => {
                Code::ProfileMismatch.unless(request.profile_labels.matches(&facts.labels))
            }
            Self::ShootSelector => Code::ShootMismatch.unless(request.shoot_labels.matches(&facts.labels)),
            Self::Zones => zones::check(facts, requirements),
            Self::AccessRestrictions => Code::AccessRestricted.unless(offers(row, requirements)),
            // This filter compares seeds with each other, in `crate::comparison`.
            Self::DefaultDomain => Verdict::Pass,
            Self::EmergencyStop => Code::ReconciliationsStopped.unless(!facts.stopped),
            Self::Taints => match untolerated(request, row) {
                Some(detail) => Verdict::Reject(Code::Untolerated.with(detail)),
                None => Verdict::Pass,
            },
            Self::Dns => {
                let is_needed = requirements.dns && request.rules == Rules::Documented;
                Code::DnsDisabled.unless(facts.dns || !is_needed)
            }
            Self::Networks => networks::check(row, requirements, request.rules),
            Self::Capacity => Code::Full.unless(row.has_room(request.own_count(candidate))),
            Self::Strategy => strategy(request, row),
        }
    }
}

/// The verdict of the filter Usable.
fn usable(row: &Row, rules: Rules) -> Verdict {
    let facts = &row.facts;
    if facts.deleting {
        Code::Deleting.refuse()
    } else if !facts.ready.under(rules) {
        Code::NotReady.refuse()
    } else if rules == Rules::Current && !facts.reconciled {
        Code::NeverReconciled.refuse()
    } else {
        Code::Invisible.unless(*facts.visible.under(rules))
    }
}

/// Whether the seed in `row` offers every access restriction of the shoot. Options of restrictions do not
/// matter.
fn offers(row: &Row, requirements: &Requirements) -> bool {
    let offered = &row.facts.restrictions;
    offered.len() >= requirements.restrictions.len()
        && requirements
            .restrictions
            .iter()
            .all(|name| offered.contains(name))
}

/// The index of the first taint that is not tolerated; [`TOO_FEW_TOLERATIONS`] if all taints are tolerated,
/// but there are more taints than tolerations.
fn untolerated(request: &Request<'_>, row: &Row) -> Option<u32> {
    let taints = row.facts.taints.under(request.rules);
    let first = (0u32..).zip(taints.iter()).find(|(_, taint)| {
        let is_tolerated = request
            .tolerations
            .get(taint.key.as_str())
            .is_some_and(|value| taint.value.as_deref().is_none_or(|wanted| wanted == *value));
        !is_tolerated
    });
    match first {
        Some((index, _)) => Some(index),
        None => (taints.len() > request.toleration_count).then_some(TOO_FEW_TOLERATIONS),
    }
}

/// The verdict of the filter Strategy.
fn strategy(request: &Request<'_>, row: &Row) -> Verdict {
    if request.strategy == EffectiveStrategy::MinimalDistance {
        Verdict::Pass
    } else if !request.same_provider(row) {
        Code::NotSameProvider.refuse()
    } else {
        Code::NotSameRegion
            .unless(request.strategy != EffectiveStrategy::SameRegion || request.same_region(row))
    }
}

#[cfg(test)]
mod tests;
