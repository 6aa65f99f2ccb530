//! The right to decide: whether Berth writes decisions for a system, for which requests of the system, and
//! whether guards protect the fields of these decisions.

use std::sync::Arc;

use berth_apimachinery::selector::Selector;
use berth_apimachinery::{GroupResource, LabelSet};
use berth_storage::Source;

/// The resource of namespaces, whose labels may select the requests that are decided here.
pub(crate) const NAMESPACES: GroupResource = GroupResource::new("", "namespaces");

/// Source of every system's settings about deciding, by the configuration in force. It is called before
/// every write and in every review, so that it has to be cheap.
pub trait Mandate: Send + Sync + 'static {
    /// Whether the decisions of `dialect` are made and written here.
    fn decides(&self, dialect: &str) -> bool;

    /// Whether the fields of the decisions of `dialect` are protected from other writers. This has to be
    /// false where another scheduler writes these fields.
    fn guards(&self, dialect: &str) -> bool;

    /// The requests of `dialect` that are decided here; `None` for all.
    fn requests(&self, _dialect: &str) -> Option<Arc<Requests>> {
        None
    }
}

/// Selection of a system's requests, by their labels and by the labels of their namespaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requests {
    /// No requests.
    None,
    /// Requests that both selectors match.
    Matching {
        /// Selector for the labels of the request.
        labels: Selector,
        /// Selector for the labels of the request's namespace.
        namespaces: Selector,
    },
}

impl Requests {
    /// Whether a request with `labels` in `namespace` is selected. The labels of the namespace are read from
    /// `source`.
    #[must_use]
    pub fn include(&self, source: &dyn Source, namespace: &str, labels: &impl LabelSet) -> bool {
        match self {
            Self::None => false,
            Self::Matching {
                labels: wanted,
                namespaces,
            } => wanted.matches(labels) && namespace_matches(namespaces, source, namespace),
        }
    }

    /// Whether the selection depends on labels of namespaces.
    pub(crate) fn depend_on_namespaces(&self) -> bool {
        matches!(self, Self::Matching { namespaces, .. } if !namespaces.is_everything())
    }
}

/// Whether `namespaces` matches the labels of the namespace named `namespace`. A missing namespace has
/// no labels.
fn namespace_matches(namespaces: &Selector, source: &dyn Source, namespace: &str) -> bool {
    if namespaces.is_everything() {
        return true;
    }
    let all = source.cached(NAMESPACES);
    match all.get("", namespace) {
        Some(object) => namespaces.matches(object.meta().labels()),
        None => namespaces.matches_with(|_| None),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use berth_apimachinery::write::Verb;
    use berth_apimachinery::{Draft, Key};
    use berth_storage::{Expect, MemoryStore, Step};
    use serde_json::json;

    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let owned = pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        owned.collect()
    }

    #[test]
    fn a_request_is_included_by_its_labels_and_by_those_of_its_namespace() {
        let store = MemoryStore::default();
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": "team", "labels": {"scheduler": "berth"}},
        });
        let step = Step {
            verb: Verb::Create,
            key: Key::new(NAMESPACES, "", "team"),
            subresource: "",
            object: Some(Draft::new(&namespace).unwrap()),
            expect: Expect::Absent,
            guards: Vec::new(),
        };
        store.commit(&[step]).unwrap();
        let requests = |labels: &str, namespaces: &str| Requests::Matching {
            labels: Selector::parse(labels).unwrap(),
            namespaces: Selector::parse(namespaces).unwrap(),
        };
        let (canary, plain) = (labels(&[("canary", "yes")]), labels(&[]));
        for (requests, namespace, labels, included) in [
            (requests("", ""), "anywhere", &plain, true),
            (requests("canary=yes", ""), "anywhere", &canary, true),
            (requests("canary=yes", ""), "anywhere", &plain, false),
            (requests("", "scheduler=berth"), "team", &plain, true),
            (requests("", "scheduler=berth"), "unknown", &plain, false),
            (requests("", "scheduler!=berth"), "unknown", &plain, true),
            (requests("canary=yes", "scheduler=berth"), "team", &plain, false),
            (requests("canary=yes", "scheduler=berth"), "team", &canary, true),
            (Requests::None, "team", &canary, false),
        ] {
            let found = requests.include(&store, namespace, labels);
            assert_eq!(found, included, "{requests:?} {namespace} {labels:?}");
        }
    }
}
