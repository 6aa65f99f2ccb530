//! Base parts of a server, and the further steps of the server's start: tasks of the hub or of Kubernetes'
//! own kinds, background tasks, and the port.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use berth_aggregation::registration::Registration;
use berth_apimachinery::{Clock, Timestamp};
use berth_apiserver::memory::ByteLimiter;
use berth_apiserver::{Server, ServerConfig};
use berth_certs::{Folder, ServingCertificate};
use berth_deploy::Storage;
use berth_engine::controller::Leadership;
use berth_hub::SyncStatus;
use berth_hub::mirror::Progress;
use berth_kubernetes::core::secret;
use berth_storage::embedded::EmbeddedStore;
use berth_storage::embedded::backup::Backups;
use berth_storage::encryption::Encryption;
use berth_storage::{MemoryStore, Store};
use berth_syncer::SyncerViews;
use prometheus_client::metrics::histogram::Histogram;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::access::Access;
use super::{
    DRAIN_TIMEOUT, Options, RequestRecorders, backups, chain, configuration_files, controllers, groups,
    health, identity, integrations, measures, mirrors, surroundings, tidy, webhooks,
};
use crate::backup::DATABASE_FILE;
use crate::encryption;
use crate::etcd;
use crate::hub::Hub;

/// Parts of a server that are ready before tasks are started and the port is opened.
pub(super) struct BaseParts {
    pub(super) options: Options,
    clock: Arc<dyn Clock>,
    folder: Arc<Folder>,
    hub: Option<Hub>,
    pub(super) registration: Option<Arc<Registration>>,
    pub(super) store: Arc<dyn Store>,
    pub(super) parts: groups::Parts,
    pub(super) leadership: Leadership,
}

/// Handles of the opened store, for backups and metrics.
pub(super) struct StoreHandles {
    /// Source of backups, if the server itself makes backups.
    pub(super) backups: Option<Backups>,
    /// Histogram of the durations of writes.
    pub(super) write_durations: Histogram,
}

/// Tasks that depend on the surroundings: the controllers of Kubernetes' own kinds on a standalone server, or
/// the watchers of the hub.
pub(super) struct SurroundingTasks {
    /// Status of each system's copies from the hub; `None` without a hub.
    pub(super) sync_status: Option<Arc<SyncStatus>>,
    /// Progress of copying each resource from the hub; `None` without a hub.
    progress: Option<watch::Receiver<Progress>>,
    pub(super) tasks: Vec<JoinHandle<()>>,
}

impl BaseParts {
    /// Connects to the hub, if there is one, opens the store, and assembles the parts.
    ///
    /// # Errors
    /// When one of these steps fails.
    pub(super) async fn open(
        options: Options,
        clock: Arc<dyn Clock>,
        recorders: &RequestRecorders,
    ) -> Result<(Self, StoreHandles)> {
        let folder = Arc::new(Folder::open(&options.args.data_dir, clock.now())?);
        let args = &options.args.hub;
        let hub = match args.is_aggregated() {
            true => {
                Some(Hub::connect(args, options.args.trust.static_trust()?, options.is_observer()).await?)
            }
            false => None,
        };
        let registration = surroundings::registration(hub.as_ref(), &options, &folder, &clock).await?;
        let encryption = encryption_at_rest(&options, hub.is_some())?;
        let (inner, backups) = open_store(&options, &encryption, clock.now()).await?;
        let (store, write_durations) = measures::TimedStore::of(inner);
        let parts = groups::assemble(&store, &clock, &options, hub.as_ref())?;
        mirrors::check_secrets(&parts.mirrored, options.args.storage, &encryption)?;
        if let Some(audit) = recorders.audit.clone() {
            parts.registry.audit(audit)?;
        }
        let leadership = controllers::lead(&options, &store, &parts, hub.as_ref());
        let base = Self {
            options,
            clock,
            folder,
            hub,
            registration,
            store,
            parts,
            leadership,
        };
        let handles = StoreHandles {
            backups,
            write_durations,
        };
        Ok((base, handles))
    }

    /// Starts the controllers of Kubernetes' own kinds, which run until `ending` is cancelled, or the
    /// watchers of the hub. `lost` is cancelled when a server with another store claims the hub.
    ///
    /// # Errors
    /// When the default objects cannot be stored, another store has claimed the hub, or the hub does not
    /// accept the claim.
    pub(super) async fn start_surrounding_tasks(
        &self,
        ending: &CancellationToken,
        lost: &CancellationToken,
    ) -> Result<SurroundingTasks> {
        let (store, parts, clock) = (&self.store, &self.parts, &self.clock);
        let Some(hub) = &self.hub else {
            return Ok(SurroundingTasks {
                sync_status: None,
                progress: None,
                tasks: surroundings::start_standalone(store, parts, clock, ending).await?,
            });
        };
        let lease = surroundings::claim_store(hub, &self.options, parts, clock, lost).await?;
        let watchers = surroundings::start_behind_hub(hub, &self.options, store, parts, &self.leadership);
        let (sync_status, progress, mut tasks) = watchers.await;
        tasks.extend(lease);
        Ok(SurroundingTasks {
            sync_status: Some(sync_status),
            progress: Some(progress),
            tasks,
        })
    }

    /// Stores missing built-in objects and the configurations in files, and starts the background tasks.
    ///
    /// # Errors
    /// When a configuration file is invalid, or an object cannot be stored.
    pub(super) async fn start_background_tasks(
        &self,
        surrounding_tasks: &SurroundingTasks,
        backups: Option<Backups>,
    ) -> Result<(Vec<JoinHandle<()>>, berth_history::RunningRecorder)> {
        let (parts, args) = (&self.parts, &self.options.args);
        surroundings::create_built_in(&self.store, parts, self.hub.as_ref(), &self.clock).await?;
        let (is_behind_hub, now) = (self.hub.is_some(), self.clock.now());
        let files =
            configuration_files::store_files(&self.store, parts, &args.config, is_behind_hub, now).await?;
        let mut tasks = Vec::new();
        if is_behind_hub && !files.is_empty() {
            tasks.push(configuration_files::spawn(&self.store, files, &self.clock));
        }
        tasks.extend(backups.and_then(|backups| backups::spawn(&args.data_dir, backups)));
        tasks.push(tidy::spawn());
        tasks.push(parts.engine.spawn());
        tasks.push(parts.virtual_api.spawn());
        tasks.extend(parts.syncer_views.as_ref().map(SyncerViews::spawn));
        tasks.extend(berth_publications::spawn(
            &parts.engine,
            parts.publications.clone(),
            &parts.committer,
            controllers::may_write(&self.options, &self.leadership),
            surrounding_tasks.progress.clone(),
        ));
        Ok((tasks, parts.history.spawn(self.leadership.leading())))
    }

    /// Creates the server and opens the port, without answering requests yet.
    ///
    /// # Errors
    /// When the certificate or a file cannot be read, or the port is in use.
    pub(super) async fn bind_server(
        &self,
        recorders: RequestRecorders,
        sync_status: Option<&Arc<SyncStatus>>,
        write_durations: Histogram,
    ) -> Result<(Server, Arc<ServingCertificate>)> {
        let Self {
            options,
            clock,
            folder,
            store,
            parts,
            ..
        } = self;
        let registration = self.registration.as_ref();
        let certificate = surroundings::certificate(registration, options, folder, clock).await?;
        let memory = ByteLimiter::new(options.args.max_bytes_inflight);
        let health = health(store, parts, sync_status, registration);
        let access = match (&self.hub, sync_status) {
            (Some(hub), Some(sync_status)) => {
                Access::behind_hub(options, hub, store, parts, sync_status, clock)
            }
            _ => Access::standalone(options, folder, parts)?,
        };
        let admission_routes = webhooks(options, parts, &memory, clock)?;
        let chain = chain(options, recorders, access, health, parts, &memory, clock)?;
        let mut config = ServerConfig::new(options.address, Arc::clone(&certificate) as Arc<_>, chain);
        config.open_routes = admission_routes.merge(integrations(options, parts, &memory, clock)?);
        config.open_address = options
            .admission_port()
            .map(|port| SocketAddr::new(options.address.ip(), port));
        config.shutdown_delay = options.args.shutdown_delay_duration;
        config.drain = DRAIN_TIMEOUT;
        let metrics = &config.chain.metrics;
        measures::expose_write_durations(metrics, write_durations);
        measures::expose_store_size(metrics, options);
        measures::expose_certificates(metrics, options, folder, &certificate);
        Ok((Server::bind(config).await?, certificate))
    }

    /// Writes the administrator's kubeconfig for `server`, and returns the path of the file. Behind a hub,
    /// the file is not written.
    ///
    /// # Errors
    /// When the kubeconfig cannot be written.
    pub(super) fn kubeconfig(&self, server: &Server) -> Result<PathBuf> {
        let is_own_certificate = self.options.certificate().is_none();
        let (address, now) = (server.address(), self.clock.now());
        match self.hub {
            None => identity::write_admin_kubeconfig(&self.folder, address, is_own_certificate, now),
            // The hub has its own administrators, and would not accept a certificate of this server's CA.
            Some(_) => Ok(identity::admin_kubeconfig(self.folder.path())),
        }
    }
}

/// The encryption at rest, from the configuration file. In an embedded store behind a hub, Secrets are only
/// copies: if the file does not encrypt Secrets, a key that exists only in this process does.
fn encryption_at_rest(options: &Options, is_behind_hub: bool) -> Result<Arc<Encryption>> {
    let file = options.args.encryption_provider_config.as_deref();
    if is_behind_hub && options.args.storage == Storage::Embedded {
        return encryption::load_for_copies(file, &[secret::RESOURCE]);
    }
    encryption::load(file)
}

/// Opens the store, and the source of backups if the server itself makes backups.
async fn open_store(
    options: &Options,
    encryption: &Arc<Encryption>,
    now: Timestamp,
) -> Result<(Arc<dyn Store>, Option<Backups>)> {
    match options.args.storage {
        Storage::Embedded => {
            let file = options.args.data_dir.join(DATABASE_FILE);
            let limits = berth_storage::Limits::default();
            let store = EmbeddedStore::open_encrypted(&file, limits, encryption)?;
            let backups = store.backups();
            Ok((Arc::new(store), Some(backups)))
        }
        Storage::Memory => {
            // Revisions begin at the present time, so that a revision from another or an earlier
            // process is recognized as foreign.
            let micros = u64::try_from(now.as_microsecond()).unwrap_or_default();
            let start = berth_apimachinery::Revision(micros.max(1));
            let store = MemoryStore::new(start, berth_storage::Limits::default());
            Ok((Arc::new(store), None))
        }
        Storage::Etcd => Ok((
            etcd::open(&options.args.etcd_servers, &options.args.etcd, encryption).await?,
            None,
        )),
    }
}
