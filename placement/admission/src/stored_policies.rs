//! The admission policies in Berth's own store, with parameters of any kind in that store.

use std::sync::{Arc, OnceLock};

use berth_apimachinery::{GroupResource, Kind, Object};
use berth_apiserver::{Backing, Group};
use berth_kubernetes::core::admission_policies::{
    MUTATING, MUTATING_BINDINGS, VALIDATING, VALIDATING_BINDINGS,
};
use berth_policies::{Catalog, ParamError, ParamKind, Params, StoredSet};
use berth_storage::{Collection, Source};
use parking_lot::Mutex;
use serde_json::Value;

/// Resources of the policies and bindings, in the order in which [`read`] takes them.
const RESOURCES: [GroupResource; 4] = [MUTATING, MUTATING_BINDINGS, VALIDATING, VALIDATING_BINDINGS];

/// The admission policies of a store.
pub struct StoredPolicies {
    source: Arc<dyn Source>,
    /// The kinds of parameters.
    kinds: OnceLock<Vec<Arc<dyn Kind>>>,
    last_read: Mutex<Option<LastRead>>,
}

/// The policies as they were last read, and the collections from which they were read.
struct LastRead {
    collections: [Collection; 4],
    stored: Arc<StoredSet>,
}

impl StoredPolicies {
    /// Creates the policies of `source`. Kinds of parameters are unknown until [`StoredPolicies::serve`].
    #[must_use]
    pub fn new(source: &Arc<dyn Source>) -> Arc<Self> {
        Arc::new(Self {
            source: Arc::clone(source),
            kinds: OnceLock::new(),
            last_read: Mutex::default(),
        })
    }

    /// Sets the kinds of parameters to the stored kinds of `groups`. Only the first call has an effect.
    pub fn serve(&self, groups: &[Group]) {
        self.kinds.get_or_init(|| {
            let resources = groups.iter().flat_map(|group| &group.resources);
            let stored = resources.filter(|resource| matches!(resource.backing, Backing::Stored(_)));
            stored.map(|resource| Arc::clone(&resource.kind)).collect()
        });
    }

    /// Returns the policy `name` of `resource`.
    pub(super) fn policy(&self, resource: GroupResource, name: &str) -> Option<Arc<Value>> {
        let all = self.source.cached(resource);
        Some(Arc::clone(all.get("", name)?.value()))
    }

    /// Returns the resource of `param_kind`, if objects of the kind are stored here.
    pub(super) fn resource(&self, param_kind: &ParamKind) -> Option<GroupResource> {
        self.kind(param_kind).map(|(kind, _)| kind.info().resource())
    }

    fn kind(&self, param_kind: &ParamKind) -> Option<(&Arc<dyn Kind>, &'static str)> {
        let (group, version) = param_kind.group_version();
        self.kinds.get()?.iter().find_map(|kind| {
            let info = kind.info();
            let is_kind = info.group == group && info.kind == param_kind.kind;
            let served = info.versions.iter().find(|served| **served == version)?;
            is_kind.then_some((kind, *served))
        })
    }
}

impl Catalog for StoredPolicies {
    fn stored(&self) -> Arc<StoredSet> {
        let collections = RESOURCES.map(|resource| self.source.cached(resource));
        let mut last = self.last_read.lock();
        match &*last {
            Some(last) if same(&last.collections, &collections) => Arc::clone(&last.stored),
            _ => {
                let stored = Arc::new(read(&collections));
                *last = Some(LastRead {
                    collections,
                    stored: Arc::clone(&stored),
                });
                stored
            }
        }
    }

    fn find(&self, kind: &ParamKind) -> Result<(), ParamError> {
        self.kind(kind).map(|_| ()).ok_or_else(|| kind.unknown_error())
    }

    fn params(
        &self,
        param_kind: &ParamKind,
        namespace: &str,
        name: Option<&str>,
    ) -> Result<Params, ParamError> {
        let (kind, version) = self.kind(param_kind).ok_or_else(|| param_kind.unknown_error())?;
        let namespaced = kind.info().namespaced();
        let namespace = if namespaced { namespace } else { "" };
        let all = self.source.cached(kind.stored_in());
        let found: Vec<&Arc<Object>> = match name {
            Some(name) => all.get(namespace, name).into_iter().collect(),
            None => all
                .iter(Some(namespace), None)
                .map(|(_, object)| object)
                .collect(),
        };
        let shown = found
            .into_iter()
            .map(|object| served_form(&**kind, version, object));
        Ok(Params {
            namespaced,
            objects: shown.collect(),
        })
    }

    fn count(&self, param_kind: &ParamKind, namespace: &str, most: usize) -> usize {
        let Some((kind, _)) = self.kind(param_kind) else {
            return 0;
        };
        let namespace = if kind.info().namespaced() { namespace } else { "" };
        let all = self.source.cached(kind.stored_in());
        all.iter(Some(namespace), None).take(most).count()
    }
}

fn same(before: &[Collection; 4], now: &[Collection; 4]) -> bool {
    before
        .iter()
        .zip(now)
        .all(|(before, now)| before.ptr_eq(now) || (before.items.is_empty() && now.items.is_empty()))
}

fn read(collections: &[Collection; 4]) -> StoredSet {
    let values = |collection: &Collection| {
        let objects = collection.items.values();
        objects.map(|object| Arc::clone(object.value())).collect()
    };
    let [mutating, mutating_bindings, validating, validating_bindings] = collections;
    StoredSet {
        mutating: values(mutating),
        mutating_bindings: values(mutating_bindings),
        validating: values(validating),
        validating_bindings: values(validating_bindings),
    }
}

/// Returns the object in the served `version`.
fn served_form(kind: &dyn Kind, version: &str, object: &Object) -> Arc<Value> {
    let info = kind.info();
    if let Some(converted) = kind.to_served(version, object) {
        return Arc::new(converted);
    }
    if version == info.storage_version {
        return Arc::clone(object.value());
    }
    let mut value = Value::clone(object.value());
    value["apiVersion"] = info.api_version(version).into();
    Arc::new(value)
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::write::Verb;
    use berth_apimachinery::{Draft, Key, Revision};
    use berth_apiserver::Resource;
    use berth_kubernetes::core;
    use berth_storage::{Expect, MemoryStore, Step, Store};
    use serde_json::json;

    use super::*;

    fn put(store: &MemoryStore, resource: GroupResource, namespace: &str, value: &Value) {
        let name = value["metadata"]["name"].as_str().unwrap();
        let step = Step {
            verb: Verb::Create,
            key: Key::new(resource, namespace, name),
            subresource: "",
            object: Some(Draft::new(value).unwrap()),
            expect: Expect::Absent,
            guards: Vec::new(),
        };
        store.commit(&[step]).unwrap();
    }

    fn object(api_version: &str, kind: &str, namespace: &str, name: &str) -> Value {
        json!({"apiVersion": api_version, "kind": kind,
            "metadata": {"name": name, "namespace": namespace, "uid": name}})
    }

    fn policies() -> (Arc<MemoryStore>, Arc<StoredPolicies>) {
        let store = Arc::new(MemoryStore::new(Revision(1), berth_storage::Limits::default()));
        let source = Arc::clone(&store) as Arc<dyn Source>;
        (store, StoredPolicies::new(&source))
    }

    #[test]
    fn the_same_is_told_as_long_as_no_policy_changes() {
        let (store, policies) = policies();
        let empty = policies.stored();
        assert!(Arc::ptr_eq(&empty, &policies.stored()));
        put(
            &store,
            GroupResource::new("", "configmaps"),
            "team",
            &object("v1", "ConfigMap", "team", "m"),
        );
        assert!(
            Arc::ptr_eq(&empty, &policies.stored()),
            "nothing of theirs changed"
        );
        let api = "admissionregistration.k8s.io/v1";
        put(
            &store,
            VALIDATING,
            "",
            &object(api, "ValidatingAdmissionPolicy", "", "p"),
        );
        let one = policies.stored();
        assert_eq!(one.validating.len(), 1);
        assert!(Arc::ptr_eq(&one, &policies.stored()));
    }

    #[test]
    fn parameters_are_of_any_stored_kind_and_of_the_namespace_asked_for() {
        let (store, policies) = policies();
        let maps = ParamKind::of(&json!({"apiVersion": "v1", "kind": "ConfigMap"})).unwrap();
        assert!(policies.find(&maps).is_err(), "nothing is served yet");
        let shared = Arc::clone(&store) as Arc<dyn Store>;
        let mut groups = core::groups(&shared);
        groups.push(Group {
            name: "",
            resources: Vec::<Resource>::new(),
        });
        policies.serve(&groups);
        for (namespace, name) in [("team", "a"), ("team", "b"), ("other", "a")] {
            let map = object("v1", "ConfigMap", namespace, name);
            put(&store, GroupResource::new("", "configmaps"), namespace, &map);
        }
        let names = |namespace: &str, name: Option<&str>| -> Vec<String> {
            let found = policies.params(&maps, namespace, name).unwrap();
            assert!(found.namespaced);
            let names = found.objects.iter();
            names
                .map(|one| format!("{}/{}", one["metadata"]["namespace"], one["metadata"]["name"]))
                .collect()
        };
        assert_eq!(names("team", None), [r#""team"/"a""#, r#""team"/"b""#]);
        assert_eq!(names("other", Some("a")), [r#""other"/"a""#]);
        assert_eq!(names("nowhere", None), [""; 0]);
        let pods = ParamKind::of(&json!({"apiVersion": "v1", "kind": "Pod"})).unwrap();
        assert_eq!(
            policies.find(&pods).unwrap_err().to_string(),
            "failed to find resource referenced by paramKind: '/v1, Kind=Pod'"
        );
        let beta =
            json!({"apiVersion": "admissionregistration.k8s.io/v1beta1", "kind": "MutatingAdmissionPolicy"});
        let beta = ParamKind::of(&beta).unwrap();
        put(
            &store,
            MUTATING,
            "",
            &object(
                "admissionregistration.k8s.io/v1",
                "MutatingAdmissionPolicy",
                "",
                "p",
            ),
        );
        let found = policies.params(&beta, "", Some("p")).unwrap();
        assert!(!found.namespaced);
        assert_eq!(found.objects[0]["apiVersion"], beta.api_version);
    }
}
