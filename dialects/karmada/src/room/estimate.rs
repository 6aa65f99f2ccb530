//! Answers of accurate estimators, stored with a cluster.
//!
//! Karmada asks an estimator per cluster while it decides. A decision here has no input but objects: a
//! program that asks the estimators writes their answers into an annotation of the cluster, and they
//! count until they are replaced.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::Object;
use berth_apimachinery::quantity::Quantity;
use berth_apimachinery::types::{QuantityText, Time};
use serde::Deserialize;

use super::Request;

/// The annotation of a cluster with the answers: a list of `{resourceRequest, replicas, at}`.
pub(crate) const ANNOTATION: &str = "karmada.berth.dev/estimates";

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Estimate {
    request: Vec<(Arc<str>, Quantity)>,
    /// Number of replicas that fit.
    pub(crate) replicas: i64,
    /// Time of the answer.
    pub(crate) at: Option<Time>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredEstimates {
    #[serde(default)]
    resource_request: BTreeMap<String, QuantityText>,
    replicas: i64,
    at: Option<Time>,
}

impl Estimate {
    /// Whether it answers for `request`, amount by amount.
    pub(crate) fn is_about(&self, request: &Request) -> bool {
        self.request == request.exact()
    }
}

/// Reads the answers stored with the cluster `object`. A negative number is left out.
///
/// # Errors
/// Reason why they cannot be read.
pub(super) fn read(object: &Object) -> Result<Vec<Estimate>, String> {
    let Some(text) = object.annotations().get(ANNOTATION) else {
        return Ok(Vec::new());
    };
    let wrong = |problem: String| format!("metadata.annotations[{ANNOTATION}]: {problem}");
    let stored: Vec<StoredEstimates> =
        serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let mut estimates = Vec::new();
    for entry in stored.into_iter().filter(|entry| entry.replicas >= 0) {
        let mut request = Vec::new();
        for (name, text) in entry.resource_request {
            let quantity = text
                .get()
                .map_err(|error| wrong(format!("resourceRequest[{name}]: {error}")))?;
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
