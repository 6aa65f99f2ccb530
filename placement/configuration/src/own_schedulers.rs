//! The systems' own schedulers: `spec.otherScheduler`, by which Berth waits until such a scheduler is
//! stopped, and the evidence that one runs or may run.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;

/// The name of the field in `spec`.
pub(super) const FIELD: &str = "otherScheduler";

/// The value of `spec.otherScheduler`: the behavior of Berth while the system's own scheduler runs or may
/// run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OwnSchedulerPolicy {
    /// Berth waits, and observes until the system's own scheduler is stopped.
    #[default]
    Wait,
    /// Berth decides beside the system's own scheduler.
    Ignore,
}

impl OwnSchedulerPolicy {
    pub(super) const ALL: [Self; 2] = [Self::Wait, Self::Ignore];

    /// Returns the value as in `spec.otherScheduler`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Wait => "Wait",
            Self::Ignore => "Ignore",
        }
    }

    /// Returns the value in a stored SchedulerConfiguration; the default for a missing or unknown value.
    #[must_use]
    pub fn of(configuration: &Value) -> Self {
        let token = configuration["spec"][FIELD].as_str();
        Self::ALL
            .into_iter()
            .find(|policy| token == Some(policy.as_str()))
            .unwrap_or_default()
    }
}

/// Evidence that systems' own schedulers run, or are not known to be stopped. For each it is a sentence
/// without a full stop, such as "gardener-scheduler runs: pod-1 renews its Lease garden/lock".
#[derive(Debug)]
pub struct OwnSchedulerEvidence {
    /// The sentences, by dialect.
    by_dialect: Mutex<BTreeMap<&'static str, Arc<str>>>,
    /// Number of changes.
    changes: watch::Sender<u64>,
}

impl Default for OwnSchedulerEvidence {
    fn default() -> Self {
        Self {
            by_dialect: Mutex::default(),
            changes: watch::Sender::new(0),
        }
    }
}

impl OwnSchedulerEvidence {
    /// Sets the evidence that the own scheduler of `dialect` runs or may run; `None` if it is stopped.
    /// Returns whether the evidence changed.
    pub fn set(&self, dialect: &'static str, evidence: Option<&str>) -> bool {
        let mut by_dialect = self.by_dialect.lock();
        let before = by_dialect.get(dialect).map(|text| &**text);
        if before == evidence {
            return false;
        }
        match evidence {
            Some(evidence) => drop(by_dialect.insert(dialect, evidence.into())),
            None => drop(by_dialect.remove(dialect)),
        }
        drop(by_dialect);
        self.changes.send_modify(|count| *count += 1);
        true
    }

    /// Returns the evidence that the own scheduler of `dialect` runs or may run; `None` if it is stopped.
    #[must_use]
    pub fn of(&self, dialect: &str) -> Option<Arc<str>> {
        self.by_dialect.lock().get(dialect).cloned()
    }

    /// Returns a counter of changes, for tasks that wait for a change.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}
