//! Lifecycle of namespaces: creation of the default namespaces, admission of writes in namespaces, and
//! deletion of the content of terminating namespaces.

mod deleter;
mod lifecycle;

use std::sync::Arc;

use berth_apimachinery::write::Verb;
use berth_apimachinery::{Clock, Draft, Key};
use berth_storage::{Expect, Step, Store, StoreError};

pub use deleter::spawn;
pub use lifecycle::NamespaceLifecycle;

use crate::core::namespace;

/// Default namespaces of a standalone server.
pub const DEFAULTS: [&str; 2] = ["default", "kube-system"];

/// Creates the default namespaces where they are missing.
///
/// # Errors
/// When the store rejects the write.
pub async fn ensure_defaults(store: &Arc<dyn Store>, clock: &dyn Clock) -> Result<(), StoreError> {
    for name in DEFAULTS {
        // A start must be possible without a write, since the disk may be full.
        if store.cached(namespace::RESOURCE).get("", name).is_some() {
            continue;
        }
        let draft = Draft::new(&namespace::new(name, clock.now()))
            .map_err(|problem| StoreError::Unavailable(problem.to_string()))?;
        let step = Step {
            verb: Verb::Create,
            key: Key::new(namespace::RESOURCE, "", name),
            subresource: "",
            object: Some(draft),
            expect: Expect::Absent,
            guards: Vec::new(),
        };
        match store.apply(vec![step]).await {
            Ok(_) | Err(StoreError::AlreadyExists { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
