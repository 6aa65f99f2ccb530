//! `candidates` and `clustercandidates`: every (decision, target) pair as an object, made at each read.

use std::sync::Arc;

use apiserver::{Call, Computed, ListQuery};
use async_trait::async_trait;
use engine::{Engine, Snapshot};
use meta::{Key, Object, Revision, Status};
use serde_json::{Value, json};

use super::kinds::{API_VERSION, candidate};
use super::resolve::{About, Found, behind};
use super::scheduling::{decide, value_of};
use super::{names, render};

/// How many pairs an unfiltered list may span (CONTRACT.md section 1).
pub(super) const MOST: usize = 10_000;

/// Makes candidates.
pub(super) struct Candidates {
    /// The engine.
    pub(super) engine: Arc<Engine>,
    /// Whether these are `candidates` (of Decisions) or `clustercandidates` (of ClusterDecisions).
    pub(super) namespaced: bool,
}

impl Candidates {
    fn resource(&self) -> &'static str {
        if self.namespaced {
            "candidates"
        } else {
            "clustercandidates"
        }
    }

    /// Every demand whose candidates are listed here, by dialect.
    async fn demands(&self, namespace: &str) -> Result<Vec<(Snapshot, Vec<Key>)>, Status> {
        let revision = self.engine.source().revision();
        self.engine
            .caught_up(revision)
            .await
            .map_err(|error| behind(&error))?;
        let snapshots = self
            .engine
            .dialects()
            .filter(|dialect| self.engine.complete(dialect.name()).is_ok())
            .filter_map(|dialect| self.engine.snapshot(dialect.name()));
        let is_here = |snapshot: &Snapshot, demand: &Key| {
            let (place, _) = names::place(&*snapshot.dialect, demand);
            place.is_empty() != self.namespaced && (namespace.is_empty() || place == namespace)
        };
        Ok(snapshots
            .map(|snapshot| {
                let demands = snapshot.inventory.demands();
                let demands = demands
                    .into_iter()
                    .filter(|demand| is_here(&snapshot, demand))
                    .collect();
                (snapshot, demands)
            })
            .collect())
    }

    /// All candidates of one demand.
    fn of(&self, snapshot: &Snapshot, demand: &Key, call: &Call) -> Result<Vec<Arc<Object>>, Status> {
        let decision = decide(snapshot, demand, call.now)?;
        let report = value_of(&snapshot.report(&decision))?;
        let Some(source) = snapshot.inventory.object(demand) else {
            return Ok(Vec::new());
        };
        let (namespace, decision_name) = names::place(&*snapshot.dialect, demand);
        let suffix = format!(".{}", snapshot.dialect.name());
        let Value::Object(mut report) = report else {
            return Ok(Vec::new());
        };
        let Some(Value::Array(candidates)) = report.remove("candidates") else {
            return Ok(Vec::new());
        };
        let make = |candidate: Value| {
            let target = candidate["target"].as_str().unwrap_or_default().to_owned();
            let bare = target
                .strip_suffix(&suffix)
                .or(candidate["clusterName"].as_str())
                .unwrap_or_default();
            let name = names::candidate(&decision_name, bare);
            let kind = if self.namespaced {
                "Candidate"
            } else {
                "ClusterCandidate"
            };
            let mut metadata = render::metadata(source.meta(), &format!("{kind}/{bare}"), &namespace, &name);
            if !source.meta().labels.is_empty() {
                metadata.insert("labels".to_owned(), json!(source.meta().labels));
            }
            let mut spec = json!({"decision": decision_name});
            if !target.is_empty() {
                spec["target"] = target.into();
            }
            let value = json!({
                "apiVersion": API_VERSION,
                "kind": kind,
                "metadata": metadata,
                "spec": spec,
                "status": candidate,
            });
            let revision = Revision(snapshot.revision.0.max(1));
            Object::new(&value, revision)
                .map(Arc::new)
                .map_err(|error| Status::internal(error.to_string()))
        };
        candidates.into_iter().map(make).collect()
    }
}

#[async_trait]
impl Computed for Candidates {
    async fn get(&self, call: &Call) -> Result<Arc<Object>, Status> {
        let resource = meta::GroupResource::new(super::kinds::GROUP, self.resource());
        let missing = || Status::not_found(resource, &call.name);
        let (decision, _) = names::split_candidate(&call.name).ok_or_else(missing)?;
        let found = About::Decision
            .find(&self.engine, &call.namespace, decision)
            .await;
        let Found { snapshot, demand } =
            found.map_err(|status| if status.code == 404 { missing() } else { status })?;
        let all = self.of(&snapshot, &demand, call)?;
        all.into_iter()
            .find(|object| object.meta().name == call.name)
            .ok_or_else(missing)
    }

    async fn list(&self, call: &Call, query: &ListQuery) -> Result<Vec<Arc<Object>>, Status> {
        let wanted = query
            .fields
            .terms
            .iter()
            .filter(|(path, equal, _)| path == "decision" && *equal);
        let wanted: Vec<&str> = wanted.map(|(_, _, value)| value.as_str()).collect();
        let mut worlds = self.demands(&call.namespace).await?;
        for (snapshot, demands) in &mut worlds {
            let is_wanted = |demand: &Key| {
                let (_, name) = names::place(&*snapshot.dialect, demand);
                wanted.iter().all(|wanted| *wanted == name)
            };
            demands.retain(is_wanted);
        }
        if wanted.is_empty() {
            check_span(&worlds)?;
        }
        let mut list = Vec::new();
        for (snapshot, demands) in &worlds {
            for demand in demands {
                let all = self.of(snapshot, demand, call)?;
                list.extend(all.into_iter().filter(|object| is_selected(object, query)));
            }
        }
        list.sort_by(|a, b| {
            (&a.meta().namespace, &a.meta().name).cmp(&(&b.meta().namespace, &b.meta().name))
        });
        Ok(list)
    }
}

/// Refuses to make more pairs than anyone could read.
fn check_span(worlds: &[(Snapshot, Vec<Key>)]) -> Result<(), Status> {
    let pairs =
        |(snapshot, demands): &(Snapshot, Vec<Key>)| demands.len() * snapshot.inventory.count() as usize;
    let count: usize = worlds.iter().map(pairs).sum();
    if count <= MOST {
        return Ok(());
    }
    Err(Status::bad_request(format!(
        "this list would span {count} candidates, more than {MOST}: ask for one decision's with \
         --field-selector decision=<name>, or for a single namespace"
    )))
}

/// Whether the object has what the field selector asks for. Fields of metadata are the server's business.
fn is_selected(object: &Object, query: &ListQuery) -> bool {
    query.fields.terms.iter().all(|(path, equal, value)| {
        let field = candidate::SELECTABLE.iter().find(|field| field.path == path);
        field.is_none_or(|field| ((field.read)(object.value()) == *value) == *equal)
    })
}
