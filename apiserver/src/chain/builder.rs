//! Builder of the configuration of a pipeline, and the defaults of its parts.

use std::sync::Arc;

use berth_apimachinery::Clock;

use super::{ChainConfig, Limits};
use crate::auth::Authorizer;
use crate::authn::{Authentication, CaPool};
use crate::authz::{self, Union};
use crate::clock::SystemClock;
use crate::context::Api;
use crate::documents::Documents;
use crate::handlers::ApiState;
use crate::health::Health;
use crate::memory::{ByteLimiter, DEFAULT_BYTES};
use crate::metrics::Metrics;
use crate::registry::InstallError;
use crate::resource::Group;
use crate::version::VersionInfo;

/// Returns an authentication that trusts no CA.
fn no_authentication() -> Authentication {
    Authentication::by_certificates(CaPool::default())
}

/// Returns an authorizer that allows no request.
fn deny_all() -> Arc<dyn Authorizer> {
    Arc::new(Union::new(Vec::new()))
}

/// Builder of a [`ChainConfig`]. By default no user is authenticated, and only `system:masters` is
/// authorized.
pub struct ChainBuilder {
    groups: Vec<Group>,
    title: String,
    version: VersionInfo,
    plugins: berth_admission::Chain,
    authentication: Authentication,
    authorizer: Arc<dyn Authorizer>,
    clock: Arc<dyn Clock>,
}

impl ChainConfig {
    /// Starts a configuration with the API of `groups`.
    #[must_use]
    pub fn of(groups: Vec<Group>) -> ChainBuilder {
        ChainBuilder {
            groups,
            title: "API server".to_owned(),
            version: VersionInfo::new("0.0.0", None, None),
            plugins: berth_admission::Chain::default(),
            authentication: no_authentication(),
            authorizer: deny_all(),
            clock: Arc::new(SystemClock),
        }
    }

    /// Creates a configuration with `api`, which `documents` describe. By default no user is authenticated,
    /// and only `system:masters` is authorized.
    #[must_use]
    pub fn new(api: Arc<dyn Api>, documents: Documents, version: VersionInfo, clock: Arc<dyn Clock>) -> Self {
        Self {
            api,
            authentication: no_authentication(),
            authorizer: deny_all(),
            always_allowed: authz::ALWAYS_ALLOWED.map(str::to_owned).to_vec(),
            limits: Limits::default(),
            memory: ByteLimiter::new(DEFAULT_BYTES),
            audit: None,
            health: Arc::new(Health::new()),
            metrics: Arc::new(Metrics::new()),
            documents,
            version,
            clock,
        }
    }
}

impl ChainBuilder {
    /// Sets the title of the OpenAPI documents, and the answer of `/version`.
    #[must_use]
    pub fn title(mut self, title: &str, version: VersionInfo) -> Self {
        title.clone_into(&mut self.title);
        self.version = version;
        self
    }

    /// Sets the admission plugins for writes.
    #[must_use]
    pub fn plugins(mut self, plugins: berth_admission::Chain) -> Self {
        self.plugins = plugins;
        self
    }

    /// Sets the authentication of users.
    #[must_use]
    pub fn authentication(mut self, authentication: Authentication) -> Self {
        self.authentication = authentication;
        self
    }

    /// Sets the authorizer.
    #[must_use]
    pub fn authorizer(mut self, authorizer: Arc<dyn Authorizer>) -> Self {
        self.authorizer = authorizer;
        self
    }

    /// Sets the clock; the default is the system clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Returns the configuration; its fields can still be changed.
    ///
    /// # Errors
    /// When a resource is served twice, or is in the wrong group.
    pub fn build(self) -> Result<ChainConfig, InstallError> {
        let api = ApiState::new(&self.groups, self.plugins, Arc::clone(&self.clock))?;
        let documents = Documents::of_groups(&self.title, &self.version.git_version, &self.groups);
        let mut chain = ChainConfig::new(Arc::new(api), documents, self.version, self.clock);
        chain.metrics.count_stored(crate::resource::stored(&self.groups));
        chain.authentication = self.authentication;
        chain.authorizer = self.authorizer;
        Ok(chain)
    }
}
