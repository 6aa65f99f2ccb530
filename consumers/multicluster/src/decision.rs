//! Rendering of a decision as PlacementDecisions, and parsing of a PlacementDecision.

use berth_apimachinery::Object;
use berth_dialect_contract::{DemandView, PlacedCluster};
use serde_json::{Value, json};

use crate::rank::{self, Rank};
use crate::slices::Slice;
use crate::{API_VERSION, SYSTEM_LABEL, Settings, inherited, mark, name};

/// The label with the key of the decision, which all slices of a decision share.
pub const KEY_LABEL: &str = "multicluster.x-k8s.io/decision-key";
/// The label with the index of the slice.
pub const INDEX_LABEL: &str = "multicluster.x-k8s.io/decision-index";

/// Data that all slices of one decision share.
#[derive(Clone, Debug)]
pub struct SliceParts<'a> {
    /// The system of the decision.
    pub system: &'a str,
    /// The decision's key (see [`name::decision`]).
    pub key: &'a str,
    /// The source object of the decision.
    pub source: &'a Object,
    /// The kind of the source object.
    pub kind: &'a str,
}

/// The clusters of the decision `view`, by the system's own names, each with the reason for it. Clusters that
/// the decision is leaving are left out.
pub fn reasons(view: &DemandView) -> impl Iterator<Item = (&str, String)> {
    let unit = view.amount.map_or("", |amount| amount.name);
    ranked_reasons(&view.placed, unit).into_iter()
}

fn ranked_reasons<'a>(placed: &'a [PlacedCluster], unit: &str) -> Vec<(&'a str, String)> {
    let ranked = rank::ranked(placed).into_iter();
    ranked
        .map(|(place, rank)| (&*place.cluster_name, reason(place, rank, unit)))
        .collect()
}

/// The reason for a cluster: the system's own words, the rank by the recorded scores, the amount in `unit`s,
/// and the state of the binding.
fn reason(place: &PlacedCluster, rank: Option<Rank>, unit: &str) -> String {
    let mut parts = Vec::new();
    if !place.reason.is_empty() {
        parts.push(place.reason.clone());
    }
    match (rank, place.score) {
        (
            Some(Rank {
                position,
                total,
                ties,
            }),
            Some(score),
        ) => {
            let tie = match ties {
                0 => String::new(),
                1 => ", as is 1 other".to_owned(),
                others => format!(", as are {others} others"),
            };
            parts.push(format!("rank {position} of {total} with score {score}{tie}"));
        }
        (None, Some(score)) => parts.push(format!("score {score}")),
        (_, None) => {}
    }
    if let Some(amount) = place.amount {
        parts.push(format!("{amount} {unit}"));
    }
    if !place.state.is_empty() {
        parts.push(format!("state {}", place.state));
    }
    parts.join("; ")
}

/// Renders the PlacementDecision of `slice`. `shared` are the data that all slices of the decision share.
#[must_use]
pub fn render(settings: &Settings, shared: &SliceParts<'_>, slice: &Slice) -> Value {
    let mut labels = inherited(shared.source.meta().labels());
    labels.extend(settings.labels.clone());
    labels.insert(SYSTEM_LABEL.to_owned(), shared.system.to_owned());
    labels.insert(KEY_LABEL.to_owned(), shared.key.to_owned());
    labels.insert(INDEX_LABEL.to_owned(), slice.index.to_string());
    let mut metadata = json!({
        "name": name::slice(shared.key, slice.index),
        "namespace": settings.namespace,
        "labels": labels,
    });
    if let Some(owner) = shared.source.as_owner(shared.kind, &settings.namespace) {
        metadata["ownerReferences"] = json!([owner]);
    }
    let decisions: Vec<Value> = slice
        .clusters
        .iter()
        .map(|(name, reason)| {
            let mut entry = json!({"clusterProfileRef": {"name": name, "namespace": settings.namespace}});
            if !reason.is_empty() {
                entry["reason"] = reason.as_str().into();
            }
            entry
        })
        .collect();
    let mut object = json!({
        "apiVersion": API_VERSION,
        "kind": "PlacementDecision",
        "metadata": metadata,
        "decisions": decisions,
        "schedulerName": format!("berth-{}", shared.system),
    });
    mark::annotate(&mut object, &settings.publication);
    object
}

/// The slice in `object`; `None` if `object` has no valid index label or no decisions. The writer of the
/// object is not checked.
#[must_use]
pub fn read(object: &Value) -> Option<Slice> {
    let index = object["metadata"]["labels"][INDEX_LABEL].as_str()?.parse().ok()?;
    let entries = object["decisions"].as_array()?.iter();
    let clusters = entries.filter_map(|entry| {
        let name = entry["clusterProfileRef"]["name"].as_str()?;
        let reason = entry["reason"].as_str().unwrap_or_default();
        Some((name.to_owned(), reason.to_owned()))
    });
    Some(Slice {
        index,
        clusters: clusters.collect(),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use berth_apimachinery::{Kind, Revision};

    use super::*;
    use crate::kinds;

    fn placed(namespace: &str, labels: Value) -> Object {
        let object = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
            "metadata": {"name": "p", "namespace": namespace, "uid": "u-1", "labels": labels},
        });
        Object::new(&object, Revision(1)).unwrap()
    }

    #[test]
    fn a_slice_is_owned_by_a_source_in_its_namespace_and_inherits_no_label_of_a_tool() {
        let labels = json!({"app.kubernetes.io/instance": "shop", "team": "a"});
        let (here, elsewhere) = (placed("argocd", labels.clone()), placed("other", labels));
        let settings = Settings {
            namespace: "argocd".to_owned(),
            ..Settings::default()
        };
        let rendered = |source: &Object| {
            let shared = SliceParts {
                system: "ocm",
                key: "k",
                source,
                kind: "Placement",
            };
            let slice = Slice {
                index: 0,
                clusters: BTreeMap::new(),
            };
            render(&settings, &shared, &slice)["metadata"].take()
        };
        let metadata = rendered(&here);
        assert_eq!(
            metadata["ownerReferences"],
            json!([{"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement", "name": "p", "uid": "u-1"}])
        );
        assert_eq!(metadata["labels"]["team"], "a");
        assert_eq!(metadata["labels"].get("app.kubernetes.io/instance"), None);
        assert_eq!(rendered(&elsewhere).get("ownerReferences"), None);
    }

    fn place(name: &str, score: Option<i64>) -> PlacedCluster {
        PlacedCluster {
            cluster_name: name.into(),
            score,
            ..PlacedCluster::default()
        }
    }

    #[test]
    fn reasons_are_the_systems_own_words_with_rank_and_ties() {
        let mut first = place("a", Some(9));
        first.reason = "picked".to_owned();
        first.state = "Bound".to_owned();
        let all = [place("b", Some(5)), first, place("c", Some(5))];
        // The rank does not depend on the order of the clusters.
        assert_eq!(
            ranked_reasons(&all, ""),
            [
                ("b", "rank 2 of 3 with score 5, as is 1 other"),
                ("a", "picked; rank 1 of 3 with score 9; state Bound"),
                ("c", "rank 2 of 3 with score 5, as is 1 other"),
            ]
            .map(|(name, reason)| (name, reason.to_owned()))
        );
        // Without the scores of all clusters there is no rank.
        assert_eq!(
            ranked_reasons(&[place("c", Some(5)), place("d", None)], ""),
            [("c", "score 5".to_owned()), ("d", String::new())]
        );
    }

    #[test]
    fn an_amount_has_its_unit() {
        let mut sized = place("a", None);
        sized.amount = Some(6);
        assert_eq!(
            ranked_reasons(&[sized], "replicas"),
            [("a", "6 replicas".to_owned())]
        );
    }

    #[test]
    fn a_slice_is_valid_and_read_back() {
        let settings = Settings {
            namespace: "argocd".to_owned(),
            ..Settings::default()
        };
        let source = placed("ns", json!({KEY_LABEL: "stolen"}));
        let shared = SliceParts {
            system: "ocm",
            key: "ns.p.ocm",
            source: &source,
            kind: "Placement",
        };
        let clusters = [("b", "why"), ("a", "")].map(|(name, why)| (name.to_owned(), why.to_owned()));
        let slice = Slice {
            index: 3,
            clusters: clusters.into(),
        };
        let object = render(&settings, &shared, &slice);
        assert_eq!(object["metadata"]["name"], "ns.p.ocm-3");
        assert_eq!(object["metadata"]["labels"][KEY_LABEL], "ns.p.ocm");
        assert_eq!(object["decisions"][0]["clusterProfileRef"]["name"], "a");
        assert_eq!(read(&object), Some(slice));
        let errors = kinds::placement_decision().schema("v1alpha1").validate(&object);
        assert!(errors.is_empty(), "{errors:?}");
    }
}
