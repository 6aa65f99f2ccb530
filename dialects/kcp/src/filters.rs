//! The filters, in the order of docs/systems/kcp.md, "Filters". Each filter judges every workload cluster, so
//! that every refusal is known. kcp chooses at random among the feasible clusters; there is no scoring.

use berth_scheduling::{Filter, Ix, Reason, Verdict};

use crate::code::{self, Code, Plugin};
use crate::request::Request;

impl Filter<Request<'_>> for Plugin {
    fn plugin(&self) -> u16 {
        self.number()
    }

    fn check(&self, request: &Request<'_>, candidate: Ix) -> Verdict {
        let facts = &request.row(candidate).facts;
        let verdict = match self {
            Self::Location => request.sets[facts.locations as usize].map_or(Verdict::Pass, Code::refuse),
            Self::Ready => Code::NotReady.unless(facts.is_ready(request.now)),
            Self::Unschedulable => Code::Cordoned.unless(!facts.unschedulable),
            Self::Eviction => Code::Evicting.unless(!facts.is_evicting(request.now)),
            Self::Placed => Code::AlreadyPlaced.unless(request.leaving.binary_search(&candidate).is_err()),
        };
        match verdict {
            Verdict::Reject(reason) if facts.deleting => Verdict::Reject(Reason {
                detail: code::DELETING,
                ..reason
            }),
            verdict => verdict,
        }
    }
}
