//! One admission rule set.

use std::future::Future;
use std::pin::Pin;

use berth_apimachinery::Status;
use berth_apimachinery::write::Guard;
use serde_json::Value;

use crate::request::{Denial, Request};
use crate::rights::RequiredRight;

/// Pending wait for the data of a plugin.
pub type Ready<'a> = Pin<Box<dyn Future<Output = Result<(), Status>> + Send + 'a>>;

/// One admission rule set. `mutate` runs before the final schema defaulting and validation, `validate` after.
///
/// A plugin may run in-process and behind a webhook, and a webhook may be called twice about one write, so
/// mutating must be idempotent.
pub trait Plugin: Send + Sync + 'static {
    /// The plugin's name, for metrics and messages.
    fn name(&self) -> &'static str;

    /// Whether this plugin handles `request`.
    fn handles(&self, request: &Request<'_>) -> bool;

    /// Whether this plugin only limits the writers of fields, so that members of the break-glass group
    /// pass it (docs/admission.md, "Guards").
    fn is_guard(&self) -> bool {
        false
    }

    /// Returns a future that ends when `request` can be judged: when the plugin knows every write that was
    /// acknowledged before. `None` when there is nothing to wait for.
    fn ready<'a>(&'a self, _request: &Request<'_>) -> Option<Ready<'a>> {
        None
    }

    /// Changes the object of an incoming write. Adds warnings for the client to `warnings`.
    ///
    /// # Errors
    /// When the write must be refused.
    fn mutate(
        &self,
        _request: &Request<'_>,
        _object: &mut Value,
        _warnings: &mut Vec<String>,
    ) -> Result<(), Denial> {
        Ok(())
    }

    /// Judges the final object (`None` on delete).
    ///
    /// # Errors
    /// When the write must be refused.
    fn validate(
        &self,
        _request: &Request<'_>,
        _object: Option<&Value>,
        _warnings: &mut Vec<String>,
    ) -> Result<(), Denial> {
        Ok(())
    }

    /// The rights that the writer of an admitted write needs, in addition to the right to the write itself.
    fn needs(&self, _request: &Request<'_>, _object: Option<&Value>) -> Vec<RequiredRight> {
        Vec::new()
    }

    /// Conditions that must still hold when the admitted write is stored.
    fn guards(&self, _request: &Request<'_>, _object: Option<&Value>) -> Vec<Guard> {
        Vec::new()
    }

    /// Annotations of an admitted write for the audit log: keys without a prefix (`transition`) and values.
    fn annotate(&self, _request: &Request<'_>, _object: Option<&Value>) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}
