//! Berth's side: the dialect's inventory of the same file.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, ensure};
use berth_apimachinery::{Change, GroupResource, Key, Kind, Object, Revision, Timestamp};
use berth_dialect_contract::{Ask, Decision, Inventory, config};
use berth_tests::bench::middle::millis;
use serde_json::{Value, json};

use crate::fleets::Fleet;

/// The instant of all decisions.
const NOW: &str = "2021-10-28T09:00:00Z";

/// A fleet in the engine.
pub(crate) struct Ours {
    hub: Arc<dyn Inventory>,
    kinds: Vec<Arc<dyn Kind>>,
    /// The unchanged form of a cluster that is changed before a decision.
    cluster: Value,
    /// Whether the picked clusters are in rank order; otherwise they are in order of names.
    ordered: bool,
    namespace: &'static str,
    demands: GroupResource,
    now: Timestamp,
}

/// A decision.
pub(crate) struct Decided {
    /// The clusters, with their shares where the system divides one, in rank order where the original reports
    /// its order, otherwise in order of names.
    pub(crate) picked: Vec<String>,
    /// The total scores of the clusters, where the system adds scores.
    pub(crate) scores: BTreeMap<String, i64>,
}

impl Ours {
    /// Reads every object of a fleet's file.
    pub(crate) fn read(fleet: &Fleet, file: &Path) -> Result<Self> {
        let dialect = berth_dialect_registry::by_name(fleet.dialect).context("there is such a dialect")?;
        let world: Value = serde_json::from_slice(&std::fs::read(file)?)?;
        let demands = dialect.demands().first().context("it has demands")?.resource;
        let mut ours = Self {
            hub: dialect.inventory(),
            kinds: dialect.kinds(),
            cluster: world["clusters"][1].clone(),
            ordered: fleet.dialect == "ocm",
            namespace: fleet.namespace,
            demands,
            now: NOW.parse().map_err(|problem| anyhow!("{problem}"))?,
        };
        let lists = world.as_object().context("a fleet is an object")?;
        for object in lists.values().filter_map(Value::as_array).flatten() {
            ours.fold(object)?;
        }
        Ok(ours)
    }

    fn fold(&mut self, value: &Value) -> Result<()> {
        let text = |name: &str| value["metadata"][name].as_str().unwrap_or_default();
        let kind = self.kinds.iter().find(|kind| value["kind"] == kind.info().kind);
        let resource = match kind {
            Some(kind) => kind.info().resource(),
            None if value["kind"] == config::KIND => config::RESOURCE,
            None => return Err(anyhow!("no kind is called {}", value["kind"])),
        };
        let key = Key::new(resource, text("namespace"), text("name"));
        let object = Arc::new(Object::new(value, Revision(1))?);
        let hub = Arc::get_mut(&mut self.hub).context("nobody else holds the inventory")?;
        drop(hub.fold(&Change::added(key, object)));
        Ok(())
    }

    fn solve(&self, placement: &str) -> Result<(Decision, f64)> {
        let demand = Key::new(self.demands, self.namespace, placement);
        let ask = Ask {
            demand: &demand,
            now: self.now,
            seed: 0,
            chosen: None,
        };
        let begun = Instant::now();
        let decision = self.hub.decide(&ask);
        let took = millis(begun.elapsed());
        let decision = decision.with_context(|| format!("{placement} is not there"))?;
        let decision = decision.map_err(|refused| anyhow!("{placement}: {refused:?}"))?;
        Ok((decision, took))
    }

    /// Decides once, and returns the picked clusters.
    pub(crate) fn decide(&self, placement: &str) -> Result<Decided> {
        let (decision, _) = self.solve(placement)?;
        let mut decided = Decided {
            picked: Vec::new(),
            scores: BTreeMap::new(),
        };
        for (place, &candidate) in decision.solved.picked.iter().enumerate() {
            let name = self.hub.cluster_name(candidate).to_string();
            if let Some(total) = decision.solved.total_of(candidate) {
                decided.scores.insert(name.clone(), total);
            }
            decided.picked.push(match decision.amounts.get(place) {
                Some(amount) => format!("{name}:{amount}"),
                None => name,
            });
        }
        if !self.ordered {
            decided.picked.sort();
        }
        Ok(decided)
    }

    /// Times of decisions without changes, in milliseconds.
    pub(crate) fn times(&self, placement: &str, count: usize) -> Result<Vec<f64>> {
        (0..count).map(|_| Ok(self.solve(placement)?.1)).collect()
    }

    /// Times of a change of a cluster together with the next decision, on a fork, as in the engine.
    pub(crate) fn times_after_changes(
        &mut self,
        placement: &str,
        count: usize,
        round: usize,
    ) -> Result<Vec<f64>> {
        let original = self.cluster.clone();
        let mut times = Vec::with_capacity(count);
        for number in 0..count {
            let mut cluster = original.clone();
            cluster["metadata"]["labels"]["changed"] = json!(format!("{round}-{number}"));
            let before = Arc::clone(&self.hub);
            let begun = Instant::now();
            self.hub = before.fork();
            self.fold(&cluster)?;
            self.solve(placement)?;
            times.push(millis(begun.elapsed()));
        }
        self.fold(&original)?;
        ensure!(times.len() == count, "every change was timed");
        Ok(times)
    }
}
