//! `spec.mode`: whether Berth decides a system or only observes it. (`spec.autoBind` then selects the
//! component that binds new objects.)

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use berth_apimachinery::{Object, Timestamp};
use berth_dialect_contract::Dialect;
use berth_engine::{ConfigurationInForce, Configurations, Engine, Mandate, Requests};
use parking_lot::Mutex;
use serde_json::Value;

use super::own_schedulers::{OwnSchedulerEvidence, OwnSchedulerPolicy};
use super::{SchedulerConfiguration, requests};

/// The value of `spec.mode`: whether Berth decides a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Berth writes and refuses nothing. It reports the decisions of another scheduler.
    Observe,
    /// Berth makes and writes decisions, and protects them from other writers.
    Decide,
}

impl Mode {
    pub(super) const ALL: [Self; 2] = [Self::Observe, Self::Decide];

    /// Returns the value as in `spec.mode`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Observe => "Observe",
            Self::Decide => "Decide",
        }
    }

    /// Returns the mode that a stored SchedulerConfiguration sets, if any.
    #[must_use]
    pub fn of(configuration: &Value) -> Option<Self> {
        let token = configuration["spec"]["mode"].as_str()?;
        Self::ALL.into_iter().find(|mode| mode.as_str() == token)
    }
}

/// Whether Berth decides a system, and if not, the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecidingState {
    /// The system is observed, by a setting or by default.
    Observes,
    /// The system is observed, since the stored configuration is invalid, and there was no valid
    /// configuration since the server started.
    Misconfigured,
    /// The system is observed while its own scheduler runs or may run, and decided afterwards. The value is
    /// the evidence that the scheduler runs or may run.
    Waits(Arc<str>),
    /// The system is decided.
    Decides,
}

/// The modes of the systems of one server, by its flags and the SchedulerConfigurations in force.
pub struct Modes {
    configurations: Arc<Configurations>,
    /// The mode of the command line.
    flag: Option<Mode>,
    /// The systems that are observed by default.
    observed: BTreeSet<&'static str>,
    /// The systems that another process decides.
    decided_elsewhere: BTreeSet<&'static str>,
    own_scheduler_evidence: Arc<OwnSchedulerEvidence>,
    /// The parsed `spec.requests` of each system.
    selected: Mutex<HashMap<String, RequestSelection>>,
}

/// The selection of requests by `spec.requests` of one configuration.
struct RequestSelection {
    configuration: Arc<Object>,
    requests: Option<Arc<Requests>>,
}

impl Modes {
    /// Creates the modes by the configurations of `engine`. From now on, the engine treats a configuration as
    /// valid or invalid as a whole.
    ///
    /// `flag` is the mode of the command line: `Observe` applies to every system and overrides
    /// configurations, and `Decide` applies to systems whose configuration has no mode. `observed` are the
    /// systems on a hub, which have their own schedulers there, so that they are observed by default.
    #[must_use]
    pub fn new(engine: &Engine, flag: Option<Mode>, observed: BTreeSet<&'static str>) -> Self {
        let dialects: Vec<Arc<dyn Dialect>> = engine.dialects().cloned().collect();
        let kind = SchedulerConfiguration::new(dialects);
        let configurations = Arc::clone(engine.configurations());
        configurations.set_judge(Arc::new(move |object| {
            // No rule of this kind depends on the time.
            kind.problems(object.value(), Timestamp::UNIX_EPOCH).is_empty()
        }));
        Self {
            configurations,
            flag,
            observed,
            decided_elsewhere: BTreeSet::new(),
            own_scheduler_evidence: Arc::default(),
            selected: Mutex::default(),
        }
    }

    /// Returns the modes for a process that does not run the controllers of the systems in
    /// `decided_elsewhere`. Another process decides these systems, whose objects are on a hub.
    #[must_use]
    pub fn without_controllers(self, decided_elsewhere: BTreeSet<&'static str>) -> Self {
        Self {
            decided_elsewhere,
            ..self
        }
    }

    /// Returns the evidence that the systems' own schedulers run or may run, which the monitor of their
    /// Leases updates.
    #[must_use]
    pub fn own_scheduler_evidence(&self) -> &Arc<OwnSchedulerEvidence> {
        &self.own_scheduler_evidence
    }

    /// Returns the mode of `dialect` by flag and configuration; `Observe` if there is only an invalid
    /// configuration.
    #[must_use]
    pub fn of(&self, dialect: &str) -> Mode {
        self.mode_under(dialect, &self.configurations.of(dialect))
    }

    /// Returns the mode of `dialect` under the configuration `in_force`.
    fn mode_under(&self, dialect: &str, in_force: &ConfigurationInForce) -> Mode {
        let default_mode = match self.observed.contains(dialect) {
            true => Mode::Observe,
            false => Mode::Decide,
        };
        match (self.flag, in_force) {
            (Some(Mode::Observe), _) | (_, ConfigurationInForce::Unknown) => Mode::Observe,
            (flag, ConfigurationInForce::Nothing) => flag.unwrap_or(default_mode),
            (flag, ConfigurationInForce::Valid(object)) => {
                Mode::of(object.value()).or(flag).unwrap_or(default_mode)
            }
        }
    }

    /// Returns whether Berth decides `dialect`, and if not, the reason.
    #[must_use]
    pub fn deciding_state(&self, dialect: &str) -> DecidingState {
        let in_force = self.configurations.of(dialect);
        if self.mode_under(dialect, &in_force) == Mode::Observe {
            return match in_force {
                ConfigurationInForce::Unknown if self.flag != Some(Mode::Observe) => {
                    DecidingState::Misconfigured
                }
                _ => DecidingState::Observes,
            };
        }
        let Some(evidence) = self.own_scheduler_evidence.of(dialect) else {
            return DecidingState::Decides;
        };
        let policy = in_force.object().map_or(OwnSchedulerPolicy::default(), |object| {
            OwnSchedulerPolicy::of(object.value())
        });
        match policy {
            OwnSchedulerPolicy::Wait => DecidingState::Waits(evidence),
            OwnSchedulerPolicy::Ignore => DecidingState::Decides,
        }
    }
}

impl Mandate for Modes {
    fn decides(&self, dialect: &str) -> bool {
        self.deciding_state(dialect) == DecidingState::Decides
    }

    fn guards(&self, dialect: &str) -> bool {
        !self.decided_elsewhere.contains(dialect) && self.decides(dialect)
    }

    /// Returns the selector of the requests that Berth decides; `None` if Berth decides all of them. If there
    /// is only an invalid configuration, no request is selected, since the intended selection is unknown.
    fn requests(&self, dialect: &str) -> Option<Arc<Requests>> {
        let in_force = match self.configurations.of(dialect) {
            ConfigurationInForce::Nothing => return None,
            ConfigurationInForce::Unknown => return Some(Arc::new(Requests::None)),
            ConfigurationInForce::Valid(object) => object,
        };
        let mut all = self.selected.lock();
        if let Some(selected) = all.get(dialect)
            && Arc::ptr_eq(&selected.configuration, &in_force)
        {
            return selected.requests.clone();
        }
        // The configuration is valid, so its requests can be parsed.
        let requests = requests::read(in_force.value()).unwrap_or_else(|_| Some(Arc::new(Requests::None)));
        let selected = RequestSelection {
            configuration: in_force,
            requests: requests.clone(),
        };
        all.insert(dialect.to_owned(), selected);
        requests
    }
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::write::Verb;
    use berth_apimachinery::{Draft, Key};
    use berth_dialect_contract::config;
    use berth_storage::{Expect, MemoryStore, Source, Step};
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
        let (source, clock) = (
            Arc::clone(store) as Arc<dyn Source>,
            Arc::new(berth_apiserver::SystemClock),
        );
        Modes::new(
            &Engine::new(berth_dialect_registry::all(), source, clock),
            flag,
            observed,
        )
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
        let set = modes(Some(Mode::Decide), &[("fleet", "Observe")]);
        assert!(set.decides("ocm") && !set.decides("fleet"));
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
        modes.decided_elsewhere.insert("ocm");
        assert!(modes.decides("ocm"), "by Bindings");
        assert!(!modes.guards("ocm") && modes.guards("fleet"));
    }

    #[test]
    fn a_system_whose_own_scheduler_runs_is_observed_until_that_is_stopped() {
        let store = Arc::new(MemoryStore::default());
        let modes = over(&store, Some(Mode::Decide));
        let evidence = Arc::clone(modes.own_scheduler_evidence());
        assert!(
            evidence.set("ocm", Some("it renews a Lease")) && !evidence.set("ocm", Some("it renews a Lease"))
        );
        assert_eq!(
            modes.deciding_state("ocm"),
            DecidingState::Waits("it renews a Lease".into())
        );
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
        assert_eq!(modes.deciding_state("ocm"), DecidingState::Observes);
        put(&store, "ocm", &json!({"mode": "Decide"}));
        assert!(!modes.decides("ocm"));
        assert!(evidence.set("ocm", None));
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
    fn an_invalid_configuration_changes_no_mode_and_without_a_valid_one_before_it_the_system_is_observed() {
        let store = Arc::new(MemoryStore::default());
        let modes = over(&store, Some(Mode::Decide));
        let invalid = [
            json!({"mode": "Observe", "autoBind": "Off", "fleet": {"unknown": 1}}),
            json!({"mode": "Observe", "requests": {"selector": {"matchLabels": {"a b": "c"}}}}),
            json!({"mode": "Sometimes"}),
            json!({"mode": "Observe", "autoBind": "Sometimes"}),
        ];
        assert_eq!(modes.deciding_state("fleet"), DecidingState::Decides);
        put(&store, "fleet", &invalid[0]);
        assert_eq!(modes.deciding_state("fleet"), DecidingState::Misconfigured);
        assert!(!modes.decides("fleet") && !modes.guards("fleet") && modes.decides("ocm"));
        put(
            &store,
            "fleet",
            &json!({"mode": "Decide", "otherScheduler": "Ignore"}),
        );
        modes
            .own_scheduler_evidence()
            .set("fleet", Some("it renews a Lease"));
        assert_eq!(modes.deciding_state("fleet"), DecidingState::Decides);
        for spec in &invalid {
            put(&store, "fleet", spec);
            assert_eq!(
                modes.deciding_state("fleet"),
                DecidingState::Decides,
                "{spec}: as before"
            );
        }
        put(&store, "fleet", &json!({"mode": "Observe"}));
        assert_eq!(modes.deciding_state("fleet"), DecidingState::Observes);
        put(
            &store,
            "fleet",
            &json!({"mode": "Decide", "fleet": {"unknown": 1}}),
        );
        assert_eq!(
            modes.deciding_state("fleet"),
            DecidingState::Observes,
            "as before"
        );
        put(&store, "fleet", &json!({}));
        assert_eq!(modes.of("fleet"), Mode::Decide, "the flag again");
    }

    #[test]
    fn an_invalid_configuration_leaves_auto_bind_as_it_was() {
        use crate::AutoBindMode;

        let store = Arc::new(MemoryStore::default());
        let (source, clock) = (
            Arc::clone(&store) as Arc<dyn Source>,
            Arc::new(berth_apiserver::SystemClock),
        );
        let engine = Engine::new(berth_dialect_registry::all(), source, clock);
        let modes = Modes::new(&engine, None, BTreeSet::new());
        assert!(modes.decides("gardener"));
        put(&store, "gardener", &json!({"autoBind": "Off"}));
        assert_eq!(AutoBindMode::in_force(&engine, "gardener"), AutoBindMode::Off);
        put(
            &store,
            "gardener",
            &json!({"autoBind": "Controller", "gardener": {"unknown": 1}}),
        );
        assert_eq!(AutoBindMode::in_force(&engine, "gardener"), AutoBindMode::Off);
        put(&store, "gardener", &json!({"autoBind": "Controller"}));
        assert_eq!(
            AutoBindMode::in_force(&engine, "gardener"),
            AutoBindMode::Controller
        );
    }

    #[test]
    fn an_unknown_mode_says_nothing() {
        assert_eq!(Mode::of(&json!({"spec": {"mode": "decide"}})), None);
        assert_eq!(Mode::of(&json!({"spec": {"mode": "Decide"}})), Some(Mode::Decide));
    }
}
