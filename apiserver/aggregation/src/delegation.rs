//! Authentication and authorization by the hub, like DelegatingAuthenticationOptions and
//! DelegatingAuthorizationOptions of k8s.io/apiserver.

use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::Clock;
use berth_apiserver::Authorizer;
use berth_apiserver::authn::token_review::TokenReviews;
use berth_apiserver::authn::{Authentication, Trust};
use berth_apiserver::authz::subject_access_review::SubjectAccessReviews;
use kube::Client;
use tokio::task::JoinHandle;

use crate::Clients;
use crate::error::HubError;
use crate::published::{PublishedTrust, StaticTrust};
use crate::reviewer::HubReviewer;

/// Times for which answers of the hub are cached.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CacheTimes {
    /// Time for TokenReviews.
    pub token: Duration,
    /// Time for SubjectAccessReviews that allowed the request.
    pub authorized: Duration,
    /// Time for SubjectAccessReviews that did not allow the request.
    pub unauthorized: Duration,
}

impl Default for CacheTimes {
    /// Ten seconds for each kind of review, as in k8s.io/apiserver.
    fn default() -> Self {
        let ten = Duration::from_secs(10);
        Self {
            token: ten,
            authorized: ten,
            unauthorized: ten,
        }
    }
}

/// Whether the ConfigMap kube-system/extension-apiserver-authentication is read, and must exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lookup {
    /// The ConfigMap is read; the server does not start without it.
    #[default]
    Required,
    /// The ConfigMap is read. Until it can be read, only CAs and headers from flags are used: requests
    /// through the aggregator get 401, unless a flag names the CA of the aggregator.
    Tolerated,
    /// The ConfigMap is not read: only CAs and headers from flags are used.
    Skipped,
}

/// Authentication and authorization by a hub.
pub struct Delegation {
    clients: Clients,
    times: CacheTimes,
    trust: Arc<Trust>,
    published: Option<Arc<PublishedTrust>>,
}

impl Delegation {
    /// Reads the client CAs and front proxies that the hub trusts, and uses the default cache times of
    /// k8s.io/apiserver.
    ///
    /// # Errors
    /// When the ConfigMap with the trusted CAs cannot be used.
    pub async fn to(clients: Clients) -> Result<Self, HubError> {
        Self::new(
            clients,
            StaticTrust::default(),
            Lookup::Required,
            CacheTimes::default(),
        )
        .await
    }

    /// Reads the client CAs and front proxies that the hub trusts, unless `lookup` is [`Lookup::Skipped`].
    /// CAs and front proxies of `static_trust` take precedence.
    ///
    /// # Errors
    /// When the ConfigMap is required but cannot be used, or when `static_trust` trusts one CA both for users
    /// and for front proxies of any name.
    pub async fn new(
        clients: Clients,
        static_trust: StaticTrust,
        lookup: Lookup,
        times: CacheTimes,
    ) -> Result<Self, HubError> {
        let published = (lookup != Lookup::Skipped).then(|| {
            Arc::new(PublishedTrust::new(
                clients.authentication.clone(),
                static_trust.clone(),
            ))
        });
        if let (Some(client), Some(request_header)) = (&static_trust.client, &static_trust.request_header) {
            request_header.check_separate_from(client)?;
        }
        let trust = Arc::new(Trust::new(
            static_trust.client.unwrap_or_default(),
            static_trust.request_header,
        ));
        if let Some(published) = &published {
            match published.load(&trust).await {
                Err(problem) if lookup == Lookup::Tolerated => {
                    tracing::warn!(
                        %problem,
                        "cannot read extension-apiserver-authentication yet; until it can be read, only the CAs of flags are trusted: without --requestheader-client-ca-file, requests through the aggregator get 401"
                    );
                }
                read => read?,
            }
        }
        Ok(Self {
            clients,
            times,
            trust,
            published,
        })
    }

    /// Returns the client for objects.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.clients.objects
    }

    /// Returns the authentication of users by client certificates, front proxies, and TokenReviews of bearer
    /// tokens.
    #[must_use]
    pub fn authentication(&self, anonymous: bool, clock: &Arc<dyn Clock>) -> Authentication {
        let reviewer = Arc::new(HubReviewer(self.clients.authentication.clone()));
        let tokens = TokenReviews::new(reviewer, self.times.token, Arc::clone(clock));
        Authentication {
            trust: Arc::clone(&self.trust),
            tokens: Some(Arc::new(tokens)),
            anonymous,
        }
    }

    /// Returns the authorizer, which sends SubjectAccessReviews.
    #[must_use]
    pub fn authorizer(&self, clock: &Arc<dyn Clock>) -> Arc<dyn Authorizer> {
        Arc::new(SubjectAccessReviews::new(
            Arc::new(HubReviewer(self.clients.authorization.clone())),
            self.times.authorized,
            self.times.unauthorized,
            Arc::clone(clock),
        ))
    }

    /// Starts a task that watches the ConfigMap until the task is aborted, so that a rotated CA needs no
    /// restart. `None` where the ConfigMap is not read.
    #[must_use]
    pub fn follow(&self) -> Option<JoinHandle<()>> {
        let published = Arc::clone(self.published.as_ref()?);
        Some(tokio::spawn(published.follow(Arc::clone(&self.trust))))
    }
}
