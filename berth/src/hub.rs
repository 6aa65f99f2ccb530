//! Berth behind a hub: its rights and registration there, the trust settings and objects that it reads from
//! the hub, and its Leases, events and decisions there.
//!
//! A hub is any kube-apiserver with an aggregator. Requests come through the aggregator with their user in
//! headers, or directly with a token or certificate that the hub knows. The hub grants all rights
//! (docs/reference.md, "Identity"). Objects that the hub stores and decisions depend on are copied into
//! Berth's store as they change ([`berth_hub::mirror`]), so that reading them never waits for the hub.

pub mod args;
mod arrivals;
mod events;
mod foreign;
mod gate;
mod own_schedulers;
mod registration_args;
pub mod self_check;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use berth_aggregation::policies::{HubPolicies, Policies};
use berth_aggregation::registration::{self, Registration, Sources};
use berth_aggregation::{Clients, Delegation, StaticTrust, policies};
use berth_apimachinery::{Clock, GroupResource, Kind};
use berth_certs::Folder;
use berth_configuration::Modes;
use berth_deploy::{Installation, Set};
use berth_dialect_contract::Concerns;
use berth_engine::controller::{LeaderElector, Lease, LeaseDurations};
use berth_engine::{Committer, Engine};
use berth_history::causes::Managers;
use berth_hub::{Copies, HubCommitter, HubVersions, LeaseLock, Mirror, Needs, StoreLease, SyncStatus};
use berth_policies::{Catalog, Decider};
use berth_storage::Store;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub use args::HubArgs;
pub(crate) use arrivals::Arrivals;
pub use registration_args::RegistrationArgs;

pub(crate) use gate::Gate;

use crate::controllers::Sink;
use events::HubEvents;
use own_schedulers::SchedulerMonitor;

/// Name of the Lease of the leader among the replicas.
pub(crate) const CONTROLLERS_LEASE: &str = "berth-controllers";
/// The field manager of Berth's writes to its registration.
const MANAGER: &str = "berth";
/// Time limit of the wait for the first copies, so that the first answers are complete if the hub answers
/// fast.
const FIRST_COPIES_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection to a hub that authenticates and authorizes Berth's callers.
pub struct Hub {
    /// The clients, by purpose.
    pub clients: Clients,
    /// Authentication and authorization.
    pub delegation: Delegation,
    args: HubArgs,
    versions: Arc<HubVersions>,
}

impl Hub {
    /// Connects to the hub, checks Berth's rights on the hub (fewer with `observing`), and reads its trust
    /// settings.
    ///
    /// # Errors
    /// When the hub cannot be reached, or rights or settings are missing: all of them, each with its remedy.
    pub async fn connect(args: &HubArgs, static_trust: StaticTrust, observing: bool) -> Result<Self> {
        let clients = Clients::connect(&args.delegation.kubeconfigs()).await?;
        let delegation_args = &args.delegation;
        self_check::run(&clients, args, observing).await?;
        let delegation = Delegation::new(
            clients.clone(),
            static_trust,
            delegation_args.lookup(),
            delegation_args.cache_times(),
        )
        .await?;
        Ok(Self {
            clients,
            delegation,
            args: args.clone(),
            versions: Arc::default(),
        })
    }

    /// The registration of `installation`, which keeps the objects on the hub up to date.
    /// `has_certificate_files` is true if the serving certificate comes from files.
    ///
    /// # Errors
    /// When another server has a group that Berth is to serve, this cannot be checked, or
    /// `--ca-rotation-step` is too long.
    pub async fn registration(
        &self,
        installation: &Installation,
        has_certificate_files: bool,
        folder: &Folder,
        clock: &Arc<dyn Clock>,
    ) -> Result<Registration> {
        let client = &self.clients.objects;
        let args = &self.args.registration;
        if installation.owned_dialects().next().is_some() {
            foreign::check(client, installation, args.self_register).await?;
        }
        let sets = [Set::Apiservice, Set::Webhooks].into_iter();
        let objects = sets
            .flat_map(|set| berth_deploy::objects(installation, set))
            .collect();
        let mut options = registration::Options::own(args.service(), objects, MANAGER);
        options.create = args.self_register;
        options.issuer = args.issuer(has_certificate_files)?;
        options.sources = Sources {
            api_services: "`berth manifests apiservice` has it".to_owned(),
            webhooks: "`berth manifests webhooks` has it".to_owned(),
            ca_secret:
                "`berth manifests rbac` has the Role that allows it, and `berth manifests workload` the \
                        empty Secret"
                    .to_owned(),
        };
        Ok(Registration::new(client, options, folder, clock))
    }

    /// Paths that need no rights.
    #[must_use]
    pub fn always_allowed(&self) -> Vec<String> {
        self.args.delegation.authorization_always_allow_paths.clone()
    }

    /// Whether the objects of `dialect` are on the hub.
    #[must_use]
    pub fn has(&self, dialect: &str) -> bool {
        self.args.is_on_hub(dialect)
    }

    /// The field managers that last wrote objects of the hub.
    #[must_use]
    pub fn managers(&self) -> Managers {
        let versions = Arc::clone(&self.versions);
        Arc::new(move |key| versions.manager(key))
    }

    /// Begins to copy the objects of `kinds` into `store` while `leading` is true; of a kind with
    /// [`Concerns`], only the objects that concern Berth.
    #[must_use]
    pub fn mirror(
        &self,
        store: &Arc<dyn Store>,
        kinds: &[(Arc<dyn Kind>, Option<Concerns>)],
        leading: watch::Receiver<bool>,
    ) -> Mirror {
        Mirror::start(&self.clients.objects, store, kinds, &self.versions, leading)
    }

    /// Starts to report to `engine` the progress of `mirror`, for the resources that each system
    /// `needs`. Waits for the first copies, at most [`FIRST_COPIES_TIMEOUT`].
    pub(crate) async fn sync_status(
        needs: Vec<Needs>,
        engine: &Arc<Engine>,
        mirror: &Mirror,
    ) -> (Arc<SyncStatus>, JoinHandle<()>) {
        let status_and_task = SyncStatus::follow(needs, engine, mirror.progress.clone());
        berth_hub::settled(mirror.progress.clone(), FIRST_COPIES_TIMEOUT).await;
        status_and_task
    }

    /// Elects a leader among the replicas by a Lease on the hub; `identity` is the name of this
    /// replica.
    #[must_use]
    pub fn elector(&self, identity: String, terms: LeaseDurations) -> Arc<dyn LeaderElector> {
        let lock = LeaseLock::new(
            self.clients.objects.clone(),
            self.args.own_namespace(),
            CONTROLLERS_LEASE,
        );
        Arc::new(Lease::with_lock(Arc::new(lock), identity, terms))
    }

    /// Claims this hub for the store in the folder `data`, which replicas do not share: only one such store
    /// may be behind a hub. `end` is cancelled when another store takes over later.
    ///
    /// # Errors
    /// When there is another store: the message has its identity, and the remedy.
    pub async fn claim_store(
        &self,
        data: &Path,
        terms: LeaseDurations,
        clock: &Arc<dyn Clock>,
        end: CancellationToken,
    ) -> Result<JoinHandle<()>> {
        let (client, namespace) = (self.clients.objects.clone(), self.args.own_namespace());
        let lease = StoreLease::new(client, namespace, data, terms, Arc::clone(clock))?;
        lease.begin().await?;
        Ok(tokio::spawn(lease.keep(end)))
    }

    /// Begins to check whether the systems' own schedulers run on the hub, and records the result in
    /// `modes`. The first check is complete when this returns.
    pub(crate) async fn watch_schedulers(&self, engine: &Arc<Engine>, modes: &Arc<Modes>) -> JoinHandle<()> {
        let monitor =
            SchedulerMonitor::new(self.clients.objects.clone(), engine, modes, |name| self.has(name));
        monitor.begin().await
    }

    /// Writer of events.
    pub(crate) fn events(&self) -> Arc<dyn Sink> {
        Arc::new(HubEvents::new(self.clients.objects.clone()))
    }

    /// The hub's admission webhooks, applied to objects that Berth stores. `own` identifies Berth's own
    /// webhooks, and `decider` knows the rights of users.
    #[must_use]
    pub(crate) fn webhooks(
        &self,
        store: &Arc<dyn Store>,
        own: policies::OwnAddresses,
        decider: Arc<dyn Decider>,
    ) -> Arc<Policies> {
        Policies::new(self.clients.objects.clone(), store, own, decider)
    }

    /// The hub's admission policies, applied to objects that Berth stores. `local` knows the parameters
    /// that Berth stores.
    #[must_use]
    pub(crate) fn policies(&self, local: Arc<dyn Catalog>) -> Arc<HubPolicies> {
        HubPolicies::new(self.clients.objects.clone(), local)
    }

    /// Committer of decisions: it writes decisions about objects of `resources` on the hub, and other
    /// decisions through `own`. It carries out the writes of syncers, too.
    #[must_use]
    pub(crate) fn committer(
        &self,
        store: &Arc<dyn Store>,
        resources: BTreeSet<GroupResource>,
        own: Arc<dyn Committer>,
    ) -> Arc<HubCommitter> {
        Arc::new(HubCommitter::new(
            self.clients.objects.clone(),
            self.args.own_namespace(),
            Copies::new(Arc::clone(store), Arc::clone(&self.versions)),
            resources,
            own,
        ))
    }
}
