//! The admission chain: plugins, admission policies and webhooks, in the order of their calls.

mod consulting;
mod selection;

use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_apimachinery::Status;
use berth_apimachinery::write::Guard;
use serde_json::Value;

pub use selection::SelectedPlugins;

use crate::client::Policies;
use crate::plugin::Plugin;
use crate::request::{Operation, Request};
use crate::rights::RightChecker;

/// Phase of admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Mutation of the object.
    Mutate,
    /// Validation of the object.
    Validate,
}

/// One phase of one plugin, or of the whole chain, for one write.
#[derive(Clone, Copy, Debug)]
pub struct PluginPass {
    /// The plugin; `None` for the chain as a whole.
    pub plugin: Option<&'static str>,
    /// Phase of the pass.
    pub phase: Phase,
    /// Operation of the write.
    pub operation: Operation,
    /// Whether the plugin refused the write.
    pub rejected: bool,
    /// Duration of the pass.
    pub took: Duration,
}

/// Observer of passes, for metrics.
pub trait Observer: Send + Sync + 'static {
    /// Called after each pass, with its result and duration.
    fn observed(&self, pass: &PluginPass);
}

/// Plugins, admission policies and webhooks, in the order of their calls.
#[derive(Clone, Default)]
pub struct Chain {
    plugins: Vec<Arc<dyn Plugin>>,
    final_plugins: Vec<Arc<dyn Plugin>>,
    observer: Option<Arc<dyn Observer>>,
    break_glass: Arc<[String]>,
    right_checker: Option<Arc<dyn RightChecker>>,
    policies: Vec<Arc<dyn Policies>>,
}

impl Chain {
    /// Creates the chain of `plugins`, in their order.
    #[must_use]
    pub fn new(plugins: Vec<Arc<dyn Plugin>>) -> Self {
        Self {
            plugins,
            ..Self::default()
        }
    }

    /// Adds a plugin that runs after all plugins, policies and webhooks, such as a quota: a write that they
    /// refuse does not count.
    #[must_use]
    pub fn with_final_plugin(mut self, plugin: Arc<dyn Plugin>) -> Self {
        self.final_plugins.push(plugin);
        self
    }

    /// Sets the `observer` of passes.
    #[must_use]
    pub fn observed_by(self, observer: Arc<dyn Observer>) -> Self {
        Self {
            observer: Some(observer),
            ..self
        }
    }

    /// Sets the groups whose members bypass every plugin that [is a guard](Plugin::is_guard).
    #[must_use]
    pub fn with_break_glass(self, groups: impl Into<Arc<[String]>>) -> Self {
        Self {
            break_glass: groups.into(),
            ..self
        }
    }

    /// Sets the `right_checker` for the rights that plugins [require](Plugin::needs). Without a right
    /// checker, every write that needs a right is refused.
    #[must_use]
    pub fn with_right_checker(self, right_checker: Arc<dyn RightChecker>) -> Self {
        Self {
            right_checker: Some(right_checker),
            ..self
        }
    }

    /// Returns the plugins that handle `request`, for all phases of this write.
    #[must_use]
    pub fn plugins_for<'a>(&'a self, request: &'a Request<'a>) -> SelectedPlugins<'a> {
        SelectedPlugins::new(self, request)
    }

    /// Runs the [final plugins](Chain::with_final_plugin) on the object to store. Returns their guards, in
    /// addition to [`SelectedPlugins::check_rights_to_store`].
    ///
    /// # Errors
    /// The first refusal, as the client sees it.
    pub fn run_final_plugins(
        &self,
        request: &Request<'_>,
        object: Option<&Value>,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<Guard>, Status> {
        let mut guards = Vec::new();
        for plugin in self.final_plugins.iter().filter(|plugin| plugin.handles(request)) {
            let start = Instant::now();
            let result = plugin.validate(request, object, warnings);
            let took = start.elapsed();
            self.report_pass(
                Some(plugin.name()),
                Phase::Validate,
                request,
                result.is_err(),
                took,
            );
            result.map_err(|denied| denied.into_status(request))?;
            guards.extend(plugin.guards(request, object));
        }
        Ok(guards)
    }

    fn report_pass(
        &self,
        plugin: Option<&'static str>,
        phase: Phase,
        request: &Request<'_>,
        rejected: bool,
        took: Duration,
    ) {
        if let Some(observer) = &self.observer {
            observer.observed(&PluginPass {
                plugin,
                phase,
                operation: request.operation,
                rejected,
                took,
            });
        }
    }
}

#[cfg(test)]
mod tests;
