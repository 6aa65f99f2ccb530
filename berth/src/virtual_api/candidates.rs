//! `candidates` and `clustercandidates`: every (decision, target) pair as an object, made at each read.

use std::sync::Arc;

use apiserver::{Call, Computed, ListQuery, Listing};
use async_trait::async_trait;
use dialect_contract::Decision;
use dialect_contract::report::{Entry, Places, View};
use engine::{Engine, Snapshot};
use meta::{Key, Object, Revision, Status};
use serde_json::{Value, json};
use storage::Name;

use super::kinds::{API_VERSION, candidate};
use super::resolve::{About, Found, behind};
use super::scheduling::decide;
use super::{names, render};

/// How many pairs an unfiltered list may span (docs/api.md, "Candidates").
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

    /// The decision on one demand, its candidates to be rendered one by one; `None` where the demand is gone.
    fn of(&self, snapshot: &Snapshot, demand: &Key, call: &Call) -> Result<Option<Decided>, Status> {
        let decision = decide(snapshot, demand, call.now)?;
        let Some(source) = snapshot.inventory.object(demand) else {
            return Ok(None);
        };
        let (namespace, name) = names::place(&*snapshot.dialect, demand);
        Ok(Some(Decided {
            places: Places::of(&*snapshot.inventory, &decision),
            snapshot: snapshot.clone(),
            decision,
            source,
            namespace,
            name,
            kind: match self.namespaced {
                true => "Candidate",
                false => "ClusterCandidate",
            },
        }))
    }
}

/// A decision whose candidates are shown.
struct Decided {
    snapshot: Snapshot,
    decision: Decision,
    places: Places,
    /// What wants a place.
    source: Arc<Object>,
    /// Of the Decision.
    namespace: String,
    /// Of the Decision.
    name: String,
    kind: &'static str,
}

impl Decided {
    fn view(&self) -> View<'_> {
        View {
            dialect: self.snapshot.dialect.name(),
            inventory: &*self.snapshot.inventory,
            decision: &self.decision,
            places: &self.places,
        }
    }

    /// The target's name without its dialect, or the cluster's own name where there is no target.
    fn bare(&self, entry: Entry) -> String {
        match entry {
            Entry::Target(candidate) => self.snapshot.inventory.target_name(candidate).to_string(),
            Entry::Unknown(_) => self.view().cluster_name(entry),
        }
    }

    /// The fields that candidates are selected by, without the rest.
    fn fields(&self, entry: Entry) -> Value {
        let view = self.view();
        json!({
            "spec": {"decision": self.name, "target": view.target_name(entry)},
            "status": {"feasible": view.is_feasible(entry), "picked": view.is_picked(entry)},
        })
    }

    fn render(&self, entry: Entry) -> Result<Arc<Object>, Status> {
        let bare = self.bare(entry);
        let candidate = self.view().candidate(entry);
        let name = names::candidate(&self.name, &bare);
        let mut metadata = render::metadata(
            self.source.meta(),
            &format!("{}/{bare}", self.kind),
            &self.namespace,
            &name,
        );
        if !self.source.meta().labels.is_empty() {
            metadata.insert("labels".to_owned(), json!(self.source.meta().labels));
        }
        let mut spec = json!({"decision": self.name});
        if !candidate.target.is_empty() {
            spec["target"] = candidate.target.as_str().into();
        }
        let value = json!({
            "apiVersion": API_VERSION,
            "kind": self.kind,
            "metadata": metadata,
            "spec": spec,
            "status": candidate,
        });
        Object::new(&value, self.revision())
            .map(Arc::new)
            .map_err(|error| Status::internal(error.to_string()))
    }

    fn revision(&self) -> Revision {
        Revision(self.snapshot.revision.0.max(1))
    }
}

/// A list of candidates. It holds the decisions it began with, so that all of its pages are of them.
struct Rows {
    decided: Vec<Decided>,
    /// By namespace, then name.
    rows: Vec<Row>,
}

struct Row {
    name: String,
    /// The index of the decision.
    of: usize,
    entry: Entry,
}

impl Rows {
    fn new(decided: Vec<Decided>, query: &ListQuery) -> Self {
        let all_are_selected = query.fields.terms.iter().all(|(path, ..)| path == "decision");
        let mut rows = Vec::new();
        for (of, decided) in decided.iter().enumerate() {
            let entries = decided.view().entries().into_iter();
            let selected =
                entries.filter(|&entry| all_are_selected || is_selected(&decided.fields(entry), query));
            rows.extend(selected.map(|entry| Row {
                name: names::candidate(&decided.name, &decided.bare(entry)),
                of,
                entry,
            }));
        }
        rows.sort_by(|a, b| {
            let namespace = |row: &Row| decided[row.of].namespace.as_str();
            (namespace(a), &a.name).cmp(&(namespace(b), &b.name))
        });
        Self { decided, rows }
    }
}

impl Listing for Rows {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn revision(&self) -> Revision {
        let newest = self.decided.iter().map(Decided::revision).max();
        newest.unwrap_or(Revision(1))
    }

    fn name(&self, index: usize) -> Name {
        let row = &self.rows[index];
        Name::new(&self.decided[row.of].namespace, &row.name)
    }

    fn object(&self, index: usize) -> Result<Arc<Object>, Status> {
        let row = &self.rows[index];
        self.decided[row.of].render(row.entry)
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
        let decided = self.of(&snapshot, &demand, call)?.ok_or_else(missing)?;
        let mut entries = decided.view().entries().into_iter();
        let named = |entry: &Entry| names::candidate(&decided.name, &decided.bare(*entry)) == call.name;
        let entry = entries.find(named).ok_or_else(missing)?;
        decided.render(entry)
    }

    async fn list(&self, call: &Call, query: &ListQuery) -> Result<Arc<dyn Listing>, Status> {
        let mut worlds = self.demands(&call.namespace).await?;
        for (snapshot, demands) in &mut worlds {
            let is_wanted = |demand: &Key| {
                let (_, name) = names::place(&*snapshot.dialect, demand);
                let mut terms = query.fields.terms.iter().filter(|(path, ..)| path == "decision");
                terms.all(|(_, equal, value)| (*value == name) == *equal)
            };
            demands.retain(is_wanted);
        }
        let of_one = |(path, equal, _): &(String, bool, String)| path == "decision" && *equal;
        if !query.fields.terms.iter().any(of_one) {
            check_span(&worlds)?;
        }
        let mut decided = Vec::new();
        for (snapshot, demands) in &worlds {
            for demand in demands {
                decided.extend(self.of(snapshot, demand, call)?);
            }
        }
        Ok(Arc::new(Rows::new(decided, query)))
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

/// Whether `fields` are what the field selector asks for. Fields of metadata are the server's business.
fn is_selected(fields: &Value, query: &ListQuery) -> bool {
    query.fields.terms.iter().all(|(path, equal, value)| {
        let field = candidate::SELECTABLE.iter().find(|field| field.path == path);
        field.is_none_or(|field| (field.read(fields) == *value) == *equal)
    })
}
