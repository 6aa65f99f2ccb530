//! The plugins that handle one write, in each phase of its admission.

use std::time::Instant;

use berth_apimachinery::Status;
use berth_apimachinery::write::Guard;
use serde_json::Value;

use super::{Chain, Phase};
use crate::plugin::{Plugin, Requirements};
use crate::request::{Denial, Request};
use crate::rights::{RequiredRight, RightCheckError};

/// Key of the audit annotation of a write that guards did not check, because the user is in a break-glass
/// group. The value names the guards.
const BREAK_GLASS: &str = "break-glass";

/// The plugins of a [`Chain`] that handle one request, without the [final plugins](Chain::with_final_plugin).
/// They are selected once, since a write runs them in up to six phases.
pub struct SelectedPlugins<'a> {
    chain: &'a Chain,
    request: &'a Request<'a>,
    active: Vec<&'a dyn Plugin>,
    /// Guards that do not check the write, because the user is in a break-glass group.
    bypassed: Vec<&'a dyn Plugin>,
}

impl<'a> SelectedPlugins<'a> {
    pub(super) fn new(chain: &'a Chain, request: &'a Request<'a>) -> Self {
        let is_bypassed = |plugin: &dyn Plugin| {
            plugin.is_guard() && chain.break_glass.iter().any(|group| request.user.is_in(group))
        };
        let handling = chain.plugins.iter().map(|plugin| &**plugin);
        let (bypassed, active) = handling
            .filter(|plugin| plugin.handles(request))
            .partition(|plugin| is_bypassed(*plugin));
        Self {
            chain,
            request,
            active,
            bypassed,
        }
    }

    /// Waits until every plugin has the data it needs.
    ///
    /// # Errors
    /// When the data does not arrive in time.
    pub async fn ready(&self) -> Result<(), Status> {
        for plugin in &self.active {
            if let Some(ready) = plugin.ready(self.request) {
                ready.await?;
            }
        }
        Ok(())
    }

    /// Runs `mutate` of every plugin on `object`.
    ///
    /// # Errors
    /// The first refusal, as the client sees it.
    pub fn mutate(&self, object: &mut Value, warnings: &mut Vec<String>) -> Result<(), Status> {
        self.pass(Phase::Mutate, |plugin| {
            plugin.mutate(self.request, object, warnings)
        })
    }

    /// Runs `validate` of every plugin on the final object.
    ///
    /// # Errors
    /// The first refusal, as the client sees it.
    pub fn validate(&self, object: Option<&Value>, warnings: &mut Vec<String>) -> Result<(), Status> {
        self.pass(Phase::Validate, |plugin| {
            plugin.validate(self.request, object, warnings)
        })
    }

    /// Checks that the user has every right that an admitted write needs. For a write that is stored, use
    /// [`SelectedPlugins::check_rights_to_store`].
    ///
    /// # Errors
    /// The plugin's refusal, mostly 403, when a right is missing; 500 when the right cannot be checked.
    pub async fn check_rights(&self, object: Option<&Value>) -> Result<(), Status> {
        for plugin in &self.active {
            let rights = plugin.needs(self.request, object);
            self.check(*plugin, &rights).await?;
        }
        Ok(())
    }

    /// Checks that the user has every right that the admitted write needs, and returns the conditions that
    /// must still hold when the write is stored. The conditions also detect changes during this check.
    ///
    /// # Errors
    /// The errors of [`SelectedPlugins::check_rights`].
    pub async fn check_rights_to_store(&self, object: Option<&Value>) -> Result<Vec<Guard>, Status> {
        let active = self.active.iter();
        let all: Vec<Requirements> = active
            .map(|plugin| plugin.requirements(self.request, object))
            .collect();
        let mut guards = Vec::new();
        for (plugin, requirements) in self.active.iter().zip(all) {
            self.check(*plugin, &requirements.rights).await?;
            guards.extend(requirements.guards);
        }
        Ok(guards)
    }

    /// Checks that the user has the `rights` that `plugin` requires.
    async fn check(&self, plugin: &dyn Plugin, rights: &[RequiredRight]) -> Result<(), Status> {
        if rights.is_empty() {
            return Ok(());
        }
        let start = Instant::now();
        let result = self.has_all(rights).await;
        let took = start.elapsed();
        self.chain.report_pass(
            Some(plugin.name()),
            Phase::Validate,
            self.request,
            result.is_err(),
            took,
        );
        result
    }

    /// Returns the rights that [`SelectedPlugins::check_rights`] checks.
    #[must_use]
    pub fn needs(&self, object: Option<&Value>) -> Vec<RequiredRight> {
        let plugins = self.active.iter();
        plugins
            .flat_map(|plugin| plugin.needs(self.request, object))
            .collect()
    }

    async fn has_all(&self, needed: &[RequiredRight]) -> Result<(), Status> {
        let user = self.request.user;
        for RequiredRight { right, refusal } in needed {
            let has = match &self.chain.right_checker {
                Some(checker) => checker.has(user, right).await,
                None => Err(RightCheckError("this server has no authorizer".to_owned())),
            };
            match has {
                Ok(true) => {}
                Ok(false) => return Err(refusal.clone().into_status(self.request)),
                Err(problem) => {
                    return Err(Status::internal(format!(
                        "cannot check whether user \"{}\" may {}: {problem}",
                        user.name,
                        right.to_kubectl_text()
                    )));
                }
            }
        }
        Ok(())
    }

    /// Returns the annotations of the admitted write for the audit log. Keys have no prefix; the values of
    /// equal keys are joined by commas.
    #[must_use]
    pub fn annotations(&self, object: Option<&Value>) -> Vec<(&'static str, String)> {
        let bypassed = self.bypassed.iter();
        let bypassed = bypassed.map(|guard| (BREAK_GLASS, guard.name().to_owned()));
        let active = self.active.iter();
        let active = active.flat_map(|plugin| plugin.annotate(self.request, object));
        let mut list: Vec<(&'static str, String)> = Vec::new();
        for (key, value) in bypassed.chain(active) {
            match list.iter_mut().find(|(known, _)| *known == key) {
                Some((_, text)) => text.extend([",", &value]),
                None => list.push((key, value)),
            }
        }
        list
    }

    fn pass(
        &self,
        phase: Phase,
        mut run: impl FnMut(&dyn Plugin) -> Result<(), Denial>,
    ) -> Result<(), Status> {
        if self.active.is_empty() {
            return Ok(());
        }
        let start = Instant::now();
        let mut plugin_start = start;
        let mut result = Ok(());
        for plugin in &self.active {
            result = run(*plugin);
            let now = Instant::now();
            let took = now - plugin_start;
            self.chain
                .report_pass(Some(plugin.name()), phase, self.request, result.is_err(), took);
            plugin_start = now;
            if result.is_err() {
                break;
            }
        }
        self.chain
            .report_pass(None, phase, self.request, result.is_err(), plugin_start - start);
        result.map_err(|denied| denied.into_status(self.request))
    }
}
