//! Limits a plugin to the objects that Berth decides (docs/admission.md, "Guards"). Where another
//! scheduler decides a system or a single request, a guard of decisions would block that scheduler. On
//! a hub, the systems have their own API servers and webhooks, so only guards judge the writes of their own
//! programs.

use std::sync::Arc;

use berth_admission::rights::RequiredRight;
use berth_admission::{Denial, Plugin, Ready, Request};
use berth_apimachinery::write::Guard;
use serde_json::Value;

use super::in_force::Rules;

/// The audit annotation of a write that a rule did not judge; its value names the rule.
const NOT_JUDGED: &str = "not-judged";

/// Rules that a plugin applies.
enum RuleScope {
    /// The rules of one system.
    System(Arc<Rules>),
    /// The rules of all systems. The rules of the resource's system apply.
    ByResource(Vec<Arc<Rules>>),
}

/// A plugin that judges only the objects that Berth decides.
pub(super) struct EntrustedPlugin {
    plugin: Arc<dyn Plugin>,
    scope: RuleScope,
}

impl EntrustedPlugin {
    /// `plugin`, which has the rules of one system, limited to Berth's objects.
    pub(super) fn of(rules: &Arc<Rules>, plugin: Arc<dyn Plugin>) -> Arc<dyn Plugin> {
        let scope = RuleScope::System(Arc::clone(rules));
        Arc::new(Self { plugin, scope })
    }

    /// `plugin`, which judges the objects of every system, limited to Berth's objects.
    pub(super) fn of_all(rules: &[Arc<Rules>], plugin: Arc<dyn Plugin>) -> Arc<dyn Plugin> {
        let scope = RuleScope::ByResource(rules.to_vec());
        Arc::new(Self { plugin, scope })
    }

    /// Whether the plugin does not judge `request`, whose result is `object`.
    fn passes(&self, request: &Request<'_>, object: Option<&Value>) -> bool {
        let is_guard = self.plugin.is_guard();
        let passes = |rules: &Arc<Rules>| rules.pass(request, object, is_guard);
        match &self.scope {
            RuleScope::System(rules) => passes(rules),
            RuleScope::ByResource(all) => {
                let mut applicable = all.iter().filter(|rules| rules.concern(request.resource));
                applicable
                    .next()
                    .is_some_and(|first| passes(first) && applicable.all(passes))
            }
        }
    }
}

impl Plugin for EntrustedPlugin {
    fn name(&self) -> &'static str {
        self.plugin.name()
    }

    fn is_guard(&self) -> bool {
        self.plugin.is_guard()
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        self.plugin.handles(request)
    }

    fn ready<'a>(&'a self, request: &Request<'_>) -> Option<Ready<'a>> {
        if self.passes(request, None) {
            return None;
        }
        self.plugin.ready(request)
    }

    fn mutate(
        &self,
        request: &Request<'_>,
        object: &mut Value,
        warnings: &mut Vec<String>,
    ) -> Result<(), Denial> {
        if self.passes(request, Some(&*object)) {
            return Ok(());
        }
        self.plugin.mutate(request, object, warnings)
    }

    fn validate(
        &self,
        request: &Request<'_>,
        object: Option<&Value>,
        warnings: &mut Vec<String>,
    ) -> Result<(), Denial> {
        if self.passes(request, object) {
            return Ok(());
        }
        self.plugin.validate(request, object, warnings)
    }

    fn needs(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<RequiredRight> {
        if self.passes(request, object) {
            return Vec::new();
        }
        self.plugin.needs(request, object)
    }

    fn guards(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<Guard> {
        if self.passes(request, object) {
            return Vec::new();
        }
        self.plugin.guards(request, object)
    }

    fn annotate(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<(&'static str, String)> {
        if self.passes(request, object) {
            return vec![(NOT_JUDGED, self.plugin.name().to_owned())];
        }
        self.plugin.annotate(request, object)
    }
}
