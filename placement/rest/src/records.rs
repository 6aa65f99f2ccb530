//! History as resources: the store of records, the limits, and the subresource `history` of Decisions, which
//! reads the records.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use berth_apimachinery::{GroupResource, Object, Status};
use berth_apiserver::{Call, Document, Reply, RequestInfo, Rows, SubresourceHandler};
use berth_scheduling_api::GROUP;
use berth_scheduling_api::record::{self, DecisionHistory, HistoryStatus, NamedRecord};
use berth_scheduling_api::shared::Manifest;
use berth_storage::{At, Collection, Name, Store};
use serde_json::{Map, Value};

use super::limit::limit;

/// Resource of DecisionRecords.
pub const RECORDS: GroupResource = GroupResource::new(GROUP, "decisionrecords");
/// Resource of ClusterDecisionRecords.
pub const CLUSTER_RECORDS: GroupResource = GroupResource::new(GROUP, "clusterdecisionrecords");
/// Default limit of the bytes of all records together.
pub const MAX_BYTES: usize = 32 * 1024 * 1024;

/// Effort of reading and reporting a record, in bytes that could be parsed in the same time.
const EFFORT_PER_RECORD: usize = 4 * 1024;

/// The resource of the records of Decisions in `namespace`; if `namespace` is empty, of the records of
/// ClusterDecisions.
#[must_use]
pub const fn resource_of(namespace: &str) -> GroupResource {
    if namespace.is_empty() {
        CLUSTER_RECORDS
    } else {
        RECORDS
    }
}

/// Limits of the stored history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Highest number of records of each decision; 0 stores none.
    pub per_decision: usize,
    /// Highest age of a record; zero means no limit.
    pub max_age: Duration,
    /// Highest number of bytes of all records together.
    pub bytes: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            per_decision: 20,
            max_age: Duration::from_hours(7 * 24),
            bytes: MAX_BYTES,
        }
    }
}

/// Medium of the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// Memory of the process, which is lost when the process ends.
    Memory,
    /// The database file.
    Database,
    /// The store etcd.
    Etcd,
}

impl Medium {
    /// The name of the medium in the API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "Memory",
            Self::Database => "Database",
            Self::Etcd => "Etcd",
        }
    }
}

/// The existing records, for readers.
#[derive(Clone)]
pub struct Records {
    /// Store of the records.
    pub store: Arc<dyn Store>,
    /// Medium of `store`.
    pub medium: Medium,
    /// Limits of the history.
    pub bounds: Bounds,
}

/// The `history` subresource of a Decision or a ClusterDecision.
pub(super) struct HistoryReader(pub(super) Records);

#[async_trait]
impl SubresourceHandler for HistoryReader {
    fn effort(&self, _: &RequestInfo) -> usize {
        EFFORT_PER_RECORD.saturating_mul(self.0.bounds.per_decision)
    }

    /// Returns the history of a decision. A deleted decision may still have records; an unknown one has none.
    async fn get(&self, call: &Call) -> Result<Reply, Status> {
        let limit = limit(&call.query, usize::MAX, "the newest records to return")?;
        let resource = resource_of(&call.namespace);
        let stored = self.0.store.list(resource, At::Latest).await;
        let stored = stored.map_err(|error| Status::unavailable(error.to_string(), 1))?;
        let mut records = records_of(&stored, &call.namespace, &call.name);
        let remaining = records.len().saturating_sub(limit);
        records.drain(..remaining);
        Ok(Reply::Document(Arc::new(HistoryReport {
            namespace: call.namespace.clone(),
            decision: call.name.clone(),
            medium: self.0.medium,
            bounds: self.0.bounds,
            records,
            remaining,
        })))
    }
}

/// The records of `decision` in `namespace`, oldest first. The name of a record consists of the decision's
/// name and an increasing number.
fn records_of(stored: &Collection, namespace: &str, decision: &str) -> Vec<Arc<Object>> {
    let prefix = format!("{decision}.");
    let after = Name::new(namespace, &prefix);
    let in_namespace = Some(namespace).filter(|namespace| !namespace.is_empty());
    stored
        .iter(in_namespace, Some(&after))
        .take_while(|(name, _)| name.name.starts_with(&prefix))
        .filter(|(name, _)| !name.name[prefix.len()..].contains('.'))
        .map(|(_, object)| Arc::clone(object))
        .collect()
}

/// The history of one decision, as the answer to a request.
struct HistoryReport {
    namespace: String,
    decision: String,
    medium: Medium,
    bounds: Bounds,
    records: Vec<Arc<Object>>,
    /// Number of older records that are left out.
    remaining: usize,
}

impl HistoryReport {
    fn head(&self) -> Map<String, Value> {
        let mut metadata = Map::new();
        metadata.insert("name".to_owned(), self.decision.as_str().into());
        if !self.namespace.is_empty() {
            metadata.insert("namespace".to_owned(), self.namespace.as_str().into());
        }
        metadata
    }
}

impl Document for HistoryReport {
    fn metadata(&self) -> Value {
        self.head().into()
    }

    fn json(&self) -> Result<Vec<u8>, Status> {
        let values: Vec<Value> = self.records.iter().map(|record| record.parse()).collect();
        let records = self.records.iter().zip(&values);
        let status = HistoryStatus {
            kept_in: self.medium.as_str().into(),
            per_decision: self.bounds.per_decision,
            max_age_seconds: self.bounds.max_age.as_secs(),
            remaining_records: Some(self.remaining).filter(|&remaining| remaining > 0),
            records: records
                .map(|(record, value)| NamedRecord {
                    name: record.meta().name().to_owned(),
                    spec: &value["spec"],
                })
                .collect(),
        };
        let body = DecisionHistory { status: Some(status) };
        let history = Manifest::new("DecisionHistory", self.head(), body);
        serde_json::to_vec(&history).map_err(|error| Status::internal(error.to_string()))
    }

    /// One row per record.
    fn rows(&self) -> Rows {
        Rows {
            columns: record::columns(),
            rows: self.records.iter().map(|record| record::row(record)).collect(),
        }
    }
}
