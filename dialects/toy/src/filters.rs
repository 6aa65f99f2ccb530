//! The filters. Each judges every box, so that every refusal is known.

use scheduling::{Filter, Ix, Verdict};

use crate::fleet::Fleet;

/// Why a filter refuses a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Code {
    Full,
    Closed,
}

impl Code {
    /// The code of this number.
    pub(crate) fn of(number: u16) -> Option<Self> {
        [Self::Full, Self::Closed]
            .into_iter()
            .find(|code| *code as u16 == number)
    }
}

/// The filters' names, by place.
pub(crate) const NAMES: &[&str] = &["Room", "Lid"];

/// The filters, by place.
pub(crate) const ALL: [&dyn Filter<Fleet>; 2] = [&Room, &Lid];

/// There is room for one more.
struct Room;

impl Filter<Fleet> for Room {
    fn name(&self) -> &'static str {
        NAMES[0]
    }

    fn check(&self, fleet: &Fleet, candidate: Ix) -> Verdict {
        let room = fleet.find(candidate).is_some_and(|(name, object)| {
            fleet.used(name) < object.value()["spec"]["capacity"].as_i64().unwrap_or(0)
        });
        if room {
            Verdict::Pass
        } else {
            Verdict::reject(Code::Full as u16)
        }
    }
}

/// No lid is on it.
struct Lid;

impl Filter<Fleet> for Lid {
    fn name(&self) -> &'static str {
        NAMES[1]
    }

    fn check(&self, fleet: &Fleet, candidate: Ix) -> Verdict {
        let found = fleet.find(candidate);
        if found.is_some_and(|(_, object)| object.value()["spec"]["lid"].is_string()) {
            Verdict::reject(Code::Closed as u16)
        } else {
            Verdict::Pass
        }
    }
}
