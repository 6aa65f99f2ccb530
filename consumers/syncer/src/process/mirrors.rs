//! The objects of both sides that a syncer knows, and the next step for each object.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use berth_dialect_kcp::syncer_view::copy::{Record, copy_name};
use berth_dialect_kcp::syncer_view::form::ClusterForm;
use berth_dialect_kcp::syncer_view::registration::Owner;
use berth_dialect_kcp::syncer_view::step::{Step, StepContext, namespace_next};
use berth_dialect_kcp::syncer_view::{downstream_namespace, located};
use serde_json::Value;
use tokio::time::Instant;

use super::ends::Side;
use super::follow::{Observation, ObservationContent};
use super::kinds::SyncedKind;

/// The index of the kind Namespace in [`super::kinds::SyncedKinds::kinds`].
pub(super) const NAMESPACES: usize = 0;
/// Time for which the form of a copy is known after a write. Another write tests it then, since the cluster
/// may know a field by now that it dropped before.
const FORM_KEPT: Duration = Duration::from_mins(5);

/// The key of an object by its name upstream.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    /// The index of the object's kind in [`super::kinds::SyncedKinds::kinds`].
    pub(super) kind: usize,
    /// The object's namespace; empty for a Namespace.
    pub(super) namespace: String,
    /// The object's name.
    pub(super) name: String,
}

/// A namespace (or the empty string) and a name, on one side.
pub(super) type NamespacedName = (String, String);

/// The objects of one kind on one side.
#[derive(Default)]
struct Mirror {
    objects: BTreeMap<NamespacedName, Arc<Value>>,
    /// Whether a complete list has been received.
    complete: bool,
    /// The list that is being received.
    incoming: Option<BTreeMap<NamespacedName, Arc<Value>>>,
}

impl Mirror {
    /// Applies an observation. Returns the subject of the change: one object, or all. `None` where no object
    /// changes.
    fn apply(&mut self, content: ObservationContent) -> Option<MirrorSubject> {
        match (content, &mut self.incoming) {
            (ObservationContent::Begin, incoming) => {
                *incoming = Some(BTreeMap::new());
                None
            }
            (ObservationContent::Object(object), Some(incoming)) => {
                incoming.insert(namespaced_name(&object), object);
                None
            }
            (ObservationContent::End, incoming) => {
                let old = std::mem::replace(&mut self.objects, incoming.take().unwrap_or_default());
                self.complete = true;
                Some(MirrorSubject::All(old))
            }
            (ObservationContent::Object(object), None) => {
                self.objects.insert(namespaced_name(&object), Arc::clone(&object));
                Some(MirrorSubject::One(object))
            }
            (ObservationContent::Failed(_), _) => None,
            (ObservationContent::Gone(object), incoming) => {
                let at = namespaced_name(&object);
                self.objects.remove(&at);
                if let Some(incoming) = incoming {
                    incoming.remove(&at);
                }
                Some(MirrorSubject::One(object))
            }
        }
    }
}

/// Subject of an observation.
enum MirrorSubject {
    /// One object.
    One(Arc<Value>),
    /// All objects; the value is the objects before the change.
    All(BTreeMap<NamespacedName, Arc<Value>>),
}

/// The namespace (or the empty string) and the name of an object.
pub(super) fn namespaced_name(object: &Value) -> NamespacedName {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    (text("namespace"), text("name"))
}

/// Plan for one object.
pub(super) struct Plan {
    /// The step to carry out.
    pub(super) step: Step,
    /// Namespace and name of the object's copy downstream.
    pub(super) down: NamespacedName,
}

/// The form in which the cluster stored a copy.
struct KnownForm {
    form: ClusterForm,
    /// The time of the write that told the form.
    at: Instant,
}

/// The known objects of both sides.
pub(super) struct Mirrors {
    owner: Owner,
    kinds: Vec<SyncedKind>,
    up: Vec<Mirror>,
    down: Vec<Mirror>,
    /// The forms in which the cluster stores copies, if they are not those of the copies.
    forms: HashMap<Key, KnownForm>,
    /// Cache of the downstream name of each namespace, which is a hash.
    names: HashMap<String, String>,
}

impl Mirrors {
    pub(super) fn new(owner: Owner, kinds: &[SyncedKind]) -> Self {
        let mirrors = || kinds.iter().map(|_| Mirror::default()).collect();
        Self {
            owner,
            kinds: kinds.to_vec(),
            up: mirrors(),
            down: mirrors(),
            forms: HashMap::new(),
            names: HashMap::new(),
        }
    }

    /// The kind with the index `number`.
    pub(super) fn kind(&self, number: usize) -> &SyncedKind {
        &self.kinds[number]
    }

    /// Whether all objects of a kind are known on a side.
    fn is_complete(&self, kind: usize, side: Side) -> bool {
        self.side(side)[kind].complete
    }

    fn side(&self, side: Side) -> &[Mirror] {
        match side {
            Side::Up => &self.up,
            Side::Down => &self.down,
        }
    }

    /// Whether all objects of both sides are known, apart from the kinds and sides that are `lost`.
    pub(super) fn is_complete_except(&self, lost: impl Fn(usize, Side) -> bool) -> bool {
        let sides = [Side::Up, Side::Down];
        let mut all = (0..self.kinds.len()).flat_map(|kind| sides.map(|side| (kind, side)));
        all.all(|(kind, side)| self.is_complete(kind, side) || lost(kind, side))
    }

    /// Whether a list of a kind is being received on a side.
    pub(super) fn is_listing(&self, kind: usize, side: Side) -> bool {
        self.side(side)[kind].incoming.is_some()
    }

    /// Number of known objects upstream.
    pub(super) fn upstream_count(&self) -> usize {
        self.up.iter().map(|mirror| mirror.objects.len()).sum()
    }

    /// Whether the object `key` exists upstream; `None` while that is not known.
    pub(super) fn exists_upstream(&self, key: &Key) -> Option<bool> {
        let mirror = &self.up[key.kind];
        let at = (key.namespace.clone(), key.name.clone());
        mirror.complete.then(|| mirror.objects.contains_key(&at))
    }

    /// Whether neither side has the object `key`, whose copy would be `down`.
    pub(super) fn is_gone(&self, key: &Key, down: &NamespacedName) -> bool {
        self.exists_upstream(key) == Some(false) && !self.down[key.kind].objects.contains_key(down)
    }

    /// Records the form in which the cluster stores the copy of `key` at the time `now`; `None` if it is that
    /// of the copy, or the copy is gone. Returns whether there is a form that was not known.
    pub(super) fn record_form(&mut self, key: &Key, form: Option<ClusterForm>, now: Instant) -> bool {
        let Some(form) = form else {
            self.forms.remove(key);
            return false;
        };
        let is_news = self.form(key, now) != Some(&form);
        self.forms.insert(key.clone(), KnownForm { form, at: now });
        is_news
    }

    /// The form of the copy of `key`, if it is known and not too old.
    fn form(&self, key: &Key, now: Instant) -> Option<&ClusterForm> {
        let known = self.forms.get(key)?;
        (now - known.at < FORM_KEPT).then_some(&known.form)
    }

    /// Applies an observation. Returns the keys that may need a step.
    pub(super) fn apply(&mut self, observation: Observation) -> Vec<Key> {
        let Observation { side, kind, content } = observation;
        let mirror = match side {
            Side::Up => &mut self.up[kind],
            Side::Down => &mut self.down[kind],
        };
        match mirror.apply(content) {
            None => Vec::new(),
            Some(MirrorSubject::One(object)) => self.affected(side, kind, &object),
            Some(MirrorSubject::All(before)) => {
                let mut due: Vec<Key> = before
                    .values()
                    .flat_map(|object| self.affected(side, kind, object))
                    .collect();
                due.extend(self.all_keys());
                due.sort_unstable();
                due.dedup();
                due
            }
        }
    }

    /// The keys of all objects that are known on either side.
    fn all_keys(&self) -> Vec<Key> {
        let mut all = Vec::new();
        for kind in 0..self.kinds.len() {
            all.extend(self.up[kind].objects.values().map(|object| up_key(kind, object)));
            all.extend(
                self.down[kind]
                    .objects
                    .values()
                    .filter_map(|object| self.down_key(kind, object)),
            );
        }
        all
    }

    /// The keys that a change of `object` may affect: of the object and of its namespace; for a namespace, of
    /// the namespace and of the objects in it.
    fn affected(&self, side: Side, kind: usize, object: &Value) -> Vec<Key> {
        let own = match side {
            Side::Up => Some(up_key(kind, object)),
            Side::Down => self.down_key(kind, object),
        };
        let Some(own) = own else { return Vec::new() };
        let mut due = Vec::new();
        if kind == NAMESPACES {
            due.extend(self.content(&own.name).map(|(kind, object)| up_key(kind, object)));
            let (_, name) = namespaced_name(object);
            if side == Side::Down {
                due.extend(
                    self.copies(&name)
                        .filter_map(|(kind, object)| self.down_key(kind, object)),
                );
            }
        } else {
            due.push(Key {
                kind: NAMESPACES,
                namespace: String::new(),
                name: own.namespace.clone(),
            });
        }
        due.push(own);
        due
    }

    /// The known objects in a namespace upstream.
    fn content<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = (usize, &'a Arc<Value>)> {
        objects_in(&self.up, namespace)
    }

    /// The copies in a namespace downstream.
    fn copies<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = (usize, &'a Arc<Value>)> {
        objects_in(&self.down, namespace)
    }

    /// The key of the object whose copy is the downstream object `object`; `None` if the namespace does not
    /// belong to this syncer.
    fn down_key(&self, kind: usize, object: &Value) -> Option<Key> {
        let (namespace, name) = namespaced_name(object);
        if kind == NAMESPACES {
            let name = located(&self.owner.logical_cluster, object).or_else(|| self.upstream_name(&name))?;
            return Some(Key {
                kind,
                namespace: String::new(),
                name,
            });
        }
        let at = (String::new(), namespace);
        let namespace_object = self.down[NAMESPACES].objects.get(&at);
        // The namespace may be gone before the copies in it: the two watches are independent.
        let namespace = namespace_object
            .and_then(|namespace_object| located(&self.owner.logical_cluster, namespace_object))
            .or_else(|| self.upstream_name(&at.1))?;
        let upstream = Record::of(object).name;
        Some(Key {
            kind,
            namespace,
            name: if upstream.is_empty() { name } else { upstream },
        })
    }

    /// The upstream namespace of the downstream namespace `name`, from the cache: for downstream namespaces
    /// that have lost their locator, or are gone.
    fn upstream_name(&self, name: &str) -> Option<String> {
        let (upstream, _) = self.names.iter().find(|(_, known)| *known == name)?;
        Some(upstream.clone())
    }

    /// The plan for `key` at the time `now`; `None` while the mirrors on which it depends are not complete.
    pub(super) fn plan(&mut self, key: &Key, now: Instant) -> Option<Plan> {
        let known = |mirrors: &[Mirror], kind: usize| mirrors[kind].complete;
        let namespaces = known(&self.up, NAMESPACES) && known(&self.down, NAMESPACES);
        let namespace = match key.kind {
            NAMESPACES => &key.name,
            _ => &key.namespace,
        };
        let down_namespace = self.downstream(namespace);
        let up_objects = &self.up[key.kind].objects;
        let up = up_objects
            .get(&(key.namespace.clone(), key.name.clone()))
            .cloned();
        let down_of = |kind: usize, at: &NamespacedName| self.down[kind].objects.get(at).cloned();
        if key.kind == NAMESPACES {
            let all_known = self.up.iter().all(|mirror| mirror.complete);
            let at = (String::new(), down_namespace);
            let down = down_of(NAMESPACES, &at);
            let has_content = self.content(&key.name).next().is_some();
            let step = namespace_next(&self.owner, up.as_deref(), down.as_deref(), has_content);
            // A namespace is removed only once all kinds are known, since it may have objects of an unknown
            // kind.
            let removes = matches!(step, Step::Delete | Step::Release(_));
            return (namespaces && (all_known || !removes)).then_some(Plan { step, down: at });
        }
        let namespace_object = down_of(NAMESPACES, &(String::new(), down_namespace.clone()));
        let at = (
            down_namespace.clone(),
            copy_name(&self.kinds[key.kind].api.kind, &key.name),
        );
        let down = down_of(key.kind, &at);
        let step = self
            .step_context(key, &down_namespace, namespace_object.as_deref(), now)
            .next(up.as_deref(), down.as_deref());
        let all_known = namespaces && known(&self.up, key.kind) && known(&self.down, key.kind);
        all_known.then_some(Plan { step, down: at })
    }

    fn step_context<'a>(
        &'a self,
        key: &Key,
        down_namespace: &'a str,
        namespace_object: Option<&Value>,
        now: Instant,
    ) -> StepContext<'a> {
        StepContext {
            identifier: &self.owner.identifier,
            namespace: down_namespace,
            ready: namespace_object.is_some_and(|namespace_object| {
                namespace_object["metadata"].get("deletionTimestamp").is_none()
            }),
            reports: self.kinds[key.kind].reports,
            form: self.form(key, now),
        }
    }

    /// The downstream name of an upstream namespace.
    fn downstream(&mut self, namespace: &str) -> String {
        if let Some(name) = self.names.get(namespace) {
            return name.clone();
        }
        let name = downstream_namespace(&self.owner.logical_cluster, namespace);
        self.names.insert(namespace.to_owned(), name.clone());
        name
    }
}

fn up_key(kind: usize, object: &Value) -> Key {
    let (namespace, name) = namespaced_name(object);
    Key {
        kind,
        namespace,
        name,
    }
}

/// The objects in `namespace` of every kind but Namespace.
fn objects_in<'a>(
    mirrors: &'a [Mirror],
    namespace: &'a str,
) -> impl Iterator<Item = (usize, &'a Arc<Value>)> {
    let first = (namespace.to_owned(), String::new());
    mirrors
        .iter()
        .enumerate()
        .skip(1)
        .flat_map(move |(kind, mirror)| {
            let from = mirror.objects.range(first.clone()..);
            let inside = from.take_while(move |((at, _), _)| at == namespace);
            inside.map(move |(_, object)| (kind, object))
        })
}

#[cfg(test)]
mod tests;
