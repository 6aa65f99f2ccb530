//! The fields of a ClusterRequest that decisions read.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::Object;
use berth_apimachinery::types::condition;

use super::Place;
use crate::kind::cluster_request::ClusterRequest;
use crate::names::{
    GRANTED, OPERATION_ANNOTATION, PENDING, RANDOM_LABEL, REQUEST_FINALIZER, REQUEST_METADATA_PREFIX,
    SCHEDULED,
};
use crate::naming;

/// A request and its object.
pub(crate) struct Record {
    pub(crate) object: Arc<Object>,
    /// The requirements of the request.
    pub(crate) requirements: Requirements,
    /// The status of the request.
    pub(crate) status: RequestStatus,
    /// Whether the request has the scheduler's own finalizer.
    pub(crate) has_finalizer: bool,
}

/// The operation on a request, from the annotation of the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Operation {
    /// The request is decided as usual.
    #[default]
    None,
    /// The request is ignored.
    Ignore,
    /// The request is decided now, and the annotation is removed.
    Reconcile,
}

/// The fields of a request that decisions read, apart from the status. A change of these fields may make the
/// request due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Requirements {
    /// The purpose of the requested Cluster.
    pub(crate) purpose: Arc<str>,
    /// The last part of the request's finalizers on Clusters.
    pub(crate) holder: Arc<str>,
    /// The operation on the request.
    pub(crate) operation: Operation,
    /// Whether a new Cluster gets a random name.
    pub(crate) random_name: bool,
    /// Whether a deleted request stays until its Cluster is deleted. `None` means that it stays if the
    /// Cluster is Exclusive.
    pub(crate) wait_for_deletion: Option<bool>,
    /// Whether the request is being deleted.
    pub(crate) deleting: bool,
    /// The field `metadata.generation`.
    pub(crate) generation: i64,
    /// Labels and annotations for the request's exclusive Cluster.
    pub(crate) metadata: RequestMetadata,
}

/// Labels and annotations that an exclusive Cluster gets from its request (docs/systems/openmcp.md, "New
/// Clusters").
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestMetadata {
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
}

impl RequestMetadata {
    fn of(object: &Object) -> Self {
        let value = object.value();
        let copied = |part: &str| -> BTreeMap<String, String> {
            let entries = value["metadata"][part].as_object().into_iter().flatten();
            entries
                .filter(|(key, _)| key.starts_with(REQUEST_METADATA_PREFIX))
                .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
                .collect()
        };
        Self {
            labels: copied("labels"),
            annotations: copied("annotations"),
        }
    }

    /// The labels and the annotations, each with the name of the field in `metadata`.
    pub(crate) fn parts(&self) -> [(&'static str, &BTreeMap<String, String>); 2] {
        [("labels", &self.labels), ("annotations", &self.annotations)]
    }

    /// Whether `cluster` lacks any of these labels and annotations.
    pub(crate) fn is_missing_on(&self, cluster: &Object) -> bool {
        let value = cluster.value();
        self.parts().into_iter().any(|(part, entries)| {
            let own = &value["metadata"][part];
            entries.iter().any(|(key, text)| own[key] != *text)
        })
    }
}

/// The status of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestStatus {
    /// The phase if it is Granted or Pending, else empty.
    pub(crate) phase: &'static str,
    /// The generation for which the status was written.
    pub(crate) observed_generation: i64,
    /// The granted Cluster.
    pub(crate) cluster: Option<GrantedCluster>,
    /// The status, the reason and the message of the condition Scheduled.
    pub(crate) cause: Option<[String; 3]>,
}

/// A granted Cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GrantedCluster {
    pub(crate) place: Place,
    /// The cluster name, `<namespace>/<name>`.
    pub(crate) cluster_name: Arc<str>,
}

impl Record {
    /// Parses a ClusterRequest.
    ///
    /// # Errors
    /// The reason why the object cannot be parsed.
    pub(crate) fn read(object: &Arc<Object>) -> Result<Self, String> {
        let view: ClusterRequest = object.view().map_err(|error| error.to_string())?;
        let meta = object.meta();
        let operation = match object.annotations().get(OPERATION_ANNOTATION).as_deref() {
            Some("ignore") => Operation::Ignore,
            Some("reconcile") => Operation::Reconcile,
            _ => Operation::None,
        };
        let requirements = Requirements {
            purpose: view.spec.purpose.as_str().into(),
            holder: naming::holder_of(meta).into(),
            operation,
            random_name: meta
                .labels()
                .get(RANDOM_LABEL)
                .is_some_and(|value| value == "true"),
            wait_for_deletion: view.spec.wait_for_cluster_deletion,
            deleting: meta.deletion_timestamp().is_some(),
            generation: meta.generation(),
            metadata: RequestMetadata::of(object),
        };
        Ok(Self {
            object: Arc::clone(object),
            requirements,
            status: RequestStatus::read(&view),
            has_finalizer: meta
                .finalizers()
                .iter()
                .any(|finalizer| finalizer == REQUEST_FINALIZER),
        })
    }
}

impl RequestStatus {
    fn read(view: &ClusterRequest) -> Self {
        let Some(status) = &view.status else {
            return Self::default();
        };
        let cause = condition(&status.conditions, SCHEDULED);
        let known = [GRANTED, PENDING]
            .into_iter()
            .find(|known| *known == status.phase);
        let granted = status.cluster.as_ref().map(|cluster| {
            let place = Place::new(&cluster.namespace, &cluster.name);
            GrantedCluster {
                cluster_name: place.to_string().into(),
                place,
            }
        });
        Self {
            phase: known.unwrap_or_default(),
            observed_generation: status.observed_generation,
            cluster: granted,
            cause: cause.map(|cause| [cause.status.clone(), cause.reason.clone(), cause.message.clone()]),
        }
    }

    /// Whether this status grants the Cluster at `place` and needs no correction.
    pub(crate) fn grants(&self, place: &Place, generation: i64) -> bool {
        self.phase == GRANTED
            && self.is_settled()
            && self.observed_generation == generation
            && self
                .cluster
                .as_ref()
                .is_some_and(|granted| granted.place == *place)
    }

    /// Whether the status needs no decision: the request is Granted with a Cluster, and the condition
    /// Scheduled does not contradict, or it is Pending with a reason.
    pub(crate) fn is_settled(&self) -> bool {
        let refused = self.cause.as_ref().is_some_and(|cause| cause[0] != "True");
        match self.phase {
            GRANTED => self.cluster.is_some() && !refused,
            PENDING => refused,
            _ => false,
        }
    }
}
