//! Home of the objects that syncers see, if that is not here.

use std::collections::BTreeSet;

use async_trait::async_trait;
use berth_apimachinery::{GroupResource, Status};
use berth_apiserver::view::Origin;

/// A hub that keeps the objects of syncers: it accepts their writes, and has the newest state.
#[async_trait]
pub trait Home: Origin {
    /// The names of the objects of `resource`, served in `api_version`, in `namespace` that have the
    /// label `label`, from the hub now, not from the copies.
    ///
    /// # Errors
    /// The hub's refusal, or that it does not answer.
    async fn labelled(
        &self,
        api_version: &str,
        resource: GroupResource,
        namespace: &str,
        label: &str,
    ) -> Result<BTreeSet<String>, Status>;
}
