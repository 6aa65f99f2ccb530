//! The systems' own schedulers: `spec.otherScheduler`, by which Berth waits until such a scheduler is
//! stopped, and the known state of the schedulers.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;

/// The name of the field in `spec`.
pub(super) const FIELD: &str = "otherScheduler";

/// The value of `spec.otherScheduler`: the behavior of Berth while the system's own scheduler runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OtherScheduler {
    /// Berth waits, and observes until the other scheduler is stopped.
    #[default]
    Wait,
    /// Berth decides although the other scheduler runs.
    Ignore,
}

impl OtherScheduler {
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
            .find(|other| token == Some(other.as_str()))
            .unwrap_or_default()
    }
}

/// The systems' own schedulers that run, or are not known to be stopped. The evidence for each is a sentence
/// without a full stop, such as "gardener-scheduler runs: pod-1 renews its Lease garden/lock".
#[derive(Debug)]
pub struct OwnSchedulers {
    running: Mutex<BTreeMap<&'static str, Arc<str>>>,
    changes: watch::Sender<u64>,
}

impl Default for OwnSchedulers {
    fn default() -> Self {
        Self {
            running: Mutex::default(),
            changes: watch::Sender::new(0),
        }
    }
}

impl OwnSchedulers {
    /// Sets the evidence that the scheduler of `dialect` runs; `None` if it is stopped. Returns whether the
    /// evidence changed.
    pub fn set_evidence(&self, dialect: &'static str, evidence: Option<&str>) -> bool {
        let mut running = self.running.lock();
        let before = running.get(dialect).map(|text| &**text);
        if before == evidence {
            return false;
        }
        match evidence {
            Some(evidence) => drop(running.insert(dialect, evidence.into())),
            None => drop(running.remove(dialect)),
        }
        drop(running);
        self.changes.send_modify(|count| *count += 1);
        true
    }

    /// Returns the evidence that the scheduler of `dialect` runs or may run; `None` if it is stopped.
    #[must_use]
    pub fn of(&self, dialect: &str) -> Option<Arc<str>> {
        self.running.lock().get(dialect).cloned()
    }

    /// Returns a counter of changes, for tasks that wait for a change.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}
