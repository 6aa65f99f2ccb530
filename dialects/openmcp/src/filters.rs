//! The filters Purpose, Selector, Namespace, Tenancy and Lifecycle (docs/systems/openmcp.md, "Filters"). Each
//! filter judges every Cluster, so that every refusal is known.

use berth_scheduling::{Filter, Ix, Verdict};

use crate::code::{Code, Plugin};
use crate::request::{Request, SharingMode};

impl Filter<Request<'_>> for Plugin {
    fn plugin(&self) -> u16 {
        self.number()
    }

    fn check(&self, request: &Request<'_>, candidate: Ix) -> Verdict {
        let facts = &request.row(candidate).facts;
        match self {
            Self::Purpose if !request.is_purpose_configured => Code::PurposeNotConfigured.refuse(),
            Self::Purpose => Code::PurposeMismatch.unless(request.purposes[facts.purposes as usize]),
            Self::Selector => Code::SelectorMismatch.unless(request.selector.matches(&facts.labels)),
            Self::Namespace => {
                let is_own_namespace = |only| only == Some(facts.namespace);
                Code::OutOfScope.unless(request.namespace.is_none_or(is_own_namespace))
            }
            Self::Tenancy => check_tenancy(request, candidate),
            Self::Lifecycle => Code::Terminating.unless(!facts.deleting),
        }
    }
}

/// Whether there is room for the request beside the other requests on `candidate`.
fn check_tenancy(request: &Request<'_>, candidate: Ix) -> Verdict {
    let is_only_user = request.uses(candidate) && request.other_requests(candidate) == 0;
    match request.sharing {
        SharingMode::Never => Code::NeedsExclusive.unless(is_only_user),
        SharingMode::UpTo(_) if request.row(candidate).facts.exclusive && !is_only_user => {
            Code::Exclusive.refuse()
        }
        SharingMode::UpTo(limit) if request.other_requests(candidate) >= limit => {
            Verdict::Reject(Code::Full.with(limit))
        }
        SharingMode::UpTo(_) => Verdict::Pass,
    }
}
