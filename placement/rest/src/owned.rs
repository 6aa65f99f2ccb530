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
use super::resolve::{About, behind};
use super::scheduling::Scheduling;

/// The subresources of the placeable kind `demand` of `dialect`.
pub(super) fn subresources(
    binder: &Binder,
    registry: &Arc<Registry>,
    catalog: &Arc<Catalog>,
    dialect: &dyn Dialect,
    demand: &DemandKind,
) -> Vec<Subresource> {
    let about = About::Source {
        dialect: dialect.name(),
        resource: demand.resource,
    };
    let binding = match demand.own_place {
        None => binding(binder, about, demand.namespaced),
        Some(own) => Subresource {
            name: "binding",
            group: "",
            version: "",
            kind: demand.kind,
            verbs: &["get", "patch", "update"],
            schema: None,
            handler: Arc::new(WholeObject {
                engine: Arc::clone(&binder.engine),
                registry: Arc::clone(registry),
                dialect: dialect.name(),
                kind: demand.kind,
                own,
            }),
        },
    };
    vec![binding, scheduling(&binder.engine, catalog, about)]
}

/// The `scheduling` subresource.
pub(super) fn scheduling(engine: &Arc<Engine>, catalog: &Arc<Catalog>, about: About) -> Subresource {
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
            about,
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
            about: About::Decision,
        }),
    }
}

/// The `binding` subresource in Berth's own form, whose body is a Binding.
pub(super) fn binding(binder: &Binder, about: About, namespaced: bool) -> Subresource {
    Subresource {
        name: "binding",
        group: GROUP,
        version: VERSION,
        kind: if namespaced { "Binding" } else { "ClusterBinding" },
        verbs: &["create", "get"],
        schema: Some(Arc::new(berth_scheduling_api::binding::schema())),
        handler: Arc::new(BindingSubresource {
            binder: binder.clone(),
            about,
        }),
    }
}

/// A `binding` subresource whose body is the whole object.
struct WholeObject {
    engine: Arc<Engine>,
    registry: Arc<Registry>,
    dialect: &'static str,
    kind: &'static str,
    own: &'static OwnPlace,
}

impl WholeObject {
    fn about(&self) -> About {
        About::Source {
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
impl SubresourceHandler for WholeObject {
    /// Effort of the validation of a written object. A read costs nothing.
    fn effort(&self, info: &RequestInfo) -> usize {
        match info.verb {
            "get" => 0,
            _ => self.about().effort(&self.engine, &info.namespace, &info.name),
        }
    }

    async fn get(&self, call: &Call) -> Result<Reply, Status> {
        self.registry.get(&self.key(call)).await.map(Reply::Object)
    }

    async fn update(&self, call: &Call, body: Value) -> Result<Reply, Status> {
        check_name(&body, call)?;
        let key = self.key(call);
        if body["metadata"]["resourceVersion"]
            .as_str()
            .is_none_or(str::is_empty)
        {
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
                // Another binding to the same target is no conflict for this caller: the write is
                // repeated.
                Err(error) if error.why == WriteRefusal::Fenced && attempt < ATTEMPTS => attempt += 1,
                Err(error) => return Err(error.into()),
            }
        }
    }
}
