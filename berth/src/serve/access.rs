//! Access to the API: for the users of a standalone server, with rights by RBAC, or for the users of a hub,
//! with the rights that the hub grants.

use std::sync::Arc;

use anyhow::Result;
use berth_apimachinery::Clock;
use berth_apiserver::authn::Authentication;
use berth_apiserver::{Api, Authorizer};
use berth_certs::Folder;
use berth_hub::SyncStatus;
use berth_storage::Store;

use super::groups::Parts;
use super::{Options, identity};
use crate::hub::{Gate, Hub, NamespaceWaiter};

/// API of the request pipeline, with authentication and authorization.
pub(super) struct Access {
    pub(super) api: Arc<dyn Api>,
    pub(super) authentication: Authentication,
    pub(super) authorizer: Arc<dyn Authorizer>,
    /// Paths that callers may use without any right.
    pub(super) always_allowed: Vec<String>,
}

impl Access {
    /// Access to a standalone server: users have client certificates of the CA in `folder`, or are trusted by
    /// `options`, and RBAC objects in this server grant their rights.
    ///
    /// # Errors
    /// When a CA file cannot be read, or a header name is invalid.
    pub(super) fn standalone(options: &Options, folder: &Folder, parts: &Parts) -> Result<Self> {
        Ok(Self {
            api: Arc::clone(&parts.api) as Arc<_>,
            authentication: identity::authentication(options, folder)?,
            authorizer: Arc::clone(&parts.authorizer),
            always_allowed: berth_apiserver::authz::ALWAYS_ALLOWED.map(str::to_owned).to_vec(),
        })
    }

    /// Access to a server behind a hub: the hub authenticates users, and grants their rights.
    pub(super) fn behind_hub(
        options: &Options,
        hub: &Hub,
        store: &Arc<dyn Store>,
        parts: &Parts,
        sync_status: &Arc<SyncStatus>,
        clock: &Arc<dyn Clock>,
    ) -> Self {
        let api = Arc::clone(&parts.api) as Arc<_>;
        let client = hub.clients.objects.clone();
        let api = Arc::new(NamespaceWaiter::new(api, Arc::clone(store), client));
        Self {
            api: Arc::new(Gate::new(api, Arc::clone(&parts.engine), Arc::clone(sync_status))),
            authentication: hub
                .delegation
                .authentication(options.args.trust.anonymous_auth, clock),
            authorizer: Arc::clone(&parts.authorizer),
            always_allowed: hub.always_allowed(),
        }
    }
}
