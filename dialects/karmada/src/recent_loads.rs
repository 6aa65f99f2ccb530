//! Recently placed workloads, which the reported resources of clusters do not include yet
//! (docs/systems/karmada.md, "Bursts"). Decisions only count them if the configuration enables this.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::Timestamp;

use crate::quota::{self, Usage};
use crate::record::Record;
use crate::room::Request;

/// Number of seconds for which a placed workload is counted, unless it is reported healthy earlier.
const COUNTED_SECONDS: i64 = 5 * 60;

/// Pods and resources that recently placed workloads use on a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    pods: i64,
    amounts: Usage,
}

impl Load {
    /// Adds `other` if `is_added`, and subtracts it otherwise.
    fn count(&mut self, other: &Self, is_added: bool) {
        let pods = if is_added { other.pods } else { -other.pods };
        self.pods = self.pods.saturating_add(pods);
        quota::count(&mut self.amounts, &other.amounts, is_added);
    }

    /// Number of replicas with `request` that would take as much room as this load: the highest number over
    /// pods and all requested resources, rounded up.
    pub(crate) fn replicas(&self, request: Option<&Request>) -> i64 {
        let requests = request.map(Request::exact).into_iter().flatten();
        let replicas_by_resource = requests
            .filter(|(_, amount)| amount.0 > 0)
            .map(|(resource, amount)| {
                let used = self.amounts.get(resource).copied().unwrap_or_default();
                i64::try_from(used.div_euclid(amount.0) + i128::from(used.rem_euclid(amount.0) > 0))
                    .unwrap_or(i64::MAX)
            });
        replicas_by_resource.fold(self.pods, i64::max)
    }
}

/// The load of workloads that are not reported healthy yet, by the second of the decision and by cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecentLoads(imbl::OrdMap<(i64, Arc<str>), Load>);

impl RecentLoads {
    /// Adds the load of `record` if `is_added`, and subtracts it otherwise. A workload does not count on
    /// clusters that report it healthy.
    pub(crate) fn count(&mut self, record: &Record, is_added: bool) {
        let Some(decided) = record.status.last_scheduled_time else {
            return;
        };
        for target in record.spec.clusters.iter().filter(|target| target.replicas > 0) {
            if record.is_healthy_on(&target.name) {
                continue;
            }
            let replicas = i64::from(target.replicas);
            let load = Load {
                pods: replicas,
                amounts: quota::usage(record.request.as_ref(), replicas),
            };
            let key = (decided.0.as_second(), Arc::from(target.name.as_str()));
            let sum = self.0.entry(key.clone()).or_default();
            sum.count(&load, is_added);
            if *sum == Load::default() {
                self.0.remove(&key);
            }
        }
    }

    /// The load that counts at `now`, by cluster.
    pub(crate) fn at(&self, now: Timestamp) -> BTreeMap<Arc<str>, Load> {
        let first = (now.as_second().saturating_sub(COUNTED_SECONDS) + 1, Arc::from(""));
        let mut loads: BTreeMap<Arc<str>, Load> = BTreeMap::new();
        for ((_, cluster), load) in self.0.range(first..) {
            loads.entry(Arc::clone(cluster)).or_default().count(load, true);
        }
        loads
    }
}

#[cfg(test)]
mod tests;
