//! Objects seen through a view that are kept elsewhere: the registry has copies of them.

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
    /// The whole object wanted, without a resource version.
    pub object: Value,
    /// Its base, a copy.
    pub current: &'a Object,
    /// Whether to store nothing.
    pub dry_run: bool,
}

/// Store of the objects that a registry has copies of: with its own rules and its own admission, so that
/// nothing is judged here.
#[async_trait]
pub trait Origin: Send + Sync + 'static {
    /// Stores the next state of an object if it still equals its copy, and returns the copy afterwards.
    ///
    /// # Errors
    /// Reason why it was not stored.
    async fn write(&self, write: OriginWrite<'_>) -> Result<Arc<Object>, CommitError>;
}
