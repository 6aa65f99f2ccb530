//! The admission chain: plugins, admission policies and webhooks, in the order of their calls.

mod consulting;

use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_apimachinery::Status;
use berth_apimachinery::write::Guard;
use serde_json::Value;

use crate::client::Policies;
use crate::plugin::Plugin;
use crate::request::{Denial, Operation, Request};
use crate::rights::{RequiredRight, RightCheckError, RightChecker};

/// Key of the audit annotation of a write that guards did not check, because the user is in a break-glass
/// group. The value names the guards.
const BREAK_GLASS: &str = "break-glass";

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

    /// Waits until every plugin that handles `request` has the data it needs.
    ///
    /// # Errors
    /// When the data does not arrive in time.
    pub async fn ready(&self, request: &Request<'_>) -> Result<(), Status> {
        for plugin in self.active_plugins(request) {
            if let Some(ready) = plugin.ready(request) {
                ready.await?;
            }
        }
        Ok(())
    }

    /// Runs `mutate` of every plugin on `object`.
    ///
    /// # Errors
    /// The first refusal, as the client sees it.
    pub fn mutate(
        &self,
        request: &Request<'_>,
        object: &mut Value,
        warnings: &mut Vec<String>,
    ) -> Result<(), Status> {
        self.pass(Phase::Mutate, request, |plugin| {
            plugin.mutate(request, object, warnings)
        })
    }

    /// Runs `validate` of every plugin on the final object.
    ///
    /// # Errors
    /// The first refusal, as the client sees it.
    pub fn validate(
        &self,
        request: &Request<'_>,
        object: Option<&Value>,
        warnings: &mut Vec<String>,
    ) -> Result<(), Status> {
        self.pass(Phase::Validate, request, |plugin| {
            plugin.validate(request, object, warnings)
        })
    }

    /// Checks that the user has every right that the admitted write needs. Call [`Chain::guards`] before, so
    /// that the guards detect changes during this check.
    ///
    /// # Errors
    /// The plugin's refusal, mostly 403, when a right is missing; 500 when the right cannot be checked.
    pub async fn check_rights(&self, request: &Request<'_>, object: Option<&Value>) -> Result<(), Status> {
        for plugin in self.active_plugins(request) {
            let needed = plugin.needs(request, object);
            if needed.is_empty() {
                continue;
            }
            let start = Instant::now();
            let result = self.has_all(request, &needed).await;
            let took = start.elapsed();
            self.report_pass(
                Some(plugin.name()),
                Phase::Validate,
                request,
                result.is_err(),
                took,
            );
            result?;
        }
        Ok(())
    }

    /// Returns the rights that [`Chain::check_rights`] checks.
    #[must_use]
    pub fn needs(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<RequiredRight> {
        self.active_plugins(request)
            .flat_map(|plugin| plugin.needs(request, object))
            .collect()
    }

    async fn has_all(&self, request: &Request<'_>, needed: &[RequiredRight]) -> Result<(), Status> {
        for RequiredRight { right, refusal } in needed {
            let has = match &self.right_checker {
                Some(checker) => checker.has(request.user, right).await,
                None => Err(RightCheckError("this server has no authorizer".to_owned())),
            };
            match has {
                Ok(true) => {}
                Ok(false) => return Err(refusal.clone().into_status(request)),
                Err(problem) => {
                    return Err(Status::internal(format!(
                        "cannot check whether user \"{}\" may {}: {problem}",
                        request.user.name,
                        right.to_kubectl_text()
                    )));
                }
            }
        }
        Ok(())
    }

    /// Returns the conditions that must still hold when the admitted write is stored.
    #[must_use]
    pub fn guards(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<Guard> {
        self.active_plugins(request)
            .flat_map(|plugin| plugin.guards(request, object))
            .collect()
    }

    /// Runs the [final plugins](Chain::with_final_plugin) on the object to store. Returns their guards, in
    /// addition to [`Chain::guards`].
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

    /// Returns the annotations of the admitted write for the audit log. Keys have no prefix; the values of
    /// equal keys are joined by commas.
    #[must_use]
    pub fn annotations(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<(&'static str, String)> {
        let mut list: Vec<(&'static str, String)> = Vec::new();
        for plugin in self.plugins.iter().filter(|plugin| plugin.handles(request)) {
            let annotations = if self.is_bypassed(&**plugin, request) {
                vec![(BREAK_GLASS, plugin.name().to_owned())]
            } else {
                plugin.annotate(request, object)
            };
            for (key, value) in annotations {
                match list.iter_mut().find(|(known, _)| *known == key) {
                    Some((_, text)) => text.extend([",", &value]),
                    None => list.push((key, value)),
                }
            }
        }
        list
    }

    fn active_plugins(&self, request: &Request<'_>) -> impl Iterator<Item = &Arc<dyn Plugin>> {
        self.plugins
            .iter()
            .filter(move |plugin| plugin.handles(request) && !self.is_bypassed(&***plugin, request))
    }

    fn is_bypassed(&self, plugin: &dyn Plugin, request: &Request<'_>) -> bool {
        plugin.is_guard() && self.break_glass.iter().any(|group| request.user.is_in(group))
    }

    fn pass(
        &self,
        phase: Phase,
        request: &Request<'_>,
        mut run: impl FnMut(&dyn Plugin) -> Result<(), Denial>,
    ) -> Result<(), Status> {
        let start = Instant::now();
        let mut plugin_start = start;
        let mut result = Ok(());
        let mut ran = false;
        for plugin in self.active_plugins(request) {
            result = run(&**plugin);
            let now = Instant::now();
            self.report_pass(
                Some(plugin.name()),
                phase,
                request,
                result.is_err(),
                now - plugin_start,
            );
            (plugin_start, ran) = (now, true);
            if result.is_err() {
                break;
            }
        }
        if ran {
            self.report_pass(None, phase, request, result.is_err(), plugin_start - start);
        }
        result.map_err(|denied| denied.into_status(request))
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
