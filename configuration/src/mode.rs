//! `spec.mode`: whether Berth decides a system or only looks at it. `autoBind` says when, of what is decided.

use std::collections::BTreeSet;
use std::sync::Arc;

use dialect_contract::config;
use engine::Mandate;
use serde_json::Value;
use storage::Source;

/// Whether a system is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing is written and nothing refused: every answer is about what others decide.
    Observe,
    /// Decisions are made and written, and kept from others.
    Decide,
}

impl Mode {
    pub(super) const ALL: [Self; 2] = [Self::Observe, Self::Decide];

    /// The token.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Observe => "Observe",
            Self::Decide => "Decide",
        }
    }

    /// Mode that a stored SchedulerConfiguration sets, if it sets one.
    #[must_use]
    pub fn of(configuration: &Value) -> Option<Self> {
        let said = configuration["spec"]["mode"].as_str()?;
        Self::ALL.into_iter().find(|mode| mode.as_str() == said)
    }
}

/// The modes of the systems of one server, by its flags and the SchedulerConfigurations in force.
pub struct Modes {
    /// Source of the configurations.
    pub source: Arc<dyn Source>,
    /// Mode by the command line. `Observe` is for every system and whatever configurations say;
    /// `Decide` for those whose configuration says nothing.
    pub flag: Option<Mode>,
    /// The systems that were there before Berth, on a hub: observed until somebody says otherwise. What Berth stores itself
    /// nobody else decides.
    pub observed: BTreeSet<&'static str>,
    /// The systems that place objects of a hub's without a controller running here that decides them: others write there.
    pub idle: BTreeSet<&'static str>,
}

impl Modes {
    /// The mode in force of `dialect`.
    #[must_use]
    pub fn of(&self, dialect: &str) -> Mode {
        if self.flag == Some(Mode::Observe) {
            return Mode::Observe;
        }
        let stored = self.source.cached(config::RESOURCE);
        let said = stored
            .get("", dialect)
            .and_then(|object| Mode::of(object.value()));
        said.or(self.flag).unwrap_or(if self.observed.contains(dialect) {
            Mode::Observe
        } else {
            Mode::Decide
        })
    }
}

impl Mandate for Modes {
    fn decides(&self, dialect: &str) -> bool {
        self.of(dialect) == Mode::Decide
    }

    fn guards(&self, dialect: &str) -> bool {
        !self.idle.contains(dialect) && self.decides(dialect)
    }
}

#[cfg(test)]
mod tests {
    use meta::{Draft, Key};
    use serde_json::json;
    use storage::{Expect, MemoryStore, Step, Verb};

    use super::*;

    fn modes(flag: Option<Mode>, stored: &[(&str, &str)]) -> Modes {
        let store = MemoryStore::default();
        for (dialect, mode) in stored {
            let object = json!({
                "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration",
                "metadata": {"name": dialect}, "spec": {"mode": mode},
            });
            let step = Step {
                verb: Verb::Create,
                key: Key::new(config::RESOURCE, "", dialect),
                subresource: "",
                object: Some(Draft::new(&object).unwrap()),
                expect: Expect::Absent,
                guards: Vec::new(),
            };
            store.commit(&[step]).unwrap();
        }
        Modes {
            source: Arc::new(store),
            flag,
            observed: BTreeSet::from(["ocm", "fleet"]),
            idle: BTreeSet::new(),
        }
    }

    #[test]
    fn on_a_hub_nothing_is_decided_until_somebody_says_so() {
        let usual = modes(None, &[("fleet", "Decide"), ("openmcp", "Observe")]);
        assert!(!usual.decides("ocm"), "it was there before Berth");
        assert!(usual.decides("gardener"), "Berth stores it");
        assert!(usual.decides("fleet") && !usual.decides("openmcp"), "as they say");
        let told = modes(Some(Mode::Decide), &[("fleet", "Observe")]);
        assert!(told.decides("ocm") && !told.decides("fleet"));
    }

    #[test]
    fn a_server_that_only_observes_decides_nothing_whatever_configurations_say() {
        let modes = modes(Some(Mode::Observe), &[("fleet", "Decide")]);
        assert!(!modes.decides("fleet") && !modes.decides("gardener") && !modes.guards("fleet"));
    }

    #[test]
    fn what_no_controller_here_decides_is_not_guarded() {
        let mut modes = modes(Some(Mode::Decide), &[]);
        assert!(modes.guards("ocm"));
        modes.idle.insert("ocm");
        assert!(modes.decides("ocm"), "by Bindings");
        assert!(!modes.guards("ocm") && modes.guards("fleet"));
    }

    #[test]
    fn an_unknown_mode_says_nothing() {
        assert_eq!(Mode::of(&json!({"spec": {"mode": "decide"}})), None);
        assert_eq!(Mode::of(&json!({"spec": {"mode": "Decide"}})), Some(Mode::Decide));
    }
}
