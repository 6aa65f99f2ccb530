//! The filters, in the order of docs/systems/openmcp.md, "Filters". Each judges every Cluster, so that every
//! refusal is known.

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
            Self::Purpose if !request.understood => Code::NotUnderstood.refuse(),
            Self::Purpose => Code::PurposeMismatch.unless(request.purposes[facts.purposes as usize]),
            Self::Selector => Code::SelectorMismatch.unless(request.selector.matches(&facts.labels)),
            Self::Namespace => {
                let is_own_namespace = |only| only == Some(facts.namespace);
                Code::OutOfScope.unless(request.namespace.is_none_or(is_own_namespace))
            }
            Self::Tenancy => tenancy(request, candidate),
            Self::Lifecycle => Code::Terminating.unless(!facts.deleting),
        }
    }
}

fn tenancy(request: &Request<'_>, candidate: Ix) -> Verdict {
    let alone = request.is_own(candidate) && request.others(candidate) == 0;
    match request.sharing {
        SharingMode::Never => Code::NeedsOwn.unless(alone),
        SharingMode::UpTo(_) if request.row(candidate).facts.exclusive && !alone => Code::Exclusive.refuse(),
        SharingMode::UpTo(limit) if request.others(candidate) >= limit => {
            Verdict::Reject(Code::Full.with(limit))
        }
        SharingMode::UpTo(_) => Verdict::Pass,
    }
}
