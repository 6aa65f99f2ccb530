//! Why filters refuse, as codes.

use scheduling::{Reason, Verdict};

/// Why a filter refuses a workload cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Code {
    NotInLocation,
    OtherLocation,
    NotReady,
    Cordoned,
    Evicting,
    AlreadyPlaced,
}

impl Code {
    /// Every code, by its number.
    pub(crate) const ALL: [Self; 6] = [
        Self::NotInLocation,
        Self::OtherLocation,
        Self::NotReady,
        Self::Cordoned,
        Self::Evicting,
        Self::AlreadyPlaced,
    ];

    /// The token.
    pub(crate) const fn token(self) -> &'static str {
        match self {
            Self::NotInLocation => "NotInLocation",
            Self::OtherLocation => "OtherLocation",
            Self::NotReady => "NotReady",
            Self::Cordoned => "Cordoned",
            Self::Evicting => "Evicting",
            Self::AlreadyPlaced => "AlreadyPlaced",
        }
    }

    /// The refusal.
    pub(crate) const fn refuse(self) -> Verdict {
        Verdict::Reject(Reason {
            code: self as u16,
            detail: 0,
        })
    }
}
