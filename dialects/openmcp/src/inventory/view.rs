//! Views of Clusters and requests, without a decision.

use std::sync::Arc;

use berth_dialect_contract::{DemandView, Phase, PlacedCluster, Quantities, TargetView};

use crate::config::Tenancy;
use crate::fleet::{Fleet, Record, Row, holders_of};
use crate::names::{GRANTED, PROVIDER_LABEL};

/// Highest number of requests that a sentence names.
const MAX_NAMED: usize = 3;

impl Fleet {
    /// The view of a Cluster.
    pub(super) fn view_target(&self, row: &Row) -> TargetView {
        let meta = row.record.object.meta();
        let (ready, ready_reason, ready_message) = readiness(row);
        TargetView {
            object: Arc::clone(&row.record.object),
            cluster_name: Arc::clone(&row.record.cluster_name),
            ready,
            ready_reason,
            ready_message,
            cordoned: row.facts.deleting,
            taints: Vec::new(),
            capacity: vec![Quantities {
                name: "tenancy",
                used: row.used.into(),
                limit: self.limit(row),
            }],
            region: String::new(),
            zone: String::new(),
            provider: meta.labels().get(PROVIDER_LABEL).unwrap_or_default().to_owned(),
            labels: meta.labels().clone(),
            warnings: self.deletion_warning(row).into_iter().collect(),
            due_at: None,
        }
    }

    /// The sentence about the requests that block the deletion of a Cluster.
    fn deletion_warning(&self, row: &Row) -> Option<String> {
        let holders = holders_of(row.record.object.meta());
        if !row.facts.deleting || holders.is_empty() {
            return None;
        }
        let mut names: Vec<String> = holders
            .iter()
            .take(MAX_NAMED)
            .map(|holder| match self.request_of_holder(holder) {
                Some(key) if self.requests.contains_key(key) => {
                    format!("ClusterRequest {}/{}", key.namespace, key.name)
                }
                Some(key) => format!(
                    "ClusterRequest {}/{} (which cannot be read: correct it)",
                    key.namespace, key.name
                ),
                None => format!("a ClusterRequest with the uid {holder} that no longer exists"),
            })
            .collect();
        if holders.len() > names.len() {
            names.push(format!("{} more", holders.len() - names.len()));
        }
        let all_exist = holders
            .iter()
            .all(|holder| self.request_of_holder(holder).is_some());
        let remedy = if all_exist {
            "the deletion of these requests releases it"
        } else {
            "the deletion of requests removes their finalizers, but a finalizer of a request that no longer exists must be \
             removed by hand, by a member of a --break-glass-group if Berth guards it"
        };
        Some(format!(
            "it is being deleted, but has finalizers of {}: {remedy}",
            names.join(", ")
        ))
    }

    /// Number of requests that may use a Cluster: one if it is Exclusive, else the smallest limit of its
    /// purposes. `None` if no limit is configured.
    fn limit(&self, row: &Row) -> Option<i64> {
        if row.facts.exclusive {
            return Some(1);
        }
        let config = self.config.as_ref()?;
        let mappings = row
            .purposes()
            .iter()
            .filter_map(|purpose| config.purposes.get(purpose));
        mappings
            .filter_map(|mapping| match mapping.tenancy {
                Tenancy::Shared(limit) => limit.map(i64::from),
                Tenancy::Exclusive => None,
            })
            .min()
    }

    /// The view of a request.
    pub(super) fn view_demand(&self, request: &Record) -> DemandView {
        let bound = self.bound(request);
        let granted = request.status.cluster.as_ref();
        let is_granted = request.status.phase == GRANTED
            && granted.is_some_and(|granted| self.cluster(&granted.place).is_some());
        let phase = match () {
            () if request.requirements.deleting && (request.has_finalizer || !bound.is_empty()) => {
                Phase::Releasing
            }
            () if request.requirements.deleting => Phase::Ignored,
            () if is_granted => Phase::Bound,
            () if self.ignores(request) => Phase::Ignored,
            () => Phase::Pending,
        };
        let placed = bound.into_iter().map(|current| PlacedCluster {
            cluster_name: current.cluster_name,
            state: current.state.to_owned(),
            ..PlacedCluster::default()
        });
        DemandView {
            object: Arc::clone(&request.object),
            kind: "ClusterRequest",
            phase,
            placed: placed.collect(),
            wanted: Some(1),
            amount: None,
        }
    }
}

/// The status, the reason and the message of the readiness of a Cluster, from the phase that the provider
/// reports, with the words of all known providers (docs/systems/openmcp.md, "API objects"). The scheduler
/// ignores the phase: a Cluster is granted before it is ready.
fn readiness(row: &Row) -> (&'static str, &'static str, String) {
    if row.facts.deleting {
        return ("False", "Terminating", "the cluster is being deleted".to_owned());
    }
    let phase = row
        .record
        .view
        .status
        .as_ref()
        .map_or("", |status| status.phase.as_str());
    let (ready, reason) = match phase {
        "Ready" | "Succeeded" => ("True", "Ready"),
        "Progressing" => ("False", "Progressing"),
        "Not Ready" => ("False", "NotReady"),
        "Failed" | "Error" => ("False", "Failed"),
        "Deleting" | "In Deletion" | "Terminating" => ("False", "Terminating"),
        "DeletionFailed" | "Error In Deletion" => ("False", "DeletionFailed"),
        "" => return ("Unknown", "NotReported", "no phase is reported yet".to_owned()),
        _ => ("Unknown", "PhaseUnknown"),
    };
    (ready, reason, format!("the phase is {phase}"))
}
