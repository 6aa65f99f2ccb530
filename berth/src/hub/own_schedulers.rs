//! Monitor of the systems' own schedulers on the hub. Two schedulers of the same objects would undo each
//! other's work, so Berth waits until the system's own scheduler stops (docs/take-over.md).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::{Status, Timestamp};
use berth_client::Pauses;
use berth_configuration::{DecidingState, Mode, Modes};
use berth_dialect_contract::{LeaseName, OwnScheduler};
use berth_engine::Engine;
use berth_hub::own_schedulers::{Renewals, read_lease, watch_leases};
use futures::future::join_all;
use kube::Client;
use serde_json::Value;
use tokio::task::JoinHandle;

/// Interval at which the Leases are read while a scheduler runs, and while a Lease is not watched.
const INTERVAL: Duration = Duration::from_secs(5);
/// Interval at which the Leases are read while all of them are watched and no scheduler runs.
const WATCHED_INTERVAL: Duration = Duration::from_mins(5);

/// Results of reading Leases, by name.
type LeaseReads = BTreeMap<LeaseName, Result<Option<Value>, Status>>;

/// Task that regularly checks whether the systems' own schedulers run.
pub(crate) struct SchedulerMonitor {
    client: Client,
    engine: Arc<Engine>,
    modes: Arc<Modes>,
    schedulers: Vec<(&'static str, OwnScheduler)>,
    renewals: Renewals,
    /// The systems whose scheduler has been seen running or stopped.
    known: BTreeSet<&'static str>,
}

/// State of one scheduler according to its Leases, with a text for messages.
#[derive(Debug, PartialEq, Eq)]
enum SchedulerState {
    /// The scheduler renews a Lease.
    Runs(String),
    /// The scheduler renews none of its Leases.
    Stopped,
    /// A Lease cannot be read; `is_transient` is true if the problem may end by itself.
    Unknown { text: String, is_transient: bool },
}

impl SchedulerMonitor {
    /// Creates the task for the systems whose objects are on the hub of `client` according to `is_on_hub`.
    pub(crate) fn new(
        client: Client,
        engine: &Arc<Engine>,
        modes: &Arc<Modes>,
        is_on_hub: impl Fn(&str) -> bool,
    ) -> Self {
        let on_hub = engine.dialects().filter(|dialect| is_on_hub(dialect.name()));
        let schedulers = on_hub.filter_map(|dialect| Some((dialect.name(), dialect.on_hub().scheduler?)));
        Self {
            client,
            schedulers: schedulers.collect(),
            engine: Arc::clone(engine),
            modes: Arc::clone(modes),
            renewals: Renewals::default(),
            known: BTreeSet::new(),
        }
    }

    /// Checks once, and then at each interval and after changes of the Leases, until the returned task is
    /// aborted.
    pub(crate) async fn begin(mut self) -> JoinHandle<()> {
        let mut all_stopped = self.check().await;
        tokio::spawn(async move {
            let schedulers = self.schedulers.iter();
            let names: BTreeSet<LeaseName> = schedulers
                .flat_map(|(_, scheduler)| scheduler.leases)
                .copied()
                .collect();
            let mut watches = watch_leases(&self.client, names);
            loop {
                // Only time tells that a Lease is no longer renewed.
                let watched = if all_stopped { WATCHED_INTERVAL } else { INTERVAL };
                watches
                    .wait(Pauses {
                        least: INTERVAL,
                        unwatched: INTERVAL,
                        watched,
                    })
                    .await;
                all_stopped = self.check().await;
            }
        })
    }

    /// Reads every Lease, and records the state of each scheduler. Returns whether all schedulers are stopped.
    async fn check(&mut self) -> bool {
        let names = self.schedulers.iter().flat_map(|(_, scheduler)| scheduler.leases);
        let client = &self.client;
        let reads = names.map(|&name| async move { (name, read_lease(client, name).await) });
        let read: LeaseReads = join_all(reads).await.into_iter().collect();
        let now = self.engine.clock().now();
        let (mut has_changed, mut all_stopped) = (false, true);
        for (dialect, scheduler) in self.schedulers.clone() {
            let state = scheduler_state(&mut self.renewals, &scheduler, &read, now);
            all_stopped &= state == SchedulerState::Stopped;
            let evidence = match state {
                // While the hub is out of reach, the last known state counts.
                SchedulerState::Unknown {
                    is_transient: true, ..
                } if self.known.contains(dialect) => continue,
                SchedulerState::Unknown { text, .. } => Some(text),
                SchedulerState::Runs(text) => {
                    self.known.insert(dialect);
                    Some(text)
                }
                SchedulerState::Stopped => {
                    self.known.insert(dialect);
                    None
                }
            };
            if self
                .modes
                .own_scheduler_evidence()
                .set(dialect, evidence.as_deref())
            {
                has_changed = true;
                self.log(dialect, evidence.as_deref());
            }
        }
        if has_changed {
            self.engine.reconsider();
        }
        all_stopped
    }

    /// Logs the changed state of a scheduler, unless Berth only observes the system.
    fn log(&self, dialect: &str, seen: Option<&str>) {
        if self.modes.of(dialect) == Mode::Observe {
            return;
        }
        match (seen, self.modes.deciding_state(dialect)) {
            (Some(seen), DecidingState::Waits(_)) => tracing::warn!(
                dialect,
                seen,
                "the system's own scheduler is not known to be stopped, so Berth only observes: stop that scheduler, or set \
                 spec.otherScheduler to Ignore (docs/take-over.md)"
            ),
            (Some(seen), _) => tracing::warn!(
                dialect,
                seen,
                "the system's own scheduler is not known to be stopped, and Berth decides beside it, since spec.otherScheduler is Ignore"
            ),
            (None, _) => tracing::info!(dialect, "the system's own scheduler does not run"),
        }
    }
}

/// The state of `scheduler` at `now`, according to its Leases in `read`.
fn scheduler_state(
    renewals: &mut Renewals,
    scheduler: &OwnScheduler,
    read: &LeaseReads,
    now: Timestamp,
) -> SchedulerState {
    let mut unknown = None;
    for name in scheduler.leases {
        let lease = format!("{}/{}", name.namespace, name.name);
        match &read[name] {
            Ok(object) => {
                if let Some(holder) = renewals.holder(*name, object.as_ref(), now) {
                    return SchedulerState::Runs(format!(
                        "{} runs: {holder} renews its Lease {lease}",
                        scheduler.name
                    ));
                }
            }
            Err(status) => {
                let text = format!(
                    "it is not known whether {} runs: its Lease {lease} cannot be read ({}); `berth manifests rbac` has the \
                     right to read it",
                    scheduler.name, status.message
                );
                let is_transient = status.code != 403;
                unknown = Some(SchedulerState::Unknown { text, is_transient });
            }
        }
    }
    unknown.unwrap_or(SchedulerState::Stopped)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn scheduler(dialect: &str) -> OwnScheduler {
        let dialect = berth_dialect_registry::by_name(dialect).unwrap();
        dialect.on_hub().scheduler.unwrap()
    }

    fn held_lease(now: Timestamp) -> Value {
        json!({"spec": {
            "holderIdentity": "pod-1", "leaseDurationSeconds": 15, "renewTime": berth_apimachinery::time::rfc3339_micro(now),
        }})
    }

    #[test]
    fn any_lease_that_is_renewed_tells_that_the_scheduler_runs() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let gardener = scheduler("gardener");
        let [first, second] = gardener.leases else {
            panic!("gardener-operator and the defaults have a Lease each");
        };
        let mut read: LeaseReads = [(*first, Ok(None)), (*second, Ok(Some(held_lease(now))))].into();
        let mut renewals = Renewals::default();
        let SchedulerState::Runs(text) = scheduler_state(&mut renewals, &gardener, &read, now) else {
            panic!("it runs");
        };
        assert_eq!(
            text,
            "gardener-scheduler runs: pod-1 renews its Lease kube-system/gardener-scheduler-leader-election"
        );
        read.insert(*second, Ok(None));
        assert_eq!(
            scheduler_state(&mut renewals, &gardener, &read, now),
            SchedulerState::Stopped
        );
    }

    #[test]
    fn a_lease_that_may_not_be_read_is_no_sign_that_the_scheduler_is_stopped() {
        let (now, ocm) = (Timestamp::UNIX_EPOCH, scheduler("ocm"));
        let refused = |code| Status::failure(code, "Reason", "no".to_owned());
        for (code, expected) in [(403, false), (503, true)] {
            let read: LeaseReads = [(ocm.leases[0], Err(refused(code)))].into();
            let SchedulerState::Unknown { text, is_transient } =
                scheduler_state(&mut Renewals::default(), &ocm, &read, now)
            else {
                panic!("nobody knows");
            };
            assert_eq!(is_transient, expected);
            assert!(
                text.contains("open-cluster-management-hub/placement-lock cannot be read (no)"),
                "{text}"
            );
        }
    }
}
