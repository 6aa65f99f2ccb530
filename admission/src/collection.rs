//! Writes that no guard checks: garbage collection, which cleans up after other writers, and updates without
//! changes.

use serde_json::Value;

use crate::request::{Operation, Request, UserInfo};

/// Users that delete the dependents of a deleted owner or namespace, on a hub.
pub const COLLECTORS: [&str; 2] = [
    "system:serviceaccount:kube-system:generic-garbage-collector",
    "system:serviceaccount:kube-system:namespace-controller",
];

/// Metadata that a server sets itself.
const KEPT_BY_SERVERS: [&str; 3] = ["resourceVersion", "managedFields", "generation"];

/// Metadata that a garbage collector changes: it removes owners and its own finalizers.
const KEPT_BY_COLLECTORS: [&str; 2] = ["ownerReferences", "finalizers"];

impl UserInfo {
    /// Whether the user is the garbage collector or the namespace controller of a hub.
    #[must_use]
    pub fn is_collector(&self) -> bool {
        COLLECTORS.contains(&self.name.as_str())
    }
}

impl Request<'_> {
    /// Whether the write is garbage collection: a deletion, or a change of owners and finalizers only.
    #[must_use]
    pub fn collects(&self, object: Option<&Value>) -> bool {
        self.user.is_collector()
            && match self.operation {
                Operation::Delete => true,
                Operation::Update => self.differs_only_in(object, &KEPT_BY_COLLECTORS),
                Operation::Create | Operation::Connect => false,
            }
    }

    /// Whether an update to `object` changes no field that users set.
    #[must_use]
    pub fn changes_nothing(&self, object: Option<&Value>) -> bool {
        self.operation == Operation::Update && self.differs_only_in(object, &[])
    }

    fn differs_only_in(&self, object: Option<&Value>, fields: &[&str]) -> bool {
        let (Some(old), Some(new)) = (self.old, object) else {
            return false;
        };
        let rest = |value: &Value| {
            let mut value = value.clone();
            if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
                for field in KEPT_BY_SERVERS.iter().chain(fields) {
                    metadata.remove(*field);
                }
            }
            value
        };
        rest(old) == rest(new)
    }
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::GroupResource;
    use serde_json::json;

    use super::*;

    #[test]
    fn collectors_delete_and_let_go_of_owners_and_do_nothing_else() {
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
            (request.collects(object), request.changes_nothing(object))
        };
        let collector = COLLECTORS[0];
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
