//! The ownership of copies on a workload cluster, and the conditions under which a syncer may take copies
//! over (docs/systems/kcp.md, "Registering again").
//!
//! A WorkloadCluster that is deleted and recreated gets another identifier. So downstream namespaces also
//! identify the WorkloadCluster and its hub by permanent data: the name of the WorkloadCluster, and the uid
//! of the hub's namespace `kube-system`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::copy::owner;
use super::{downstream_namespace, located, namespace_locator};
use crate::edit::{ANNOTATIONS, set, text};
use crate::names::{DOWNSTREAM_CLUSTER, NAMESPACE_LOCATOR, REGISTRATION};

/// The identity of a WorkloadCluster of a hub. The identity does not change if the WorkloadCluster is
/// recreated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Registration {
    /// The uid of the hub's namespace `kube-system`.
    pub hub: String,
    /// The name of the WorkloadCluster on the hub.
    pub workload_cluster: String,
}

impl Registration {
    /// The registration for which a downstream namespace was created, if known.
    #[must_use]
    pub fn of(down: &Value) -> Option<Self> {
        serde_json::from_str(text(down, ANNOTATIONS, REGISTRATION)?).ok()
    }
}

/// The owner of the copies that a syncer creates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The identifier of the workload cluster.
    pub identifier: String,
    /// The logical cluster of the upstream objects.
    pub logical_cluster: String,
    /// The registration; `None` if the hub's identity is unknown.
    pub registration: Option<Registration>,
    /// Identifiers of earlier registrations whose copies are taken over (`--adopt`).
    pub adopted: Vec<String>,
}

/// The claim of a syncer to a downstream namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The namespace is the syncer's own copy.
    Own,
    /// The namespace is a copy of an earlier registration of the same WorkloadCluster, or of a registration
    /// in `--adopt`.
    Earlier,
    /// The namespace was created for this identifier. It is unknown whether the same WorkloadCluster had this
    /// identifier before.
    Unproven(String),
    /// No claim: the namespace belongs to another WorkloadCluster, or is not a copy.
    None,
}

impl Owner {
    /// The claim to `down`, a namespace on the workload cluster.
    #[must_use]
    pub fn claim(&self, down: &Value) -> Claim {
        let Some(owner) = owner(down) else {
            return Claim::None;
        };
        if owner == self.identifier {
            return Claim::Own;
        }
        let namespace = located(&self.logical_cluster, down);
        let name = namespace.map(|namespace| downstream_namespace(&self.logical_cluster, &namespace));
        if name.as_deref() != Some(crate::edit::name(down)) {
            return Claim::None;
        }
        if self.adopted.iter().any(|known| known == owner) {
            return Claim::Earlier;
        }
        match (Registration::of(down), &self.registration) {
            (Some(theirs), Some(ours)) if theirs == *ours => Claim::Earlier,
            (Some(theirs), Some(ours)) if theirs.workload_cluster != ours.workload_cluster => Claim::None,
            _ => Claim::Unproven(owner.to_owned()),
        }
    }

    /// The downstream namespace to be created for `namespace`.
    #[must_use]
    pub fn namespace_copy(&self, namespace: &str) -> Value {
        let mut copy = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": downstream_namespace(&self.logical_cluster, namespace),
                "labels": {DOWNSTREAM_CLUSTER: self.identifier},
                "annotations": {NAMESPACE_LOCATOR: namespace_locator(&self.logical_cluster, namespace)},
            },
        });
        let registration = self.registration.as_ref().map(|known| json!(known).to_string());
        set(&mut copy, ANNOTATIONS, REGISTRATION, registration.as_deref());
        copy
    }

    /// Returns `down`, a copy of an earlier registration, marked as a copy of this registration.
    #[must_use]
    pub fn marked(&self, down: &Value) -> Value {
        let mut next = down.clone();
        next["metadata"]["labels"][DOWNSTREAM_CLUSTER] = self.identifier.as_str().into();
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner_of(identifier: &str, hub: Option<&str>) -> Owner {
        Owner {
            identifier: identifier.to_owned(),
            logical_cluster: "root".to_owned(),
            registration: hub.map(|hub| Registration {
                hub: hub.to_owned(),
                workload_cluster: "east".to_owned(),
            }),
            adopted: Vec::new(),
        }
    }

    #[test]
    fn copies_are_taken_over_from_the_same_name_on_the_same_hub_or_if_adopted() {
        let old = owner_of("u-1", Some("hub-1")).namespace_copy("app");
        let claim = |owner: &Owner, down: &Value| owner.claim(down);
        let unproven = Claim::Unproven("u-1".to_owned());
        assert_eq!(claim(&owner_of("u-1", Some("hub-1")), &old), Claim::Own);
        assert_eq!(claim(&owner_of("u-2", Some("hub-1")), &old), Claim::Earlier);
        assert_eq!(
            claim(&owner_of("u-2", Some("hub-2")), &old),
            unproven,
            "another hub"
        );
        assert_eq!(claim(&owner_of("u-2", None), &old), unproven, "an unknown hub");
        let mut west = owner_of("u-2", Some("hub-1"));
        west.registration.as_mut().unwrap().workload_cluster = "west".to_owned();
        assert_eq!(claim(&west, &old), Claim::None, "another cluster of the hub");
        let adopting = Owner {
            adopted: vec!["u-1".to_owned()],
            ..owner_of("u-2", Some("hub-2"))
        };
        assert_eq!(claim(&adopting, &old), Claim::Earlier);
        let other = Owner {
            adopted: vec!["u-0".to_owned()],
            ..adopting.clone()
        };
        assert_eq!(claim(&other, &old), unproven, "another earlier one");
        let elsewhere = Owner {
            logical_cluster: "root:org".to_owned(),
            ..adopting.clone()
        };
        assert_eq!(claim(&elsewhere, &old), Claim::None);
        // A copy by an older version, which did not record the registration.
        let unregistered = owner_of("u-1", None).namespace_copy("app");
        assert_eq!(claim(&owner_of("u-2", None), &unregistered), unproven);
        assert_eq!(claim(&adopting, &unregistered), Claim::Earlier);
    }

    #[test]
    fn a_namespace_that_only_bears_the_annotations_is_no_copy() {
        let mut forged = owner_of("u-1", Some("hub-1")).namespace_copy("app");
        forged["metadata"]["name"] = "production".into();
        let claim = owner_of("u-2", Some("hub-1")).claim(&forged);
        assert_eq!(claim, Claim::None);
        forged["metadata"]["labels"] = json!({});
        assert_eq!(owner_of("u-2", Some("hub-1")).claim(&forged), Claim::None);
    }
}
