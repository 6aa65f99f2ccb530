//! Metrics of the controllers, with the names that kube-scheduler and client-go use for the same values.

use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::Key;
use berth_apiserver::metrics::Metrics;
use berth_engine::BindError;
use berth_engine::controller::{Attempt, FinishedStep, Observer};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};

use super::pending::PendingDemands;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct QueueLabels {
    name: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AttemptLabels {
    dialect: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StepLabels {
    dialect: &'static str,
    controller: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LeaseLabels {
    name: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EventLabels {
    result: &'static str,
}

type Durations<L> = Family<L, Histogram, fn() -> Histogram>;

/// The controllers' metrics.
#[derive(Debug)]
pub struct ControllerMetrics {
    depth: Family<QueueLabels, Gauge>,
    adds: Family<QueueLabels, Counter>,
    retries: Family<QueueLabels, Counter>,
    queue_durations: Durations<QueueLabels>,
    work_durations: Durations<QueueLabels>,
    attempts: Family<AttemptLabels, Counter>,
    attempt_durations: Durations<AttemptLabels>,
    steps: Family<StepLabels, Counter>,
    leading: Family<LeaseLabels, Gauge>,
    pending: Arc<PendingDemands>,
    events: Family<EventLabels, Counter>,
}

/// A histogram from 10 µs to 10 s, in powers of ten as for client-go's queues.
fn queue_times() -> Histogram {
    Histogram::new(exponential_buckets(1e-5, 10.0, 7))
}

/// A histogram from 1 ms to 16 s, as for kube-scheduler's attempts.
fn attempt_times() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 2.0, 15))
}

impl ControllerMetrics {
    /// Metrics with the value zero. [`ControllerMetrics::expose`] adds them to the metrics of a server.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            depth: Family::default(),
            adds: Family::default(),
            retries: Family::default(),
            queue_durations: Family::new_with_constructor(queue_times),
            work_durations: Family::new_with_constructor(queue_times),
            attempts: Family::default(),
            attempt_durations: Family::new_with_constructor(attempt_times),
            steps: Family::default(),
            leading: Family::default(),
            pending: Arc::default(),
            events: Family::default(),
        })
    }

    /// Adds the controllers' metrics to the metrics of a server.
    pub fn expose(&self, metrics: &Metrics) {
        let (counts, oldest) = (Arc::clone(&self.pending), Arc::clone(&self.pending));
        metrics.read_at_scrape(
            "scheduler_pending_decisions",
            "Number of demands that the controllers could not place, by the result of the last attempt",
            move || counts.counts(),
        );
        metrics.read_at_scrape(
            "scheduler_pending_decision_oldest_seconds",
            "Seconds since the first attempt at the longest unplaced demand, by the result of its last attempt",
            move || oldest.oldest(),
        );
        metrics.register(|to| {
            to.register("workqueue_depth", "Number of demands that are due now", self.depth.clone());
            to.register("workqueue_adds", "Number of demands that became due", self.adds.clone());
            to.register(
                "workqueue_retries",
                "Number of retries of demands after a failure, or because no cluster fitted",
                self.retries.clone(),
            );
            to.register(
                "workqueue_queue_duration_seconds",
                "Seconds from a demand's becoming due until its decision starts",
                self.queue_durations.clone(),
            );
            to.register(
                "workqueue_work_duration_seconds",
                "Seconds of the decision of a demand, including its writes, or of a step of a controller",
                self.work_durations.clone(),
            );
            to.register(
                "scheduler_schedule_attempts",
                "Decisions of the controllers, by result",
                self.attempts.clone(),
            );
            to.register(
                "scheduler_scheduling_attempt_duration_seconds",
                "Seconds of a decision and its writes, by result",
                self.attempt_durations.clone(),
            );
            to.register(
                "controller_reconciles",
                "Steps of the controllers that carry out and report decisions, by result",
                self.steps.clone(),
            );
            to.register(
                "leader_election_master_status",
                "Whether the controllers of this process are active",
                self.leading.clone(),
            );
            to.register(
                "scheduler_events",
                "Events about decisions, by result: created, repeated, gone (deleted meanwhile), failed, or dropped because of \
                 their number",
                self.events.clone(),
            );
        });
    }

    /// Counts an event of a decision, by `result`.
    pub(super) fn count_event(&self, result: &'static str) {
        self.events.get_or_create(&EventLabels { result }).inc();
    }
}

/// The label for the result of an attempt.
fn result(attempt: &Attempt<'_>) -> &'static str {
    match attempt.result {
        Ok(outcome) => outcome.as_str(),
        Err(BindError::NotFound(_)) => "Gone",
        Err(BindError::Conflict(_)) => "Conflict",
        Err(BindError::Observed(_)) => "Observed",
        Err(BindError::Contested(_)) => "Contested",
        Err(_) => "Error",
    }
}

impl Observer for ControllerMetrics {
    fn queued(&self, queue: &'static str, depth: usize) {
        let queue = QueueLabels { name: queue };
        if depth > 0 {
            self.adds.get_or_create(&queue).inc();
        }
        self.depth
            .get_or_create(&queue)
            .set(i64::try_from(depth).unwrap_or(i64::MAX));
    }

    fn taken(&self, queue: &'static str, depth: usize, waited: Duration) {
        let queue = QueueLabels { name: queue };
        self.depth
            .get_or_create(&queue)
            .set(i64::try_from(depth).unwrap_or(i64::MAX));
        self.queue_durations
            .get_or_create(&queue)
            .observe(waited.as_secs_f64());
    }

    fn attempted(&self, attempt: &Attempt<'_>) {
        let seconds = attempt.took.as_secs_f64();
        let labels = AttemptLabels {
            dialect: attempt.dialect,
            result: result(attempt),
        };
        self.pending.record_attempt(attempt, labels.result);
        let queue = QueueLabels {
            name: attempt.dialect,
        };
        self.work_durations.get_or_create(&queue).observe(seconds);
        self.attempts.get_or_create(&labels).inc();
        self.attempt_durations.get_or_create(&labels).observe(seconds);
    }

    fn skipped(&self, dialect: &'static str, demand: &Key) {
        self.pending.remove(dialect, demand);
    }

    fn retried(&self, queue: &'static str) {
        self.retries.get_or_create(&QueueLabels { name: queue }).inc();
    }

    fn stepped(&self, stepped: &FinishedStep<'_>) {
        let step = StepLabels {
            dialect: stepped.dialect,
            controller: stepped.controller,
            result: stepped.result.as_str(),
        };
        let queue = QueueLabels {
            name: stepped.controller,
        };
        self.work_durations
            .get_or_create(&queue)
            .observe(stepped.took.as_secs_f64());
        self.steps.get_or_create(&step).inc();
    }

    fn leading(&self, is_leading: bool) {
        if !is_leading {
            self.pending.clear();
        }
        let name = super::CONTROLLERS_LEASE;
        self.leading
            .get_or_create(&LeaseLabels { name })
            .set(i64::from(is_leading));
    }
}
