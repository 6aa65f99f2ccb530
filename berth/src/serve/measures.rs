//! Metrics of the parts of a server: durations of writes, size of the store, expiry of certificates, numbers
//! of decisions, modes of the systems, and expressions of admission that do not compile.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use berth_aggregation::policies::HubWebhooks;
use berth_apimachinery::{GroupResource, Revision, Timestamp};
use berth_apiserver::metrics::{Metrics, Series};
use berth_certs::{Folder, ServingCertificate};
use berth_configuration::{DecidingState, Modes};
use berth_deploy::Storage;
use berth_dialect_contract::Dialect;
use berth_policies::Enforcer;
use berth_scheduling_rest::projection::Projection;
use berth_scheduling_rest::tallies::Tally;
use berth_storage::{
    At, Collection, NotReady, Scope, Source, Step, StepResult, Store, StoreError, Watch, Writer,
};
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};

use super::Options;
use crate::backup::DATABASE_FILE;

/// A store whose writes are timed.
pub(super) struct TimedStore {
    store: Arc<dyn Store>,
    writes: Histogram,
}

impl TimedStore {
    /// Returns `store` with timed writes, and the histogram of the durations.
    pub(super) fn of(store: Arc<dyn Store>) -> (Arc<dyn Store>, Histogram) {
        // The bounds of the buckets are from a quarter of a millisecond to eight seconds.
        let writes = Histogram::new(exponential_buckets(0.00025, 2.0, 16));
        let timed = Self {
            store,
            writes: writes.clone(),
        };
        (Arc::new(timed), writes)
    }
}

#[async_trait]
impl Source for TimedStore {
    async fn list(&self, resource: GroupResource, at: At) -> Result<Collection, StoreError> {
        self.store.list(resource, at).await
    }

    fn cached(&self, resource: GroupResource) -> Collection {
        self.store.cached(resource)
    }

    fn watch(&self, scope: Scope, after: Revision) -> Result<Box<dyn Watch>, StoreError> {
        self.store.watch(scope, after)
    }

    fn revision(&self) -> Revision {
        self.store.revision()
    }
}

#[async_trait]
impl Writer for TimedStore {
    async fn apply(&self, steps: Vec<Step>) -> Result<Vec<StepResult>, StoreError> {
        let start = Instant::now();
        let result = self.store.apply(steps).await;
        self.writes.observe(start.elapsed().as_secs_f64());
        result
    }
}

impl Store for TimedStore {
    fn hold(&self, resource: GroupResource, collection: &Collection) {
        self.store.hold(resource, collection);
    }

    fn is_shared(&self) -> bool {
        self.store.is_shared()
    }

    fn ready(&self) -> Result<(), NotReady> {
        self.store.ready()
    }

    fn room(&self) -> Result<(), String> {
        self.store.room()
    }
}

/// Exposes the durations of writes, which `durations` records.
pub(super) fn expose_write_durations(metrics: &Metrics, durations: Histogram) {
    metrics.register(|to| {
        to.register(
            "apiserver_storage_write_duration_seconds",
            "Seconds from the start of a batch of writes until it is durable or refused",
            durations,
        );
    });
}

/// Exposes the size of the embedded store. Other stores have no file.
pub(super) fn expose_store_size(metrics: &Metrics, options: &Options) {
    if options.args.storage != Storage::Embedded {
        return;
    }
    let file = options.args.data_dir.join(DATABASE_FILE);
    metrics.read_at_scrape(
        "apiserver_storage_size_bytes",
        "Size of the embedded store's file in bytes",
        move || {
            let size = std::fs::metadata(&file).map(|metadata| metadata.len());
            #[expect(clippy::cast_precision_loss, reason = "files beyond 2^52 bytes do not occur")]
            let series = |bytes: u64| (vec![("storage_cluster_id", "embedded".to_owned())], bytes as f64);
            size.map(series).into_iter().collect()
        },
    );
}

/// Exposes the expiry of the serving certificate, and of the CAs in `folder` that the server uses.
pub(super) fn expose_certificates(
    metrics: &Metrics,
    options: &Options,
    folder: &Arc<Folder>,
    certificate: &Arc<ServingCertificate>,
) {
    let (certificate, folder) = (Arc::clone(certificate), Arc::clone(folder));
    let uses_ca = uses_own_ca(options);
    // Behind a hub, the front proxies have the hub's CA.
    let uses_front_proxy_ca = !options.args.hub.is_aggregated();
    metrics.read_at_scrape(
        "berth_certificate_expiration_timestamp_seconds",
        "Expiration time of the server's own certificates, in seconds since 1970",
        move || {
            let mut all = vec![expiry("serving", certificate.not_after())];
            if uses_ca {
                all.push(expiry("ca", folder.ca().not_after()));
            }
            if uses_front_proxy_ca {
                all.push(expiry("front-proxy-ca", folder.front_proxy().not_after()));
            }
            all
        },
    );
}

/// Whether the server uses the CA of its data folder: it is standalone, or this CA issues its serving
/// certificate. A CA that replicas share is another one, and is renewed automatically.
fn uses_own_ca(options: &Options) -> bool {
    let hub = &options.args.hub;
    let is_issuer = options.certificate().is_none() && hub.registration.ca_secret.is_none();
    !hub.is_aggregated() || is_issuer
}

/// Exposes the policies and webhooks in force that have expressions that do not compile, so that users see
/// them before a write fails.
pub(super) fn expose_uncompiled(
    metrics: &Metrics,
    enforcer: &Arc<Enforcer>,
    webhooks: Option<&Arc<HubWebhooks>>,
) {
    let (enforcer, webhooks) = (Arc::clone(enforcer), webhooks.cloned());
    metrics.read_at_scrape(
        "berth_admission_uncompiled_expressions",
        "Expressions of an admission policy or webhook configuration in force that do not compile, so that its failurePolicy applies",
        move || {
            let policies = enforcer.uncompiled().into_iter();
            let mut all: Vec<Series> = policies
                .map(|(policy_type, name, number)| uncompiled(policy_type.kind(), name, number))
                .collect();
            let configurations = webhooks.iter().flat_map(|webhooks| webhooks.uncompiled());
            all.extend(configurations.map(|((kind, name), number)| uncompiled(kind, name, number)));
            all
        },
    );
}

/// Exposes the numbers of decisions, which `projection` counts.
pub(super) fn expose_decisions(metrics: &Metrics, projection: &Arc<Projection>) {
    let projection = Arc::clone(projection);
    metrics.read_at_scrape(
        "berth_decisions",
        "Decisions, by system, phase and status of the condition Agrees, which is empty if Berth decides",
        move || {
            let tallies = projection.tallies();
            let counts = tallies.iter();
            counts
                .map(|(system, Tally { phase, agrees }, count)| {
                    let labels = [("system", system), ("phase", phase), ("agrees", agrees)];
                    #[expect(clippy::cast_precision_loss, reason = "nobody has 2^52 decisions")]
                    (
                        labels.map(|(name, value)| (name, value.to_owned())).into(),
                        count as f64,
                    )
                })
                .collect()
        },
    );
}

/// Exposes whether Berth decides each system.
pub(super) fn expose_modes(metrics: &Metrics, dialects: &[Arc<dyn Dialect>], modes: &Arc<Modes>) {
    let names: Vec<&'static str> = dialects.iter().map(|dialect| dialect.name()).collect();
    let modes = Arc::clone(modes);
    metrics.read_at_scrape(
        "scheduler_deciding",
        "Whether Berth decides the system; if not, the reason",
        move || {
            names
                .iter()
                .map(|name| deciding(name, &modes.deciding_state(name)))
                .collect()
        },
    );
}

fn deciding(dialect: &str, state: &DecidingState) -> Series {
    let (reason, value) = match state {
        DecidingState::Decides => ("Deciding", 1.0),
        DecidingState::Observes => ("Observing", 0.0),
        DecidingState::Misconfigured => ("ConfigurationInvalid", 0.0),
        DecidingState::Waits(_) => ("OtherSchedulerRuns", 0.0),
    };
    let labels = vec![("dialect", dialect.to_owned()), ("reason", reason.to_owned())];
    (labels, value)
}

fn uncompiled(kind: &str, name: String, number: usize) -> Series {
    #[expect(clippy::cast_precision_loss, reason = "nobody writes 2^52 expressions")]
    (vec![("kind", kind.to_owned()), ("name", name)], number as f64)
}

fn expiry(name: &str, at: Timestamp) -> Series {
    #[expect(clippy::cast_precision_loss, reason = "no certificate lives for 2^52 seconds")]
    (vec![("certificate", name.to_owned())], at.as_second() as f64)
}
