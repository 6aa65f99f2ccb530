//! Access to the API: for Berth's own users and by their RBAC rights, or for the hub's users and by the hub's
//! rights.

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
use crate::hub::{Arrivals, Gate, Hub};

/// API, authentication and authorization of the request pipeline.
pub(super) struct Access {
    pub(super) api: Arc<dyn Api>,
    pub(super) authentication: Authentication,
    pub(super) authorizer: Arc<dyn Authorizer>,
    pub(super) always_allowed: Vec<String>,
}

impl Access {
    /// Access with client certificates of the data folder's CA, and with rights by the RBAC objects
    /// that are served here.
    ///
    /// # Errors
    /// When a CA file cannot be read, or a header name is invalid.
    pub(super) fn alone(options: &Options, folder: &Folder, parts: &Parts) -> Result<Self> {
        Ok(Self {
            api: Arc::clone(&parts.api) as Arc<_>,
            authentication: identity::authentication(options, folder)?,
            authorizer: Arc::clone(&parts.authorizer),
            always_allowed: berth_apiserver::authz::ALWAYS_ALLOWED.map(str::to_owned).to_vec(),
        })
    }

    /// Access for the hub's users, with the rights that the hub grants them.
    pub(super) fn of_hub(
        options: &Options,
        hub: &Hub,
        store: &Arc<dyn Store>,
        parts: &Parts,
        sync_status: &Arc<SyncStatus>,
        clock: &Arc<dyn Clock>,
    ) -> Self {
        let api = Arc::clone(&parts.api) as Arc<_>;
        let client = hub.clients.objects.clone();
        let api = Arc::new(Arrivals::new(api, Arc::clone(store), client));
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
