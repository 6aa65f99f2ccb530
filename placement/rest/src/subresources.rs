//! The subresources of placeable objects and of their Decisions.

use std::sync::Arc;

use async_trait::async_trait;
use berth_admission::Denial;
use berth_apimachinery::write::{CommitError, Guard, WriteRefusal};
use berth_apimachinery::{FieldError, Key, Object, Status};
use berth_apiserver::{Call, Registry, Reply, RequestInfo, Subresource, SubresourceHandler};
use berth_dialect_contract::{DemandKind, Dialect, OwnPlace};
use berth_engine::bind::ATTEMPTS;
use berth_engine::{Catalog, Engine, Snapshot};
use berth_scheduling_api::{GROUP, VERSION};
use serde_json::Value;

use super::advice::AdviceReader;
use super::binding::{Binder, BindingSubresource, check_name};
use super::resolve::{DemandResolver, behind};
use super::scheduling::Scheduling;

/// The subresources of the placeable kind `demand` of `dialect`.
pub(super) fn of_demand(
    binder: &Binder,
    registry: &Arc<Registry>,
    catalog: &Arc<Catalog>,
    dialect: &dyn Dialect,
    demand: &DemandKind,
) -> Vec<Subresource> {
    let resolver = DemandResolver::Source {
        dialect: dialect.name(),
        resource: demand.resource,
    };
    let binding = match demand.own_place {
        None => binding(binder, resolver, demand.namespaced),
        Some(own) => Subresource {
            name: "binding",
            group: "",
            version: "",
            kind: demand.kind,
            verbs: &["get", "patch", "update"],
            schema: None,
            handler: Arc::new(OwnPlaceBinding {
                engine: Arc::clone(&binder.engine),
                registry: Arc::clone(registry),
                dialect: dialect.name(),
                kind: demand.kind,
                own,
            }),
        },
    };
    vec![binding, scheduling(&binder.engine, catalog, resolver)]
}

/// The `scheduling` subresource of objects; `resolver` finds the demand of each.
pub(super) fn scheduling(
    engine: &Arc<Engine>,
    catalog: &Arc<Catalog>,
    resolver: DemandResolver,
) -> Subresource {
    Subresource {
        name: "scheduling",
        group: GROUP,
        version: VERSION,
        kind: "Scheduling",
        verbs: &["get"],
        schema: Some(Arc::new(berth_scheduling_api::scheduling::schema())),
        handler: Arc::new(Scheduling {
            engine: Arc::clone(engine),
            catalog: Arc::clone(catalog),
            resolver,
        }),
    }
}

/// The `advice` subresource of decisions.
pub(super) fn advice(engine: &Arc<Engine>, catalog: &Arc<Catalog>) -> Subresource {
    Subresource {
        name: "advice",
        group: GROUP,
        version: VERSION,
        kind: berth_scheduling_api::advice::KIND,
        verbs: &["get"],
        schema: Some(Arc::new(berth_scheduling_api::advice::schema())),
        handler: Arc::new(AdviceReader {
            engine: Arc::clone(engine),
            catalog: Arc::clone(catalog),
            resolver: DemandResolver::Decision,
        }),
    }
}

/// The `binding` subresource in Berth's own form: the body of a request is a Binding or ClusterBinding.
pub(super) fn binding(binder: &Binder, resolver: DemandResolver, namespaced: bool) -> Subresource {
    Subresource {
        name: "binding",
        group: GROUP,
        version: VERSION,
        kind: if namespaced { "Binding" } else { "ClusterBinding" },
        verbs: &["create", "get"],
        schema: Some(Arc::new(berth_scheduling_api::binding::schema())),
        handler: Arc::new(BindingSubresource {
            binder: binder.clone(),
            resolver,
        }),
    }
}

/// Handler of the `binding` subresource of objects whose place is one of their own fields. The body of a
/// request is the whole object.
struct OwnPlaceBinding {
    engine: Arc<Engine>,
    registry: Arc<Registry>,
    dialect: &'static str,
    kind: &'static str,
    own: &'static OwnPlace,
}

impl OwnPlaceBinding {
    fn resolver(&self) -> DemandResolver {
        DemandResolver::Source {
            dialect: self.dialect,
            resource: self.own.resource,
        }
    }

    fn key(&self, call: &Call) -> Key {
        Key::new(self.own.resource, &call.namespace, &call.name)
    }

    /// Validates the written object by the rules of the system, and completes it; returns the guards
    /// for storing it.
    fn judge(&self, snapshot: &Snapshot, key: &Key, new: &mut Value) -> Result<Vec<Guard>, Status> {
        let old = snapshot.inventory.object(key);
        let old = old.ok_or_else(|| Status::not_found(key.resource, &key.name))?;
        let fences = snapshot
            .inventory
            .guarding()
            .own_binding(old.value(), new)
            .map_err(|denied| match denied {
                Denial::Invalid(errors) => Status::invalid(key.resource.group, self.kind, &key.name, &errors),
                Denial::Forbidden(text) => Status::forbidden(key.resource, &key.name, &text),
                Denial::Status(status) => *status,
            })?;
        let not_after = snapshot.revision;
        Ok(fences
            .into_iter()
            .map(|name| Guard::Fence { name, not_after })
            .collect())
    }

    async fn attempt(&self, call: &Call, key: &Key, mut body: Value) -> Result<Arc<Object>, CommitError> {
        let snapshot = self
            .engine
            .fresh(self.dialect)
            .await
            .map_err(|error| behind(&error))?;
        let snapshot = snapshot.ok_or_else(|| Status::not_found(key.resource, &key.name))?;
        let guards = self.judge(&snapshot, key, &mut body)?;
        self.registry
            .update_subresource(call, key, "binding", body, guards)
            .await
    }
}

#[async_trait]
impl SubresourceHandler for OwnPlaceBinding {
    /// Effort of the validation of a written object. A read costs nothing.
    fn effort(&self, info: &RequestInfo) -> usize {
        match info.verb {
            "get" => 0,
            _ => self.resolver().effort(&self.engine, &info.namespace, &info.name),
        }
    }

    async fn get(&self, call: &Call) -> Result<Reply, Status> {
        self.registry.get(&self.key(call)).await.map(Reply::Object)
    }

    async fn update(&self, call: &Call, body: Value) -> Result<Reply, Status> {
        check_name(&body, call)?;
        let key = self.key(call);
        let version = body["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        if matches!(version, "" | "0") {
            let error = FieldError::invalid("metadata.resourceVersion", 0, "must be specified for an update");
            return Err(Status::invalid(
                key.resource.group,
                self.kind,
                &key.name,
                &[error],
            ));
        }
        let mut attempt = 1;
        loop {
            match self.attempt(call, &key, body.clone()).await {
                Ok(object) => return Ok(Reply::Object(object)),
                // A concurrent binding to the same target passed the fence, which is no conflict for this
                // caller: the write is judged and tried again.
                Err(error) if error.reason == WriteRefusal::Fenced && attempt < ATTEMPTS => attempt += 1,
                Err(error) => return Err(error.into()),
            }
        }
    }
}
