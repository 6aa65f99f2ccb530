//! The hub as the origin of the objects that syncers see, if Berth does not store them.

use std::collections::BTreeSet;

use async_trait::async_trait;
use berth_apimachinery::{GroupResource, Status};
use berth_apiserver::view::Origin;

/// A hub that stores the objects that syncers see: it accepts the writes of syncers, and has the newest
/// state.
#[async_trait]
pub trait HubOrigin: Origin {
    /// The names of the objects of `resource` with the label `label` in `namespace`. They are read from the
    /// hub in the version `api_version`, not from copies.
    ///
    /// # Errors
    /// When the hub refuses or does not answer.
    async fn labelled(
        &self,
        api_version: &str,
        resource: GroupResource,
        namespace: &str,
        label: &str,
    ) -> Result<BTreeSet<String>, Status>;
}
