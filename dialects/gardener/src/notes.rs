//! The events of a decision, with Gardener's own reasons, and the pace of decisions
//! (docs/systems/gardener.md, "Events").

use std::time::Duration;

use berth_dialect_contract::{Backoff, Decision, Note, NoteType, Outcome, Pace};

use crate::config::Config;
use crate::fleet::Fleet;
use crate::words;

/// The longest delay between two attempts to schedule a shoot.
const MAX_DELAY: Duration = Duration::from_hours(12);

/// The pace of decisions under `config`: `concurrentSyncs` shoots are decided at the same time. The first
/// retry is after `retrySyncPeriod`, and the delay doubles with every failure, up to 12 hours.
pub(crate) fn pace(config: &Config) -> Pace {
    let first = u64::try_from(config.retry_sync_period).map_or(MAX_DELAY, Duration::from_nanos);
    Pace {
        parallel: usize::try_from(config.concurrent_syncs).unwrap_or(1).max(1),
        unplaced: Some(Backoff {
            first,
            longest: MAX_DELAY,
        }),
        ..Pace::default()
    }
}

/// The events of `decision`. A success is only reported if the binding was written (`wrote`). A failure is
/// reported every time, since a Shoot has no condition for it.
pub(crate) fn notes(fleet: &Fleet, decision: &Decision, wrote: bool) -> Vec<Note> {
    let (r#type, reason, text) = match (decision.outcome, decision.changes.first()) {
        (Outcome::Scheduled, Some(change)) if wrote => (
            NoteType::Normal,
            "SchedulingSuccessful",
            format!("Scheduled to seed {}", change.cluster_name),
        ),
        (Outcome::Unschedulable | Outcome::Invalid, _) => (
            NoteType::Warning,
            "SchedulingFailed",
            format!(
                "Failed to schedule shoot {}: {}",
                decision.demand.name,
                words::message(fleet, decision)
            ),
        ),
        _ => return Vec::new(),
    };
    vec![Note {
        r#type,
        reason,
        action: "Reconcile",
        text,
        related: None,
    }]
}
