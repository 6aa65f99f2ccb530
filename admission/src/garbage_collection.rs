//! Detection of garbage collection and of updates without changes, which guards do not check.

use serde_json::Value;

use crate::request::{Operation, Request, UserInfo};

/// User names of the controllers of a hub that delete the dependents of deleted owners, and the content of
/// deleted namespaces.
pub const GARBAGE_COLLECTORS: [&str; 2] = [
    "system:serviceaccount:kube-system:generic-garbage-collector",
    "system:serviceaccount:kube-system:namespace-controller",
];

/// Metadata fields that the server sets.
const SERVER_FIELDS: [&str; 3] = ["resourceVersion", "managedFields", "generation"];

/// Metadata fields that the garbage collector changes.
const COLLECTOR_FIELDS: [&str; 2] = ["ownerReferences", "finalizers"];

impl UserInfo {
    /// Whether the user is the garbage collector or the namespace controller of a hub.
    #[must_use]
    pub fn is_garbage_collector(&self) -> bool {
        GARBAGE_COLLECTORS.contains(&self.name.as_str())
    }
}

impl Request<'_> {
    /// Whether the write is garbage collection: a deletion, or a change of only owners and finalizers, by a
    /// garbage collector.
    #[must_use]
    pub fn is_garbage_collection(&self, object: Option<&Value>) -> bool {
        self.user.is_garbage_collector()
            && match self.operation {
                Operation::Delete => true,
                Operation::Update => self.changes_only_collector_fields(object),
                Operation::Create | Operation::Connect => false,
            }
    }

    /// Whether the write is an update to `object` that changes no field that users set.
    #[must_use]
    pub fn changes_nothing(&self, object: Option<&Value>) -> bool {
        self.operation == Operation::Update && self.differs_only_in(object, &[])
    }

    /// Whether the write is an update to `object` that changes at most owners and finalizers.
    #[must_use]
    pub fn changes_only_collector_fields(&self, object: Option<&Value>) -> bool {
        self.operation == Operation::Update && self.differs_only_in(object, &COLLECTOR_FIELDS)
    }

    fn differs_only_in(&self, object: Option<&Value>, fields: &[&str]) -> bool {
        let (Some(old), Some(new)) = (self.old, object) else {
            return false;
        };
        let other_fields = |value: &Value| {
            let mut value = value.clone();
            if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
                for field in SERVER_FIELDS.iter().chain(fields) {
                    metadata.remove(*field);
                }
            }
            value
        };
        other_fields(old) == other_fields(new)
    }
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::GroupResource;
    use serde_json::json;

    use super::*;

    #[test]
    fn collectors_delete_and_remove_owners_and_nothing_else() {
        let old =
            json!({"metadata": {"name": "a", "resourceVersion": "1", "ownerReferences": [{"name": "o"}]}});
        let orphan = json!({"metadata": {"name": "a", "resourceVersion": "2"}});
        let edited = json!({"metadata": {"name": "a"}, "spec": {"x": 1}});
        let verdicts = |name: &str, operation, object: Option<&Value>| {
            let user = UserInfo {
                name: name.to_owned(),
                ..UserInfo::default()
            };
            let request = Request {
                operation,
                resource: GroupResource::new("", "configmaps"),
                kind: "ConfigMap",
                subresource: "",
                namespace: "default",
                name: "a",
                user: &user,
                old: Some(&old),
                dry_run: false,
            };
            (
                request.is_garbage_collection(object),
                request.changes_nothing(object),
            )
        };
        let collector = GARBAGE_COLLECTORS[0];
        assert_eq!(verdicts(collector, Operation::Delete, None), (true, false));
        assert_eq!(
            verdicts(collector, Operation::Update, Some(&orphan)),
            (true, false)
        );
        assert_eq!(
            verdicts(collector, Operation::Update, Some(&edited)),
            (false, false)
        );
        assert_eq!(
            verdicts(collector, Operation::Connect, Some(&orphan)),
            (false, false)
        );
        assert_eq!(verdicts("alice", Operation::Delete, None), (false, false));
        let mut rewritten = old.clone();
        rewritten["metadata"]["resourceVersion"] = "9".into();
        assert_eq!(
            verdicts("alice", Operation::Update, Some(&rewritten)),
            (false, true)
        );
        assert_eq!(
            verdicts("alice", Operation::Update, Some(&edited)),
            (false, false)
        );
    }
}
