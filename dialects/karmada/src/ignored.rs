//! Reasons why the scheduler ignores a binding.

use crate::config::Settings;
use crate::record::Record;

/// Reason why a binding is not decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IgnoreReason {
    /// The binding has no placement, since it is attached to other bindings and goes to their clusters.
    Attached,
    /// The binding is for another scheduler.
    OtherScheduler,
    /// A user has suspended the scheduling of the binding.
    Suspended,
    /// No policy or MultiClusterService claims the binding.
    Unclaimed,
}

impl IgnoreReason {
    /// Reason why `record` is not decided under `settings`; `None` if it is decided.
    pub(crate) fn of(record: &Record, settings: &Settings) -> Option<Self> {
        match () {
            () if record.placement.is_none() => Some(Self::Attached),
            () if record.scheduler() != settings.scheduler => Some(Self::OtherScheduler),
            () if record.is_suspended() => Some(Self::Suspended),
            () if !record.is_claimed() => Some(Self::Unclaimed),
            () => None,
        }
    }

    /// The reason token (docs/reference.md, "Reason tokens").
    pub(crate) const fn token(self) -> &'static str {
        match self {
            Self::Attached => "NoPlacement",
            Self::OtherScheduler => "OtherScheduler",
            Self::Suspended => "Suspended",
            Self::Unclaimed => "Unclaimed",
        }
    }
}
