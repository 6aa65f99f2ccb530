//! Rights that owner references need, as in kube-apiserver's plugin OwnerReferencesPermissionEnforcement.
//!
//! When an owner is deleted, its dependents are deleted, too. So a user who changes the owners of an
//! existing object needs the right to delete the object. An owner waits for dependents that block its
//! deletion. So a user who sets blockOwnerDeletion needs the right to set finalizers on the owner.

use std::collections::HashMap;
use std::sync::Arc;

use berth_admission::rights::{RequiredRight, Right};
use berth_admission::{Operation, Plugin, Request};
use berth_apimachinery::{GroupResource, Kind, OwnerReference};
use serde::Deserialize as _;
use serde_json::Value;

/// The admission plugin that requires rights for owner references.
pub(super) struct OwnerReferences {
    /// Resources of owners by group and kind, and whether they are in namespaces.
    kinds: HashMap<(&'static str, &'static str), (GroupResource, bool)>,
}

impl OwnerReferences {
    /// Creates the plugin for owners of `kinds`.
    pub(super) fn new(kinds: &[Arc<dyn Kind>]) -> Self {
        let kinds = kinds.iter().map(|kind| {
            let info = kind.info();
            ((info.group, info.kind), (info.resource(), info.namespaced()))
        });
        Self {
            kinds: kinds.collect(),
        }
    }

    fn find(&self, owner: &OwnerReference) -> Option<(GroupResource, bool)> {
        let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
        self.kinds.get(&(group, owner.kind.as_str())).copied()
    }
}

impl Plugin for OwnerReferences {
    fn name(&self) -> &'static str {
        "OwnerReferencesPermissionEnforcement"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        // Berth's own actors are exempt: they write decisions with the owners that the systems'
        // schedulers set.
        matches!(request.operation, Operation::Create | Operation::Update)
            && !request.user.name.starts_with("berth:")
    }

    fn needs(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<RequiredRight> {
        let mut needed = Vec::new();
        if request.operation == Operation::Update && owners(request.old) != owners(object) {
            let right = Right {
                verb: "delete".to_owned(),
                group: request.resource.group.to_owned(),
                resource: request.resource.resource.to_owned(),
                subresource: request.subresource.to_owned(),
                namespace: request.namespace.to_owned(),
                name: request.name.to_owned(),
            };
            let refusal = "cannot set an ownerRef on a resource you can't delete";
            needed.push(RequiredRight::or_forbidden(right, refusal));
        }
        for owner in newly_blocked(request, object) {
            let Some((resource, namespaced)) = self.find(&owner) else {
                needed.push(right_to_all_owners(&owner));
                continue;
            };
            let namespace = if namespaced { request.namespace } else { "" };
            let right = Right {
                verb: "update".to_owned(),
                group: resource.group.to_owned(),
                resource: resource.resource.to_owned(),
                subresource: "finalizers".to_owned(),
                namespace: namespace.to_owned(),
                name: owner.name,
            };
            let refusal = "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set \
                           finalizers on";
            needed.push(RequiredRight::or_forbidden(right, refusal));
        }
        needed
    }
}

/// Returns the right that blockOwnerDeletion needs for an owner of an unknown kind: the right to set
/// finalizers on all resources.
fn right_to_all_owners(owner: &OwnerReference) -> RequiredRight {
    let right = Right {
        verb: "update".to_owned(),
        group: "*".to_owned(),
        resource: "*".to_owned(),
        subresource: "finalizers".to_owned(),
        namespace: String::new(),
        name: "*".to_owned(),
    };
    RequiredRight::or_forbidden(
        right,
        format!(
            "cannot set blockOwnerDeletion: no kind {} of {} is served here, so whether you may set finalizers on the \
             owner is not known; leave blockOwnerDeletion out",
            owner.kind, owner.api_version
        ),
    )
}

/// Returns the owner references of `object` that can be parsed.
fn owners(object: Option<&Value>) -> Vec<OwnerReference> {
    let list = object.and_then(|object| object["metadata"]["ownerReferences"].as_array());
    let owners = list.into_iter().flatten();
    owners
        .filter_map(|owner| OwnerReference::deserialize(owner).ok())
        .collect()
}

/// Returns the owners whose deletion `object` blocks and the old object did not block.
fn newly_blocked(request: &Request<'_>, object: Option<&Value>) -> Vec<OwnerReference> {
    let blocks = |owner: &OwnerReference| owner.block_owner_deletion == Some(true);
    let mut blocked = owners(object);
    blocked.retain(blocks);
    if blocked.is_empty() {
        return blocked;
    }
    let before: std::collections::HashSet<String> = owners(request.old)
        .into_iter()
        .filter(blocks)
        .map(|owner| owner.uid)
        .collect();
    blocked.retain(|owner| !before.contains(&owner.uid));
    blocked
}

#[cfg(test)]
mod tests {
    use berth_admission::UserInfo;
    use serde_json::json;

    use super::*;

    fn owned(block: Option<bool>, kind: &str) -> Value {
        json!({"metadata": {"name": "a", "ownerReferences": [
            {"apiVersion": "v1", "kind": kind, "name": "o", "uid": "u", "blockOwnerDeletion": block},
        ]}})
    }

    /// The rights that an update from `old` to `new` needs, or a create where there is no `old`.
    fn required_rights(old: Option<&Value>, new: &Value) -> Vec<String> {
        let plugin = OwnerReferences::new(&berth_kubernetes::core::kinds());
        let user = UserInfo::default();
        let request = Request {
            operation: old.map_or(Operation::Create, |_| Operation::Update),
            resource: GroupResource::new("core.gardener.cloud", "seeds"),
            kind: "Seed",
            subresource: "",
            namespace: "ns",
            name: "a",
            user: &user,
            old,
            dry_run: false,
        };
        assert!(plugin.handles(&request));
        let needs = plugin.needs(&request, Some(new)).into_iter();
        needs
            .map(|RequiredRight { right, .. }| {
                format!(
                    "{} {} in {:?}",
                    right.to_kubectl_text(),
                    right.name,
                    right.namespace
                )
            })
            .collect()
    }

    #[test]
    fn owners_change_only_for_who_may_delete_and_block_only_what_may_be_finalized() {
        let none = json!({"metadata": {"name": "a"}});
        let delete = "delete seeds.core.gardener.cloud a in \"ns\"".to_owned();
        let finalize = "update configmaps/finalizers o in \"ns\"".to_owned();
        let (plain, blocking) = (owned(None, "ConfigMap"), owned(Some(true), "ConfigMap"));
        assert_eq!(
            required_rights(None, &plain),
            [""; 0],
            "whoever makes it may choose"
        );
        assert_eq!(required_rights(None, &blocking), std::slice::from_ref(&finalize));
        assert_eq!(
            required_rights(Some(&none), &plain),
            std::slice::from_ref(&delete)
        );
        assert_eq!(
            required_rights(Some(&plain), &none),
            std::slice::from_ref(&delete)
        );
        assert_eq!(required_rights(Some(&plain), &plain), [""; 0]);
        assert_eq!(
            required_rights(Some(&plain), &blocking),
            [delete.clone(), finalize]
        );
        assert_eq!(
            required_rights(Some(&blocking), &plain),
            std::slice::from_ref(&delete)
        );
        let cluster_scoped = owned(Some(true), "Namespace");
        let rights = required_rights(Some(&cluster_scoped), &cluster_scoped);
        assert_eq!(rights, [""; 0], "it blocked it before");
        let rights = required_rights(Some(&none), &cluster_scoped);
        assert_eq!(
            rights,
            [delete, "update namespaces/finalizers o in \"\"".to_owned()]
        );
        let unknown = required_rights(None, &owned(Some(true), "Nothing"));
        assert_eq!(
            unknown,
            ["update *.*/finalizers * in \"\""],
            "who may finalize everything needs no look-up"
        );
        assert_eq!(required_rights(None, &owned(Some(false), "Nothing")), [""; 0]);
    }
}
