//! Selection of the objects of a kind that are copied: those that concern a system, by the labels and
//! annotations of the object or of its namespace. Of Secrets, for example, only a few need a copy.

use std::collections::HashSet;
use std::sync::Arc;

use berth_apimachinery::{GroupResource, Object};
use berth_dialect_contract::Concerns;
use berth_storage::{At, Scope, Store, StoreError, Watch};
use serde_json::Value;

/// The resource of namespaces.
pub(super) const NAMESPACES: GroupResource = GroupResource::new("", "namespaces");
/// Highest number of changes of namespaces that are processed together.
const MAX_BATCH: usize = 256;

/// The namespaces that concern a system, updated from the copies of namespaces.
pub(super) struct NamespaceScope {
    concerns: Concerns,
    namespaces: HashSet<Arc<str>>,
    /// Namespaces that do not concern a system, and may have copies that no longer concern one.
    former: HashSet<Arc<str>>,
    changes: Box<dyn Watch>,
}

impl NamespaceScope {
    /// Reads the namespaces that concern a system now, and starts to watch for changes.
    ///
    /// # Errors
    /// As [`berth_storage::Source::list`] and [`berth_storage::Source::watch`].
    pub(super) async fn begin(concerns: Concerns, store: &Arc<dyn Store>) -> Result<Self, StoreError> {
        let revision = store.revision();
        let changes = store.watch(Scope::One(NAMESPACES), revision)?;
        let all = store.list(NAMESPACES, At::NotOlderThan(revision)).await?;
        let namespaces = all
            .iter(None, None)
            .filter(|(_, namespace)| matches_any(&concerns, namespace.value()))
            .map(|(name, _)| Arc::clone(&name.name))
            .collect();
        Ok(Self {
            concerns,
            namespaces,
            former: HashSet::new(),
            changes,
        })
    }

    /// Whether `object` in `namespace` concerns a system.
    pub(super) fn includes(&self, namespace: &str, object: &Value) -> bool {
        self.namespaces.contains(namespace) || matches_any(&self.concerns, object)
    }

    /// Waits until namespaces change. Returns the namespaces that concern a system now and did not before.
    /// Cancel safe.
    ///
    /// # Errors
    /// `Expired` when changes were missed.
    pub(super) async fn next(&mut self) -> Result<Vec<Arc<str>>, StoreError> {
        let mut added = Vec::new();
        for event in self.changes.next(MAX_BATCH).await? {
            let name = &event.change.key.name;
            let is_ours = |object: &Arc<Object>| matches_any(&self.concerns, object.value());
            if event.change.new.as_ref().is_some_and(is_ours) {
                self.former.remove(name);
                if self.namespaces.insert(Arc::clone(name)) {
                    added.push(Arc::clone(name));
                }
            } else if self.namespaces.remove(name) {
                self.former.insert(Arc::clone(name));
            }
        }
        added.retain(|name| self.namespaces.contains(name));
        Ok(added)
    }

    /// Records that an object in `namespace` has changed, which may no longer concern a system.
    pub(super) fn recheck(&mut self, namespace: &Arc<str>) {
        if !self.namespaces.contains(namespace) {
            self.former.insert(Arc::clone(namespace));
        }
    }

    /// The namespaces and names of copies of `resource` in `store` that no longer concern a system, since
    /// neither they nor their namespace do any more. A namespace in which no object concerns a system is
    /// forgotten.
    pub(super) fn obsolete(
        &mut self,
        store: &Arc<dyn Store>,
        resource: GroupResource,
    ) -> Vec<(Arc<str>, Arc<str>)> {
        if self.former.is_empty() {
            return Vec::new();
        }
        let copies = store.cached(resource);
        let mut obsolete = Vec::new();
        let concerns = &self.concerns;
        self.former.retain(|namespace| {
            let mut is_needed = false;
            for (name, copy) in copies.iter(Some(namespace), None) {
                if matches_any(concerns, copy.value()) {
                    is_needed = true;
                } else {
                    obsolete.push((Arc::clone(&name.namespace), Arc::clone(&name.name)));
                }
            }
            is_needed
        });
        obsolete
    }
}

fn matches_any(concerns: &Concerns, object: &Value) -> bool {
    concerns.iter().any(|concern| concern(object))
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::write::Verb;
    use berth_apimachinery::{Draft, Key};
    use berth_dialect_contract::Concern;
    use berth_storage::{Expect, MemoryStore, Step};
    use serde_json::json;

    use super::*;

    const THINGS: GroupResource = GroupResource::new("", "things");

    fn concern(object: &Value) -> bool {
        object["metadata"]["labels"]["placed"] == "yes"
    }

    async fn write(
        store: &Arc<dyn Store>,
        resource: GroupResource,
        namespace: &str,
        name: &str,
        placed: &str,
    ) {
        let exists = store.cached(resource).get(namespace, name).is_some();
        let value = json!({"apiVersion": "v1", "kind": "Any", "metadata": {
            "name": name, "namespace": namespace, "labels": {"placed": placed}}});
        let step = Step {
            verb: if exists { Verb::Update } else { Verb::Create },
            key: Key::new(resource, namespace, name),
            subresource: "",
            object: Some(Draft::new(&value).unwrap()),
            expect: if exists { Expect::Present } else { Expect::Absent },
            guards: Vec::new(),
        };
        store.apply(vec![step]).await.unwrap();
    }

    #[tokio::test]
    async fn an_object_concerns_by_itself_or_by_its_namespace_and_is_let_go_when_neither_does() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        write(&store, NAMESPACES, "", "mine", "yes").await;
        write(&store, NAMESPACES, "", "other", "no").await;
        let mut concerned = NamespaceScope::begin(Arc::from([concern as Concern]), &store)
            .await
            .unwrap();
        let plain = json!({"metadata": {"name": "a"}});
        let marked = json!({"metadata": {"name": "a", "labels": {"placed": "yes"}}});
        assert!(concerned.includes("mine", &plain) && !concerned.includes("other", &plain));
        assert!(concerned.includes("other", &marked), "by its own label");

        write(&store, NAMESPACES, "", "other", "yes").await;
        assert_eq!(concerned.next().await.unwrap(), ["other".into()]);
        write(&store, NAMESPACES, "", "other", "still").await;
        write(&store, THINGS, "other", "held", "yes").await;
        write(&store, THINGS, "other", "free", "no").await;
        assert!(concerned.next().await.unwrap().is_empty());
        let free: (Arc<str>, Arc<str>) = ("other".into(), "free".into());
        assert_eq!(concerned.obsolete(&store, THINGS), std::slice::from_ref(&free));
        write(&store, THINGS, "other", "held", "no").await;
        assert_eq!(
            concerned.obsolete(&store, THINGS),
            [free, ("other".into(), "held".into())]
        );
        assert!(
            concerned.obsolete(&store, THINGS).is_empty(),
            "the namespace is forgotten"
        );
    }

    #[tokio::test]
    async fn an_object_that_concerned_by_itself_alone_is_let_go_when_it_does_no_longer() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        write(&store, NAMESPACES, "", "mine", "yes").await;
        write(&store, NAMESPACES, "", "other", "no").await;
        let mut concerned = NamespaceScope::begin(Arc::from([concern as Concern]), &store)
            .await
            .unwrap();
        write(&store, THINGS, "mine", "a", "no").await;
        write(&store, THINGS, "other", "a", "yes").await;
        concerned.recheck(&"mine".into());
        concerned.recheck(&"other".into());
        assert!(concerned.obsolete(&store, THINGS).is_empty());
        write(&store, THINGS, "other", "a", "no").await;
        concerned.recheck(&"other".into());
        let let_go: (Arc<str>, Arc<str>) = ("other".into(), "a".into());
        assert_eq!(concerned.obsolete(&store, THINGS), [let_go]);
    }
}
