//! Names of virtual objects (docs/reference.md, "Names"): composed from the source's name, and parsed.
//!
//! A Decision is `<source name>.<dialect>`, a Target `<target name>.<dialect>`: the dialect follows the
//! last dot. A Candidate is `<decision>:<target name>`, such as `p1.ocm:cluster1`: no object of the
//! systems may have a colon in its name, so that the parts can be separated. Both parts have the same
//! dialect, which appears once.

use std::borrow::Cow;

use berth_apimachinery::{Key, Meta};
use berth_dialect_contract::{Dialect, Inventory};
use berth_scheduling::Ix;
use uuid::Uuid;

pub use berth_dialect_contract::names::{join, place, split};

/// Separator of the decision and the target in the name of a candidate.
pub const CANDIDATE_SEPARATOR: char = ':';

/// The name of the candidate of `decision` whose target has the name `target` in the inventory.
#[must_use]
pub fn candidate(decision: &str, target: &str) -> String {
    format!("{decision}{CANDIDATE_SEPARATOR}{}", dotted(target))
}

/// `target` with dots for slashes, which is the form of a target's name in the name of a candidate.
#[must_use]
pub fn dotted(target: &str) -> Cow<'_, str> {
    match target.contains('/') {
        true => target.replace('/', ".").into(),
        false => target.into(),
    }
}

/// The decision and the target name in the name of a candidate.
#[must_use]
pub fn split_candidate(name: &str) -> Option<(&str, &str)> {
    name.split_once(CANDIDATE_SEPARATOR)
}

/// The demand of the virtual object `source`.`dialect` in `namespace`, which is empty for a
/// ClusterDecision.
#[must_use]
pub fn demand(
    dialect: &dyn Dialect,
    inventory: &dyn Inventory,
    namespace: &str,
    source: &str,
) -> Option<Key> {
    let kinds = dialect
        .demands()
        .iter()
        .filter(|kind| kind.namespaced != namespace.is_empty());
    let in_namespace = kinds
        .clone()
        .map(|kind| Key::new(kind.resource, namespace, source));
    // The decision about a cluster-scoped object such as a Namespace may be in the namespace of that name.
    let cluster_scoped = kinds
        .filter(|_| namespace == source)
        .map(|kind| Key::new(kind.resource, "", source));
    in_namespace
        .chain(cluster_scoped)
        .find(|key| inventory.object(key).is_some())
}

/// The candidate that `name` identifies: by the name of a Target, with or without its dialect, or by the
/// system's own name.
#[must_use]
pub fn target(inventory: &dyn Inventory, dialect: &str, name: &str) -> Option<Ix> {
    let bare = name.strip_suffix(dialect).and_then(|rest| rest.strip_suffix('.'));
    bare.and_then(|bare| inventory.candidate_of_target(bare))
        .or_else(|| inventory.candidate_of_target(name))
        .or_else(|| inventory.candidate(name))
}

/// The uid of the virtual object of `kind` about the object with `meta`. It is equal on every replica, as
/// long as the source exists.
#[must_use]
pub fn uid(meta: &Meta, kind: &str) -> String {
    uid_within(identity(meta), kind).to_string()
}

/// Seed of the uids of all virtual objects about the object with `meta`.
#[must_use]
pub fn identity(meta: &Meta) -> Uuid {
    Uuid::parse_str(meta.uid()).unwrap_or_else(|_| {
        let name = format!("{}/{}/{}", meta.uid(), meta.namespace(), meta.name());
        Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes())
    })
}

/// The uid of the virtual object of `kind` about the object with the [`identity`] `source`.
#[must_use]
pub fn uid_within(source: Uuid, kind: &str) -> Uuid {
    Uuid::new_v5(&source, kind.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        assert_eq!(split(&join("a.b", "ocm")), Some(("a.b", "ocm")));
        assert_eq!(split("ocm"), None);
        assert_eq!(split(".ocm"), None);
        let name = candidate("p.1.ocm", "cluster.1");
        assert_eq!(split_candidate(&name), Some(("p.1.ocm", "cluster.1")));
        assert!(berth_apimachinery::name::path_segment(&candidate("p.openmcp", "ns/name")).is_ok());
    }

    #[test]
    fn uids_differ_by_source_and_kind_and_stay() {
        let of = |uid: &str| serde_json::from_value::<Meta>(serde_json::json!({"uid": uid})).unwrap();
        let one = of("6f2a9a0e-6a0c-4d0a-8a1d-0d6d0c8b0f00");
        assert_eq!(uid(&one, "Decision"), uid(&one, "Decision"));
        assert_ne!(uid(&one, "Decision"), uid(&one, "Scheduling"));
        assert_ne!(uid(&one, "Decision"), uid(&of("u"), "Decision"));
    }
}
