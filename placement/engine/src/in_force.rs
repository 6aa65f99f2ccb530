//! The configuration in force of each system: the stored one, or the last valid one while the stored one is
//! invalid (docs/concepts.md, "Configuration"). A configuration is in force as a whole, so every reader of
//! any part uses this module.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use berth_apimachinery::{Change, Object};
use berth_dialect_contract::{Dialect, config};
use berth_storage::{Collection, Source};
use parking_lot::Mutex;
use serde_json::Value;

/// The configuration in force of a system.
#[derive(Clone, Debug)]
pub enum ConfigurationInForce {
    /// No configuration is stored: the defaults apply.
    Nothing,
    /// The stored configuration, or the last valid one.
    Valid(Arc<Object>),
    /// The stored configuration is invalid, and was never valid since it was created, or since this server
    /// started.
    Unknown,
}

impl ConfigurationInForce {
    /// The configuration in force; `None` where the defaults apply, or no configuration is valid.
    #[must_use]
    pub const fn object(&self) -> Option<&Arc<Object>> {
        match self {
            Self::Valid(object) => Some(object),
            Self::Nothing | Self::Unknown => None,
        }
    }

    /// The `spec` of the configuration in force; null where the defaults apply, or no configuration is valid.
    #[must_use]
    pub fn spec(&self) -> &Value {
        self.object()
            .map_or(&Value::Null, |object| &object.value()["spec"])
    }
}

/// Test whether a whole SchedulerConfiguration is valid.
pub type Judge = Arc<dyn Fn(&Object) -> bool + Send + Sync>;

/// The configurations in force of all systems. Since they are read before every write, the verdict on each
/// stored configuration is cached.
pub struct Configurations {
    source: Arc<dyn Source>,
    dialects: Vec<Arc<dyn Dialect>>,
    judge: OnceLock<Judge>,
    /// The stored configurations as of the last read. Another read of the source is only necessary at
    /// another revision.
    stored: Mutex<Collection>,
    verdicts: Mutex<HashMap<&'static str, CachedVerdict>>,
}

/// The verdict on the stored configuration of one system.
struct CachedVerdict {
    /// The configuration that was judged last.
    judged: Arc<Object>,
    /// The last valid configuration.
    valid: Option<Arc<Object>>,
}

impl Configurations {
    pub(crate) fn new(source: Arc<dyn Source>, dialects: Vec<Arc<dyn Dialect>>) -> Self {
        Self {
            source,
            dialects,
            judge: OnceLock::new(),
            stored: Mutex::default(),
            verdicts: Mutex::default(),
        }
    }

    /// Sets the judge of whole configurations, once. Until then, only `spec.<dialect>` is judged.
    pub fn set_judge(&self, judge: Judge) {
        // A second judge would judge in the same way.
        drop(self.judge.set(judge));
    }

    /// The configuration in force of `dialect`, by the stored objects.
    #[must_use]
    pub fn of(&self, dialect: &str) -> ConfigurationInForce {
        let stored = {
            let mut all = self.stored.lock();
            if all.revision != self.source.revision() {
                *all = self.source.cached(config::RESOURCE);
            }
            all.get("", dialect).cloned()
        };
        self.judge_stored(dialect, stored.as_ref())
    }

    /// Judges `stored`, the stored configuration of `dialect`, unless it was judged before. Returns the
    /// configuration in force.
    fn judge_stored(&self, dialect: &str, stored: Option<&Arc<Object>>) -> ConfigurationInForce {
        let mut dialects = self.dialects.iter();
        let Some(dialect) = dialects.find(|known| known.name() == dialect) else {
            return ConfigurationInForce::Nothing;
        };
        let name = dialect.name();
        let mut verdicts = self.verdicts.lock();
        let Some(stored) = stored else {
            if !verdicts.is_empty() {
                verdicts.remove(name);
            }
            return ConfigurationInForce::Nothing;
        };
        let before = verdicts.get(name);
        if before.is_none_or(|before| !Arc::ptr_eq(&before.judged, stored)) {
            let valid = match self.is_valid(&**dialect, stored) {
                true => Some(Arc::clone(stored)),
                false => before.and_then(|before| before.valid.clone()),
            };
            let judged = Arc::clone(stored);
            verdicts.insert(name, CachedVerdict { judged, valid });
        }
        let valid = verdicts.get(name).and_then(|verdict| verdict.valid.clone());
        valid.map_or(ConfigurationInForce::Unknown, ConfigurationInForce::Valid)
    }

    fn is_valid(&self, dialect: &dyn Dialect, stored: &Object) -> bool {
        match self.judge.get() {
            Some(judge) => judge(stored),
            None => is_own_part_valid(dialect, stored),
        }
    }

    /// Returns the change that `dialect` folds for `change` of the stored configuration: a change to the
    /// configuration in force. Where no configuration is valid and `dialect` cannot parse `spec.<dialect>`,
    /// the stored one is folded nevertheless, so that the system reports the problem.
    ///
    /// `None` where there is nothing to fold: a configuration was created that is not in force.
    pub(crate) fn folded(&self, dialect: &dyn Dialect, change: &Change) -> Option<Change> {
        let is_understood = |object: &Arc<Object>| is_own_part_valid(dialect, object);
        let new = match self.judge_stored(dialect.name(), change.new.as_ref()) {
            ConfigurationInForce::Nothing => None,
            ConfigurationInForce::Valid(object) => Some(object),
            ConfigurationInForce::Unknown => change.new.clone().filter(|object| !is_understood(object)),
        };
        (new.is_some() || change.old.is_some()).then(|| Change {
            new,
            ..change.clone()
        })
    }
}

/// Whether `spec.<dialect>` of `configuration` is valid.
fn is_own_part_valid(dialect: &dyn Dialect, configuration: &Object) -> bool {
    let name = dialect.name();
    let part = configuration.value()["spec"].get(name);
    part.is_none_or(|part| {
        let problems = dialect.configuration().validate(part, &format!("spec.{name}"));
        problems.is_empty()
    })
}

/// Whether `change` changes the configuration of `dialect`.
pub(crate) fn is_configuration(change: &Change, dialect: &dyn Dialect) -> bool {
    change.key.resource == config::RESOURCE && *change.key.name == *dialect.name()
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::Draft;
    use berth_apimachinery::write::Verb;
    use berth_dialect_toy::Toys;
    use berth_storage::{Expect, MemoryStore, Step};
    use serde_json::json;

    use super::*;

    struct World {
        store: Arc<MemoryStore>,
        configurations: Configurations,
    }

    impl World {
        /// Configurations whose judge refuses the mode `wrong`, and parts that the system itself
        /// refuses.
        fn new() -> Self {
            let store = Arc::new(MemoryStore::default());
            let source = Arc::clone(&store) as Arc<dyn Source>;
            let configurations = Configurations::new(source, vec![Arc::new(Toys)]);
            configurations.set_judge(Arc::new(|object| {
                object.value()["spec"]["mode"] != "wrong" && is_own_part_valid(&Toys, object)
            }));
            Self {
                store,
                configurations,
            }
        }

        /// Stores a configuration with `spec`, or none; returns the change.
        fn put(&self, spec: Option<Value>) -> Change {
            let key = config::key("toy");
            let old = self.store.cached(config::RESOURCE).get("", "toy").cloned();
            let object = spec.map(|spec| {
                let object = json!({
                    "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration",
                    "metadata": {"name": "toy"}, "spec": spec,
                });
                Draft::new(&object).unwrap()
            });
            let (verb, expect) = match (&old, &object) {
                (None, _) => (Verb::Create, Expect::Absent),
                (Some(_), Some(_)) => (Verb::Update, Expect::Present),
                (Some(_), None) => (Verb::Delete, Expect::Present),
            };
            let step = Step {
                verb,
                key: key.clone(),
                subresource: "",
                object,
                expect,
                guards: Vec::new(),
            };
            self.store.commit(&[step]).unwrap();
            Change {
                revision: self.store.revision(),
                key,
                old,
                new: self.store.cached(config::RESOURCE).get("", "toy").cloned(),
            }
        }

        /// The prefix that the system folds for `change`; null without a configuration.
        fn folded(&self, change: &Change) -> Option<Value> {
            let folded = self.configurations.folded(&Toys, change)?;
            let spec = folded
                .new
                .map(|object| object.value()["spec"]["toy"]["prefix"].clone());
            Some(spec.unwrap_or_default())
        }
    }

    #[test]
    fn all_of_the_last_valid_configuration_is_in_force_until_it_is_gone() {
        let world = World::new();
        let now = || world.configurations.of("toy");
        assert!(matches!(now(), ConfigurationInForce::Nothing));
        let first = world.put(Some(json!({"mode": "wrong", "toy": {"prefix": "a"}})));
        assert!(matches!(now(), ConfigurationInForce::Unknown) && now().spec().is_null());
        assert_eq!(world.folded(&first), None, "its own part counts as little");
        let second = world.put(Some(json!({"toy": {"prefix": 7}})));
        assert!(matches!(now(), ConfigurationInForce::Unknown));
        assert_eq!(
            world.folded(&second),
            Some(json!(7)),
            "the system says what is wrong"
        );
        let third = world.put(Some(json!({"autoBind": "Off", "toy": {"prefix": "b"}})));
        assert_eq!(world.folded(&third), Some(json!("b")));
        let fourth = world.put(Some(json!({"mode": "wrong", "toy": {"prefix": "c"}})));
        assert_eq!(now().spec()["autoBind"], "Off");
        assert_eq!(world.folded(&fourth), Some(json!("b")), "as before");
        let deletion = world.put(None);
        assert!(matches!(now(), ConfigurationInForce::Nothing));
        assert_eq!(world.folded(&deletion), Some(Value::Null));
        world.put(Some(json!({"mode": "wrong"})));
        assert!(
            matches!(now(), ConfigurationInForce::Unknown),
            "a deleted configuration is forgotten"
        );
    }
}
