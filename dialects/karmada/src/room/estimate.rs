//! Answers of accurate estimators, stored in an annotation of a cluster.
//!
//! Karmada queries one estimator per cluster during a decision. Berth's decisions read only objects: a
//! separate program queries the estimators, and writes their answers into an annotation of the cluster.
//! An answer counts until it is replaced.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::Object;
use berth_apimachinery::quantity::Quantity;
use berth_apimachinery::types::{QuantityText, Time};
use serde::Deserialize;

use super::Request;

/// The annotation of a cluster with the answers: a list of `{resourceRequest, replicas, at}`.
pub(crate) const ANNOTATION: &str = "karmada.berth.dev/estimates";

/// An answer of an accurate estimator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Estimate {
    /// The request of one replica to which the answer applies.
    request: Vec<(Arc<str>, Quantity)>,
    /// Number of replicas that fit.
    pub(crate) replicas: i64,
    /// Time of the answer.
    pub(crate) at: Option<Time>,
}

/// An answer as it is stored in the annotation.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredEstimate {
    #[serde(default)]
    resource_request: BTreeMap<String, QuantityText>,
    replicas: i64,
    at: Option<Time>,
}

impl Estimate {
    /// Whether this answer applies to `request`: all amounts are equal.
    pub(crate) fn is_for(&self, request: &Request) -> bool {
        self.request == request.exact()
    }
}

/// Parses the answers in the annotation of the cluster `object`. Answers with negative numbers are ignored.
///
/// # Errors
/// The reason why the answers cannot be parsed.
pub(super) fn read(object: &Object) -> Result<Vec<Estimate>, String> {
    let Some(text) = object.annotations().get(ANNOTATION) else {
        return Ok(Vec::new());
    };
    let annotation_error = |problem: String| format!("metadata.annotations[{ANNOTATION}]: {problem}");
    let stored: Vec<StoredEstimate> =
        serde_json::from_str(&text).map_err(|error| annotation_error(error.to_string()))?;
    let mut estimates = Vec::new();
    for entry in stored.into_iter().filter(|entry| entry.replicas >= 0) {
        let mut request = Vec::new();
        for (name, text) in entry.resource_request {
            let quantity = text
                .parse()
                .map_err(|error| annotation_error(format!("resourceRequest[{name}]: {error}")))?;
            request.push((name.into(), quantity));
        }
        estimates.push(Estimate {
            request,
            replicas: entry.replicas,
            at: entry.at,
        });
    }
    Ok(estimates)
}
