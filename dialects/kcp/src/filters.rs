//! The filters, in the order of docs/systems/kcp.md, "Filters". Each judges every workload cluster, so that every
//! refusal is known. kcp chooses at random among what they leave; there is no scoring.

use scheduling::{Filter, Ix, Verdict};

pub(crate) use crate::code::Code;
use crate::request::Request;

/// The names of the filters.
pub(crate) const NAMES: &[&str] = &["Location", "Ready", "Unschedulable", "Eviction", "Placed"];

/// The filters, in order.
pub(crate) fn all<'a, 'r>() -> [&'a dyn Filter<Request<'r>>; 5] {
    [&Location, &Ready, &Unschedulable, &Eviction, &Placed]
}

fn pass(passes: bool, code: Code) -> Verdict {
    if passes { Verdict::Pass } else { code.refuse() }
}

/// In a location, and in one that is looked in.
struct Location;

impl Filter<Request<'_>> for Location {
    fn name(&self) -> &'static str {
        NAMES[0]
    }

    fn check(&self, request: &Request<'_>, candidate: Ix) -> Verdict {
        let set = request.row(candidate).facts.locations;
        request.sets[set as usize].map_or(Verdict::Pass, Code::refuse)
    }
}

/// Ready, with a heartbeat that is not stale.
struct Ready;

impl Filter<Request<'_>> for Ready {
    fn name(&self) -> &'static str {
        NAMES[1]
    }

    fn check(&self, request: &Request<'_>, candidate: Ix) -> Verdict {
        pass(request.row(candidate).facts.is_ready(request.now), Code::NotReady)
    }
}

/// Not cordoned.
struct Unschedulable;

impl Filter<Request<'_>> for Unschedulable {
    fn name(&self) -> &'static str {
        NAMES[2]
    }

    fn check(&self, request: &Request<'_>, candidate: Ix) -> Verdict {
        pass(!request.row(candidate).facts.unschedulable, Code::Cordoned)
    }
}

/// Not evicting.
struct Eviction;

impl Filter<Request<'_>> for Eviction {
    fn name(&self) -> &'static str {
        NAMES[3]
    }

    fn check(&self, request: &Request<'_>, candidate: Ix) -> Verdict {
        pass(
            !request.row(candidate).facts.is_evicting(request.now),
            Code::Evicting,
        )
    }
}

/// Not one the namespace is leaving. One it is on is kept, which is no refusal.
struct Placed;

impl Filter<Request<'_>> for Placed {
    fn name(&self) -> &'static str {
        NAMES[4]
    }

    fn check(&self, request: &Request<'_>, candidate: Ix) -> Verdict {
        pass(
            request.leaving.binary_search(&candidate).is_err(),
            Code::AlreadyPlaced,
        )
    }
}
