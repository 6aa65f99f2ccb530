//! Bindings that are left alone.

use crate::config::Settings;
use crate::record::Record;

/// Reason why a binding is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IgnoreReason {
    /// It has no placement: its place follows from others.
    Attached,
    /// Another scheduler decides.
    OtherScheduler,
    /// A person has suspended its scheduling.
    Suspended,
    /// No policy claims it any more.
    Unclaimed,
}

impl IgnoreReason {
    /// Reason why `record` is left alone under `settings`; `None` where it is decided.
    pub(crate) fn of(record: &Record, settings: &Settings) -> Option<Self> {
        match () {
            () if record.policy.is_none() => Some(Self::Attached),
            () if record.scheduler() != settings.scheduler => Some(Self::OtherScheduler),
            () if record.is_suspended() => Some(Self::Suspended),
            () if !record.is_claimed() => Some(Self::Unclaimed),
            () => None,
        }
    }

    /// The token (docs/reference.md, "Reason tokens").
    pub(crate) const fn token(self) -> &'static str {
        match self {
            Self::Attached => "NoPlacement",
            Self::OtherScheduler => "OtherScheduler",
            Self::Suspended => "Suspended",
            Self::Unclaimed => "Unclaimed",
        }
    }
}
