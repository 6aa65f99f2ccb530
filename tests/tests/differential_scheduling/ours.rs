//! Berth's decisions, in the format of the originals' decisions.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::{Key, Object};
use berth_dialect_contract::{Decision, Verb};
use berth_engine::Snapshot;
use berth_scheduling::Ix;
use serde_json::{Map, Value, json};

use crate::system::System;
use crate::world::{Stored, now};

/// A decision, and its world.
pub(crate) struct Decided<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) decision: &'a Decision,
    pub(crate) stored: &'a Stored,
}

/// Decides every demand in the unchanged world.
pub(crate) fn decide(system: &System, stored: &Stored) -> Result<Value, String> {
    let mut world = berth_engine::World::empty(system.dialect());
    if !stored.configuration.is_null() {
        let configured = world.configure(&stored.configuration, "");
        configured.map_err(|errors| berth_apimachinery::field::aggregate(&errors))?;
    }
    for (key, object) in &stored.objects {
        world
            .put(key, Arc::clone(object))
            .map_err(|problem| problem.to_string())?;
    }
    let snapshot = world.snapshot();
    let mut verdicts = Map::new();
    for demand in snapshot.inventory.demands() {
        let decision = match snapshot.decide(&demand, None, now()) {
            Some(Ok(decision)) => decision,
            other => return Err(format!("{demand}: {other:?}")),
        };
        let decided = Decided {
            snapshot,
            decision: &decision,
            stored,
        };
        verdicts.insert(place(&demand), (system.report)(&decided));
    }
    Ok(Value::Object(verdicts))
}

/// The originals' name of a demand.
fn place(demand: &Key) -> String {
    if demand.namespace.is_empty() {
        demand.name.to_string()
    } else {
        format!("{}/{}", demand.namespace, demand.name)
    }
}

impl Decided<'_> {
    pub(crate) fn name(&self, candidate: Ix) -> String {
        self.snapshot.inventory.cluster_name(candidate).to_string()
    }

    /// The picked clusters in order of their rank.
    pub(crate) fn picked(&self) -> Vec<String> {
        let picked = self.decision.solved.picked.iter();
        picked.map(|&candidate| self.name(candidate)).collect()
    }

    /// The filters that refuse each cluster, in order, without duplicates, and with their names from
    /// `rename`.
    pub(crate) fn refused(&self, rename: impl Fn(&'static str, &'static str) -> &'static str) -> Value {
        let inventory = &self.snapshot.inventory;
        let mut refused: BTreeMap<String, Vec<&'static str>> = BTreeMap::new();
        for rejection in &self.decision.solved.rejections {
            let plugin = inventory.filters()[usize::from(rejection.plugin)];
            let filter = rename(plugin, inventory.token(rejection.plugin, rejection.reason));
            let filters = refused.entry(self.name(rejection.candidate)).or_default();
            if !filters.contains(&filter) {
                filters.push(filter);
            }
        }
        json!(refused)
    }

    /// The total scores of the feasible clusters.
    pub(crate) fn totals(&self) -> Value {
        let solved = &self.decision.solved;
        let feasible = solved.feasible.iter();
        let totals = feasible.map(|&candidate| (self.name(candidate), solved.total_of(candidate)));
        json!(totals.collect::<BTreeMap<_, _>>())
    }

    /// The parts of the scores by cluster and scorer, without missing ones.
    pub(crate) fn scores(&self) -> Value {
        let solved = &self.decision.solved;
        let mut scores: BTreeMap<String, BTreeMap<&str, i64>> = BTreeMap::new();
        for column in &solved.scores {
            let scorer = &self.decision.scorers[usize::from(column.plugin)];
            for (&candidate, value) in solved.feasible.iter().zip(&column.values) {
                if let Some(value) = value {
                    let of = scores.entry(self.name(candidate)).or_default();
                    *of.entry(scorer).or_default() += value;
                }
            }
        }
        json!(scores)
    }

    /// Every object after the decision's writes.
    pub(crate) fn after(&self) -> BTreeMap<Key, Value> {
        let objects = self.stored.objects.iter();
        let mut after: BTreeMap<Key, Value> = objects
            .map(|(key, object): (&Key, &Arc<Object>)| (key.clone(), object.parse()))
            .collect();
        for write in self.snapshot.inventory.writes(self.decision) {
            match write.verb {
                Verb::Delete => after.remove(&write.key),
                Verb::Create | Verb::Update => after.insert(write.key, write.object),
            };
        }
        after
    }
}
