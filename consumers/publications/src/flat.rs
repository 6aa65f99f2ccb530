//! PublishedDecisions: the decisions that a Publication shows in its namespace with flat entries, computed at
//! each read.
//!
//! Readers of PublishedDecisions remove workloads from clusters that they no longer find. So a get or a list
//! returns 503 while the Publications, or the decisions of a system that the request may select, are not
//! completely known.

use std::sync::Arc;

use async_trait::async_trait;
use berth_apimachinery::{GroupResource, Key, Object, Revision, Status, Timestamp, budget};
use berth_apiserver::{Backing, Call, Computed, ListQuery, Listing, RequestInfo, Resource, heavy};
use berth_dialect_contract::Dialect;
use berth_engine::{Engine, Snapshot};
use berth_multicluster::flat::{self, DecisionName, Entry};
use berth_multicluster::{SYSTEM_LABEL, name};
use berth_scheduling_api::GROUP;
use berth_scheduling_api::published::{
    self, PublishedCluster, PublishedDecision, PublishedDecisionSpec, PublishedDecisionStatus,
};
use berth_scheduling_api::shared::{Manifest, none_if_empty};
use berth_scheduling_rest::{behind, names, render};
use berth_storage::Name;
use serde_json::{Map, Value, json};

use super::copies::Copies;
use super::in_force::{self, PublicationInForce};

/// The resource `publisheddecisions`.
const RESOURCE: GroupResource = GroupResource::new(GROUP, published::PLURAL);
/// Seconds after which a client should ask again while Publications are not known.
const RETRY_AFTER: u32 = 5;

/// The resource `publisheddecisions` over the decisions of `engine`; `copies` is the progress of copying
/// Publications from the hub, if there is a hub.
pub(super) fn resource(engine: &Arc<Engine>, copies: Option<Arc<Copies>>) -> Resource {
    let decisions = FlatDecisions {
        engine: Arc::clone(engine),
        copies,
    };
    Resource::new(
        Arc::new(published::kind()),
        Backing::Computed(Arc::new(decisions)),
    )
}

/// Computed PublishedDecisions.
struct FlatDecisions {
    engine: Arc<Engine>,
    copies: Option<Arc<Copies>>,
}

impl FlatDecisions {
    /// The rows of the systems that `is_requested` accepts, in `namespace`, or in all namespaces if
    /// `namespace` is empty.
    async fn rows(
        &self,
        namespace: &str,
        now: Timestamp,
        is_requested: impl Fn(&str) -> bool + Send,
    ) -> Result<Rows, Status> {
        if let Some(Err(problem)) = self.copies.as_ref().map(|copies| copies.ready()) {
            return Err(Status::unavailable(problem, RETRY_AFTER));
        }
        let dialects: Vec<Arc<dyn Dialect>> = self.engine.dialects().cloned().collect();
        let mut publications = in_force::readable(&**self.engine.source(), &dialects);
        publications.retain(|publication| {
            publication.rules.is_flat()
                && (namespace.is_empty() || publication.rules.settings.namespace == namespace)
        });
        let mut rows = Rows {
            rows: Vec::new(),
            revision: self.engine.source().revision(),
            now,
        };
        for dialect in dialects {
            let system = dialect.name();
            let mut showing = publications
                .iter()
                .filter(|publication| publication.rules.has_system(system));
            if !is_requested(system) || showing.next().is_none() {
                continue;
            }
            let snapshot = self.engine.fresh(system).await;
            if let Some(snapshot) = snapshot.map_err(|error| behind(&error))? {
                rows.add(&snapshot, &publications)?;
            }
        }
        rows.rows
            .sort_by(|a, b| (&a.name.namespace, &a.name.name).cmp(&(&b.name.namespace, &b.name.name)));
        Ok(rows)
    }
}

#[async_trait]
impl Computed for FlatDecisions {
    /// Returns [`heavy::UNKNOWN`], since all objects are computed at each read.
    fn effort(&self, _: &RequestInfo) -> usize {
        heavy::UNKNOWN
    }

    async fn get(&self, call: &Call) -> Result<Arc<Object>, Status> {
        let requested = name::system_of(&call.name);
        let is_requested = |system: &str| requested.is_none_or(|requested| requested == system);
        let rows = self.rows(&call.namespace, call.now, is_requested).await?;
        let mut all = rows.rows.iter();
        let found = all.position(|row| *row.name.name == *call.name);
        rows.object(found.ok_or_else(|| Status::not_found(RESOURCE, &call.name))?)
    }

    async fn list(&self, call: &Call, query: &ListQuery) -> Result<Arc<dyn Listing>, Status> {
        let rows = self.rows(&call.namespace, call.now, |system| may_select(query, system));
        Ok(Arc::new(rows.await?))
    }
}

/// Whether `query` can select a decision of `system`.
fn may_select(query: &ListQuery, system: &str) -> bool {
    let requirements = query.labels.requirements.iter();
    let mut of_system = requirements.filter(|requirement| requirement.key == SYSTEM_LABEL);
    let mut named = query
        .fields
        .terms
        .iter()
        .filter(|(path, equal, _)| path == "metadata.name" && *equal);
    of_system.all(|requirement| requirement.matches(Some(system)))
        && named.all(|(_, _, name)| name::system_of(name).is_none_or(|named| named == system))
}

/// The rows of a list, sorted by namespace and name. The object of a row is computed when it is needed.
struct Rows {
    rows: Vec<Row>,
    revision: Revision,
    now: Timestamp,
}

/// One decision that one Publication shows.
struct Row {
    name: Name,
    publication: PublicationInForce,
    snapshot: Snapshot,
    demand: Key,
}

impl Rows {
    /// Adds the decisions of `snapshot` that any of `publications` shows.
    fn add(&mut self, snapshot: &Snapshot, publications: &[PublicationInForce]) -> Result<(), Status> {
        let system = snapshot.dialect.name();
        for demand in snapshot.inventory.demands() {
            budget::check_needed()?;
            let Some(object) = snapshot.inventory.object(&demand) else {
                continue;
            };
            let (namespace, decision) = names::place(&*snapshot.dialect, &demand);
            let showing = publications
                .iter()
                .filter(|publication| publication.rules.shows_flat(system, object.meta().labels()));
            for publication in showing {
                let shown = name::decision(&namespace, &decision);
                self.rows.push(Row {
                    name: Name::new(&publication.rules.settings.namespace, &shown),
                    publication: publication.clone(),
                    snapshot: snapshot.clone(),
                    demand: demand.clone(),
                });
            }
        }
        Ok(())
    }
}

impl Listing for Rows {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn revision(&self) -> Revision {
        Revision(self.revision.0.max(1))
    }

    fn name(&self, index: usize) -> Name {
        self.rows[index].name.clone()
    }

    fn object(&self, index: usize) -> Result<Arc<Object>, Status> {
        let row = &self.rows[index];
        let value = row
            .value(self.now)
            .ok_or_else(|| Status::not_found(RESOURCE, &row.name.name))?;
        let new = Object::new(&value, self.revision());
        new.map(Arc::new)
            .map_err(|error| Status::internal(error.to_string()))
    }

    fn bytes(&self) -> usize {
        size_of_val(self.rows.as_slice())
    }
}

impl Row {
    fn value(&self, now: Timestamp) -> Option<Value> {
        let inventory = &*self.snapshot.inventory;
        let view = inventory.demand(&self.demand, now)?;
        let system = self.snapshot.dialect.name();
        let (namespace, decision) = names::place(&*self.snapshot.dialect, &self.demand);
        let decision_name = DecisionName {
            system,
            namespace: &namespace,
            decision: &decision,
        };
        let entries = flat::entries(decision_name, inventory, &view, now).into_iter();
        let body = PublishedDecision {
            spec: Some(PublishedDecisionSpec {
                publication: self.publication.name.clone(),
                dialect: system.into(),
                decision: decision.clone(),
                namespace: none_if_empty(&namespace),
            }),
            status: Some(PublishedDecisionStatus {
                decisions: entries.filter_map(|entry| self.entry(system, entry)).collect(),
            }),
        };
        let metadata = self.metadata(system, &view.object, view.kind);
        Some(render::tree(&Manifest::new("PublishedDecision", metadata, body)))
    }

    fn metadata(&self, system: &str, source: &Object, source_kind: &str) -> Map<String, Value> {
        let owner = source.as_owner(source_kind, &self.name.namespace);
        let source = source.meta();
        // If two Publications show a decision, there are two objects, which need different uids.
        let kind = format!("PublishedDecision/{}", self.publication.name);
        let mut metadata = render::metadata(source, &kind, &self.name.namespace, &self.name.name);
        if let Some(owner) = owner {
            metadata.insert("ownerReferences".to_owned(), json!([owner]));
        }
        let mut labels = berth_multicluster::inherited(source.labels());
        labels.extend(self.publication.rules.settings.labels.clone());
        labels.insert(SYSTEM_LABEL.to_owned(), system.to_owned());
        metadata.insert("labels".to_owned(), json!(labels));
        metadata
    }

    /// The published entry of one cluster; `None` if the cluster does not exist any more, or is not selected.
    fn entry(&self, system: &str, entry: Entry) -> Option<PublishedCluster> {
        let (target, view) = entry.target?;
        let rules = &self.publication.rules;
        if !rules.selects_target(system, &view.labels) {
            return None;
        }
        Some(PublishedCluster {
            cluster_name: name::profile(&rules.settings, system, &target),
            keys: entry.keys,
        })
    }
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::selector::{FieldSelector, Selector};

    use super::*;

    #[test]
    fn a_list_waits_for_the_systems_it_can_select_and_for_no_other() {
        let selects = |labels: &str, fields: &str| {
            let query = ListQuery {
                labels: Selector::parse(labels).unwrap(),
                fields: FieldSelector::parse(fields).unwrap(),
            };
            ["fleet", "ocm"].map(|system| may_select(&query, system))
        };
        assert_eq!(selects("", ""), [true, true]);
        assert_eq!(selects("scheduling.berth.dev/system=ocm", ""), [false, true]);
        assert_eq!(selects("scheduling.berth.dev/system!=ocm", ""), [true, false]);
        assert_eq!(
            selects("team=a", "metadata.name=everywhere.fleet-cluster"),
            [true, false]
        );
        assert_eq!(selects("", "metadata.name=ns.p.ocm"), [false, true]);
        assert_eq!(selects("", "metadata.name!=ns.p.ocm"), [true, true]);
        // A shortened name may be of any system.
        assert_eq!(selects("", "metadata.name=long-0123456789"), [true, true]);
    }
}
