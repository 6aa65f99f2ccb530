//! The two steps that compare the remaining seeds with one another: the zone preferences of seeds, and
//! default domains (docs/systems/gardener.md, "Steps that compare seeds"). As in gardener-scheduler, each
//! step only compares the seeds that pass all filters before the step. So all seeds may be refused although,
//! in another order of the filters, a seed would fit.

use berth_scheduling::{Ix, Rejection};

use crate::code::{Code, Plugin};
use crate::domain;
use crate::filters::zones;
use crate::fleet::seed::{Row, ZoneMode};
use crate::request::Request;

/// Adds the refusals of the steps that compare seeds to the `rejections` of the filters. The list stays
/// sorted by candidate, then plugin. Returns whether there are new refusals.
pub(crate) fn refuse(request: &Request<'_>, rejections: &mut Vec<Rejection>) -> bool {
    let filter_count = rejections.len();
    for step in STEPS {
        if !step.applies(request) {
            continue;
        }
        let remaining = remaining(request, rejections, step.preceding_filter());
        let previous_count = rejections.len();
        rejections.extend(step.refusals(request, &remaining));
        if rejections.len() > previous_count {
            rejections.sort();
        }
    }
    rejections.len() > filter_count
}

/// Whether a step that compares seeds made this refusal. In another order of the filters, such a refusal
/// might not occur.
pub(crate) fn is_by_comparison(rejection: &Rejection) -> bool {
    matches!(
        Code::of_reason(rejection.reason),
        Code::ZoneNotPreferred | Code::DomainUnsupported
    )
}

/// The seeds that the steps would leave if they compared the seeds that pass all filters. `rejections` are
/// the refusals of a run of the pipeline.
pub(crate) fn remaining_after_filters(request: &Request<'_>, rejections: &[Rejection]) -> Vec<Ix> {
    let by_filters = rejections.iter().filter(|rejection| !is_by_comparison(rejection));
    let by_filters: Vec<Rejection> = by_filters.copied().collect();
    let mut seeds = remaining(request, &by_filters, Plugin::Strategy);
    for step in STEPS.into_iter().filter(|step| step.applies(request)) {
        let refused = step.refusals(request, &seeds);
        seeds.retain(|seed| {
            refused
                .binary_search_by_key(seed, |rejection| rejection.candidate)
                .is_err()
        });
    }
    seeds
}

/// The steps that compare seeds, in order.
const STEPS: [Step; 2] = [Step::ZonePreference, Step::DefaultDomain];

/// A step that compares seeds.
#[derive(Clone, Copy)]
enum Step {
    /// Refuses seeds with [`ZoneMode::Prefer`] and no zone of the workers, if a seed with such a zone or with
    /// another mode remains.
    ZonePreference,
    /// Refuses seeds without a default domain that results in the shoot's domain, if a seed with a default
    /// domain above the shoot's domain remains.
    DefaultDomain,
}

impl Step {
    /// Whether the step can refuse any seed for `request`.
    fn applies(self, request: &Request<'_>) -> bool {
        match self {
            Self::ZonePreference => zones::prefers_worker_zones(request.requirements),
            Self::DefaultDomain => request.requirements.domain.is_some(),
        }
    }

    /// The last filter before this step.
    const fn preceding_filter(self) -> Plugin {
        match self {
            Self::ZonePreference => Plugin::Zones,
            Self::DefaultDomain => Plugin::AccessRestrictions,
        }
    }

    /// The refusals among the `remaining` seeds. The detail of each refusal is a seed for comparison: the
    /// first seed that the step keeps or, for default domains, the first seed with a default domain above the
    /// shoot's domain.
    fn refusals(self, request: &Request<'_>, remaining: &[Ix]) -> Vec<Rejection> {
        let keeps = |candidate: Ix| match self {
            Self::ZonePreference => {
                let facts = &request.row(candidate).facts;
                facts.zone_mode != ZoneMode::Prefer || zones::has_worker_zone(facts, request.requirements)
            }
            Self::DefaultDomain => {
                domain::is_derived(request.row(candidate), request.requirements, request.project)
            }
        };
        // Without a seed for comparison, no seed is refused.
        let reference = match self {
            Self::ZonePreference => remaining.iter().find(|candidate| keeps(**candidate)),
            Self::DefaultDomain => remaining
                .iter()
                .find(|candidate| has_domain_above(request.row(**candidate), request)),
        };
        let Some(&reference) = reference else {
            return Vec::new();
        };
        let code = match self {
            Self::ZonePreference => Code::ZoneNotPreferred,
            Self::DefaultDomain => Code::DomainUnsupported,
        };
        let refused = remaining.iter().filter(|candidate| !keeps(**candidate));
        refused
            .map(|&candidate| Rejection {
                candidate,
                plugin: code.plugin().number(),
                reason: code.with(reference),
            })
            .collect()
    }
}

/// Whether the seed has a default domain above the shoot's domain.
fn has_domain_above(row: &Row, request: &Request<'_>) -> bool {
    domain::default_of(row, request.requirements).is_some()
}

/// The candidates that no filter up to `last` refuses. `rejections` are sorted by candidate, then plugin.
fn remaining(request: &Request<'_>, rejections: &[Rejection], last: Plugin) -> Vec<Ix> {
    let count = Ix::try_from(request.rows.len()).unwrap_or(Ix::MAX);
    let counts = |rejection: &&Rejection| rejection.plugin <= last.number();
    let mut refused = rejections
        .iter()
        .filter(counts)
        .map(|rejection| rejection.candidate)
        .peekable();
    (0..count)
        .filter(|candidate| {
            let mut is_refused = false;
            while refused.next_if_eq(candidate).is_some() {
                is_refused = true;
            }
            !is_refused
        })
        .collect()
}
