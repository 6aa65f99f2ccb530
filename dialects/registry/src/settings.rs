//! Settings of the dialects from the program's flags, in addition to their configuration.

use std::sync::Arc;

use berth_apimachinery::GroupResource;
use berth_apimachinery::selector::Selector;
use berth_dialect_contract::{Dialect, SystemUsers};
pub(crate) use berth_dialect_kcp::config::synced_resource;
use berth_dialect_kcp::location_string::{LocationClusterError, check_location_cluster};
use berth_dialect_kcp::{Role, Settings as Kcp};

/// Settings of the dialects: users with a role in a system, in addition to Berth's own users
/// (docs/concepts.md, "Actors"), and settings of kcp.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The users that roll out Fleet's bindings.
    pub fleet_rollout_users: Vec<String>,
    /// The users that act as kcp's coordination controllers.
    pub kcp_coordination_users: Vec<String>,
    /// The resources that follow their namespace in kcp, unless its configuration sets them; `None` is the
    /// default.
    pub kcp_synced_resources: Option<Vec<GroupResource>>,
    /// Whether kcp's configuration can only name resources in `kcp_synced_resources`, as on a hub, where
    /// permissions and webhooks cover only these resources.
    pub kcp_synced_only: bool,
    /// The namespaces that kcp places, unless its configuration sets them; `None` is all namespaces.
    pub kcp_namespace_selector: Option<Selector>,
    /// The cluster of kcp's Locations, unless its configuration sets it; `None` is the default.
    pub kcp_location_cluster: Option<String>,
    /// The URL of all Targets, below which kcp's syncers have their views; `None` if it is not known.
    pub targets_url: Option<String>,
}

impl Settings {
    /// The default settings, but kcp syncs `resources`.
    #[must_use]
    pub fn syncing(resources: Vec<GroupResource>) -> Self {
        Self {
            kcp_synced_resources: Some(resources),
            ..Self::default()
        }
    }

    /// The dialect of KubeFleet with these settings.
    pub(crate) fn fleet(&self) -> Arc<dyn Dialect> {
        berth_dialect_fleet::with(berth_dialect_fleet::admission::Settings {
            rollout_users: SystemUsers::new(self.fleet_rollout_users.iter().map(String::as_str)),
        })
    }

    /// The dialect of kcp with these settings.
    pub(crate) fn kcp(&self) -> Arc<dyn Dialect> {
        let mut settings = Kcp::default();
        let users = self.kcp_coordination_users.iter().cloned();
        settings.users = users.map(|user| (user, Role::Coordination)).collect();
        if let Some(resources) = &self.kcp_synced_resources {
            settings.synced_resources.clone_from(resources);
        }
        settings.synced_only = self.kcp_synced_only;
        if let Some(path) = &self.kcp_location_cluster {
            settings.location_cluster = path.as_str().into();
        }
        if let Some(selector) = &self.kcp_namespace_selector {
            settings.namespace_selector.clone_from(selector);
        }
        settings.targets_url = self.targets_url.as_deref().map(Arc::from);
        berth_dialect_kcp::with(settings)
    }
}

/// Validates the path of a location cluster, such as `root:compute`.
///
/// # Errors
/// When `text` is invalid.
pub(crate) fn location_cluster(text: &str) -> Result<String, LocationClusterError> {
    check_location_cluster(text).map(|()| text.to_owned())
}
