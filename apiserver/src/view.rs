//! Views: a part of the registry's objects as a separate API for one kind of client, below the `proxy`
//! subresource of an object (`…/targets/east/proxy/api/v1/configmaps`). The URL of the subresource can be the
//! server of a kubeconfig.
//!
//! [`ViewRules`] define the visible objects of the registry, their form, and the treatment of writes. Writes
//! are made as the view's own user: in the registry, or, for copies of a hub's objects, by the [`Origin`] of
//! the view. A [`ViewApi`] is the API of a view: discovery, OpenAPI, get, list, watch, update and patch, by
//! the same handlers as for other requests. An object whose form is the stored form is served as the stored
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

/// Rules of a view of a registry's objects for one reader. The form of an object depends only on the object
/// and on the rules, so that watches and lists agree. If other data affect the form, a change of these data
/// requires new rules: watches by the former rules end with 410, so that clients list again.
#[async_trait]
pub trait ViewRules: Send + Sync + 'static {
    /// Whether `object` is visible. The method is called for every object, so it should be fast: by labels,
    /// for example.
    fn is_visible(&self, object: &Object) -> bool;

    /// Returns the form of `object` in the view, with the same revision, name and UID; `object` itself if
    /// this is the stored form. The method is also called for objects that a write has made invisible. A form
    /// without some fields should have no managed fields, since these would name the missing fields.
    fn show(&self, object: &Arc<Object>) -> Arc<Object>;

    /// First revision at which these rules are valid. A watch from an earlier revision ends with 410, since
    /// its client may have objects in another form.
    fn valid_from(&self) -> Revision {
        Revision(0)
    }

    /// Whether these rules are still valid after the writes up to now.
    fn are_valid(&self) -> bool {
        true
    }

    /// Waits until these rules are no longer valid. Must be cancel safe.
    async fn wait_until_invalid(&self) {
        std::future::pending().await
    }

    /// User under which the view writes.
    fn user(&self) -> &UserInfo;

    /// Store of the objects, if it is not the registry.
    fn origin(&self) -> Option<&dyn Origin> {
        None
    }

    /// Subresource that the registry or the origin writes when a client writes `subresource`: `status`, or
    /// the empty string for the object itself.
    fn written_subresource(&self, subresource: &'static str) -> &'static str {
        subresource
    }

    /// Waits until the data that [`ViewRules::write`] needs for `key` are known.
    ///
    /// # Errors
    /// The `Status` that the client receives.
    async fn ready(&self, _key: &Key) -> Result<(), Status> {
        Ok(())
    }

    /// Returns the object to store when a client writes `written`, the view's form with the client's changes.
    /// The server has compared resource versions, and handles uid, name and other system fields.
    ///
    /// # Errors
    /// When the view does not permit a change.
    fn write(&self, key: &Key, stored: &Value, written: &Value, subresource: &str) -> Result<Value, Denial>;
}
