//! Copies of earlier registrations on the workload cluster (docs/systems/kcp.md, "Registering again"). This
//! module finds them. If the hub shows the object of such a copy, the step that would create the copy takes
//! it over ([`super::act`]). Otherwise, [`super::work`] waits for a while, and then gives the copy the mark
//! of this registration. The copy is then removed like every marked copy whose object the hub does not show.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use berth_client::Client;
use berth_dialect_kcp::names::DOWNSTREAM_CLUSTER;
use berth_dialect_kcp::syncer_view::copy::{Record, owner};
use berth_dialect_kcp::syncer_view::located;
use berth_dialect_kcp::syncer_view::registration::{Claim, Owner};
use http::Method;
use serde_json::Value;
use tokio::sync::mpsc;

use super::kinds::SyncedKind;
use super::mirrors::{Key, NAMESPACES, NamespacedName, namespaced_name};

/// Shortest pause after a search that failed or had a result.
const MIN_PAUSE: Duration = Duration::from_secs(1);
/// Longest pause after a search that failed or had a result.
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// Pause after a search without a result.
const IDLE_PAUSE: Duration = Duration::from_mins(10);

/// A copy of an earlier registration.
pub(super) struct Leftover {
    /// The key of the object upstream.
    pub(super) key: Key,
    /// Namespace and name of the copy downstream.
    pub(super) down: NamespacedName,
    /// The copy.
    pub(super) object: Value,
}

/// Result of a search.
#[derive(Default)]
pub(super) struct SearchResult {
    /// The copies of earlier registrations.
    pub(super) earlier: Vec<Leftover>,
    /// Numbers of namespaces by the identifier in their label, for identifiers that may belong to earlier
    /// registrations of this cluster.
    pub(super) unproven: BTreeMap<String, usize>,
    /// The problems of kinds that could not be listed, by the indexes of the kinds.
    pub(super) unlisted: BTreeMap<usize, String>,
}

/// Search for copies of earlier registrations.
pub(super) struct Search {
    /// Client of the workload cluster.
    pub(super) cluster: Client,
    /// Owner of the copies of this registration.
    pub(super) owner: Owner,
    pub(super) kinds: Vec<SyncedKind>,
    /// Time after which copies of objects that the hub does not show are removed.
    pub(super) remove_after: Duration,
    pub(super) out: mpsc::Sender<SearchResult>,
}

impl Search {
    /// Searches at intervals, until the receiver is dropped.
    pub(super) async fn run(self) {
        let mut last_problem = String::new();
        let shortest = self.remove_after.clamp(MIN_PAUSE, MAX_PAUSE);
        let mut next_pause = shortest;
        loop {
            let mut pause = shortest;
            let problem = match self.search().await {
                Ok(found) => {
                    let problems: Vec<String> = found.unlisted.values().cloned().collect();
                    let problem = problems.join("; ");
                    if found.earlier.is_empty() && found.unproven.is_empty() {
                        // While some kinds cannot be listed, the pauses grow.
                        pause = if problem.is_empty() {
                            IDLE_PAUSE
                        } else {
                            next_pause
                        };
                    }
                    if self.out.send(found).await.is_err() {
                        return;
                    }
                    problem
                }
                Err(problem) => format!("{problem:#}"),
            };
            // A problem may last: it is logged only when it changes.
            if !problem.is_empty() && problem != last_problem {
                tracing::warn!(
                    problem,
                    "cannot look for copies of earlier registrations; retrying"
                );
            }
            next_pause = match problem == last_problem {
                true => next_pause.saturating_mul(2).min(IDLE_PAUSE),
                false => shortest,
            };
            last_problem = problem;
            tokio::time::sleep(pause).await;
        }
    }

    /// Searches all kinds that can be listed.
    ///
    /// # Errors
    /// When namespaces cannot be listed, without which no other copies are found.
    async fn search(&self) -> Result<SearchResult> {
        let mut found = SearchResult::default();
        let mut own = HashMap::new();
        for object in self.list(&self.kinds[NAMESPACES], "").await? {
            let Some(name) = located(&self.owner.logical_cluster, &object) else {
                continue;
            };
            match self.owner.claim(&object) {
                Claim::Own => drop(own.insert(namespaced_name(&object).1, name)),
                Claim::Earlier => found.earlier.push(Leftover {
                    key: Key {
                        kind: NAMESPACES,
                        namespace: String::new(),
                        name,
                    },
                    down: namespaced_name(&object),
                    object,
                }),
                Claim::Unproven(identifier) => *found.unproven.entry(identifier).or_default() += 1,
                Claim::None => {}
            }
        }
        let selector = format!(",{DOWNSTREAM_CLUSTER}!%3D{}", self.owner.identifier);
        for (number, kind) in self.kinds.iter().enumerate().skip(1) {
            match self.list(kind, &selector).await {
                Ok(copies) => {
                    let copies = copies.into_iter();
                    found
                        .earlier
                        .extend(copies.filter_map(|object| leftover(number, object, &own)));
                }
                Err(problem) => drop(found.unlisted.insert(number, format!("{problem:#}"))),
            }
        }
        Ok(found)
    }

    /// The objects of a kind that have the label [`DOWNSTREAM_CLUSTER`] and meet the additional selector
    /// `more`.
    async fn list(&self, kind: &SyncedKind, more: &str) -> Result<Vec<Value>> {
        let path = format!("{}?labelSelector={DOWNSTREAM_CLUSTER}{more}", kind.collection(""));
        let answer = self.cluster.send(Method::GET, &path, None).await;
        match answer.with_context(|| kind.name())? {
            Ok(mut list) => {
                let items = list["items"].as_array_mut().map(std::mem::take);
                let mut items = items.unwrap_or_default();
                for item in &mut items {
                    item["apiVersion"] = kind.api.api_version.as_str().into();
                    item["kind"] = kind.api.kind.as_str().into();
                }
                Ok(items)
            }
            // The cluster has no such kind.
            Err(status) if status.code == 404 => Ok(Vec::new()),
            Err(status) => Err(anyhow!("{}: {}", kind.name(), status.message)),
        }
    }
}

/// `object` as a leftover, if it is in a namespace of this registration and an earlier registration created
/// it. No other syncer creates objects there: a syncer creates them only in its own namespaces. `own` has the
/// upstream name of each downstream namespace of this registration.
fn leftover(kind: usize, object: Value, own: &HashMap<String, String>) -> Option<Leftover> {
    let down = namespaced_name(&object);
    let namespace = own.get(&down.0)?.clone();
    let original = Record::of(&object).name;
    owner(&object).filter(|_| !original.is_empty())?;
    let key = Key {
        kind,
        namespace,
        name: original,
    };
    Some(Leftover { key, down, object })
}

#[cfg(test)]
mod tests {
    use berth_dialect_kcp::syncer_view::copy::copy;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_copies_by_a_syncer_in_own_namespaces_are_leftovers() {
        let own = HashMap::from([("kcp1".to_owned(), "app".to_owned())]);
        let up = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kube-root-ca.crt"}});
        let existing = copy("u-1", &up, "kcp1");
        let found = leftover(1, existing.clone(), &own).unwrap();
        assert_eq!(
            (found.key.namespace.as_str(), found.key.name.as_str()),
            ("app", "kube-root-ca.crt")
        );
        assert_eq!(found.down, ("kcp1".to_owned(), "kcp-root-ca.crt".to_owned()));
        let mut labelled = existing.clone();
        labelled["metadata"]["annotations"] = json!({});
        assert!(
            leftover(1, labelled, &own).is_none(),
            "the label alone does not make it a copy of a syncer"
        );
        assert!(
            leftover(1, copy("u-1", &up, "kcp2"), &own).is_none(),
            "in another namespace"
        );
    }
}
