//! `rbac.authorization.k8s.io/v1`: roles and bindings. [`crate::rbac`] evaluates them.

mod binding;
mod role;

use berth_apimachinery::GroupResource;

pub use binding::{BindingFields, ClusterRoleBinding, RoleBinding, RoleRef, Subject};
pub use role::{AggregationRule, ClusterRole, ClusterRoleFields, PolicyRule, Role, RoleFields};

/// The group.
pub const GROUP: &str = "rbac.authorization.k8s.io";
/// Roles.
pub const ROLES: GroupResource = GroupResource::new(GROUP, "roles");
/// Cluster roles.
pub const CLUSTER_ROLES: GroupResource = GroupResource::new(GROUP, "clusterroles");
/// Role bindings.
pub const ROLE_BINDINGS: GroupResource = GroupResource::new(GROUP, "rolebindings");
/// Cluster role bindings.
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
        strategic: true,
        ..berth_apimachinery::KindInfo::new(GROUP, &["v1"], kind, plural)
    }
}

#[cfg(test)]
mod tests;
