//! Berth behind a hub: who it is there, whom it believes because the hub does, and what it keeps a copy of.
//!
//! A hub is any kube-apiserver with an aggregator. Requests come through it with their user in headers, or directly
//! with a token or certificate the hub knows; rights are the hub's to grant (docs/api.md, "Identity"). Objects that the
//! hub stores and decisions depend on are copied into Berth's store as they change ([`mirror`]), so that reading them
//! never waits for the hub.

pub mod args;
mod arrivals;
mod commits;
mod connection;
mod events;
mod fences;
mod gate;
mod lease;
pub mod mirror;
pub mod policies;
mod presence;
mod published;
pub mod registration;
mod reviewer;
pub mod self_check;
mod syncers;
mod tenure;
mod wire;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use apiserver::Authorizer;
use apiserver::authn::token_review::TokenReviews;
use apiserver::authn::{Authentication, CaPool, RequestHeaderTrust, Trust};
use apiserver::authz::subject_access_review::SubjectAccessReviews;
use engine::controller::{Elector, Lease, Terms};
use engine::{Committer, Engine};
use meta::{Clock, GroupResource, Kind};
use storage::Store;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub use args::HubArgs;
pub(crate) use arrivals::Arrivals;
pub use connection::Clients;
pub use policies::Policies;
pub use registration::{Registration, RegistrationArgs};

pub(crate) use gate::Gate;
pub(crate) use presence::{Needs, Presence};

use crate::controllers::Sink;
use commits::HubCommitter;
use events::HubEvents;
use lease::LeaseKeeper;
use mirror::{Copies, Mirror, Shadows};
use published::Published;
use reviewer::HubReviewer;
use tenure::Tenure;

/// The name of the Lease of the replica that does what only one may do.
const OFFICE: &str = "berth-controllers";
/// How long the first copies are waited for: so that the first answers are complete where the hub is at hand.
const FIRST_COPIES: Duration = Duration::from_secs(10);

/// A connection to a hub whose word counts.
pub struct Hub {
    /// The clients, by what they are for.
    pub clients: Clients,
    args: HubArgs,
    shadows: Arc<Shadows>,
    trust: Arc<Trust>,
    published: Option<Arc<Published>>,
}

/// What the command line says about trust. It wins over what the hub publishes.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// The CAs of client certificates.
    pub client: Option<CaPool>,
    /// Whom to believe users in headers.
    pub request_header: Option<RequestHeaderTrust>,
    /// The names front proxies may have, for a hub that publishes none.
    pub allowed_names: Vec<String>,
}

impl Hub {
    /// Connects, checks what Berth may do there, and reads whom the hub believes.
    ///
    /// # Errors
    /// When the hub cannot be reached, or rights or settings are missing: all of them, each with its remedy.
    pub async fn connect(args: &HubArgs, given: Given) -> Result<Self> {
        let clients = Clients::connect(args).await?;
        let published = (!args.authentication_skip_lookup)
            .then(|| Arc::new(Published::new(clients.authentication.clone(), given.clone())));
        self_check::run(&clients, args).await?;
        if let (Some(client), Some(request_header)) = (&given.client, &given.request_header) {
            request_header.check_beside(client)?;
        }
        let trust = Arc::new(Trust::new(given.client.unwrap_or_default(), given.request_header));
        if let Some(published) = &published {
            match published.load(&trust).await {
                Err(problem) if args.authentication_tolerate_lookup_failure => {
                    tracing::warn!(%problem, "whom the hub believes is not known yet");
                }
                read => read.context("reading whom the hub believes")?,
            }
        }
        Ok(Self {
            clients,
            args: args.clone(),
            shadows: Arc::default(),
            trust,
            published,
        })
    }

    /// How users are found out: as the hub does.
    #[must_use]
    pub fn authentication(&self, anonymous: bool, clock: &Arc<dyn Clock>) -> Authentication {
        let reviewer = Arc::new(HubReviewer(self.clients.authentication.clone()));
        let keep = self.args.authentication_token_webhook_cache_ttl;
        Authentication {
            trust: Arc::clone(&self.trust),
            tokens: Some(Arc::new(TokenReviews::new(reviewer, keep, Arc::clone(clock)))),
            anonymous,
        }
    }

    /// Who says what users may do: the hub.
    #[must_use]
    pub fn authorizer(&self, clock: &Arc<dyn Clock>) -> Arc<dyn Authorizer> {
        Arc::new(SubjectAccessReviews::new(
            Arc::new(HubReviewer(self.clients.authorization.clone())),
            self.args.authorization_webhook_cache_authorized_ttl,
            self.args.authorization_webhook_cache_unauthorized_ttl,
            Arc::clone(clock),
        ))
    }

    /// Paths that need no rights.
    #[must_use]
    pub fn always_allowed(&self) -> Vec<String> {
        self.args.authorization_always_allow_paths.clone()
    }

    /// Whether the objects of `dialect` are on the hub.
    #[must_use]
    pub fn has(&self, dialect: &str) -> bool {
        self.args.is_on_hub(dialect)
    }

    /// Begins to copy the objects of `kinds` into `store`, while `office` says that this replica does so.
    #[must_use]
    pub fn mirror(
        &self,
        store: &Arc<dyn Store>,
        kinds: &[Arc<dyn Kind>],
        office: watch::Receiver<bool>,
    ) -> Mirror {
        Mirror::start(&self.clients.objects, store, kinds, &self.shadows, office)
    }

    /// Begins to tell `engine` how much of what each system `needs` has been copied by `mirror`. The first copies are
    /// waited for a moment.
    pub(crate) async fn presence(
        needs: Vec<Needs>,
        engine: &Arc<Engine>,
        mirror: &Mirror,
    ) -> (Arc<Presence>, JoinHandle<()>) {
        let following = Presence::follow(needs, engine, mirror.progress.clone());
        presence::settled(mirror.progress.clone(), FIRST_COPIES).await;
        following
    }

    /// Elects, by a Lease on the hub, the replica that does what only one may do; `identity` is this one's name.
    #[must_use]
    pub fn elector(&self, identity: String, terms: Terms) -> Arc<dyn Elector> {
        let keeper = LeaseKeeper::new(self.clients.objects.clone(), self.args.own_namespace(), OFFICE);
        Arc::new(Lease::kept_by(Arc::new(keeper), identity, terms))
    }

    /// Makes sure that the store in the folder `data` is the only one behind this hub that no other replica shares.
    /// `end` is cancelled when another takes over later.
    ///
    /// # Errors
    /// When there is another one: which, and what to do.
    pub async fn claim_store(
        &self,
        data: &Path,
        terms: Terms,
        clock: &Arc<dyn Clock>,
        end: CancellationToken,
    ) -> Result<JoinHandle<()>> {
        let (client, namespace) = (self.clients.objects.clone(), self.args.own_namespace());
        let tenure = Tenure::new(client, namespace, data, terms, Arc::clone(clock))?;
        tenure.begin().await?;
        Ok(tokio::spawn(tenure.keep(end)))
    }

    /// What writes events.
    pub(crate) fn events(&self) -> Arc<dyn Sink> {
        Arc::new(HubEvents::new(self.clients.objects.clone()))
    }

    /// The hub's admission webhooks, which have a say in what is stored here; `own` tells which of them are Berth's.
    #[must_use]
    pub(crate) fn policies(&self, store: &Arc<dyn Store>, own: policies::Own) -> Arc<Policies> {
        Policies::new(self.clients.objects.clone(), store, own)
    }

    /// What commits decisions: those about objects of `resources` on the hub, the others through `own`. It carries out
    /// the writes of syncers, too.
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
            Copies::new(Arc::clone(store), Arc::clone(&self.shadows)),
            resources,
            own,
        ))
    }

    /// Follows what the hub publishes until the task is dropped.
    #[must_use]
    pub fn follow(&self) -> Option<JoinHandle<()>> {
        let published = Arc::clone(self.published.as_ref()?);
        Some(tokio::spawn(published.follow(Arc::clone(&self.trust))))
    }
}
