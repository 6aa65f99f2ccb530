//! Limitation of a plugin to the objects that Berth decides (docs/admission.md, "Guards"). If another
//! scheduler decides a system or a single request, a guard of decisions would block that scheduler.
//!
//! On a hub, a system's own programs are exempt from all plugins except guards, since the system validates
//! their writes with its own API server or webhooks.

use std::sync::Arc;

use berth_admission::rights::RequiredRight;
use berth_admission::{Denial, Plugin, Ready, Request, Requirements};
use berth_apimachinery::write::Guard;
use serde_json::Value;

use super::in_force::Rules;

/// The key of the audit annotation of a write that a plugin did not judge. The value is the name of the
/// plugin.
const NOT_JUDGED: &str = "not-judged";

/// The systems whose rules a plugin has.
enum RuleScope {
    /// One system.
    System(Arc<Rules>),
    /// All systems; for each write, the systems to which the resource belongs count.
    ByResource(Vec<Arc<Rules>>),
}

/// A plugin that judges only the objects that Berth decides.
pub(super) struct EntrustedPlugin {
    plugin: Arc<dyn Plugin>,
    scope: RuleScope,
}

impl EntrustedPlugin {
    /// Limits `plugin`, which has rules of one system, to the objects that Berth decides.
    pub(super) fn of(rules: &Arc<Rules>, plugin: Arc<dyn Plugin>) -> Arc<dyn Plugin> {
        let scope = RuleScope::System(Arc::clone(rules));
        Arc::new(Self { plugin, scope })
    }

    /// Limits `plugin`, which judges objects of every system, to the objects that Berth decides.
    pub(super) fn of_all(rules: &[Arc<Rules>], plugin: Arc<dyn Plugin>) -> Arc<dyn Plugin> {
        let scope = RuleScope::ByResource(rules.to_vec());
        Arc::new(Self { plugin, scope })
    }

    /// Whether the plugin does not judge `request`, whose result is `object`.
    fn exempts(&self, request: &Request<'_>, object: Option<&Value>) -> bool {
        let is_guard = self.plugin.is_guard();
        let exempts = |rules: &Arc<Rules>| rules.exempt(request, object, is_guard);
        match &self.scope {
            RuleScope::System(rules) => exempts(rules),
            RuleScope::ByResource(all) => {
                let mut applicable = all.iter().filter(|rules| rules.include(request.resource));
                applicable
                    .next()
                    .is_some_and(|first| exempts(first) && applicable.all(exempts))
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
        if self.exempts(request, None) {
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
        if self.exempts(request, Some(&*object)) {
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
        if self.exempts(request, object) {
            return Ok(());
        }
        self.plugin.validate(request, object, warnings)
    }

    fn needs(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<RequiredRight> {
        if self.exempts(request, object) {
            return Vec::new();
        }
        self.plugin.needs(request, object)
    }

    fn guards(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<Guard> {
        if self.exempts(request, object) {
            return Vec::new();
        }
        self.plugin.guards(request, object)
    }

    fn requirements(&self, request: &Request<'_>, object: Option<&Value>) -> Requirements {
        if self.exempts(request, object) {
            return Requirements::default();
        }
        self.plugin.requirements(request, object)
    }

    fn annotate(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<(&'static str, String)> {
        if self.exempts(request, object) {
            return vec![(NOT_JUDGED, self.plugin.name().to_owned())];
        }
        self.plugin.annotate(request, object)
    }
}

#[cfg(test)]
mod tests {
    use berth_admission::rights::Right;
    use berth_admission::{Operation, UserInfo};
    use berth_apimachinery::GroupResource;

    use super::*;

    /// A plugin whose requirements are of one verdict, and that must not be asked for one of them alone.
    struct OneVerdict;

    impl Plugin for OneVerdict {
        fn name(&self) -> &'static str {
            "OneVerdict"
        }

        fn handles(&self, _: &Request<'_>) -> bool {
            true
        }

        fn needs(&self, _: &Request<'_>, _: Option<&Value>) -> Vec<RequiredRight> {
            panic!("the rights alone")
        }

        fn guards(&self, _: &Request<'_>, _: Option<&Value>) -> Vec<Guard> {
            panic!("the guards alone")
        }

        fn requirements(&self, _: &Request<'_>, _: Option<&Value>) -> Requirements {
            Requirements {
                rights: vec![RequiredRight::or_forbidden(Right::default(), "no")],
                guards: vec![Guard::pass("fence".into())],
            }
        }
    }

    #[test]
    fn rights_and_guards_of_a_limited_plugin_come_from_one_verdict() {
        let plugin = EntrustedPlugin::of_all(&[], Arc::new(OneVerdict));
        let user = UserInfo::default();
        let request = Request {
            operation: Operation::Create,
            resource: GroupResource::new("g", "foos"),
            kind: "Foo",
            subresource: "",
            namespace: "",
            name: "x",
            user: &user,
            old: None,
            dry_run: false,
        };
        let requirements = plugin.requirements(&request, None);
        assert_eq!((requirements.rights.len(), requirements.guards.len()), (1, 1));
    }
}
