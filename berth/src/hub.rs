//! Berth behind a hub: its rights and registration there, the trust settings and objects that it reads from
//! the hub, and its Leases, events and decisions there.
//!
//! A hub is any kube-apiserver with an aggregator. Requests come through the aggregator with their user in
//! headers, or directly with a token or certificate that the hub knows. The hub grants all rights
//! (docs/reference.md, "Identity"). Berth copies the hub's objects that affect decisions into its own store
//! as they change ([`berth_hub::mirror`]), so that reading them never waits for the hub.

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
use berth_aggregation::policies::{HubPolicies, HubWebhooks};
use berth_aggregation::registration::{self, Registration, Sources};
use berth_aggregation::{Clients, Delegation, StaticTrust, policies};
use berth_apimachinery::{Clock, GroupResource, Kind};
use berth_certs::Folder;
use berth_configuration::Modes;
use berth_deploy::{Installation, Set};
use berth_dialect_contract::Concerns;
use berth_engine::controller::{LeaderElector, LeaseDurations, LeaseElector};
use berth_engine::{Committer, Engine};
use berth_history::causes::Managers;
use berth_hub::{Copies, HubCommitter, HubVersions, LeaseLock, Mirror, Requirements, StoreLease, SyncStatus};
use berth_policies::{AccessReviewer, Catalog};
use berth_storage::Store;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub use args::HubArgs;
pub(crate) use arrivals::NamespaceWaiter;
pub use registration_args::RegistrationArgs;

pub(crate) use gate::Gate;

use crate::controllers::EventSink;
use events::HubEvents;
use own_schedulers::SchedulerMonitor;

/// Name of the Lease by which the replicas elect the leader that runs the controllers.
pub(crate) const CONTROLLERS_LEASE: &str = "berth-controllers";
/// The field manager of Berth's writes to its registration.
const MANAGER: &str = "berth";
/// Longest wait for the first copies. If the hub answers within this time, the first answers of Berth are
/// complete.
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
    /// Connects to the hub, checks Berth's rights on the hub, and reads the hub's trust settings. Berth needs
    /// fewer rights if it is only `observing`.
    ///
    /// # Errors
    /// When the hub cannot be reached, or rights or settings are missing. The message lists all that are
    /// missing, each with a remedy.
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
    /// When another server has a group that Berth is to serve, when this cannot be checked, or when
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
            api_services: "`berth manifests apiservice` prints it".to_owned(),
            webhooks: "`berth manifests webhooks` prints it".to_owned(),
            ca_secret:
                "`berth manifests rbac` prints the Role that allows it, and `berth manifests workload` the \
                        empty Secret"
                    .to_owned(),
        };
        Ok(Registration::new(client, options, folder, clock))
    }

    /// Paths that callers may use without any right.
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

    /// Starts a mirror that copies the objects of `kinds` into `store` while `leading` is true; of a kind with
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

    /// Starts to report the progress of `mirror` to `engine`, for the resources that each system needs
    /// (`requirements`). Waits for the first copies, at most [`FIRST_COPIES_TIMEOUT`].
    pub(crate) async fn sync_status(
        requirements: Vec<Requirements>,
        engine: &Arc<Engine>,
        mirror: &Mirror,
    ) -> (Arc<SyncStatus>, JoinHandle<()>) {
        let status_and_task = SyncStatus::follow(requirements, engine, mirror.progress.clone());
        berth_hub::settled(mirror.progress.clone(), FIRST_COPIES_TIMEOUT).await;
        status_and_task
    }

    /// Leader election among the replicas by a Lease on the hub. `identity` is the name of this replica.
    #[must_use]
    pub fn elector(&self, identity: String, durations: LeaseDurations) -> Arc<dyn LeaderElector> {
        let lock = LeaseLock::new(
            self.clients.objects.clone(),
            self.args.own_namespace(),
            CONTROLLERS_LEASE,
        );
        Arc::new(LeaseElector::with_lock(Arc::new(lock), identity, durations))
    }

    /// Claims the hub for the store in the folder `data`. Replicas do not share such a store, so only one
    /// replica may be behind the hub. `end` is cancelled when another store takes over later.
    ///
    /// # Errors
    /// When another store has claimed the hub. The message has the identity of that store, and the remedy.
    pub async fn claim_store(
        &self,
        data: &Path,
        durations: LeaseDurations,
        clock: &Arc<dyn Clock>,
        end: CancellationToken,
    ) -> Result<JoinHandle<()>> {
        let (client, namespace) = (self.clients.objects.clone(), self.args.own_namespace());
        let lease = StoreLease::new(client, namespace, data, durations, Arc::clone(clock))?;
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

    /// Destination that writes events to the hub.
    pub(crate) fn events(&self) -> Arc<dyn EventSink> {
        Arc::new(HubEvents::new(self.clients.objects.clone()))
    }

    /// The hub's admission webhooks, for objects that Berth stores. `own` identifies Berth's own webhooks,
    /// and `access_reviewer` knows the rights of users.
    #[must_use]
    pub(crate) fn webhooks(
        &self,
        store: &Arc<dyn Store>,
        own: policies::OwnAddresses,
        access_reviewer: Arc<dyn AccessReviewer>,
    ) -> Arc<HubWebhooks> {
        HubWebhooks::new(self.clients.objects.clone(), store, own, access_reviewer)
    }

    /// The hub's admission policies, for objects that Berth stores. `local` has the parameters that Berth
    /// stores.
    #[must_use]
    pub(crate) fn policies(&self, local: Arc<dyn Catalog>) -> Arc<HubPolicies> {
        HubPolicies::new(self.clients.objects.clone(), local)
    }

    /// Committer of decisions and of the writes of syncers. Writes of `resources` go to the hub, other writes
    /// through `own`.
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
