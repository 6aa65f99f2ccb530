//! `spec.mode`: whether Berth decides a system or only looks at it. `autoBind` says when, of what is decided.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use berth_apimachinery::Object;
use berth_dialect_contract::config;
use berth_engine::{Mandate, Requests};
use berth_storage::Source;
use parking_lot::Mutex;
use serde_json::Value;

use super::own_schedulers::{OtherScheduler, OwnSchedulers};
use super::requests;

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

/// Whether a system is decided here, and if not, what for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is observed, since nobody says that it is to be decided.
    Observes,
    /// It is to be decided, and is observed while its own scheduler runs: what was seen of that.
    Waits(Arc<str>),
    /// It is decided.
    Decides,
}

/// The modes of the systems of one server, by its flags and the SchedulerConfigurations in force.
pub struct Modes {
    source: Arc<dyn Source>,
    flag: Option<Mode>,
    observed: BTreeSet<&'static str>,
    idle: BTreeSet<&'static str>,
    own_schedulers: Arc<OwnSchedulers>,
    selected: Mutex<HashMap<String, Selected>>,
}

/// Selection made of a configuration's `spec.requests`.
struct Selected {
    seen: Arc<Object>,
    requests: Option<Arc<Requests>>,
}

impl Modes {
    /// The modes by the configurations in `source`.
    ///
    /// `flag` is the mode by the command line: `Observe` is for every system and whatever configurations say, `Decide` for
    /// those whose configuration says nothing. `observed` are the systems that were there before Berth, on a hub, and have
    /// schedulers of their own there: observed until somebody says otherwise. What Berth stores itself nobody else decides.
    #[must_use]
    pub fn new(source: Arc<dyn Source>, flag: Option<Mode>, observed: BTreeSet<&'static str>) -> Self {
        Self {
            source,
            flag,
            observed,
            idle: BTreeSet::new(),
            own_schedulers: Arc::default(),
            selected: Mutex::default(),
        }
    }

    /// The same, where no controller that decides the systems in `idle` runs here, which place objects of a hub's: others
    /// write there.
    #[must_use]
    pub fn leaving(self, idle: BTreeSet<&'static str>) -> Self {
        Self { idle, ..self }
    }

    /// Knowledge of the systems' own schedulers, kept current by whoever looks at them.
    #[must_use]
    pub fn own_schedulers(&self) -> &Arc<OwnSchedulers> {
        &self.own_schedulers
    }

    /// The mode that is asked for, of `dialect`.
    #[must_use]
    pub fn of(&self, dialect: &str) -> Mode {
        if self.flag == Some(Mode::Observe) {
            return Mode::Observe;
        }
        let said = self.stored(dialect).and_then(|object| Mode::of(object.value()));
        said.or(self.flag).unwrap_or(if self.observed.contains(dialect) {
            Mode::Observe
        } else {
            Mode::Decide
        })
    }

    /// Whether `dialect` is decided here.
    #[must_use]
    pub fn standing(&self, dialect: &str) -> Standing {
        if self.of(dialect) == Mode::Observe {
            return Standing::Observes;
        }
        let Some(seen) = self.own_schedulers.of(dialect) else {
            return Standing::Decides;
        };
        let stored = self.stored(dialect);
        let other = stored.map_or(OtherScheduler::default(), |object| {
            OtherScheduler::of(object.value())
        });
        match other {
            OtherScheduler::Wait => Standing::Waits(seen),
            OtherScheduler::Ignore => Standing::Decides,
        }
    }

    fn stored(&self, dialect: &str) -> Option<Arc<Object>> {
        self.source.cached(config::RESOURCE).get("", dialect).cloned()
    }
}

impl Mandate for Modes {
    fn decides(&self, dialect: &str) -> bool {
        self.standing(dialect) == Standing::Decides
    }

    fn guards(&self, dialect: &str) -> bool {
        !self.idle.contains(dialect) && self.decides(dialect)
    }

    /// One that is invalid and got past everything leaves the last good one in force; where there was none, no request is
    /// Berth's, since nobody can tell which are meant.
    fn requests(&self, dialect: &str) -> Option<Arc<Requests>> {
        let stored = self.stored(dialect)?;
        let mut all = self.selected.lock();
        if let Some(selected) = all.get(dialect)
            && Arc::ptr_eq(&selected.seen, &stored)
        {
            return selected.requests.clone();
        }
        let requests = requests::read(stored.value()).unwrap_or_else(|_| match all.get(dialect) {
            Some(before) => before.requests.clone(),
            None => Some(Arc::new(Requests::None)),
        });
        let selected = Selected {
            seen: stored,
            requests: requests.clone(),
        };
        all.insert(dialect.to_owned(), selected);
        requests
    }
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::{Draft, Key};
    use berth_storage::{Expect, MemoryStore, Step, Verb};
    use serde_json::json;

    use super::*;

    fn put(store: &MemoryStore, dialect: &str, spec: &Value) {
        let object = json!({
            "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration",
            "metadata": {"name": dialect}, "spec": spec,
        });
        let is_there = store.cached(config::RESOURCE).get("", dialect).is_some();
        let (verb, expect) = match is_there {
            true => (Verb::Update, Expect::Present),
            false => (Verb::Create, Expect::Absent),
        };
        let step = Step {
            verb,
            key: Key::new(config::RESOURCE, "", dialect),
            subresource: "",
            object: Some(Draft::new(&object).unwrap()),
            expect,
            guards: Vec::new(),
        };
        store.commit(&[step]).unwrap();
    }

    fn over(store: &Arc<MemoryStore>, flag: Option<Mode>) -> Modes {
        let observed = BTreeSet::from(["ocm", "fleet"]);
        Modes::new(Arc::clone(store) as Arc<dyn Source>, flag, observed)
    }

    fn modes(flag: Option<Mode>, stored: &[(&str, &str)]) -> Modes {
        let store = Arc::new(MemoryStore::default());
        for (dialect, mode) in stored {
            put(&store, dialect, &json!({"mode": mode}));
        }
        over(&store, flag)
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
    fn a_system_whose_own_scheduler_runs_is_observed_until_that_is_stopped() {
        let store = Arc::new(MemoryStore::default());
        let modes = over(&store, Some(Mode::Decide));
        let own = Arc::clone(modes.own_schedulers());
        assert!(own.note("ocm", Some("it renews a Lease")) && !own.note("ocm", Some("it renews a Lease")));
        assert_eq!(modes.standing("ocm"), Standing::Waits("it renews a Lease".into()));
        assert!(!modes.decides("ocm") && !modes.guards("ocm") && modes.decides("fleet"));
        put(&store, "ocm", &json!({"otherScheduler": "Ignore"}));
        assert!(
            modes.decides("ocm") && modes.guards("ocm"),
            "beside it, as somebody says"
        );
        put(
            &store,
            "ocm",
            &json!({"mode": "Observe", "otherScheduler": "Ignore"}),
        );
        assert_eq!(modes.standing("ocm"), Standing::Observes);
        put(&store, "ocm", &json!({"mode": "Decide"}));
        assert!(!modes.decides("ocm"));
        assert!(own.note("ocm", None));
        assert!(modes.decides("ocm") && modes.guards("ocm"), "it is stopped");
    }

    #[test]
    fn requests_are_selected_live_and_an_invalid_selection_changes_nothing() {
        let store = Arc::new(MemoryStore::default());
        let modes = over(&store, Some(Mode::Decide));
        let included = |labels: Value| {
            let labels: std::collections::BTreeMap<String, String> = serde_json::from_value(labels).unwrap();
            let requests = modes.requests("ocm");
            requests.is_none_or(|requests| requests.include(&*store, "team", &labels))
        };
        let invalid = json!({"requests": {"selector": {"matchLabels": {"a b": "c"}}}});
        assert!(included(json!({})), "nothing is said");
        put(&store, "ocm", &invalid);
        assert!(!included(json!({})), "nobody can tell which are meant");
        put(
            &store,
            "ocm",
            &json!({"requests": {"selector": {"matchLabels": {"canary": "yes"}}}}),
        );
        assert!(included(json!({"canary": "yes"})) && !included(json!({})));
        put(&store, "ocm", &invalid);
        assert!(
            included(json!({"canary": "yes"})) && !included(json!({})),
            "as before"
        );
        put(&store, "ocm", &json!({"requests": {}}));
        assert!(included(json!({})));
    }

    #[test]
    fn an_unknown_mode_says_nothing() {
        assert_eq!(Mode::of(&json!({"spec": {"mode": "decide"}})), None);
        assert_eq!(Mode::of(&json!({"spec": {"mode": "Decide"}})), Some(Mode::Decide));
    }
}
