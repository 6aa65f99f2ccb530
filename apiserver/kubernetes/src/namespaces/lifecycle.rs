//! Kubernetes' admission plugin NamespaceLifecycle: no object is created in a missing or terminating
//! namespace, and `default`, `kube-public` and `kube-system` cannot be deleted.
//!
//! A create is stored only if the namespace has not changed since the admission of the create. So the deleter
//! of a terminating namespace finds every object that will ever be in it.

use std::sync::Arc;

use berth_admission::{Denial, Operation, Plugin, Request};
use berth_apimachinery::write::Guard;
use berth_apimachinery::{Key, Object, Status};
use berth_storage::Source;
use serde_json::Value;

use crate::core::namespace::RESOURCE;

/// Namespaces that are never deleted.
const IMMORTAL: [&str; 3] = ["default", "kube-public", "kube-system"];

/// The admission plugin NamespaceLifecycle.
pub struct NamespaceLifecycle {
    namespaces: Arc<dyn Source>,
}

impl NamespaceLifecycle {
    /// Creates the plugin over the namespaces of `source`.
    #[must_use]
    pub fn new(source: Arc<dyn Source>) -> Self {
        Self { namespaces: source }
    }

    fn check(&self, request: &Request<'_>) -> Result<(), Denial> {
        let denied = |status: Status| Err(Denial::Status(Box::new(status)));
        let namespaces = self.namespaces.cached(RESOURCE);
        let Some(namespace) = namespaces.get("", request.namespace) else {
            return denied(Status::not_found(RESOURCE, request.namespace));
        };
        if request.operation == Operation::Create && is_terminating(namespace) {
            let name = request.namespace;
            let text =
                format!("unable to create new content in namespace {name} because it is being terminated");
            let cause = format!("namespace {name} is being terminated");
            let status = Status::forbidden(request.resource, request.name, &text);
            return denied(status.with_cause("NamespaceTerminating", cause, "metadata.namespace"));
        }
        Ok(())
    }
}

fn is_terminating(namespace: &Object) -> bool {
    namespace.meta().deletion_timestamp().is_some()
}

impl Plugin for NamespaceLifecycle {
    fn name(&self) -> &'static str {
        "NamespaceLifecycle"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        if request.resource == RESOURCE {
            return request.operation == Operation::Delete;
        }
        // Access reviews may be about a missing namespace.
        !request.namespace.is_empty()
            && request.operation != Operation::Delete
            && request.resource.group != "authorization.k8s.io"
    }

    /// Refuses the write before other plugins check the object, so that the client gets the error about a
    /// missing namespace first.
    fn mutate(&self, request: &Request<'_>, _: &mut Value, _: &mut Vec<String>) -> Result<(), Denial> {
        if request.resource == RESOURCE {
            Ok(())
        } else {
            self.check(request)
        }
    }

    fn guards(&self, request: &Request<'_>, _: Option<&Value>) -> Vec<Guard> {
        if request.operation != Operation::Create || request.resource == RESOURCE {
            return Vec::new();
        }
        let namespaces = self.namespaces.cached(RESOURCE);
        let namespace = namespaces.get("", request.namespace);
        // For a missing or terminating namespace, the guard has a revision that no object has, so that it
        // refuses the write.
        let live = namespace.filter(|namespace| !is_terminating(namespace));
        vec![Guard::Unchanged {
            key: Key::new(RESOURCE, "", request.namespace),
            revision: live.map_or_else(Default::default, |namespace| namespace.revision()),
        }]
    }

    fn validate(&self, request: &Request<'_>, _: Option<&Value>, _: &mut Vec<String>) -> Result<(), Denial> {
        if request.operation == Operation::Delete && IMMORTAL.contains(&request.name) {
            return Err(Denial::Forbidden("this namespace may not be deleted".to_owned()));
        }
        Ok(())
    }
}
