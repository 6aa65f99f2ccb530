//! The admission rules of a dialect as its configuration changes them. A change takes effect live; one that is invalid
//! and got past everything leaves the last good one in force (docs/api.md, "Configuration").

use std::sync::Arc;

use admission::{Denied, Guard, Needed, Plugin, Ready, Request};
use dialect_contract::{Dialect, config};
use meta::{GroupResource, Object};
use parking_lot::Mutex;
use serde_json::Value;
use storage::Source;

/// The rules of one dialect.
pub struct Rules {
    dialect: Arc<dyn Dialect>,
    source: Arc<dyn Source>,
    kept: Mutex<Kept>,
}

/// What was made of a configuration.
#[derive(Clone)]
struct Kept {
    /// The configuration.
    seen: Option<Arc<Object>>,
    plugins: Arc<[Arc<dyn Plugin>]>,
    guards: Arc<[GroupResource]>,
}

impl Rules {
    /// The rules of `dialect` by the configuration in `source`.
    pub(super) fn new(dialect: &Arc<dyn Dialect>, source: &Arc<dyn Source>) -> Arc<Self> {
        Arc::new(Self {
            kept: Mutex::new(Kept {
                seen: None,
                plugins: dialect.admission().into(),
                guards: dialect.guards(None).into(),
            }),
            dialect: Arc::clone(dialect),
            source: Arc::clone(source),
        })
    }

    /// The plugins: those of the dialect, one for one.
    pub(super) fn plugins(self: &Arc<Self>) -> Vec<Arc<dyn Plugin>> {
        let plain = self.dialect.admission();
        let numbered = plain.into_iter().enumerate();
        numbered
            .map(|(number, plain)| {
                let rules = Arc::clone(self);
                Arc::new(InForce { rules, number, plain }) as Arc<dyn Plugin>
            })
            .collect()
    }

    /// The resource of these names, if the rules guard it now.
    pub(super) fn guarded(&self, group: &str, resource: &str) -> Option<GroupResource> {
        let guards = self.now().guards;
        let found = guards
            .iter()
            .find(|known| known.group == group && known.resource == resource);
        found.copied()
    }

    fn now(&self) -> Kept {
        let name = self.dialect.name();
        let stored = self.source.cached(config::RESOURCE).get("", name).cloned();
        let mut kept = self.kept.lock();
        let same = match (&kept.seen, &stored) {
            (None, None) => true,
            (Some(seen), Some(stored)) => Arc::ptr_eq(seen, stored),
            _ => false,
        };
        if !same {
            let spec = stored
                .as_ref()
                .and_then(|object| object.value()["spec"].get(name));
            match spec {
                None => {
                    kept.plugins = self.dialect.admission().into();
                    kept.guards = self.dialect.guards(None).into();
                }
                Some(spec) if self.dialect.validate_config(spec, "spec").is_empty() => {
                    kept.plugins = self.dialect.admission_under(spec).into();
                    kept.guards = self.dialect.guards(Some(spec)).into();
                }
                Some(_) => {}
            }
            kept.seen = stored;
        }
        kept.clone()
    }
}

/// One plugin of a dialect, as it is now.
struct InForce {
    rules: Arc<Rules>,
    number: usize,
    /// The plugin without configuration: what it is called and waits for does not depend on one.
    plain: Arc<dyn Plugin>,
}

impl InForce {
    fn now(&self) -> Arc<dyn Plugin> {
        let plugins = self.rules.now().plugins;
        Arc::clone(plugins.get(self.number).unwrap_or(&self.plain))
    }
}

impl Plugin for InForce {
    fn name(&self) -> &'static str {
        self.plain.name()
    }

    fn is_guard(&self) -> bool {
        self.plain.is_guard()
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        self.now().handles(request)
    }

    fn ready<'a>(&'a self, request: &Request<'_>) -> Option<Ready<'a>> {
        self.plain.ready(request)
    }

    fn mutate(
        &self,
        request: &Request<'_>,
        object: &mut Value,
        warnings: &mut Vec<String>,
    ) -> Result<(), Denied> {
        self.now().mutate(request, object, warnings)
    }

    fn validate(
        &self,
        request: &Request<'_>,
        object: Option<&Value>,
        warnings: &mut Vec<String>,
    ) -> Result<(), Denied> {
        self.now().validate(request, object, warnings)
    }

    fn needs(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<Needed> {
        self.now().needs(request, object)
    }

    fn guards(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<Guard> {
        self.now().guards(request, object)
    }

    fn annotate(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<(&'static str, String)> {
        self.now().annotate(request, object)
    }
}

#[cfg(test)]
mod tests;
