//! Builder of a registry.

use std::sync::{Arc, OnceLock};

use berth_admission::Chain;
use berth_apimachinery::Clock;

use super::Registry;
use super::create_hook::CreateHook;
use super::index::{Index, InstallError};
use crate::resource::Group;

/// Builder of a [`Registry`]. Handlers that write through the registry receive the registry from [`handle`].
/// The groups, which contain these handlers, are then added by [`build`](Self::build).
///
/// [`handle`]: RegistryBuilder::handle
#[must_use = "nothing is served before it is built"]
pub struct RegistryBuilder {
    registry: Arc<Registry>,
    create_hook: Option<Arc<dyn CreateHook>>,
}

impl RegistryBuilder {
    pub(super) fn new(chain: Chain, clock: Arc<dyn Clock>) -> Self {
        Self {
            registry: Arc::new(Registry {
                chain,
                clock,
                index: OnceLock::new(),
                create_hook: OnceLock::new(),
                audit: OnceLock::new(),
            }),
            create_hook: None,
        }
    }

    /// Returns the registry under construction, for handlers. It has no resources before
    /// [`build`](Self::build).
    #[must_use]
    pub fn handle(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Sets the hook that acts on each create that a client requests.
    pub fn on_create(mut self, hook: Arc<dyn CreateHook>) -> Self {
        self.create_hook = Some(hook);
        self
    }

    /// Completes the registry with the resources of `groups`, and returns it.
    ///
    /// # Errors
    /// When a resource is a duplicate, or in the wrong group.
    pub fn build(self, groups: &[Group]) -> Result<Arc<Registry>, InstallError> {
        let index = Index::new(groups)?;
        self.registry.index.get_or_init(|| index);
        if let Some(hook) = self.create_hook {
            self.registry.create_hook.get_or_init(|| hook);
        }
        Ok(self.registry)
    }
}
