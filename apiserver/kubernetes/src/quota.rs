//! ResourceQuota: limits of the number of objects of a resource in a namespace, and of the node ports and
//! load balancers of Services (docs/admission.md, "Quota").
//!
//! Each write that adds to a limit counts the existing objects; a stored number is not used, so nothing needs
//! repair after a crash. All such writes of one resource in one namespace pass the same fence, so that two
//! concurrent writes cannot both use the remaining amount. The numbers in a quota's status are only
//! informative ([`spawn`]).

mod usage;

use std::sync::Arc;

use berth_admission::{Denial, Operation, Plugin, Request};
use berth_apimachinery::quantity::Quantity;
use berth_apimachinery::write::Guard;
use berth_apimachinery::{GroupResource, Key, Object, Revision};
use berth_storage::{Collection, Source};
use serde_json::Value;

use crate::core::resource_quota::RESOURCE;
use crate::core::value;

pub use usage::spawn;

/// Core resources whose limit may also be written without `count/`.
const WITHOUT_PREFIX: [&str; 4] = ["configmaps", "resourcequotas", "secrets", "services"];

/// Services, for which a quota has further limits: node ports and load balancers.
const SERVICES: GroupResource = GroupResource::new("", "services");
const NODE_PORTS: &str = "services.nodeports";
const LOAD_BALANCERS: &str = "services.loadbalancers";

/// Whether objects of `resource` are counted. Events are created by controllers, and no quota of Kubernetes
/// counts them.
fn is_counted(resource: GroupResource) -> bool {
    resource.resource != "events"
}

/// Returns the names that a quota may use for limits of `resource`.
fn limit_names(resource: GroupResource) -> Vec<String> {
    let mut names = vec![format!("count/{resource}")];
    if resource.group.is_empty() && WITHOUT_PREFIX.contains(&resource.resource) {
        names.push(resource.resource.to_owned());
    }
    if resource == SERVICES {
        names.extend([NODE_PORTS, LOAD_BALANCERS].map(str::to_owned));
    }
    names
}

/// Returns the amount that `object` adds to the limit `name`.
fn amount(name: &str, object: &Value) -> usize {
    let service_type = value::text(object, &["spec", "type"]);
    match name {
        LOAD_BALANCERS => usize::from(service_type == "LoadBalancer"),
        NODE_PORTS => {
            let ports = value::list(object, &["spec", "ports"]);
            let allocated_ports = || {
                ports
                    .iter()
                    .filter(|port| port["nodePort"].as_i64().unwrap_or_default() > 0)
            };
            match service_type {
                "LoadBalancer" if object["spec"]["allocateLoadBalancerNodePorts"] == false => {
                    allocated_ports().count()
                }
                "NodePort" | "LoadBalancer" => ports.len(),
                _ => 0,
            }
        }
        _ => 1,
    }
}

/// Returns the used amount of the limit `name` in a namespace.
fn used(name: &str, objects: &Collection, namespace: &str) -> usize {
    let objects = objects.iter(Some(namespace), None);
    match name {
        NODE_PORTS | LOAD_BALANCERS => objects.map(|(_, object)| amount(name, object.value())).sum(),
        _ => objects.count(),
    }
}

/// Returns the limits of a quota, by name; limits that are not quantities are left out.
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

/// A limit that a quota sets.
struct Limit {
    quota: Arc<Object>,
    name: String,
    maximum: Quantity,
}

/// The admission plugin ResourceQuota.
pub struct ResourceQuotas {
    source: Arc<dyn Source>,
}

impl ResourceQuotas {
    /// Creates the plugin over the quotas and objects of `source`.
    #[must_use]
    pub fn new(source: Arc<dyn Source>) -> Self {
        Self { source }
    }

    /// Returns the limits of `resource` in `namespace`.
    fn limits(&self, resource: GroupResource, namespace: &str) -> Vec<Limit> {
        let names = limit_names(resource);
        let quotas = self.source.cached(RESOURCE);
        let quotas = quotas.iter(Some(namespace), None);
        let matching_limits = |quota: &Arc<Object>| {
            let matching = limits(quota).into_iter().filter(|(name, _)| names.contains(name));
            let limit = |(name, maximum)| Limit {
                quota: Arc::clone(quota),
                name,
                maximum,
            };
            matching.map(limit).collect::<Vec<_>>()
        };
        quotas.flat_map(|(_, quota)| matching_limits(quota)).collect()
    }

    /// Returns the limits to which `request` adds, each with the added amount.
    fn added_amounts(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<(Limit, usize)> {
        let limits = self.limits(request.resource, request.namespace).into_iter();
        let added = limits.map(|limit| {
            let amount_of = |object: Option<&Value>| object.map_or(0, |object| amount(&limit.name, object));
            let added = match request.operation {
                Operation::Update => amount_of(object).saturating_sub(amount_of(request.old)),
                _ => object.map_or(1, |object| amount(&limit.name, object)),
            };
            (limit, added)
        });
        added.filter(|(_, added)| *added > 0).collect()
    }

    /// Returns the first limit that the added amounts exceed.
    fn first_exceeded(
        added: Vec<(Limit, usize)>,
        namespace: &str,
        objects: &Collection,
    ) -> Option<ExceededLimit> {
        added.into_iter().find_map(|(limit, added)| {
            let used = used(&limit.name, objects, namespace);
            let maximum = usize::try_from(limit.maximum.units()).unwrap_or_default();
            (used + added > maximum).then_some(ExceededLimit { limit, added, used })
        })
    }
}

/// A limit that a request would exceed, with the added and the used amount.
struct ExceededLimit {
    limit: Limit,
    added: usize,
    used: usize,
}

impl Plugin for ResourceQuotas {
    fn name(&self) -> &'static str {
        "ResourceQuota"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        // Of all updates, only updates of Services can add to a limit.
        let adds = match request.operation {
            Operation::Create => true,
            Operation::Update => request.resource == SERVICES,
            _ => false,
        };
        adds && request.subresource.is_empty()
            && !request.namespace.is_empty()
            && is_counted(request.resource)
            && !self.limits(request.resource, request.namespace).is_empty()
    }

    fn validate(
        &self,
        request: &Request<'_>,
        object: Option<&Value>,
        _: &mut Vec<String>,
    ) -> Result<(), Denial> {
        let objects = self.source.cached(request.resource);
        let added = self.added_amounts(request, object);
        match Self::first_exceeded(added, request.namespace, &objects) {
            None => Ok(()),
            Some(ExceededLimit { limit, added, used }) => {
                let Limit { quota, name, maximum } = limit;
                Err(Denial::Forbidden(format!(
                    "exceeded quota: {}, requested: {name}={added}, used: {name}={used}, limited: {name}={}",
                    quota.meta().name(),
                    maximum.units()
                )))
            }
        }
    }

    fn guards(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<Guard> {
        let objects = self.source.cached(request.resource);
        let added = self.added_amounts(request, object);
        if added.is_empty() {
            return Vec::new();
        }
        if let Some(ExceededLimit { limit, .. }) = Self::first_exceeded(added, request.namespace, &objects) {
            // Since the validation, another write has used the remaining amount. This guard never holds, so
            // the write conflicts, and its validation is repeated.
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
