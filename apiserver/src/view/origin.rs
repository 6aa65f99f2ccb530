//! Stores of a view's objects, of which the registry only has copies.

use std::sync::Arc;

use async_trait::async_trait;
use berth_admission::UserInfo;
use berth_apimachinery::write::CommitError;
use berth_apimachinery::{Key, Object};
use serde_json::Value;

/// A write through a view.
pub struct OriginWrite<'a> {
    /// The user of the write.
    pub user: &'a UserInfo,
    /// Key of the object.
    pub key: &'a Key,
    /// Subresource that is written: `status`, or the empty string.
    pub subresource: &'static str,
    /// The whole new object, without a resource version.
    pub object: Value,
    /// Copy on which the write is based.
    pub current: &'a Object,
    /// Whether the write is a dry run, which stores nothing.
    pub dry_run: bool,
}

/// Store of objects of which a registry has copies. It has its own rules and its own admission, so the
/// registry does not validate these writes.
#[async_trait]
pub trait Origin: Send + Sync + 'static {
    /// Stores the next state of an object if it still equals its copy, and returns the new copy.
    ///
    /// # Errors
    /// Reason why the object was not stored.
    async fn write(&self, write: OriginWrite<'_>) -> Result<Arc<Object>, CommitError>;
}
