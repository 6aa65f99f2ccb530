//! The two steps in which the verdict on one seed depends on the other remaining seeds: the seeds'
//! preferences, and default domains (docs/systems/gardener.md, "Steps that compare seeds"). As in
//! gardener-scheduler, each step only compares the seeds that pass the steps before it. So the steps may
//! refuse all seeds although another order of steps would not.

use berth_scheduling::{Ix, Rejection};

use crate::code::{Code, Plugin};
use crate::domain;
use crate::filters::zones;
use crate::fleet::seed::{Row, ZoneMode};
use crate::request::Request;

/// Adds the refusals of the steps that compare seeds to the `rejections` of the filters, which stay sorted by
/// candidate, then plugin. Returns whether there are any new refusals.
pub(crate) fn refuse(request: &Request<'_>, rejections: &mut Vec<Rejection>) -> bool {
    let filter_count = rejections.len();
    for step in [Step::Prefer, Step::DefaultDomain] {
        if !step.matters(request) {
            continue;
        }
        let remaining = remaining(request, rejections, step.after());
        let previous_count = rejections.len();
        rejections.extend(step.refusals(request, &remaining));
        if rejections.len() > previous_count {
            rejections.sort();
        }
    }
    rejections.len() > filter_count
}

/// Whether a refusal is by a step that compares seeds. Another order of the steps could lift such a refusal.
pub(crate) fn is_relative(rejection: &Rejection) -> bool {
    matches!(
        Code::of_reason(rejection.reason),
        Code::ZoneNotPreferred | Code::DomainUnsupported
    )
}

#[derive(Clone, Copy)]
enum Step {
    Prefer,
    DefaultDomain,
}

impl Step {
    fn matters(self, request: &Request<'_>) -> bool {
        match self {
            Self::Prefer => zones::has_a_preference(request.wants),
            Self::DefaultDomain => request.wants.domain.is_some(),
        }
    }

    /// The last filter whose refusals count before this step.
    const fn after(self) -> Plugin {
        match self {
            Self::Prefer => Plugin::Zones,
            Self::DefaultDomain => Plugin::AccessRestrictions,
        }
    }

    /// The refusals among the remaining seeds. Their detail is the first seed that the step keeps or, for
    /// default domains, the first seed with a default domain above the shoot's own domain.
    fn refusals(self, request: &Request<'_>, remaining: &[Ix]) -> Vec<Rejection> {
        let keeps = |candidate: Ix| match self {
            Self::Prefer => {
                let facts = &request.row(candidate).facts;
                facts.zone_mode != ZoneMode::Prefer || zones::shares(facts, request.wants)
            }
            Self::DefaultDomain => domain::is_of(request.row(candidate), request.wants, request.project),
        };
        // The seed with which the others are compared. Without such a seed, no seed is refused.
        let reference = match self {
            Self::Prefer => remaining.iter().find(|candidate| keeps(**candidate)),
            Self::DefaultDomain => remaining
                .iter()
                .find(|candidate| manages(request.row(**candidate), request)),
        };
        let Some(&reference) = reference else {
            return Vec::new();
        };
        let code = match self {
            Self::Prefer => Code::ZoneNotPreferred,
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

fn manages(row: &Row, request: &Request<'_>) -> bool {
    domain::above(row, request.wants).is_some()
}

/// The candidates that no filter up to `through` refuses. `rejections` are sorted by candidate, then plugin.
fn remaining(request: &Request<'_>, rejections: &[Rejection], through: Plugin) -> Vec<Ix> {
    let count = Ix::try_from(request.rows.len()).unwrap_or(Ix::MAX);
    let counts = |rejection: &&Rejection| rejection.plugin <= through.number();
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
