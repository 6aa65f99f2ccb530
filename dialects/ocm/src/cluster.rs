//! A ManagedCluster, parsed once per change.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use berth_apimachinery::{Labels, Object};

use crate::kind::{Amount, Condition, ManagedCluster, Taint};
use crate::names::AVAILABLE;

/// The data of a cluster that filters and scorers use.
#[derive(Debug)]
pub(crate) struct Cluster {
    /// The ManagedCluster.
    pub(crate) object: Arc<Object>,
    /// The name of the cluster.
    pub(crate) name: Arc<str>,
    /// A number that is unique to this version of the object, so that cached results are never used for
    /// another version.
    pub(crate) stamp: u64,
    /// The taints of the cluster.
    pub(crate) taints: Box<[Taint]>,
    /// The condition ManagedClusterConditionAvailable, if it is reported.
    pub(crate) available: Option<Condition>,
    /// The values of the cluster's claims, by name.
    pub(crate) claims: Labels,
    /// Allocatable CPU in cores, if both allocatable and capacity are reported.
    pub(crate) cpu: Option<f64>,
    /// Allocatable memory in bytes, if both allocatable and capacity are reported.
    pub(crate) memory: Option<f64>,
    /// The reason why the ManagedCluster cannot be parsed; `None` if it can.
    pub(crate) problem: Option<String>,
}

impl Cluster {
    /// Reads a cluster from `object`, which was parsed as `view`.
    ///
    /// # Errors
    /// The quantity that cannot be parsed.
    pub(crate) fn new(name: Arc<str>, object: Arc<Object>, view: ManagedCluster) -> Result<Self, String> {
        let cpu = allocatable(&view, "cpu")?;
        let memory = allocatable(&view, "memory")?;
        let ManagedCluster { spec, status } = view;
        let claims = status.cluster_claims.into_iter();
        let claims = claims.map(|claim| (claim.name, claim.value)).collect();
        let mut conditions = status.conditions.into_iter();
        let available = conditions.find(|condition| *condition.r#type == *AVAILABLE);
        Ok(Self {
            object,
            name,
            stamp: next_stamp(),
            taints: spec.taints.into(),
            available,
            claims,
            cpu,
            memory,
            problem: None,
        })
    }

    /// The cluster with the ManagedCluster `object`, which cannot be parsed because of `problem`. The cluster
    /// still exists: without a record it would count as gone, and leave all decisions.
    pub(crate) fn unreadable(name: Arc<str>, object: Arc<Object>, problem: String) -> Self {
        Self {
            object,
            name,
            stamp: next_stamp(),
            taints: Box::default(),
            available: None,
            claims: Labels::default(),
            cpu: None,
            memory: None,
            problem: Some(problem),
        }
    }

    /// Whether the cluster is being deleted.
    pub(crate) fn terminating(&self) -> bool {
        self.object.meta().deletion_timestamp().is_some()
    }

    /// The labels of the cluster.
    pub(crate) fn labels(&self) -> &Labels {
        self.object.meta().labels()
    }

    /// The taints of the cluster.
    pub(crate) fn taints(&self) -> &[Taint] {
        &self.taints
    }

    /// Whether decisions can distinguish this version of the cluster from `other` only by labels, by claims,
    /// or by expressions over the whole object.
    pub(crate) fn decides_alike(&self, other: &Self) -> bool {
        self.terminating() == other.terminating()
            && self.problem.is_some() == other.problem.is_some()
            && self.taints() == other.taints()
            && (self.cpu, self.memory) == (other.cpu, other.memory)
    }

    /// Whether this version of the cluster has the labels and claims of `other`.
    pub(crate) fn is_named_like(&self, other: &Self) -> bool {
        self.labels() == other.labels() && self.claims == other.claims
    }
}

/// A number that no other version of any cluster has.
fn next_stamp() -> u64 {
    static STAMPS: AtomicU64 = AtomicU64::new(1);
    STAMPS.fetch_add(1, Ordering::Relaxed)
}

/// The allocatable amount of `resource`, which counts only if the capacity is reported as well
/// (docs/systems/ocm.md, "Scores").
fn allocatable(view: &ManagedCluster, resource: &str) -> Result<Option<f64>, String> {
    let status = &view.status;
    let read = |field: &str, amounts: &BTreeMap<String, Amount>| match amounts.get(resource) {
        None => Ok(None),
        Some(amount) => amount
            .quantity()
            .map(|quantity| Some(quantity.as_f64()))
            .ok_or_else(|| {
                let value = match amount {
                    Amount::Text(text) => format!("\"{text}\""),
                    Amount::Number(number) => number.to_string(),
                };
                format!("status.{field}[{resource}]: {value} is not a quantity such as 4, 500m or 2Gi")
            }),
    };
    let (allocatable, capacity) = (
        read("allocatable", &status.allocatable)?,
        read("capacity", &status.capacity)?,
    );
    Ok(allocatable.filter(|_| capacity.is_some()))
}
