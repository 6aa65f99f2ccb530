//! The admission rules of a dialect, which depend on the configuration, and their exemptions. A change
//! of the configuration takes effect without a restart. If an invalid configuration is stored nevertheless,
//! the last valid configuration stays in force (docs/concepts.md, "Configuration").

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_admission::rights::RequiredRight;
use berth_admission::{Denial, Plugin, Ready, Request, Requirements};
use berth_apimachinery::write::Guard;
use berth_apimachinery::{GroupResource, Key, LabelSet, Object};
use berth_dialect_contract::{Dialect, SystemUsers, config};
use berth_engine::Engine;
use berth_storage::Collection;
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;

/// The admission rules of one dialect by the configuration in force.
pub struct Rules {
    dialect: Arc<dyn Dialect>,
    engine: Arc<Engine>,
    /// The resources of the dialect's kinds and of its demands.
    resources: BTreeSet<GroupResource>,
    parsed: Mutex<ParsedConfiguration>,
}

/// The parsed configuration of one dialect.
struct ParsedConfiguration {
    /// The stored configurations of all dialects.
    all: Collection,
    /// The configuration of the dialect that is in force; `None` while the defaults apply.
    current: Option<Arc<Object>>,
    plugins: Vec<Arc<dyn Plugin>>,
    guards: Arc<[GroupResource]>,
    users: SystemUsers,
}

impl Rules {
    /// Creates the rules of `dialect`, a dialect of `engine`. The configuration comes from the source of the
    /// engine.
    pub(super) fn new(dialect: &Arc<dyn Dialect>, engine: &Arc<Engine>) -> Arc<Self> {
        let kinds = dialect.kinds().into_iter().map(|kind| kind.info().resource());
        let demands = dialect.demands().iter().map(|demand| demand.resource);
        Arc::new(Self {
            parsed: Mutex::new(ParsedConfiguration {
                all: Collection::default(),
                current: None,
                plugins: dialect.admission(),
                guards: dialect.configuration().guards(None).into(),
                users: SystemUsers::new(dialect.on_hub().users.iter().copied()),
            }),
            resources: kinds.chain(demands).collect(),
            dialect: Arc::clone(dialect),
            engine: Arc::clone(engine),
        })
    }

    /// Whether `resource` belongs to the system of the dialect.
    pub(super) fn include(&self, resource: GroupResource) -> bool {
        self.resources.contains(&resource)
    }

    /// Whether the rules do not judge `request`, whose result is `object`. `is_guard` is true for
    /// guards of decisions, from which the system's own programs are not exempt.
    pub(super) fn exempt(&self, request: &Request<'_>, object: Option<&Value>, is_guard: bool) -> bool {
        !self.engine.guards(self.dialect.name())
            || !is_guard && self.configuration().users.includes(&request.user.name)
            || self.is_of_other_scheduler(request, object)
    }

    /// Whether another scheduler decides all demands whose decisions `request` writes.
    fn is_of_other_scheduler(&self, request: &Request<'_>, object: Option<&Value>) -> bool {
        let name = self.dialect.name();
        let Some(requests) = self.engine.requests(name) else {
            return false;
        };
        let source = &**self.engine.source();
        let mut demands = self.dialect.demands().iter();
        if demands.any(|demand| demand.resource == request.resource) {
            // The state before the write counts: otherwise a write that moves an object to another scheduler
            // could change the decision, too.
            let state = request.old.or(object);
            return state
                .is_some_and(|object| !requests.include(source, request.namespace, &LabelsOf(object)));
        }
        let Some(snapshot) = self.engine.snapshot(name) else {
            return false;
        };
        let guarding = snapshot.inventory.guarding();
        let holders = guarding.decisions_in(request.resource, request.old, object);
        holders.is_some_and(|holders| {
            // An unknown demand does not count as Berth's.
            let is_foreign = |key: &Key| {
                let demand = snapshot.inventory.object(key);
                demand.is_none_or(|demand| !requests.include(source, &key.namespace, demand.meta().labels()))
            };
            holders.iter().all(is_foreign)
        })
    }

    /// Returns the plugins of the dialect. Each follows the configuration in force.
    pub(super) fn plugins(self: &Arc<Self>) -> Vec<Arc<dyn Plugin>> {
        let plain = self.dialect.admission();
        let numbered = plain.into_iter().enumerate();
        numbered
            .map(|(number, plain)| {
                let rules = Arc::clone(self);
                Arc::new(ConfiguredPlugin { rules, number, plain }) as Arc<dyn Plugin>
            })
            .collect()
    }

    /// Returns the resource with this group and name if the configuration in force guards it.
    pub(super) fn guarded(&self, group: &str, resource: &str) -> Option<GroupResource> {
        let guards = self.guards();
        let found = guards
            .iter()
            .find(|known| known.group == group && known.resource == resource);
        found.copied()
    }

    fn guards(&self) -> Arc<[GroupResource]> {
        Arc::clone(&self.configuration().guards)
    }

    fn plugin(&self, number: usize) -> Option<Arc<dyn Plugin>> {
        self.configuration().plugins.get(number).map(Arc::clone)
    }

    /// Returns the configuration in force. Every request reads the configuration several times for each plugin,
    /// so the parsed form is cached until a change, and the source is only read again at another revision.
    fn configuration(&self) -> MutexGuard<'_, ParsedConfiguration> {
        let source = self.engine.source();
        let mut parsed = self.parsed.lock();
        if parsed.all.revision != source.revision() {
            let all = source.cached(config::RESOURCE);
            if !parsed.all.ptr_eq(&all) {
                self.update(&mut parsed);
            }
            parsed.all = all;
        }
        parsed
    }

    fn update(&self, parsed: &mut ParsedConfiguration) {
        let name = self.dialect.name();
        let in_force = self.engine.configuration(name);
        let same = match (&parsed.current, in_force.object()) {
            (None, None) => true,
            (Some(current), Some(object)) => Arc::ptr_eq(current, object),
            _ => false,
        };
        if same {
            return;
        }
        let configured = in_force.spec();
        parsed.users = SystemUsers::of(configured, self.dialect.on_hub().users);
        let (configuration, spec) = (self.dialect.configuration(), configured.get(name));
        let changed = configuration.admission_under(spec, &parsed.users);
        parsed.plugins = changed.unwrap_or_else(|| self.dialect.admission());
        parsed.guards = configuration.guards(spec).into();
        parsed.current = in_force.object().cloned();
    }
}

/// The labels of an object in a request.
pub(super) struct LabelsOf<'a>(pub(super) &'a Value);

impl LabelSet for LabelsOf<'_> {
    fn value(&self, key: &str) -> Option<&str> {
        self.0["metadata"]["labels"][key].as_str()
    }
}

/// A plugin of a dialect that follows the configuration in force.
struct ConfiguredPlugin {
    rules: Arc<Rules>,
    /// The position of the plugin in the list of the dialect.
    number: usize,
    /// The plugin by the defaults. Name, readiness and [`Plugin::is_guard`] do not depend on the
    /// configuration.
    plain: Arc<dyn Plugin>,
}

impl ConfiguredPlugin {
    /// Returns the plugin by the configuration in force.
    fn current(&self) -> Arc<dyn Plugin> {
        let plugin = self.rules.plugin(self.number);
        plugin.unwrap_or_else(|| Arc::clone(&self.plain))
    }
}

impl Plugin for ConfiguredPlugin {
    fn name(&self) -> &'static str {
        self.plain.name()
    }

    fn is_guard(&self) -> bool {
        self.plain.is_guard()
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        self.current().handles(request)
    }

    fn ready<'a>(&'a self, request: &Request<'_>) -> Option<Ready<'a>> {
        self.plain.ready(request)
    }

    fn mutate(
        &self,
        request: &Request<'_>,
        object: &mut Value,
        warnings: &mut Vec<String>,
    ) -> Result<(), Denial> {
        self.current().mutate(request, object, warnings)
    }

    fn validate(
        &self,
        request: &Request<'_>,
        object: Option<&Value>,
        warnings: &mut Vec<String>,
    ) -> Result<(), Denial> {
        self.current().validate(request, object, warnings)
    }

    fn needs(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<RequiredRight> {
        self.current().needs(request, object)
    }

    fn guards(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<Guard> {
        self.current().guards(request, object)
    }

    fn requirements(&self, request: &Request<'_>, object: Option<&Value>) -> Requirements {
        self.current().requirements(request, object)
    }

    fn annotate(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<(&'static str, String)> {
        self.current().annotate(request, object)
    }
}

#[cfg(test)]
mod tests;
