//! The admission rules beyond the kinds' own validation (docs/systems/ocm.md, "What is guarded"). Some
//! changes of clusters and bindings need a separate permission, on a subresource that exists only for
//! permissions. The hub's administrators grant these permissions to users who may accept a cluster, move a
//! cluster between sets, or let a namespace use a set.
//!
//! The set `default` has every cluster without a set, so the creation of a cluster in this set needs no
//! permission.

pub(crate) mod hub_rules;

use berth_admission::rights::{RequiredRight, Right};
use berth_admission::{Denial, Operation, Plugin, Request};
use serde::Deserialize;
use serde_json::Value;

use crate::kind::{PlacementSpec, without_effect};

use crate::names::{BINDINGS, CLUSTERS, DEFAULT_SET, GROUP, PLACEMENTS, REGISTER_GROUP, SET_LABEL};

/// Warns about fields of a Placement without effect (docs/systems/ocm.md, "Placement spec") when the spec is
/// created or changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WithoutEffect;

impl Plugin for WithoutEffect {
    fn name(&self) -> &'static str {
        "PlacementWithoutEffect"
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

/// Requires permissions on `managedclusters/accept`, `managedclustersets/join` and
/// `managedclustersets/bind`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Membership;

impl Plugin for Membership {
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
            return bind(request, object).into_iter().collect();
        }
        let mut needs: Vec<RequiredRight> = accept(request, object).into_iter().collect();
        needs.extend(moved_between(request, object).map(|set| join(request, set)));
        needs
    }
}

/// The permission that is needed to accept a cluster. No permission is needed to deny a cluster.
fn accept(request: &Request<'_>, object: &Value) -> Option<RequiredRight> {
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
    let effect = format!("spec.hubAcceptsClient lets cluster \"{name}\" in");
    Some(required_right(
        request,
        right,
        &effect,
        "leave it false for a user who may set it",
    ))
}

/// The sets that a write makes the cluster leave and join.
fn moved_between<'a>(request: &Request<'a>, object: &'a Value) -> impl Iterator<Item = &'a str> {
    let set = |object: &'a Value| object["metadata"]["labels"][SET_LABEL].as_str();
    // A new cluster leaves no set. Its set is compared with the default set, to which it would belong without
    // a label.
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

fn join(request: &Request<'_>, set: &str) -> RequiredRight {
    let effect = format!("label {SET_LABEL} moves the cluster into or out of ManagedClusterSet \"{set}\"");
    required_right(
        request,
        of_set("join", set),
        &effect,
        "leave the label as it is, or ask for the right",
    )
}

/// The permission that is needed to let a namespace use a set.
fn bind(request: &Request<'_>, object: &Value) -> Option<RequiredRight> {
    let set = object["spec"]["clusterSet"].as_str()?;
    let effect = format!(
        "it lets the placements of namespace \"{}\" use ManagedClusterSet \"{set}\"",
        request.namespace
    );
    Some(required_right(
        request,
        of_set("bind", set),
        &effect,
        "ask for the right",
    ))
}

fn of_set(subresource: &str, set: &str) -> Right {
    Right {
        verb: "create".to_owned(),
        group: GROUP.to_owned(),
        resource: "managedclustersets".to_owned(),
        subresource: subresource.to_owned(),
        name: set.to_owned(),
        ..Right::default()
    }
}

fn required_right(request: &Request<'_>, right: Right, effect: &str, advice: &str) -> RequiredRight {
    let refusal = format!(
        "{effect}, but user \"{}\" may not {} \"{}\": {advice}",
        request.user.name,
        right.spoken(),
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
