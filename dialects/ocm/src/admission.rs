//! The admission rules beyond the kinds' own validation (docs/systems/ocm.md, "What is guarded"). Some
//! changes of clusters and bindings need a separate permission, on a subresource that exists only for
//! permissions. The hub's administrators grant these permissions to users who may accept a cluster, move a
//! cluster between sets, or let a namespace use a set.
//!
//! OCM puts every cluster without a set into the set `default`, so no permission is needed to create a
//! cluster in this set.

pub(crate) mod hub_rules;

use berth_admission::rights::{RequiredRight, Right};
use berth_admission::{Denial, Operation, Plugin, Request};
use serde::Deserialize;
use serde_json::Value;

use crate::kind::{PlacementSpec, without_effect};
use crate::names::{BINDINGS, CLUSTERS, DEFAULT_SET, GROUP, PLACEMENTS, REGISTER_GROUP, SET_LABEL};

/// Warns about fields of a Placement that have no effect (docs/systems/ocm.md, "Placement spec"), when the
/// Placement is created or its spec changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IneffectiveFieldWarnings;

impl Plugin for IneffectiveFieldWarnings {
    fn name(&self) -> &'static str {
        "IneffectiveFieldWarnings"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.subresource.is_empty()
            && request.resource == PLACEMENTS
            && matches!(request.operation, Operation::Create | Operation::Update)
    }

    fn validate(
        &self,
        request: &Request<'_>,
        object: Option<&Value>,
        warnings: &mut Vec<String>,
    ) -> Result<(), Denial> {
        let spec = object.map(|object| &object["spec"]);
        let changed_spec = spec.filter(|spec| request.old.is_none_or(|old| old["spec"] != **spec));
        // The schema has refused an object that cannot be parsed.
        let parsed_spec = changed_spec.and_then(|spec| PlacementSpec::deserialize(spec).ok());
        warnings.extend(parsed_spec.iter().flat_map(without_effect));
        Ok(())
    }
}

/// Requires permissions on `managedclusters/accept` to accept a cluster, on `managedclustersets/join` to move
/// a cluster between sets, and on `managedclustersets/bind` to let a namespace use a set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClusterMembership;

impl Plugin for ClusterMembership {
    fn name(&self) -> &'static str {
        "ClusterMembership"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.subresource.is_empty()
            && match request.operation {
                Operation::Create => request.resource == CLUSTERS || request.resource == BINDINGS,
                Operation::Update => request.resource == CLUSTERS,
                Operation::Delete | Operation::Connect => false,
            }
    }

    fn validate(&self, _: &Request<'_>, _: Option<&Value>, _: &mut Vec<String>) -> Result<(), Denial> {
        // This rule only depends on the user's permissions ([`Plugin::needs`]).
        Ok(())
    }

    fn needs(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<RequiredRight> {
        let Some(object) = object else { return Vec::new() };
        if request.resource == BINDINGS {
            return bind_right(request, object).into_iter().collect();
        }
        let mut needs: Vec<RequiredRight> = accept_right(request, object).into_iter().collect();
        needs.extend(changed_sets(request, object).map(|set| join_right(request, set)));
        needs
    }
}

/// The permission that is needed to accept a cluster. No permission is needed to deny a cluster.
fn accept_right(request: &Request<'_>, object: &Value) -> Option<RequiredRight> {
    let is_accepted = |object: &Value| object["spec"]["hubAcceptsClient"] == true;
    if !is_accepted(object) || request.old.is_some_and(is_accepted) {
        return None;
    }
    let name = name_of(request, object);
    let right = Right {
        verb: "update".to_owned(),
        group: REGISTER_GROUP.to_owned(),
        resource: "managedclusters".to_owned(),
        subresource: "accept".to_owned(),
        name: name.to_owned(),
        ..Right::default()
    };
    let effect = format!("spec.hubAcceptsClient accepts cluster \"{name}\" on the hub");
    Some(required_right(
        request,
        right,
        &effect,
        "leave it false, and ask a user with this permission to accept the cluster",
    ))
}

/// The set that the cluster leaves and the set that it joins by the write, as far as there are any.
fn changed_sets<'a>(request: &Request<'a>, object: &'a Value) -> impl Iterator<Item = &'a str> {
    let set = |object: &'a Value| object["metadata"]["labels"][SET_LABEL].as_str();
    // A new cluster leaves no set. It only joins a set if its label names another set than the default set,
    // to which it would belong without a label.
    let before = match request.old {
        Some(old) => set(old),
        None => Some(DEFAULT_SET),
    };
    let left = before.filter(|_| request.old.is_some());
    let entered = set(object);
    let is_moved = before != entered;
    let both = [left, entered].into_iter().flatten();
    both.filter(move |name| is_moved && !name.is_empty())
}

/// The permission that is needed to move a cluster into or out of a set.
fn join_right(request: &Request<'_>, set: &str) -> RequiredRight {
    let effect = format!("label {SET_LABEL} moves the cluster into or out of ManagedClusterSet \"{set}\"");
    required_right(
        request,
        set_right("join", set),
        &effect,
        "leave the label as it is, or ask an administrator for this permission",
    )
}

/// The permission that is needed to let a namespace use a set.
fn bind_right(request: &Request<'_>, object: &Value) -> Option<RequiredRight> {
    let set = object["spec"]["clusterSet"].as_str()?;
    let effect = format!(
        "it lets the placements of namespace \"{}\" use ManagedClusterSet \"{set}\"",
        request.namespace
    );
    Some(required_right(
        request,
        set_right("bind", set),
        &effect,
        "ask an administrator for this permission",
    ))
}

/// The permission to create the subresource of the set.
fn set_right(subresource: &str, set: &str) -> Right {
    Right {
        verb: "create".to_owned(),
        group: GROUP.to_owned(),
        resource: "managedclustersets".to_owned(),
        subresource: subresource.to_owned(),
        name: set.to_owned(),
        ..Right::default()
    }
}

/// The requirement of `right`. The refusal says the `effect` of the write, and gives `advice`.
fn required_right(request: &Request<'_>, right: Right, effect: &str, advice: &str) -> RequiredRight {
    let refusal = format!(
        "{effect}, but user \"{}\" may not {} \"{}\": {advice}",
        request.user.name,
        right.to_kubectl_text(),
        right.name
    );
    RequiredRight::or_forbidden(right, refusal)
}

/// The name of the object. A cluster created with `generateName` has its name only in the object, not in the
/// request.
fn name_of<'a>(request: &Request<'a>, object: &'a Value) -> &'a str {
    match request.name {
        "" => object["metadata"]["name"].as_str().unwrap_or_default(),
        name => name,
    }
}

#[cfg(test)]
mod tests;
