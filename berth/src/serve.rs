//! Assembly of the server, standalone or behind a hub: store, engine, virtual API, other kinds,
//! authentication and port.

mod access;
mod backups;
mod base_parts;
mod built_in;
mod configuration_files;
mod controllers;
#[cfg(test)]
mod effort;
mod groups;
mod identity;
mod in_memory;
mod measures;
mod mirrors;
mod options;
mod surroundings;
mod tidy;

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use berth_aggregation::registration::Registration;
use berth_apimachinery::Clock;
use berth_apiserver::audit::Audit;
use berth_apiserver::documents::Documents;
use berth_apiserver::health::{Health, Probe};
use berth_apiserver::memory::ByteLimiter;
use berth_apiserver::metrics::Metrics;
use berth_apiserver::{ChainConfig, RunningServer, SystemClock, VersionInfo};
use berth_certs::Folder;
use berth_engine::controller::Leadership;
use berth_hub::SyncStatus;
use berth_placement_admission::{self, Audience, ReviewServer};
use berth_storage::Store;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use self::access::Access;
use self::base_parts::BaseParts;
pub use self::in_memory::{InMemory, Settings};
pub use self::options::Options;
use crate::cli::{KubeconfigArgs, ServeArgs};
use crate::integrations::{self, CallerCredentials, TokenFile};
use crate::kubeconfig::{Endpoint, Kubeconfig, ca_of};

/// Time for which requests in flight may continue after a termination signal.
const DRAIN_TIMEOUT: Duration = Duration::from_mins(1);
/// Longest time that the engine may take to read the store at the start.
const LOAD_TIMEOUT: Duration = Duration::from_mins(1);

/// A running server, standalone or behind a hub.
pub struct BerthServer {
    running: RunningServer,
    kubeconfig: PathBuf,
    tasks: Vec<JoinHandle<()>>,
    controllers: controllers::RunningControllers,
    history: berth_history::RunningRecorder,
    /// Leader election, which is stopped after the controllers and the recorder of the history.
    leadership: Leadership,
    /// Cancelled when the background tasks are to end.
    ending: CancellationToken,
}

/// Listener for SIGTERM and SIGINT. After its creation, these signals do not end the process by themselves.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Starts to listen for SIGTERM and SIGINT.
    ///
    /// # Errors
    /// When the operating system refuses to install the handlers.
    pub fn listen() -> Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Runs `berth serve` until a termination signal, or until another store takes over the hub.
///
/// # Errors
/// When the server cannot start, or its task fails.
pub async fn run(args: ServeArgs) -> Result<()> {
    let options = Options::try_from(args)?;
    let running = BerthServer::start(options).await?;
    // The handlers are installed before the address is printed, since a caller may send a signal as soon as
    // it has read the address.
    let signals = Signals::listen()?;
    berth_commands::say!("serving on https://{}", running.running.address);
    if running.kubeconfig.exists() {
        berth_commands::say!("kubeconfig {}", running.kubeconfig.display());
    }
    running.until_signal(signals).await
}

/// Runs `berth kubeconfig`: issues a client certificate, and writes a kubeconfig with it.
///
/// # Errors
/// When the name is reserved, no server has used the data folder, `--ttl` is out of range, or the kubeconfig
/// cannot be written.
pub fn issue_kubeconfig(args: &KubeconfigArgs) -> Result<()> {
    let admin = identity::admin_kubeconfig(&args.data_dir);
    if !admin.exists() {
        bail!(
            "{} is not the data folder of a server: start `berth serve --data-dir` with this folder first",
            args.data_dir.display()
        );
    }
    let cluster = identity::cluster_of(&admin)?;
    let url = args.server.as_deref().or(cluster.server.as_deref());
    let url = url.with_context(|| {
        let file = admin.display();
        format!("{file}: the cluster of the kubeconfig has no server: add its URL, or pass --server")
    })?;
    // With --tls-cert-file, the administrator's kubeconfig does not have the server's own CA, which did not
    // issue that certificate.
    let ca = match (ca_of(&cluster), &cluster.certificate_authority) {
        (None, Some(file)) => Some(std::fs::read_to_string(file).with_context(|| file.clone())?),
        (ca, _) => ca,
    };
    let server = Endpoint {
        url,
        ca: ca.as_deref(),
    };
    let folder = Folder::open(&args.data_dir, SystemClock.now())?;
    let now = SystemClock.now();
    let life = args.ttl.try_into().context("--ttl")?;
    let (user, groups) = (&args.user, &args.group);
    let kubeconfig = Kubeconfig::issue_for(&folder, server, user, groups, args.force, now, life)?;
    match &args.output {
        Some(path) => kubeconfig.write(path)?,
        None => berth_commands::terminal::print(kubeconfig.as_yaml()),
    }
    Ok(())
}

impl BerthServer {
    /// Starts a server: opens the store, creates the objects of a new store, waits until every decision can
    /// be read, and opens the port.
    ///
    /// # Errors
    /// When one of these steps fails.
    pub async fn start(options: Options) -> Result<Self> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let recorders = RequestRecorders::open(&options, &clock).await?;
        let (base, handles) = BaseParts::open(options, clock, &recorders).await?;
        let (ending, lost) = (CancellationToken::new(), CancellationToken::new());
        let surrounding_tasks = base.start_surrounding_tasks(&ending, &lost).await?;
        let (mut tasks, history) = base
            .start_background_tasks(&surrounding_tasks, handles.backups)
            .await?;
        wait_until_loaded(&base.parts).await?;
        tasks.extend(surroundings::watch_policies(&base.parts).await?);
        let controllers = controllers::start(&base.options, &base.store, &base.parts, &base.leadership)?;
        let (server, certificate) = base
            .bind_server(
                recorders,
                surrounding_tasks.sync_status.as_ref(),
                handles.write_durations,
            )
            .await?;
        tasks.push(tokio::spawn(Arc::clone(&certificate).keep_fresh()));
        tasks.extend(surrounding_tasks.tasks);
        let kubeconfig = base.kubeconfig(&server)?;
        let BaseParts {
            registration,
            leadership,
            ..
        } = base;
        tasks.extend(registration.map(|registration| registration.follow(certificate)));
        let running = server.start();
        let stop = running.stop_handle();
        tasks.push(tokio::spawn(async move {
            lost.cancelled().await;
            stop.cancel();
        }));
        Ok(Self {
            running,
            kubeconfig,
            tasks,
            controllers,
            history,
            leadership,
            ending,
        })
    }

    /// Path of the admin's kubeconfig. Behind a hub, which has its own administrators, the file is not
    /// written.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Serves until one of `signals`, or until another store takes over the hub, then stops as
    /// [`BerthServer::stop`].
    ///
    /// # Errors
    /// When the server's task failed, or at once when a second signal arrives.
    pub async fn until_signal(self, mut signals: Signals) -> Result<()> {
        let stop = self.running.stop_handle();
        tokio::select! {
            () = signals.next() => {}
            () = stop.cancelled() => {}
        }
        tokio::select! {
            ended = self.stop() => ended,
            () = signals.next() => bail!("second signal received: exiting without waiting for requests in flight"),
        }
    }

    /// Stops the server: it becomes unready, accepts no new connections, ends watches, completes requests in
    /// flight, and stops its tasks.
    ///
    /// # Errors
    /// When the server's task failed.
    pub async fn stop(self) -> Result<()> {
        let result = self.running.stop().await.context("the server's task failed");
        self.controllers.stop().await;
        self.history.stop().await;
        self.leadership.stop().await;
        self.ending.cancel();
        for task in self.tasks {
            task.abort();
        }
        result.map(drop)
    }
}

/// Waits until the engine has read the whole store, so that the first answers are complete.
async fn wait_until_loaded(parts: &groups::Parts) -> Result<()> {
    let revision = parts.engine.source().revision();
    with_time_limit(LOAD_TIMEOUT, parts.engine.caught_up(revision))
        .await
        .context("reading the store")?
        .context("reading the store")?;
    Ok(())
}

async fn with_time_limit<T>(limit: Duration, work: impl Future<Output = T>) -> Result<T> {
    tokio::time::timeout(limit, work)
        .await
        .with_context(|| format!("not complete after {limit:?}"))
}

/// Metrics and audit log of requests.
struct RequestRecorders {
    metrics: Arc<Metrics>,
    audit: Option<Audit>,
}

impl RequestRecorders {
    async fn open(options: &Options, clock: &Arc<dyn Clock>) -> Result<Self> {
        let metrics = Arc::new(Metrics::new());
        let audit = options.args.audit.open(AUDIT_DOMAIN, &metrics, clock).await?;
        Ok(Self { metrics, audit })
    }
}

/// Configuration of the request pipeline; exposes the metrics of `parts`.
fn chain(
    options: &Options,
    recorders: RequestRecorders,
    access: Access,
    health: Arc<Health>,
    parts: &groups::Parts,
    memory: &Arc<ByteLimiter>,
    clock: &Arc<dyn Clock>,
) -> Result<ChainConfig> {
    let RequestRecorders { metrics, audit } = recorders;
    metrics.count_stored(berth_apiserver::stored(&parts.groups));
    metrics.count_admission(&parts.admission_metrics);
    metrics.count_policies(&parts.policy_metrics);
    if let Some(webhooks) = &parts.webhooks {
        metrics.count_webhooks(webhooks.metrics());
    }
    measures::expose_uncompiled(&metrics, &parts.enforcer, parts.webhooks.as_ref());
    measures::expose_decisions(&metrics, parts.virtual_api.projection());
    parts.controller_metrics.expose(&metrics);
    measures::expose_modes(&metrics, &parts.dialects, &parts.modes);
    let documents = Documents::of_groups("Berth", concat!("v", env!("CARGO_PKG_VERSION")), &parts.groups);
    let mut chain = ChainConfig::new(access.api, documents, version(), Arc::clone(clock));
    chain.authentication = access.authentication;
    chain.authorizer = access.authorizer;
    chain.always_allowed = access.always_allowed;
    chain.limits.reads = options.args.max_requests_inflight;
    chain.limits.writes = options.args.max_mutating_requests_inflight;
    chain.memory = Arc::clone(memory);
    chain.audit = audit;
    chain.health = health;
    chain.metrics = metrics;
    Ok(chain)
}

/// Domain of the annotations of audit events that only Berth writes (docs/reference.md, "Audit").
const AUDIT_DOMAIN: &str = "berth.dev";

/// Version of Kubernetes that `/version` states: the version whose API conventions Berth follows.
const KUBERNETES_VERSION: &str = "1.34";

/// The version of this build.
fn version() -> VersionInfo {
    VersionInfo::of_kubernetes(
        KUBERNETES_VERSION,
        "berth",
        env!("CARGO_PKG_VERSION"),
        option_env!("BERTH_GIT_COMMIT"),
        option_env!("BERTH_BUILD_DATE"),
    )
}

/// Routes of the admission webhooks, for ConfigMaps and all resources that are served here or copied from the
/// hub; no routes if the server does not answer admission reviews.
fn webhooks(
    options: &Options,
    parts: &groups::Parts,
    memory: &Arc<ByteLimiter>,
    clock: &Arc<dyn Clock>,
) -> Result<axum::Router> {
    if !options.answers_reviews() {
        return Ok(axum::Router::new());
    }
    let client_ca = identity::client_ca(options.args.admission_client_ca_file.as_deref())?;
    let audience = match client_ca {
        Some(_) => Audience::Known,
        None => Audience::Anyone,
    };
    let chain = parts.admission.webhooks(parts.virtual_api.catalog(), audience);
    let served = parts.groups.iter().flat_map(|group| &group.resources);
    let mirrored = parts.mirrored.iter().map(|kind| kind.info().resource());
    let resources = served
        .map(|resource| resource.kind.info().resource())
        .chain(mirrored)
        .chain([berth_placement_admission::CONFIG_MAPS]);
    let server = ReviewServer::new(chain, resources, client_ca, Arc::clone(memory), Arc::clone(clock))
        .with_rules(parts.admission.rules())
        .with_effort(parts.virtual_api.effort());
    Ok(berth_placement_admission::routes(server))
}

/// Routes for other tools that read decisions; no routes if there is neither a token file nor a client CA.
fn integrations(
    options: &Options,
    parts: &groups::Parts,
    memory: &Arc<ByteLimiter>,
    clock: &Arc<dyn Clock>,
) -> Result<axum::Router> {
    let token = options
        .args
        .integrations_token_file
        .as_deref()
        .map(TokenFile::open);
    let token = token.transpose().context("--integrations-token-file")?;
    let client_ca = identity::client_ca(options.args.integrations_client_ca_file.as_deref());
    let client_ca = client_ca.context("--integrations-client-ca-file")?;
    if token.is_none() && client_ca.is_none() {
        return Ok(axum::Router::new());
    }
    let callers = CallerCredentials {
        token,
        client_ca,
        clock: Arc::clone(clock),
    };
    let (engine, memory) = (Arc::clone(&parts.engine), Arc::clone(memory));
    Ok(integrations::routes(engine, callers, memory))
}

/// Health checks of the server, by which `/healthz` and `/readyz` answer.
fn health(
    store: &Arc<dyn Store>,
    parts: &groups::Parts,
    sync_status: Option<&Arc<SyncStatus>>,
    registration: Option<&Arc<Registration>>,
) -> Arc<Health> {
    let health = Health::new();
    let storage = Arc::clone(store);
    health.add("storage", &[Probe::Healthz, Probe::Readyz], move || {
        storage.ready()
    });
    // A server with a full disk still answers, and accepts deletions.
    let storage = Arc::clone(store);
    health.add_informative("disk-space", &[Probe::Readyz], move || storage.room());
    for dialect in &parts.dialects {
        let (engine, sync_status) = (Arc::clone(&parts.engine), sync_status.cloned());
        let name = dialect.name();
        health.add_informative(&format!("dialect-{name}"), &[Probe::Readyz], move || {
            if !engine.is_loaded() {
                return Err("the objects are still being read".to_owned());
            }
            sync_status
                .as_ref()
                .and_then(|sync_status| sync_status.problem(name))
                .map_or(Ok(()), Err)
        });
    }
    if let Some(registration) = registration.cloned() {
        // The registration does not count for readiness. A hub sends requests only to ready servers, so a
        // server that waited for a request would never become ready; and a hub that is out of reach would
        // make every server unready.
        health.add_informative("registration", &[Probe::Readyz], move || registration.state());
    }
    Arc::new(health)
}
