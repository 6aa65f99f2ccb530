//! Rendering of one virtual object from the engine's snapshot.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::{Draft, GroupResource, Key, Object, Timestamp};
use berth_dialect_contract::Phase;
use berth_engine::{Engine, Snapshot};
use berth_storage::{Collection, Name, Source};

use super::Subject;
use crate::names;
use crate::observed::{self, Budget, ComparisonCache};
use crate::projection::{CLUSTER_DECISIONS, DECISIONS, Projection, TARGETS};
use crate::render::{self, RenderedObject};
use crate::tallies::Tally;

/// A subject whose object has to be rendered.
pub(super) struct RenderRequest {
    pub(super) subject: Subject,
    /// The name of the object about a target, if the object was rendered before.
    pub(super) name: Option<Arc<str>>,
    /// The last comparison; `None` unless the demand is observed.
    pub(super) compared: Option<Arc<ComparisonCache>>,
}

/// Result of rendering one subject.
pub(super) struct ObjectDraft {
    pub(super) subject: Subject,
    /// Key of the object; `None` for a target that never had one.
    pub(super) key: Option<Key>,
    /// The object; `None` if there is no such object any more, or it could not be built.
    pub(super) draft: Option<Draft>,
    pub(super) due_at: Option<Timestamp>,
    /// Properties by which a Decision is counted.
    pub(super) tally: Option<Tally>,
    /// The last comparison; `None` unless the demand is observed.
    pub(super) compared: Option<Arc<ComparisonCache>>,
    /// Whether the comparison was postponed for lack of time.
    pub(super) is_postponed: bool,
}

impl ObjectDraft {
    fn absent(subject: Subject, key: Option<Key>) -> Self {
        Self {
            subject,
            key,
            draft: None,
            due_at: None,
            tally: None,
            compared: None,
            is_postponed: false,
        }
    }

    /// Adds the rendered object.
    fn with_object(mut self, rendered: Option<RenderedObject>) -> Self {
        let Some(RenderedObject { value, due_at }) = rendered else {
            return self;
        };
        match Draft::new(&value) {
            Ok(draft) => {
                self.draft = Some(draft);
                self.due_at = due_at;
            }
            Err(error) => {
                tracing::error!(subject = ?self.subject, %error, "cannot build a Decision or Target, which is not served until its object changes; report it as a bug, with this line");
            }
        }
        self
    }
}

/// The present virtual objects.
pub(super) struct VirtualObjects(BTreeMap<GroupResource, Collection>);

impl VirtualObjects {
    pub(super) fn of(projection: &Projection) -> Self {
        let resources = [TARGETS, DECISIONS, CLUSTER_DECISIONS];
        Self(
            resources
                .into_iter()
                .map(|resource| (resource, projection.store.cached(resource)))
                .collect(),
        )
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Arc<Object>> {
        let name = Name {
            namespace: Arc::clone(&key.namespace),
            name: Arc::clone(&key.name),
        };
        self.0.get(&key.resource)?.items.get(&name)
    }
}

/// Renders the objects of `requests` with `render`. A panic, which is a bug of `dialect`, leaves out only the
/// object about its subject.
pub(super) fn render_each(
    dialect: &'static str,
    requests: Vec<RenderRequest>,
    mut render: impl FnMut(RenderRequest) -> ObjectDraft,
) -> Vec<ObjectDraft> {
    let mut drafts = Vec::with_capacity(requests.len());
    for request in requests {
        let subject = request.subject.clone();
        match catch_unwind(AssertUnwindSafe(|| render(request))) {
            Ok(draft) => drafts.push(draft),
            Err(_panic) => {
                tracing::error!(
                    dialect,
                    ?subject,
                    "a Decision or Target cannot be computed, and is out of date until its object changes; report it as a bug, with this line"
                );
            }
        }
    }
    drafts
}

/// Renderer of the virtual objects of one dialect at one instant.
pub(super) struct Renderer {
    pub(super) snapshot: Snapshot,
    pub(super) shown: VirtualObjects,
    pub(super) engine: Arc<Engine>,
    /// Whether all objects of the dialect are known. Otherwise no decision is compared.
    pub(super) is_complete: bool,
    /// Limit on the effort of decisions for comparisons.
    pub(super) budget: Budget,
    pub(super) grace: Duration,
    pub(super) now: Timestamp,
}

impl Renderer {
    /// Renders the object about the subject of `request`.
    pub(super) fn render(&mut self, request: RenderRequest) -> ObjectDraft {
        match &request.subject {
            Subject::Target(cluster) => {
                let cluster = Arc::clone(cluster);
                self.target(&cluster, request)
            }
            Subject::Demand(demand) => {
                let demand = demand.clone();
                self.decision(&demand, request)
            }
        }
    }

    fn target(&self, cluster: &str, request: RenderRequest) -> ObjectDraft {
        let target = self.snapshot.inventory.target_of(cluster, self.now);
        let object = target.map(|(name, view)| {
            let dialect = self.snapshot.dialect.name();
            let key = Key::new(TARGETS, "", &names::join(&name, dialect));
            let old = self.shown.get(&key).map(|old| &**old);
            let rendered = render::target(dialect, &key.name, &view, self.now, old);
            (key, rendered)
        });
        let (key, rendered) = object.unzip();
        let key = key.or_else(|| request.name.map(|name| Key::new(TARGETS, "", &name)));
        ObjectDraft::absent(request.subject, key).with_object(rendered)
    }

    fn decision(&mut self, demand: &Key, request: RenderRequest) -> ObjectDraft {
        let key = decision_key(&self.snapshot, demand);
        let Some(view) = self.snapshot.inventory.demand(demand, self.now) else {
            return ObjectDraft::absent(request.subject, Some(key));
        };
        let is_observed = !self.engine.is_entrusted(&self.snapshot, demand);
        let is_compared = is_observed && self.is_complete;
        let is_decided = is_compared && self.decides_now(demand, view.phase);
        let decision = is_decided
            .then(|| render::own_decision(&self.snapshot, demand, self.now))
            .flatten();
        let compared = match &decision {
            Some(decision) => {
                let before = request.compared.as_deref();
                Some(ComparisonCache::of(&self.snapshot, decision, &view, before))
            }
            // After a decision that failed, the last comparison may be with another decision.
            None => request.compared.filter(|_| is_observed && !is_decided),
        };
        let agreement =
            is_observed.then(|| observed::agreement_text(&view, compared.as_deref(), self.grace, self.now));
        let facts = render::DecisionFacts {
            snapshot: &self.snapshot,
            demand,
            view,
            decision: decision.as_ref(),
            agreement,
            contest: self.engine.contest(self.snapshot.dialect.name(), demand),
            now: self.now,
        };
        let old = self.shown.get(&key).map(|old| &**old);
        let (rendered, tally) = render::decision(facts, old);
        ObjectDraft {
            tally: Some(tally),
            is_postponed: is_compared && !is_decided,
            compared,
            ..ObjectDraft::absent(request.subject, Some(key)).with_object(Some(rendered))
        }
    }

    /// Whether `demand`, which another scheduler decides, is decided now for a comparison. A pending, invalid
    /// or ignored demand is decided whatever the budget, since its Decision shows the reasons.
    fn decides_now(&mut self, demand: &Key, phase: Phase) -> bool {
        let is_decided_anyway = matches!(phase, Phase::Pending | Phase::Invalid | Phase::Ignored);
        is_decided_anyway || self.budget.allows(&self.snapshot, demand)
    }
}

fn decision_key(snapshot: &Snapshot, demand: &Key) -> Key {
    let (namespace, name) = names::place(&*snapshot.dialect, demand);
    let resource = if namespace.is_empty() {
        CLUSTER_DECISIONS
    } else {
        DECISIONS
    };
    Key::new(resource, &namespace, &name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_about_one_object_leaves_out_no_other() {
        let [first, broken, last] = ["a", "b", "c"].map(|name| Subject::Target(name.into()));
        let requests = [&first, &broken, &last].map(|subject| RenderRequest {
            subject: subject.clone(),
            name: None,
            compared: None,
        });
        let drafts = render_each("test", requests.into(), |request| {
            assert_ne!(request.subject, broken, "a bug of the dialect");
            ObjectDraft::absent(request.subject, None)
        });
        let rendered: Vec<Subject> = drafts.into_iter().map(|draft| draft.subject).collect();
        assert_eq!(rendered, [first, last]);
    }
}
