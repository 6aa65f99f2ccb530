//! The implementation of [`Inventory`] for Gardener.

use std::sync::Arc;

use berth_admission::Denial;
use berth_apimachinery::selector::Selector;
use berth_apimachinery::{Change, FieldError, GroupResource, Key, Object, Timestamp};
use berth_dialect_contract::control::{Control, Note, Pace};
use berth_dialect_contract::decision::{ChoiceRefusal, Decision};
use berth_dialect_contract::rules::{EffectiveRules, Rules};
use berth_dialect_contract::view::{
    DemandView, Phase, PlacedCluster, Quantities, Taint, TargetView, UnusableObject,
};
use berth_dialect_contract::{
    Advisor, Ask, Consequences, Edit, Guards, Inventory, Remedy, Targets, Words, Write,
};
use berth_scheduling::{Ix, Reason, Rejection};
use serde_json::{Value, json};

use crate::code::{Code, Plugin};
use crate::detail::Detail;
use crate::fleet::seed::{Row, unready};
use crate::fleet::{Fleet, OccupiedSeeds};
use crate::fleet::{exposure, project};
use crate::kind::common::condition;
use crate::names::{PROJECTS, SEEDS, SHOOTS};
use crate::{binding, cross_checks, notes, remedies, words, writes};

impl Inventory for Fleet {
    fn fork(&self) -> Arc<dyn Inventory> {
        Arc::new(self.clone())
    }

    fn set_on_hub(&mut self) {
        self.on_hub = true;
    }

    fn fold(&mut self, change: &Change) -> Consequences {
        self.apply_change(change)
    }

    fn unusable(&self) -> Vec<UnusableObject> {
        self.unusable.list()
    }

    fn problem(&self, key: &Key) -> Option<String> {
        self.unusable.problem(key)
    }

    fn demands(&self) -> Vec<Key> {
        let readable = self.shoots.iter().filter(|(_, entry)| entry.record.is_ok());
        readable.map(|(key, _)| key.clone()).collect()
    }

    fn object(&self, demand: &Key) -> Option<Arc<Object>> {
        self.shoot(demand).map(|shoot| Arc::clone(&shoot.object))
    }

    fn demand(&self, demand: &Key, _now: Timestamp) -> Option<DemandView> {
        let shoot = self.shoot(demand)?;
        let phase = match (&shoot.seed, shoot.deleting) {
            (Some(_), true) => Phase::Releasing,
            (Some(_), false) => Phase::Bound,
            (None, false) if shoot.requirements.is_ours() => Phase::Pending,
            // The Shoot is for another scheduler, or is being deleted without a Seed.
            (None, _) => Phase::Ignored,
        };
        let placed = shoot.seed.iter().map(|name| PlacedCluster {
            cluster_name: Arc::clone(name),
            ..PlacedCluster::default()
        });
        Some(DemandView {
            object: Arc::clone(&shoot.object),
            kind: "Shoot",
            phase,
            placed: placed.collect(),
            wanted: Some(1),
            amount: None,
        })
    }

    fn decide(&self, ask: &Ask<'_>) -> Option<Result<Decision, ChoiceRefusal>> {
        self.decide_shoot(ask)
    }

    fn writes(&self, decision: &Decision) -> Vec<Write> {
        writes::writes(self, decision)
    }

    fn control(&self) -> &dyn Control {
        self
    }

    fn advisor(&self) -> &dyn Advisor {
        self
    }

    fn guarding(&self) -> &dyn Guards {
        self
    }
}

impl Targets for Fleet {
    fn count(&self) -> Ix {
        self.seeds()
    }

    fn cluster_name(&self, candidate: Ix) -> Arc<str> {
        Arc::clone(&self.row(candidate).name)
    }

    fn has_plain_names(&self) -> bool {
        true
    }

    fn candidate(&self, cluster_name: &str) -> Option<Ix> {
        self.seed(cluster_name).map(|(candidate, _)| candidate)
    }

    fn target(&self, candidate: Ix, _now: Timestamp) -> TargetView {
        target(self.row(candidate), self.rules())
    }
}

impl Words for Fleet {
    fn filters(&self) -> &'static [&'static str] {
        &Plugin::NAMES
    }

    fn token(&self, _plugin: u16, reason: Reason) -> &'static str {
        Code::of_reason(reason).name()
    }

    fn sentence(&self, decision: &Decision, candidate: Ix, _plugin: u16, reason: Reason) -> String {
        let minimum = decision.detail::<Detail>().and_then(|detail| detail.minimum);
        match self.shoot(&decision.demand) {
            Some(shoot) => words::refusal(self, self.row(candidate), &shoot.requirements, minimum, reason),
            None => String::new(),
        }
    }

    fn alike(&self, _decision: &Decision, _candidate: Ix, _plugin: u16, reason: Reason) -> Option<u32> {
        words::is_alike(reason).then_some(0)
    }

    fn nouns(&self) -> [&'static str; 2] {
        ["Seed", "Seeds"]
    }

    fn asked_labels<'a>(&'a self, decision: &'a Decision, filter: u16) -> Option<&'a Selector> {
        let requirements = &self.shoot(&decision.demand)?.requirements;
        if filter == Plugin::ShootSelector.number() {
            Some(&requirements.selector)
        } else if filter == Plugin::CloudProfileSelector.number() {
            self.profile_of(requirements).map(|profile| &profile.selector)
        } else {
            None
        }
    }

    fn label(&self, candidate: Ix, key: &str) -> Option<&str> {
        self.row(candidate).record.labels.get(key)
    }

    /// The number of changes that lift a refusal. A refusal for the deletion, the region or the provider type
    /// of a Seed is final.
    fn steps(&self, reason: Reason) -> usize {
        words::steps(reason)
    }

    fn only_in_region(&self, decision: &Decision, candidate: Ix) -> Option<&str> {
        words::only_in_region(self, decision, candidate)
    }

    fn rules_in_force(&self) -> Option<EffectiveRules> {
        Some(self.in_force())
    }

    fn warnings(&self, decision: &Decision) -> Vec<String> {
        words::warnings(self, decision)
    }

    fn not_picked(&self, decision: &Decision, candidate: Ix, _rank: Option<usize>) -> (&'static str, String) {
        words::not_picked(self, decision, candidate)
    }

    fn message(&self, decision: &Decision) -> String {
        words::message(self, decision)
    }

    /// No conditions: Gardener reports scheduling in events and in `status.lastOperation`
    /// (docs/systems/gardener.md, "Events").
    fn conditions(&self, _decision: &Decision) -> Vec<Value> {
        Vec::new()
    }
}

impl Control for Fleet {
    fn pace(&self) -> Pace {
        notes::pace(&self.config)
    }

    fn notes(&self, decision: &Decision, wrote: bool) -> Option<Vec<Note>> {
        Some(notes::notes(self, decision, wrote))
    }
}

impl Advisor for Fleet {
    /// Proposes to hide the Seed and to remove each Shoot from it, so that a plan shows the destinations of
    /// migrations: Gardener never moves a control plane by itself.
    fn drain(&self, cluster_name: &str, _now: Timestamp) -> Option<Vec<Edit>> {
        self.seed(cluster_name)?;
        let hide = Edit::Merge {
            key: Key::new(SEEDS, "", cluster_name),
            patch: json!({"spec": {"settings": {"scheduling": {"visible": false}}}}),
        };
        let removals = self.on_seed(cluster_name).map(|(shoot, occupied)| Edit::Merge {
            key: shoot.clone(),
            patch: removal(occupied, cluster_name),
        });
        Some(std::iter::once(hide).chain(removals).collect())
    }

    fn remedies(&self, decision: &Decision, candidate: Ix, refusal: Option<&Rejection>) -> Vec<Remedy> {
        remedies::remedies(self, decision, candidate, refusal)
    }
}

impl Guards for Fleet {
    fn users(&self, key: &Key, most: usize) -> (Vec<Key>, usize) {
        self.users_of(key, most)
    }

    fn judge(&self, resource: GroupResource, old: Option<&Value>, new: &Value) -> Vec<FieldError> {
        match resource {
            SHOOTS => cross_checks::shoot_errors(self, old, new),
            PROJECTS => project::namespace_errors(self, old, new),
            SEEDS => cross_checks::seed_errors(self, old, new),
            _ => Vec::new(),
        }
    }

    fn complete(&self, resource: GroupResource, new: &mut Value) -> Vec<FieldError> {
        match resource == SHOOTS {
            true => exposure::merge(self, new),
            false => Vec::new(),
        }
    }

    fn judge_offline(&self, resource: GroupResource, new: &Value) -> Vec<FieldError> {
        match resource == SHOOTS {
            true => cross_checks::file_errors(self, new),
            false => Vec::new(),
        }
    }

    fn own_binding(&self, old: &Value, new: &mut Value) -> Result<Vec<Arc<str>>, Denial> {
        binding::check_binding(self, old, new)
    }
}

/// The patch that takes a shoot on the seeds `occupied` off the seed `name`. A shoot that moves between seeds
/// keeps the other one.
fn removal(occupied: &OccupiedSeeds, name: &str) -> Value {
    let OccupiedSeeds([spec, status]) = occupied;
    let mut patch = json!({});
    if spec.as_deref() == Some(name) {
        patch["spec"]["seedName"] = Value::Null;
    }
    // Without a seed of its own, the status has that of the spec, or none.
    if status.as_deref().is_none_or(|seed| seed == name) {
        patch["status"]["seedName"] = Value::Null;
    }
    patch
}

/// The view of the seed in `row`.
fn target(row: &Row, rules: Rules) -> TargetView {
    let record = &row.record;
    let provider = &record.seed.spec.provider;
    let (ready, ready_reason, ready_message) = readiness(row, rules);
    let taints = record.seed.spec.taints.iter();
    TargetView {
        object: Arc::clone(&record.object),
        cluster_name: Arc::clone(&row.name),
        ready,
        ready_reason,
        ready_message,
        cordoned: row.facts.deleting || row.facts.stopped || !row.facts.visible.under(rules),
        taints: taints.map(Taint::from).collect(),
        capacity: vec![Quantities {
            name: "shoots",
            used: row.used,
            limit: row.facts.limit,
        }],
        region: provider.region.clone(),
        zone: provider.zones.join(","),
        provider: provider.r#type.clone(),
        labels: record.labels.clone(),
        warnings: Vec::new(),
        due_at: None,
    }
}

/// The status, the reason and the message about the readiness of the seed in `row`.
fn readiness(row: &Row, rules: Rules) -> (&'static str, &'static str, String) {
    if row.facts.deleting {
        return ("False", "Deleting", "the seed is being deleted".to_owned());
    }
    let seed = &row.record.seed;
    let Some((name, status)) = unready(seed, rules) else {
        if rules == Rules::Current && !row.facts.reconciled {
            let message = "the seed was never reconciled: status.lastOperation is missing";
            return ("Unknown", "NeverReconciled", message.to_owned());
        }
        return ("True", "SeedReady", "the seed can run control planes".to_owned());
    };
    let detail = condition(&seed.status.conditions, name).map(|condition| condition.message.as_str());
    let detail = detail
        .filter(|message| !message.is_empty())
        .map(|message| format!(": {message}"))
        .unwrap_or_default();
    match status {
        "" => (
            "Unknown",
            "ConditionMissing",
            format!("condition {name} is missing"),
        ),
        "Unknown" => (
            "Unknown",
            "SeedUnknown",
            format!("condition {name} is Unknown{detail}"),
        ),
        other => (
            "False",
            "SeedNotReady",
            format!("condition {name} is {other}{detail}"),
        ),
    }
}
