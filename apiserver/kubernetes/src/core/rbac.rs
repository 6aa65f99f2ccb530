//! `rbac.authorization.k8s.io/v1`: roles and bindings. [`crate::rbac`] evaluates them.

mod binding;
mod role;

use berth_apimachinery::GroupResource;

pub use binding::{BindingFields, ClusterRoleBinding, RoleBinding, RoleRef, Subject};
pub use role::{AggregationRule, ClusterRole, ClusterRoleFields, PolicyRule, Role, RoleFields};

/// API group of RBAC.
pub const GROUP: &str = "rbac.authorization.k8s.io";
/// Resource of Roles.
pub const ROLES: GroupResource = GroupResource::new(GROUP, "roles");
/// Resource of ClusterRoles.
pub const CLUSTER_ROLES: GroupResource = GroupResource::new(GROUP, "clusterroles");
/// Resource of RoleBindings.
pub const ROLE_BINDINGS: GroupResource = GroupResource::new(GROUP, "rolebindings");
/// Resource of ClusterRoleBindings.
pub const CLUSTER_ROLE_BINDINGS: GroupResource = GroupResource::new(GROUP, "clusterrolebindings");

const fn info(
    kind: &'static str,
    plural: &'static str,
    singular: &'static str,
    scope: berth_apimachinery::Scope,
) -> berth_apimachinery::KindInfo {
    berth_apimachinery::KindInfo {
        singular,
        scope,
        unconditional_update: true,
        strategic_merge_patch: true,
        ..berth_apimachinery::KindInfo::new(GROUP, &["v1"], kind, plural)
    }
}

#[cfg(test)]
mod tests;
