//! Which Publications are in force: the valid ones, and of those that name one namespace the oldest.

use std::collections::BTreeMap;
use std::sync::Arc;

use meta::{Object, field};

use super::spec::{self, Rules};

/// What is to be said of a Publication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    /// Its name.
    pub(super) name: String,
    /// Why it is not in force, as a word and a sentence.
    pub(super) problem: Option<(&'static str, String)>,
}

/// The Publications in force, and the verdict on each of `publications`, on a server that serves `systems`.
pub(super) fn judge(
    publications: &[Arc<Object>],
    systems: &[&'static str],
) -> (Vec<Arc<Rules>>, Vec<Verdict>) {
    let mut sorted: Vec<&Arc<Object>> = publications.iter().collect();
    sorted.sort_by_key(|object| (object.meta().creation_timestamp, object.meta().name.clone()));
    let mut taken: BTreeMap<String, String> = BTreeMap::new();
    let (mut rules, mut verdicts) = (Vec::new(), Vec::new());
    for object in sorted {
        let name = object.meta().name.clone();
        let problem = match spec::read(object.value(), systems) {
            Err(errors) => Some(("Invalid", field::aggregate(&errors))),
            Ok(read) => match taken.get(&read.settings.namespace) {
                Some(other) => Some((
                    "NamespaceTaken",
                    format!(
                        "Publication {other}, which is older, publishes in namespace {}",
                        read.settings.namespace
                    ),
                )),
                None => {
                    taken.insert(read.settings.namespace.clone(), name.clone());
                    rules.push(Arc::new(read));
                    None
                }
            },
        };
        verdicts.push(Verdict { name, problem });
    }
    (rules, verdicts)
}

#[cfg(test)]
mod tests {
    use meta::Revision;
    use serde_json::json;

    use super::*;

    fn publication(name: &str, second: u8, namespace: &str) -> Arc<Object> {
        let value = json!({
            "apiVersion": "config.berth.dev/v1alpha1", "kind": "Publication",
            "metadata": {"name": name, "creationTimestamp": format!("2026-01-01T00:00:{second:02}Z")},
            "spec": {"namespace": namespace},
        });
        Arc::new(Object::new(&value, Revision(1)).unwrap())
    }

    #[test]
    fn of_two_publications_into_one_namespace_the_older_is_in_force() {
        let all = [
            publication("a", 2, "argocd"),
            publication("b", 1, "argocd"),
            publication("c", 3, "kueue"),
            publication("d", 0, ""),
        ];
        let (rules, verdicts) = judge(&all, &["ocm"]);
        let namespaces: Vec<&str> = rules
            .iter()
            .map(|rules| rules.settings.namespace.as_str())
            .collect();
        assert_eq!(namespaces, ["argocd", "kueue"]);
        let problems: Vec<(&str, Option<&str>)> = verdicts
            .iter()
            .map(|verdict| {
                let reason = verdict.problem.as_ref().map(|(reason, _)| *reason);
                (verdict.name.as_str(), reason)
            })
            .collect();
        assert_eq!(
            problems,
            [
                ("d", Some("Invalid")),
                ("b", None),
                ("a", Some("NamespaceTaken")),
                ("c", None)
            ]
        );
    }
}
