//! `/metrics`, with the names and labels that dashboards for Kubernetes API servers expect
//! (docs/reference.md, "Health, metrics, stopping").
//!
//! Resource labels come only from the routes of the API, so requests to invented paths add no series.

mod admission;
mod labels;
mod objects;
#[cfg(feature = "policies")]
mod policies;
mod process;
mod read;
mod unsuffixed;
mod webhooks;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use berth_apimachinery::GroupResource;
use berth_storage::Store;
use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets, linear_buckets};
use prometheus_client::registry::Registry;

pub use self::admission::AdmissionMetrics;
pub(crate) use self::labels::Labels;
use self::labels::{BaseLabels, BodyLabels, OutcomeLabels, TerminationLabels, WatchLabels, WatchListLabels};
#[cfg(feature = "policies")]
pub use self::policies::PolicyMetrics;
pub use self::read::Series;
use self::unsuffixed::UnsuffixedCounter;
pub use self::webhooks::{CallOutcome, Rejection, WebhookMetrics};

/// Buckets of request durations, in seconds.
const DURATIONS: [f64; 23] = [
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0,
    20.0, 30.0, 45.0, 60.0,
];

/// Buckets of request durations for service levels, in seconds.
const SERVICE_LEVELS: [f64; 21] = [
    0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0,
    45.0, 60.0,
];

/// Buckets of the time until a watch has sent the initial objects, in seconds.
const WATCH_LISTS: [f64; 17] = [
    0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0,
];

/// Buckets of the remaining lifetime of client certificates, in seconds: zero, then from half an hour to two
/// years.
const CERTIFICATE_LIFE: [f64; 15] = [
    0.0,
    1800.0,
    3600.0,
    7200.0,
    21_600.0,
    43_200.0,
    86_400.0,
    172_800.0,
    345_600.0,
    604_800.0,
    2_592_000.0,
    7_776_000.0,
    15_552_000.0,
    31_104_000.0,
    62_208_000.0,
];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestKind {
    request_kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AttemptResult {
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Username {
    username: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Plugin {
    plugin: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct HealthCheck {
    name: String,
    r#type: &'static str,
}

/// Metrics of a server. The program adds metrics through [`Metrics::register`].
#[derive(Debug)]
pub struct Metrics {
    registry: Mutex<Registry>,
    requests: Family<OutcomeLabels, Counter>,
    durations: Family<Labels, Histogram, fn() -> Histogram>,
    service_levels: Family<BaseLabels, Histogram, fn() -> Histogram>,
    sizes: Family<BaseLabels, Histogram, fn() -> Histogram>,
    bodies: Family<BodyLabels, Histogram, fn() -> Histogram>,
    long_running: Family<BaseLabels, Gauge>,
    in_flight: Family<RequestKind, Gauge>,
    terminations: Family<TerminationLabels, Counter>,
    watch_events: Family<WatchLabels, Counter>,
    watch_sizes: Family<WatchLabels, Histogram, fn() -> Histogram>,
    watch_lists: Family<WatchListLabels, Histogram, fn() -> Histogram>,
    authentications: Family<AttemptResult, UnsuffixedCounter>,
    users: Family<Username, UnsuffixedCounter>,
    certificate_life: Histogram,
    tls_errors: Counter,
    audit_events: Counter,
    audit_errors: Family<Plugin, Counter>,
    health: Family<HealthCheck, Gauge<f64, AtomicU64>>,
}

/// Counters of the events of one watch. They are looked up once for the whole watch.
pub(crate) struct WatchMeter {
    events: Counter,
    sizes: Histogram,
}

impl WatchMeter {
    /// Counts `events` sent events, with `bytes` bytes in total.
    pub(crate) fn sent(&self, events: u64, bytes: usize) {
        self.events.inc_by(events);
        #[expect(clippy::cast_precision_loss, reason = "sizes beyond 2^52 bytes do not occur")]
        let each = bytes as f64 / events as f64;
        for _ in 0..events {
            self.sizes.observe(each);
        }
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

fn durations() -> Histogram {
    Histogram::new(DURATIONS)
}

fn service_levels() -> Histogram {
    Histogram::new(SERVICE_LEVELS)
}

fn watch_lists() -> Histogram {
    Histogram::new(WATCH_LISTS)
}

// Histogram of body sizes, up to the body limit of kube-apiserver.
fn bodies() -> Histogram {
    Histogram::new(linear_buckets(50_000.0, 100_000.0, 31))
}

fn sizes() -> Histogram {
    Histogram::new(exponential_buckets(1000.0, 10.0, 7))
}

fn event_sizes() -> Histogram {
    Histogram::new(exponential_buckets(1024.0, 2.0, 8))
}

impl Metrics {
    /// Creates all metrics, at zero, and the metrics of the process.
    #[must_use]
    pub fn new() -> Self {
        let metrics = Self {
            registry: Mutex::default(),
            requests: Family::default(),
            durations: Family::new_with_constructor(durations),
            service_levels: Family::new_with_constructor(service_levels),
            sizes: Family::new_with_constructor(sizes),
            bodies: Family::new_with_constructor(bodies),
            long_running: Family::default(),
            in_flight: Family::default(),
            terminations: Family::default(),
            watch_events: Family::default(),
            watch_sizes: Family::new_with_constructor(event_sizes),
            watch_lists: Family::new_with_constructor(watch_lists),
            authentications: Family::default(),
            users: Family::default(),
            certificate_life: Histogram::new(CERTIFICATE_LIFE),
            tls_errors: Counter::default(),
            audit_events: Counter::default(),
            audit_errors: Family::default(),
            health: Family::default(),
        };
        // These series exist from the start, so that an alert on an increase sees the first error.
        for plugin in ["log", "webhook"] {
            metrics.audit_error(plugin, 0);
        }
        metrics.register_own();
        metrics
    }

    /// Registers metrics of the program: `add` receives the registry.
    pub fn register(&self, add: impl FnOnce(&mut Registry)) {
        add(&mut self.registry.lock());
    }

    /// Adds the numbers of objects of the stored resources ([`stored`](crate::stored) returns the resources
    /// of groups).
    pub fn count_stored(&self, stored: impl IntoIterator<Item = (GroupResource, Arc<dyn Store>)>) {
        let stored = objects::ObjectCounts::of(stored);
        self.register(|registry| registry.register_collector(Box::new(stored)));
    }

    /// Renders the metrics in OpenMetrics text format.
    pub(crate) fn render(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::with_capacity(16 * 1024);
        prometheus_client::encoding::text::encode(&mut text, &self.registry.lock())?;
        Ok(text)
    }

    // The exposition format appends `_total` to the names of counters.
    fn register_own(&self) {
        let mut registry = self.registry.lock();
        self.register_requests(&mut registry);
        self.register_watches(&mut registry);
        self.register_security(&mut registry);
        registry.register(
            "kubernetes_healthcheck",
            "Health checks: 1 passes, 0 fails",
            self.health.clone(),
        );
        registry.register_collector(Box::new(process::Process));
    }

    fn register_requests(&self, registry: &mut Registry) {
        registry.register(
            "apiserver_request",
            "Number of requests by the code of the answer; 0 if the client had gone before there was one",
            self.requests.clone(),
        );
        registry.register(
            "apiserver_request_duration_seconds",
            "Seconds from a request's arrival to the last byte of its response",
            self.durations.clone(),
        );
        // Dashboards use this metric for service levels. Calls of a hub's webhooks are included, since they
        // are rare.
        registry.register(
            "apiserver_request_sli_duration_seconds",
            "Seconds from a request's arrival to the last byte of its response, including the webhooks of a hub",
            self.service_levels.clone(),
        );
        registry.register(
            "apiserver_response_sizes",
            "Bytes of responses",
            self.sizes.clone(),
        );
        registry.register(
            "apiserver_request_body_size_bytes",
            "Bytes of request bodies",
            self.bodies.clone(),
        );
        registry.register(
            "apiserver_longrunning_requests",
            "Number of open long-running requests, such as watches",
            self.long_running.clone(),
        );
        registry.register(
            "apiserver_current_inflight_requests",
            "Number of requests in flight",
            self.in_flight.clone(),
        );
        registry.register(
            "apiserver_request_terminations",
            "Requests that the server refused because of overload, or ended at a timeout, to protect itself",
            self.terminations.clone(),
        );
    }

    fn register_watches(&self, registry: &mut Registry) {
        registry.register(
            "apiserver_watch_events",
            "Number of sent watch events",
            self.watch_events.clone(),
        );
        registry.register(
            "apiserver_watch_events_sizes",
            "Bytes of watch events",
            self.watch_sizes.clone(),
        );
        registry.register(
            "apiserver_watch_list_duration_seconds",
            "Seconds from a watch's arrival until its initial events were sent",
            self.watch_lists.clone(),
        );
    }

    /// Registers the metrics of authentication, TLS and the audit log.
    fn register_security(&self, registry: &mut Registry) {
        registry.register(
            "authenticated_user_requests",
            "Authenticated requests, by the kind of the user's name",
            self.users.clone(),
        );
        registry.register(
            "authentication_attempts",
            "Authentications, by result",
            self.authentications.clone(),
        );
        registry.register(
            "apiserver_client_certificate_expiration_seconds",
            "Remaining validity of the requests' client certificates, in seconds",
            self.certificate_life.clone(),
        );
        registry.register(
            "apiserver_tls_handshake_errors",
            "Number of failed TLS handshakes",
            self.tls_errors.clone(),
        );
        registry.register(
            "apiserver_audit_event",
            "Number of audit events that were generated",
            self.audit_events.clone(),
        );
        registry.register(
            "apiserver_audit_error",
            "Number of lost audit events, by the plugin that lost them",
            self.audit_errors.clone(),
        );
    }

    /// Counts a request at its end. `code` is 0 if there was no answer. `bytes` and `seconds` are the size and
    /// duration of the whole answer; they are not recorded for a long-running request.
    pub(crate) fn ended(&self, labels: &Labels, code: u16, seconds: f64, bytes: u64, long_running: bool) {
        self.requests.get_or_create(&labels.outcome(code)).inc();
        if long_running {
            return;
        }
        self.durations.get_or_create(labels).observe(seconds);
        let base = labels.base();
        self.service_levels.get_or_create(&base).observe(seconds);
        #[expect(clippy::cast_precision_loss, reason = "sizes beyond 2^52 bytes do not occur")]
        self.sizes.get_or_create(&base).observe(bytes as f64);
    }

    /// Counts a completely read request body of `bytes` bytes.
    pub(crate) fn body(&self, labels: &Labels, bytes: usize) {
        if let Some(body_labels) = labels.body() {
            #[expect(clippy::cast_precision_loss, reason = "bodies beyond 2^52 bytes do not occur")]
            self.bodies.get_or_create(&body_labels).observe(bytes as f64);
        }
    }

    /// Records that a watch has sent all initial objects, `seconds` after the request arrived.
    pub(crate) fn watch_listed(&self, labels: &Labels, seconds: f64) {
        self.watch_lists
            .get_or_create(&labels.watch_list())
            .observe(seconds);
    }

    /// Counts a request that was refused because of overload, or ended at the timeout.
    pub(crate) fn terminated(&self, labels: &Labels, code: u16) {
        self.terminations.get_or_create(&labels.termination(code)).inc();
    }

    /// Counts an open long-running request. The caller decreases the returned gauge when the request ends.
    pub(crate) fn long_running(&self, labels: &Labels) -> Gauge {
        let gauge = self.long_running.get_or_create_owned(&labels.base());
        gauge.inc();
        gauge
    }

    /// Sets the number of requests of a kind (`readOnly`, `mutating`) in flight.
    pub(crate) fn in_flight(&self, request_kind: &'static str, count: usize) {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        self.in_flight
            .get_or_create(&RequestKind { request_kind })
            .set(count);
    }

    /// Returns the counters of the events of one watch.
    pub(crate) fn watch_meter(&self, labels: &Labels) -> WatchMeter {
        let watch_labels = labels.watch();
        WatchMeter {
            events: self.watch_events.get_or_create_owned(&watch_labels),
            sizes: self.watch_sizes.get_or_create_owned(&watch_labels),
        }
    }

    /// Counts a request whose user was authenticated.
    pub(crate) fn authenticated(&self, user: &str) {
        let username = kind_of_name(user);
        self.users.get_or_create(&Username { username }).inc();
        self.attempt("success");
    }

    /// Counts a request whose credentials were not accepted.
    pub(crate) fn unauthenticated(&self) {
        self.attempt("failure");
    }

    fn attempt(&self, result: &'static str) {
        self.authentications
            .get_or_create(&AttemptResult { result })
            .inc();
    }

    /// Records the remaining lifetime of a client certificate that was used.
    pub(crate) fn certificate_life(&self, seconds: i64) {
        #[expect(
            clippy::cast_precision_loss,
            reason = "lifetimes beyond 2^52 seconds do not occur"
        )]
        self.certificate_life.observe(seconds as f64);
    }

    /// Counts a TLS handshake that failed.
    pub(crate) fn tls_error(&self) {
        self.tls_errors.inc();
    }

    /// Counts an audit event, for the log and the webhook together.
    pub(crate) fn audit_event(&self) {
        self.audit_events.inc();
    }

    /// Counts `events` audit events that `plugin` (`log`, `webhook`) could not deliver.
    pub(crate) fn audit_error(&self, plugin: &'static str, events: usize) {
        let errors = self.audit_errors.get_or_create(&Plugin { plugin });
        errors.inc_by(u64::try_from(events).unwrap_or(u64::MAX));
    }

    /// Records the result of a health check.
    pub(crate) fn health_check(&self, name: &str, probe: &'static str, healthy: bool) {
        let check = HealthCheck {
            name: name.to_owned(),
            r#type: probe,
        };
        self.health
            .get_or_create(&check)
            .set(if healthy { 1.0 } else { 0.0 });
    }
}

/// Returns the label for the class of a user. Names as labels would add series without limit, and disclose
/// the users.
fn kind_of_name(user: &str) -> &'static str {
    const KNOWN: [&str; 5] = [
        "admin",
        "client",
        "kube_proxy",
        "kubelet",
        "system:serviceaccount:kube-system:default",
    ];
    match KNOWN.into_iter().find(|known| *known == user) {
        Some(known) => known,
        None if user.contains('@') => "email_id",
        None => "other",
    }
}
