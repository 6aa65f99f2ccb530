//! A part of the API for one kind of client: an API of its own below the `proxy` subresource of an
//! object (`…/targets/east/proxy/api/v1/configmaps`), usable as the server URL of a kubeconfig.
//!
//! [`ViewRules`] define the visible objects of the registry, their form, and the treatment of writes.
//! Writes are made as the view's own user: in the registry, or, for copies of a hub's objects, by their
//! [`Origin`]. A [`ViewApi`] is the API around it: discovery, OpenAPI, get, list, watch, update and
//! patch, by the same handlers as everywhere. An object in its stored form is served as the stored
//! bytes.

mod api;
mod kind;
mod origin;
mod source;
mod writes;

use std::sync::Arc;

use async_trait::async_trait;
use berth_admission::{Denial, UserInfo};
use berth_apimachinery::{Key, Object, Revision, Status};
use serde_json::Value;

pub use api::{ViewApi, documents};
pub use origin::{Origin, OriginWrite};
pub use source::ViewSource;

/// View of the objects of a registry for one reader. The form of an object depends on that object
/// alone, so that watches and lists agree. Where it depends on other data, a change of these begins new
/// rules: watches by the former rules end with 410, so that clients list again.
#[async_trait]
pub trait ViewRules: Send + Sync + 'static {
    /// Whether `object` is visible. Called for every object, so it should read little (labels).
    fn sees(&self, object: &Object) -> bool;

    /// Returns the form of `object` in the view, with the same revision, name and uid. Called for invisible
    /// objects too, as a write can make them visible. Returns the object itself where its form is the stored
    /// one. A form without some fields should have no managed fields, as they name these fields.
    fn show(&self, object: &Arc<Object>) -> Arc<Object>;

    /// First revision at which these rules hold. A watch from an earlier revision ends with 410, as its client
    /// may have objects in another form.
    fn since(&self) -> Revision {
        Revision(0)
    }

    /// Whether these rules still hold after the writes up to now.
    fn hold(&self) -> bool {
        true
    }

    /// Ends when these rules no longer hold. Must be cancel safe.
    async fn outlived(&self) {
        std::future::pending().await
    }

    /// The user of the write.
    fn user(&self) -> &UserInfo;

    /// Store of the objects, where the registry does not keep them.
    fn origin(&self) -> Option<&dyn Origin> {
        None
    }

    /// Place for writes to `subresource` (`status`, or the empty string for the object itself).
    fn through(&self, subresource: &'static str) -> &'static str {
        subresource
    }

    /// Waits until the data of [`ViewRules::write`] for `key` are known.
    ///
    /// # Errors
    /// The `Status` the client gets.
    async fn ready(&self, _key: &Key) -> Result<(), Status> {
        Ok(())
    }

    /// Returns the stored object after a write of `written`, the view's form with the client's changes. The
    /// server has compared resource versions, and handles uid, name and other system fields.
    ///
    /// # Errors
    /// The change that the view does not permit.
    fn write(&self, key: &Key, stored: &Value, written: &Value, subresource: &str) -> Result<Value, Denial>;
}
