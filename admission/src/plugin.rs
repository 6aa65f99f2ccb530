//! Admission plugins.

use std::future::Future;
use std::pin::Pin;

use berth_apimachinery::Status;
use berth_apimachinery::write::Guard;
use serde_json::Value;

use crate::request::{Denial, Request};
use crate::rights::RequiredRight;

/// Future that ends when a plugin has its data; an error if the data does not arrive in time.
pub type Ready<'a> = Pin<Box<dyn Future<Output = Result<(), Status>> + Send + 'a>>;

/// Requirements of an admitted write that is stored.
#[derive(Debug, Default)]
pub struct Requirements {
    /// Rights that the user needs, in addition to the right to the write itself.
    pub rights: Vec<RequiredRight>,
    /// Conditions that must still hold when the write is stored.
    pub guards: Vec<Guard>,
}

/// Admission plugin: a set of rules about writes. `mutate` runs before the final defaulting and validation by
/// the schema, `validate` after them.
///
/// A plugin may run behind a webhook, which may be called twice about one write, so `mutate` must be
/// idempotent.
pub trait Plugin: Send + Sync + 'static {
    /// Name of the plugin, for metrics and messages.
    fn name(&self) -> &'static str;

    /// Whether this plugin handles `request`.
    fn handles(&self, request: &Request<'_>) -> bool;

    /// Whether this plugin is a guard: it only restricts who may write a field or object, and members of the
    /// break-glass groups bypass it (docs/admission.md, "Guards").
    fn is_guard(&self) -> bool {
        false
    }

    /// Returns a future that ends when the plugin knows every write that was acknowledged before `request`.
    /// `None` when there is nothing to wait for.
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

    /// Validates the final object, which is `None` on delete. Adds warnings for the client to `warnings`.
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

    /// Returns the rights that the user of an admitted write needs, in addition to the right to the write
    /// itself.
    fn needs(&self, _request: &Request<'_>, _object: Option<&Value>) -> Vec<RequiredRight> {
        Vec::new()
    }

    /// Returns the conditions that must still hold when the admitted write is stored.
    fn guards(&self, _request: &Request<'_>, _object: Option<&Value>) -> Vec<Guard> {
        Vec::new()
    }

    /// Returns the rights of [`Plugin::needs`] and the conditions of [`Plugin::guards`]. A plugin whose
    /// rights and conditions follow from one verdict implements this method, so that both are of one state of
    /// the store.
    fn requirements(&self, request: &Request<'_>, object: Option<&Value>) -> Requirements {
        // The conditions come first, so that they detect changes while the rights are determined.
        let guards = self.guards(request, object);
        let rights = self.needs(request, object);
        Requirements { rights, guards }
    }

    /// Returns annotations of an admitted write for the audit log, as keys without a prefix (such as
    /// `transition`) and values.
    fn annotate(&self, _request: &Request<'_>, _object: Option<&Value>) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}
