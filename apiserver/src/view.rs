//! A part of the API for one kind of client: an API of its own below the `proxy` subresource of an
//! object (`…/targets/east/proxy/api/v1/configmaps`), usable as the server URL of a kubeconfig.
//!
//! [`ViewRules`] define the visible objects of the registry, their form, and the treatment of writes. Writes
//! are made as the view's own user: in the registry, or, for copies of a hub's objects, by their [`Origin`].
//! A [`ViewApi`] is the API of a view: discovery, OpenAPI, get, list, watch, update and patch, by the same
//! handlers as for other requests. An object in its stored form is served as the stored bytes.

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

/// Rules of a view of a registry's objects for one reader. The form of an object depends on that object
/// alone, so that watches and lists agree. If the form depends on other data, a change of these data requires
/// new rules: watches by the former rules end with 410, so that clients list again.
#[async_trait]
pub trait ViewRules: Send + Sync + 'static {
    /// Whether `object` is visible. Called for every object, so it should be cheap (labels).
    fn sees(&self, object: &Object) -> bool;

    /// Returns the form of `object` in the view, with the same revision, name and UID. Also called for
    /// invisible objects, since a write can make them visible. Returns the object itself if its form is the
    /// stored form. A form without some fields should have no managed fields, since these name the missing
    /// fields.
    fn show(&self, object: &Arc<Object>) -> Arc<Object>;

    /// First revision at which these rules are valid. A watch from an earlier revision ends with 410, since
    /// its client may have objects in another form.
    fn since(&self) -> Revision {
        Revision(0)
    }

    /// Whether these rules are still valid after the writes up to now.
    fn hold(&self) -> bool {
        true
    }

    /// Waits until these rules are no longer valid. Must be cancel safe.
    async fn outlived(&self) {
        std::future::pending().await
    }

    /// User of the writes.
    fn user(&self) -> &UserInfo;

    /// Store of the objects, if it is not the registry.
    fn origin(&self) -> Option<&dyn Origin> {
        None
    }

    /// Subresource for writes to `subresource` (`status`, or the empty string for the object itself).
    fn through(&self, subresource: &'static str) -> &'static str {
        subresource
    }

    /// Waits until the data that [`ViewRules::write`] needs for `key` are known.
    ///
    /// # Errors
    /// The `Status` that the client receives.
    async fn ready(&self, _key: &Key) -> Result<(), Status> {
        Ok(())
    }

    /// Returns the stored object after a write of `written`, the view's form with the client's changes. The
    /// server has compared resource versions, and handles uid, name and other system fields.
    ///
    /// # Errors
    /// When the view does not permit a change.
    fn write(&self, key: &Key, stored: &Value, written: &Value, subresource: &str) -> Result<Value, Denial>;
}
