//! Filter of the planned writes in a report. The writes of a binding contain whole objects. Of an object that
//! the caller may not `get`, the report shows only apiVersion, kind, namespace, name and the changed paths.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::{GroupResource, Key, Object, Status};
use berth_apiserver::{Attributes, Call};
use berth_engine::Catalog;
use serde_json::{Value, json};

/// The resource of Namespaces.
pub(super) const NAMESPACES: GroupResource = GroupResource::new("", "namespaces");
/// Maximal number of checks of the right to read a single object, each of which may be a SubjectAccessReview.
/// Further objects are shown only to a caller who may read all objects of the namespace.
const CHECK_LIMIT: usize = 20;
/// Maximal number of changed paths that are shown of one object.
const MAX_PATHS: usize = 100;

/// Reduces the objects in `writes` that the user of `call` may not read to their names and changed paths.
/// `before` returns the object that a write replaces, in the world of the decision. It must not be another
/// object, since the user may know the written one: the changed paths would tell how the other differs.
///
/// # Errors
/// When the user's rights cannot be checked.
pub(super) async fn hide(
    call: &Call,
    catalog: &Catalog,
    before: &(dyn Fn(&Key) -> Option<Arc<Object>> + Sync),
    writes: &mut [Value],
) -> Result<(), Status> {
    let mut reader = Reader {
        call,
        may_read_all: BTreeMap::new(),
        checks: 0,
    };
    for write in writes {
        let text = |path: &str| {
            write["object"]
                .pointer(path)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let found = catalog.find(text("/apiVersion"), text("/kind"));
        let known = found.map(|(kind, version)| (kind.info().resource(), version));
        let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
        let (may_read, replaced) = match known {
            None => (false, None),
            Some((resource, version)) => {
                let key = Key::new(resource, namespace, name);
                (reader.may_read(&key, version).await?, before(&key))
            }
        };
        if !may_read {
            let before = replaced.map_or(Value::Null, |object| object.parse_unmanaged());
            *write = without_object(write, &before);
        }
    }
    Ok(())
}

/// Returns `write` with its object reduced to apiVersion, kind, namespace and name, and with the changed
/// paths. `before` is the replaced object, or null if there is none.
fn without_object(write: &Value, before: &Value) -> Value {
    let object = &write["object"];
    let mut metadata = json!({"name": object["metadata"]["name"]});
    if let Some(namespace) = object["metadata"].get("namespace") {
        metadata["namespace"] = namespace.clone();
    }
    let mut paths = Vec::new();
    // For a new object, the top-level fields are listed.
    let none = json!({});
    let before = if before.is_null() { &none } else { before };
    add_changed_paths(before, object, &mut String::new(), &mut paths);
    let mut shown = write.clone();
    shown["object"] = json!({
        "apiVersion": object["apiVersion"],
        "kind": object["kind"],
        "metadata": metadata,
    });
    shown["changedPaths"] = paths.into();
    shown
}

/// Adds the paths (as JSON pointers) at which `new` differs from `old`, down to whole lists and plain values.
/// Keys of maps such as labels and annotations are paths, too.
fn add_changed_paths(old: &Value, new: &Value, path: &mut String, paths: &mut Vec<String>) {
    if paths.len() >= MAX_PATHS || old == new || path == "/metadata/resourceVersion" {
        return;
    }
    let (Some(before), Some(after)) = (old.as_object(), new.as_object()) else {
        paths.push(path.clone());
        return;
    };
    let removed = before.keys().filter(|key| !after.contains_key(*key));
    for key in after.keys().chain(removed) {
        let length = path.len();
        path.push('/');
        path.push_str(&key.replace('~', "~0").replace('/', "~1"));
        let side = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or(Value::Null);
        add_changed_paths(&side(before), &side(after), path, paths);
        path.truncate(length);
    }
}

/// Check of one user's rights to read. The rights to all objects of a namespace are checked once.
struct Reader<'a> {
    call: &'a Call,
    /// Whether the user may read all objects, by resource and namespace.
    may_read_all: BTreeMap<Key, bool>,
    checks: usize,
}

impl Reader<'_> {
    async fn may_read(&mut self, key: &Key, version: &str) -> Result<bool, Status> {
        let all = Key::new(key.resource, &key.namespace, "");
        let may_all = match self.may_read_all.get(&all) {
            Some(&known) => known,
            None => {
                let answer = self.check(&all, version).await?;
                self.may_read_all.insert(all, answer);
                answer
            }
        };
        if may_all || self.checks >= CHECK_LIMIT || key.name.is_empty() {
            return Ok(may_all);
        }
        self.checks += 1;
        self.check(key, version).await
    }

    async fn check(&self, key: &Key, version: &str) -> Result<bool, Status> {
        match self.call.require(right_to_read(key, version)).await {
            Ok(()) => Ok(true),
            Err(status) if status.code == 403 => Ok(false),
            Err(status) => Err(status),
        }
    }
}

/// The right to read the object at `key`. An empty name in `key` means all objects of the resource in the
/// namespace; an empty namespace, all namespaces.
pub(super) fn right_to_read(key: &Key, version: &str) -> Attributes {
    Attributes {
        verb: "get".to_owned(),
        is_resource: true,
        group: key.resource.group.to_owned(),
        version: version.to_owned(),
        resource: key.resource.resource.to_owned(),
        namespace: authorized_in(key).to_owned(),
        name: key.name.to_string(),
        ..Attributes::default()
    }
}

/// The namespace in which a right to the object at `key` is checked. Requests for a single Namespace are
/// authorized in the namespace of that name, so that a role in it may allow them.
pub(super) fn authorized_in(key: &Key) -> &str {
    if key.resource == NAMESPACES {
        &key.name
    } else {
        &key.namespace
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_right_to_read_a_namespace_is_checked_in_that_namespace() {
        for (key, namespace, name) in [
            (Key::new(NAMESPACES, "", "team"), "team", "team"),
            (Key::new(NAMESPACES, "", ""), "", ""),
            (Key::new(GroupResource::new("g", "foos"), "n", "f"), "n", "f"),
        ] {
            let right = right_to_read(&key, "v1");
            assert_eq!((&*right.namespace, &*right.name), (namespace, name), "{key}");
        }
    }

    #[test]
    fn a_hidden_write_has_only_the_changed_paths() {
        let before = json!({"kind": "Foo", "apiVersion": "g/v1", "spec": {"a": 1, "secret": "x"},
            "metadata": {"name": "f", "namespace": "n", "resourceVersion": "1"}});
        let mut after = before.clone();
        after["spec"]["a"] = 2.into();
        after["metadata"]["resourceVersion"] = "2".into();
        after["metadata"]["labels"] = json!({"x/y": "z"});
        let write = json!({"verb": "update", "subresource": "status", "object": after});
        assert_eq!(
            without_object(&write, &before),
            json!({
                "verb": "update", "subresource": "status",
                "object": {"kind": "Foo", "apiVersion": "g/v1", "metadata": {"name": "f", "namespace": "n"}},
                "changedPaths": ["/metadata/labels", "/spec/a"],
            })
        );
    }

    #[test]
    fn of_a_new_object_the_top_level_fields_are_the_changed_paths() {
        let object =
            json!({"kind": "Foo", "apiVersion": "g/v1", "spec": {"secret": "x"}, "metadata": {"name": "f"}});
        let shown = without_object(&json!({"verb": "create", "object": object}), &Value::Null);
        assert_eq!(
            shown["changedPaths"],
            json!(["/apiVersion", "/kind", "/metadata", "/spec"])
        );
    }

    #[test]
    fn the_paths_of_a_large_object_are_not_all_named() {
        let many: serde_json::Map<String, Value> = (0..1000).map(|n| (n.to_string(), n.into())).collect();
        let mut paths = Vec::new();
        add_changed_paths(&json!({}), &Value::Object(many), &mut String::new(), &mut paths);
        assert_eq!(paths.len(), MAX_PATHS);
    }
}
