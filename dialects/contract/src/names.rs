//! Names of virtual objects that follow from the key of the source object (docs/reference.md, "Names"). Names
//! that need more, such as the namespace of an openMCP Cluster in the name of its Target, are made elsewhere.

use berth_apimachinery::{GroupResource, Key};

use crate::Dialect;

/// The API group of the virtual objects.
pub const GROUP: &str = "scheduling.berth.dev";
/// The only version of the API group.
pub const VERSION: &str = "v1alpha1";
/// The resource of Targets.
pub const TARGETS: GroupResource = GroupResource::new(GROUP, "targets");

/// The name of a virtual object: `<source name>.<dialect>`.
#[must_use]
pub fn join(source: &str, dialect: &str) -> String {
    format!("{source}.{dialect}")
}

/// The source name and the dialect in the name of a virtual object.
#[must_use]
pub fn split(name: &str) -> Option<(&str, &str)> {
    name.rsplit_once('.')
        .filter(|(source, dialect)| !source.is_empty() && !dialect.is_empty())
}

/// Namespace (empty for a ClusterDecision) and name of the virtual object for `demand`.
///
/// The virtual object of a namespaced demand is in the demand's namespace; the virtual object of a Namespace
/// is in this Namespace.
#[must_use]
pub fn place(dialect: &dyn Dialect, demand: &Key) -> (String, String) {
    let namespaced = dialect
        .demands()
        .iter()
        .any(|kind| kind.resource == demand.resource && kind.namespaced);
    let namespace = match (namespaced, demand.namespace.is_empty()) {
        (true, true) => &demand.name,
        _ => &demand.namespace,
    };
    (namespace.to_string(), join(&demand.name, dialect.name()))
}
