//! The fleet as an [`Inventory`].

use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::{Change, Key, Labels, Object, Timestamp};
use berth_dialect_contract::{
    Advisor, Ask, Backoff, ChoiceRefusal, Consequences, Control, Decision, DemandView, Inventory, Pace,
    Phase, PlacedCluster, Quantities, Remedy, TargetView, Targets, UnusableObject, Words, Write,
};
use berth_scheduling::{Ix, Reason, Rejection};
use serde_json::Value;

use crate::code::{Code, Plugin};
use crate::fleet::{Fleet, fold, place_of};
use crate::{decide, remedies, words, writes};

impl Inventory for Fleet {
    fn fork(&self) -> Arc<dyn Inventory> {
        Arc::new(self.clone())
    }

    fn fold(&mut self, change: &Change) -> Consequences {
        fold::fold(self, change)
    }

    /// Empty: every object that fits its schema can be read.
    fn unusable(&self) -> Vec<UnusableObject> {
        Vec::new()
    }

    fn demands(&self) -> Vec<Key> {
        self.toys.keys().cloned().collect()
    }

    fn object(&self, demand: &Key) -> Option<Arc<Object>> {
        self.toys.get(demand).cloned()
    }

    fn demand(&self, demand: &Key, _now: Timestamp) -> Option<DemandView> {
        let object = self.object(demand)?;
        let placed: Vec<PlacedCluster> = place_of(&object)
            .map(|cluster_name| PlacedCluster {
                cluster_name,
                ..PlacedCluster::default()
            })
            .into_iter()
            .collect();
        let phase = if placed.is_empty() {
            Phase::Pending
        } else {
            Phase::Bound
        };
        Some(DemandView {
            object,
            kind: "Toy",
            phase,
            placed,
            wanted: Some(1),
            amount: None,
        })
    }

    fn decide(&self, ask: &Ask<'_>) -> Option<Result<Decision, ChoiceRefusal>> {
        let toy = self.toys.get(ask.demand)?;
        Some(decide::decide(self, toy, ask))
    }

    fn writes(&self, decision: &Decision) -> Vec<Write> {
        writes::writes(decision)
    }

    fn control(&self) -> &dyn Control {
        self
    }

    fn advisor(&self) -> &dyn Advisor {
        self
    }
}

impl Targets for Fleet {
    fn count(&self) -> Ix {
        Ix::try_from(self.boxes.len()).unwrap_or(Ix::MAX)
    }

    fn cluster_name(&self, candidate: Ix) -> Arc<str> {
        let found = self.find(candidate);
        found.map(|(name, _)| Arc::clone(name)).unwrap_or_default()
    }

    fn has_plain_names(&self) -> bool {
        true
    }

    fn candidate(&self, cluster_name: &str) -> Option<Ix> {
        let place = self.boxes.keys().position(|name| **name == *cluster_name)?;
        Ix::try_from(place).ok()
    }

    fn target(&self, candidate: Ix, _now: Timestamp) -> TargetView {
        let name = self.cluster_name(candidate);
        let object = Arc::clone(&self.boxes[&name]);
        TargetView {
            ready: "True",
            ready_reason: "Open",
            ready_message: String::new(),
            cordoned: false,
            taints: Vec::new(),
            capacity: vec![Quantities {
                name: "toys",
                used: self.used(&name),
                limit: object.value()["spec"]["capacity"].as_i64(),
            }],
            region: String::new(),
            zone: String::new(),
            provider: String::new(),
            labels: Labels::default(),
            warnings: Vec::new(),
            due_at: None,
            object,
            cluster_name: name,
        }
    }
}

impl Words for Fleet {
    fn filters(&self) -> &'static [&'static str] {
        &Plugin::NAMES
    }

    fn nouns(&self) -> [&'static str; 2] {
        ["box", "boxes"]
    }

    fn token(&self, _plugin: u16, reason: Reason) -> &'static str {
        Code::of_reason(reason).name()
    }

    fn sentence(&self, _decision: &Decision, candidate: Ix, _plugin: u16, reason: Reason) -> String {
        words::sentence(self, candidate, reason)
    }

    fn not_picked(
        &self,
        _decision: &Decision,
        _candidate: Ix,
        rank: Option<usize>,
    ) -> (&'static str, String) {
        words::not_picked(rank)
    }

    fn message(&self, decision: &Decision) -> String {
        words::message(self, decision)
    }

    /// Empty: toys have no conditions.
    fn conditions(&self, _decision: &Decision) -> Vec<Value> {
        Vec::new()
    }
}

impl Control for Fleet {
    /// Returns a pace that retries toys without a box after a delay.
    fn pace(&self) -> Pace {
        Pace {
            unplaced: Some(Backoff {
                first: Duration::from_secs(15),
                longest: Duration::from_mins(1),
            }),
            ..Pace::default()
        }
    }
}

impl Advisor for Fleet {
    fn remedies(&self, decision: &Decision, candidate: Ix, refusal: Option<&Rejection>) -> Vec<Remedy> {
        refusal.map_or_else(Vec::new, |refusal| {
            remedies::remedies(self, decision, candidate, refusal)
        })
    }
}
