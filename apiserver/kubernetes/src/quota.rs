//! ResourceQuota: how many objects of a resource may be in a namespace (docs/admission.md, "Quota").
//!
//! A create is judged by counting the existing objects, not by a stored number. It passes a fence that
//! every create of that resource in that namespace passes. So two concurrent creates cannot both use
//! the last room, and a crash leaves nothing to repair. The numbers in a quota's status are for readers
//! only ([`spawn`]).

mod usage;

use std::sync::Arc;

use berth_admission::{Denied, Guard, Operation, Plugin, Request};
use berth_apimachinery::quantity::Quantity;
use berth_apimachinery::{GroupResource, Key, Object, Revision};
use berth_storage::{Collection, Source};
use serde_json::Value;

use crate::core::resource_quota::RESOURCE;
use crate::core::value;

pub use usage::spawn;

/// Core resources whose limit may also be named without `count/`.
const SHORT: [&str; 4] = ["configmaps", "resourcequotas", "secrets", "services"];

/// Whether objects of `resource` are counted. Events come by themselves, and no quota of Kubernetes
/// counts them.
fn is_counted(resource: GroupResource) -> bool {
    resource.resource != "events"
}

/// The names a quota may have for `resource`.
fn names(resource: GroupResource) -> Vec<String> {
    let mut names = vec![format!("count/{resource}")];
    if resource.group.is_empty() && SHORT.contains(&resource.resource) {
        names.push(resource.resource.to_owned());
    }
    names
}

/// The limits of a quota: names and numbers.
fn limits(quota: &Object) -> Vec<(String, Quantity)> {
    let hard = value::object(quota.value(), &["spec", "hard"]);
    let read = |limit: &Value| match limit {
        Value::String(text) => Quantity::parse(text).ok(),
        other => Quantity::parse(&other.to_string()).ok(),
    };
    hard.into_iter()
        .flatten()
        .filter_map(|(name, limit)| Some((name.clone(), read(limit)?)))
        .collect()
}

/// One limit that concerns a create.
struct Limit {
    quota: Arc<Object>,
    name: String,
    most: Quantity,
}

/// The admission plugin.
pub struct ResourceQuotas {
    source: Arc<dyn Source>,
}

impl ResourceQuotas {
    /// The plugin over the quotas and objects of `source`.
    #[must_use]
    pub fn new(source: Arc<dyn Source>) -> Self {
        Self { source }
    }

    /// The limits that hold for a create of `resource` in `namespace`.
    fn limits(&self, resource: GroupResource, namespace: &str) -> Vec<Limit> {
        let names = names(resource);
        let quotas = self.source.cached(RESOURCE);
        let quotas = quotas.iter(Some(namespace), None);
        let of = |quota: &Arc<Object>| {
            let named = limits(quota).into_iter().filter(|(name, _)| names.contains(name));
            let limit = |(name, most)| Limit {
                quota: Arc::clone(quota),
                name,
                most,
            };
            named.map(limit).collect::<Vec<_>>()
        };
        quotas.flat_map(|(_, quota)| of(quota)).collect()
    }

    /// The first limit that one more object of `request` would exceed, with the present number.
    fn exceeded(&self, request: &Request<'_>, objects: &Collection) -> Option<(Limit, i64)> {
        let limits = self.limits(request.resource, request.namespace);
        limits.into_iter().find_map(|limit| {
            let most = limit.most.units();
            // Counted only up to the limit.
            let enough = usize::try_from(most).unwrap_or_default();
            let used = objects.iter(Some(request.namespace), None).take(enough).count();
            (used >= enough).then(|| {
                let used = objects.iter(Some(request.namespace), None).count();
                (limit, i64::try_from(used).unwrap_or(i64::MAX))
            })
        })
    }
}

impl Plugin for ResourceQuotas {
    fn name(&self) -> &'static str {
        "ResourceQuota"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.operation == Operation::Create
            && request.subresource.is_empty()
            && !request.namespace.is_empty()
            && is_counted(request.resource)
            && !self.limits(request.resource, request.namespace).is_empty()
    }

    fn validate(&self, request: &Request<'_>, _: Option<&Value>, _: &mut Vec<String>) -> Result<(), Denied> {
        let objects = self.source.cached(request.resource);
        match self.exceeded(request, &objects) {
            None => Ok(()),
            Some((Limit { quota, name, most }, used)) => Err(Denied::Forbidden(format!(
                "exceeded quota: {}, requested: {name}=1, used: {name}={used}, limited: {name}={}",
                quota.meta().name(),
                most.units()
            ))),
        }
    }

    fn guards(&self, request: &Request<'_>, _: Option<&Value>) -> Vec<Guard> {
        let objects = self.source.cached(request.resource);
        if let Some((limit, _)) = self.exceeded(request, &objects) {
            // Another write has taken the room since: this one cannot be stored, and is judged again.
            let meta = limit.quota.meta();
            return vec![Guard::Unchanged {
                key: Key::new(RESOURCE, meta.namespace(), meta.name()),
                revision: Revision::default(),
            }];
        }
        vec![Guard::Fence {
            name: format!("quota/{}/{}", request.namespace, request.resource).into(),
            not_after: objects.revision,
        }]
    }
}

#[cfg(test)]
mod tests;
