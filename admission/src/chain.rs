//! The admission chain: plugins in the order of their calls, and consulted policies.

mod consulting;

use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_apimachinery::Status;
use berth_apimachinery::write::Guard;
use serde_json::Value;

use crate::client::Policies;
use crate::plugin::Plugin;
use crate::request::{Denial, Operation, Request};
use crate::rights::{Authority, RequiredRight, Unknown};

/// Annotation of a write that guards did not check, since its user is in a break-glass group; the value names
/// the guards.
const BREAK_GLASS: &str = "break-glass";

/// The two passes of admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Mutation of the object.
    Mutate,
    /// Validation of the object.
    Validate,
}

/// One pass of one plugin, or of the whole chain, over one write.
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

/// Observer of every pass, for metrics.
pub trait Observer: Send + Sync + 'static {
    /// Called after each pass.
    fn observed(&self, pass: &PluginPass);
}

/// Plugins in the order of their calls, and consulted policies.
#[derive(Clone, Default)]
pub struct Chain {
    plugins: Vec<Arc<dyn Plugin>>,
    last: Vec<Arc<dyn Plugin>>,
    observer: Option<Arc<dyn Observer>>,
    break_glass: Arc<[String]>,
    authority: Option<Arc<dyn Authority>>,
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

    /// Adds `plugin`, which judges writes that all others allow, including the consulted policies and
    /// webhooks: so a refused write does not count against a quota.
    #[must_use]
    pub fn ending_with(mut self, plugin: Arc<dyn Plugin>) -> Self {
        self.last.push(plugin);
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

    /// Sets the `authority` that checks the rights which plugins [need](Plugin::needs). Without one, every
    /// write that needs a right is refused.
    #[must_use]
    pub fn with_authority(self, authority: Arc<dyn Authority>) -> Self {
        Self {
            authority: Some(authority),
            ..self
        }
    }

    /// Waits until every plugin that handles `request` has the data it needs.
    ///
    /// # Errors
    /// When the data does not arrive in time.
    pub async fn ready(&self, request: &Request<'_>) -> Result<(), Status> {
        for plugin in self.acting(request) {
            if let Some(ready) = plugin.ready(request) {
                ready.await?;
            }
        }
        Ok(())
    }

    /// Runs every plugin's `mutate` over `object`.
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

    /// Runs every plugin's `validate` over the final object.
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

    /// Checks that the writer has every right that the admitted write needs. Called after [`Chain::guards`],
    /// so that the guards detect a change between the two calls.
    ///
    /// # Errors
    /// The plugin's refusal, mostly 403, when a right is missing; 500 when the authority does not
    /// answer, or there is none.
    pub async fn entitled(&self, request: &Request<'_>, object: Option<&Value>) -> Result<(), Status> {
        for plugin in self.acting(request) {
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

    /// The rights that [`Chain::entitled`] checks.
    #[must_use]
    pub fn needs(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<RequiredRight> {
        self.acting(request)
            .flat_map(|plugin| plugin.needs(request, object))
            .collect()
    }

    async fn has_all(&self, request: &Request<'_>, needed: &[RequiredRight]) -> Result<(), Status> {
        for RequiredRight { right, refusal } in needed {
            let has = match &self.authority {
                Some(authority) => authority.has(request.user, right).await,
                None => Err(Unknown("this server has no authorizer".to_owned())),
            };
            match has {
                Ok(true) => {}
                Ok(false) => return Err(refusal.clone().into_status(request)),
                Err(problem) => {
                    return Err(Status::internal(format!(
                        "cannot check whether user \"{}\" may {}: {problem}",
                        request.user.name,
                        right.spoken()
                    )));
                }
            }
        }
        Ok(())
    }

    /// Conditions that must still hold when the admitted write is stored.
    #[must_use]
    pub fn guards(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<Guard> {
        self.acting(request)
            .flat_map(|plugin| plugin.guards(request, object))
            .collect()
    }

    /// Runs the last plugins on the final object. Returns the guards of the commit in addition to the guards
    /// of [`Chain::guards`].
    ///
    /// # Errors
    /// The first refusal, as the client sees it.
    pub fn conclude(
        &self,
        request: &Request<'_>,
        object: Option<&Value>,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<Guard>, Status> {
        let mut guards = Vec::new();
        for plugin in self.last.iter().filter(|plugin| plugin.handles(request)) {
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

    /// Annotations of the admitted write for the audit log: keys without a prefix, each once.
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

    fn acting(&self, request: &Request<'_>) -> impl Iterator<Item = &Arc<dyn Plugin>> {
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
        let mut before = start;
        let mut result = Ok(());
        let mut ran = false;
        for plugin in self.acting(request) {
            result = run(&**plugin);
            let now = Instant::now();
            self.report_pass(Some(plugin.name()), phase, request, result.is_err(), now - before);
            (before, ran) = (now, true);
            if result.is_err() {
                break;
            }
        }
        if ran {
            self.report_pass(None, phase, request, result.is_err(), before - start);
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
