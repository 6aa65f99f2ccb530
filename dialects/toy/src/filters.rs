//! The filters. Each judges every box, so that every refusal is known.

use berth_scheduling::{Filter, Ix, Verdict};

use crate::code::{Code, Plugin};
use crate::fleet::Fleet;

impl Filter<Fleet> for Plugin {
    fn plugin(&self) -> u16 {
        self.number()
    }

    fn check(&self, fleet: &Fleet, candidate: Ix) -> Verdict {
        match self {
            Self::Room => Code::Full.unless(has_room(fleet, candidate)),
            Self::Lid => Code::Closed.unless(is_open(fleet, candidate)),
        }
    }
}

fn has_room(fleet: &Fleet, candidate: Ix) -> bool {
    fleet.find(candidate).is_some_and(|(name, object)| {
        fleet.used(name) < object.value()["spec"]["capacity"].as_i64().unwrap_or(0)
    })
}

fn is_open(fleet: &Fleet, candidate: Ix) -> bool {
    let found = fleet.find(candidate);
    !found.is_some_and(|(_, object)| object.value()["spec"]["lid"].is_string())
}
