//! Admission over real dialects, a store in memory and the server's registry; no HTTP.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod collected;
mod extended;
mod races;
mod selected;
mod undecided;
mod webhooks;

use std::sync::Arc;

use berth_admission::{Chain, Observer, PluginPass, UserInfo};
use berth_apimachinery::write::Verb;
use berth_apimachinery::write::Write;
use berth_apimachinery::{Clock, GroupResource, Key, Object, Status};
use berth_apiserver::{Backing, Group, Registry, Resource, SystemClock};
use berth_engine::Engine;
use berth_kubernetes::garbage::{self, Kinds};
use berth_kubernetes::rbac::Rbac;
use berth_placement_admission::{Audience, AutoBind, Parts};
use berth_scheduling_rest::{RegistryCommitter, VirtualApi};
use berth_storage::{MemoryStore, Source, Store};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const SHOOTS: GroupResource = GroupResource::new("core.gardener.cloud", "shoots");
const SEEDS: GroupResource = GroupResource::new("core.gardener.cloud", "seeds");
const PROFILES: GroupResource = GroupResource::new("core.gardener.cloud", "cloudprofiles");

/// Nobody counts here.
struct Silent;

impl Observer for Silent {
    fn observed(&self, _: &PluginPass) {}
}

/// A server without a port.
struct World {
    store: Arc<MemoryStore>,
    engine: Arc<Engine>,
    committer: Arc<RegistryCommitter>,
    registry: Arc<Registry>,
    /// Webhooks that a hub asks.
    webhooks: Chain,
}

impl World {
    async fn new() -> Self {
        let store = Arc::new(MemoryStore::default());
        let source = Arc::clone(&store) as Arc<dyn Source>;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let dialects = vec![berth_dialect_registry::by_name("gardener").unwrap()];
        let engine = Engine::new(dialects.clone(), Arc::clone(&source), Arc::clone(&clock));
        engine.spawn();
        let rbac = Rbac::new(Arc::clone(&source));
        let parts = Parts {
            engine: Arc::clone(&engine),
            rbac: Arc::clone(&rbac),
            authorizer: rbac,
            break_glass: Vec::new(),
            observer: Arc::new(Silent),
            owners: berth_kubernetes::core::kinds(),
            policies: None,
        };
        let registry = Registry::builder(parts.in_process(&source), Arc::clone(&clock));
        let handle = Arc::clone(registry.handle());
        let committer = Arc::new(RegistryCommitter(Arc::clone(&handle)));
        let auto_bind = AutoBind::new(
            Arc::clone(&engine),
            Arc::clone(&committer) as Arc<_>,
            Arc::clone(&handle),
        );
        let api = VirtualApi::new(Arc::clone(&engine), handle, Vec::new());
        let webhooks = parts.webhooks(api.catalog(), Audience::Known);
        let shared = Arc::clone(&store) as Arc<dyn Store>;
        let mut groups = berth_kubernetes::core::groups(&shared);
        let resources = dialects.iter().flat_map(|dialect| dialect.kinds());
        groups.push(Group {
            name: SHOOTS.group,
            resources: resources
                .map(|kind| api.extended(Resource::new(kind, Backing::Stored(Arc::clone(&shared)))))
                .collect(),
        });
        let registry = registry.on_create(Arc::new(auto_bind)).build(&groups).unwrap();
        let stop = CancellationToken::new();
        drop(garbage::spawn(
            shared,
            Kinds::of(&groups),
            clock,
            parts.protection(),
            stop.clone(),
        ));
        let world = Self {
            store,
            engine,
            committer,
            registry,
            webhooks,
        };
        world
            .create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "garden-dev"}}))
            .await
            .unwrap();
        let profile = json!({
            "apiVersion": "core.gardener.cloud/v1beta1", "kind": "CloudProfile", "metadata": {"name": "aws"},
            "spec": {"type": "aws"},
        });
        world.create(&profile).await.unwrap();
        world
    }

    async fn write(
        &self,
        verb: Verb,
        object: &Value,
        subresource: &'static str,
    ) -> Result<Arc<Object>, Status> {
        let resource = match object["kind"].as_str().unwrap() {
            "Shoot" => SHOOTS,
            "Seed" => SEEDS,
            "CloudProfile" => PROFILES,
            _ => GroupResource::new("", "namespaces"),
        };
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        let write = Write {
            verb,
            key: Key::new(resource, text("namespace"), text("name")),
            subresource,
            object: object.clone(),
            base: None,
        };
        let admin = UserInfo {
            name: "admin".to_owned(),
            groups: vec!["system:masters".to_owned()],
            ..UserInfo::default()
        };
        let written = self
            .registry
            .commit(
                berth_apiserver::Author {
                    user: &admin,
                    manager: "test",
                    cause: None,
                },
                vec![write],
                Vec::new(),
                false,
            )
            .await?;
        Ok(Arc::clone(&written[0]))
    }

    async fn create(&self, object: &Value) -> Result<Arc<Object>, Status> {
        self.write(Verb::Create, object, "").await
    }

    /// A ready seed with room for `room` shoots.
    async fn seed(&self, name: &str, room: usize) -> Value {
        let mut seed = json!({
            "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Seed", "metadata": {"name": name},
            "spec": {
                "provider": {"type": "aws", "region": "eu-west-1"},
                "networks": {
                    "nodes": "10.1.0.0/16", "pods": "10.2.0.0/16", "services": "10.3.0.0/16",
                    "shootDefaults": {"pods": "100.96.0.0/11", "services": "100.64.0.0/13"},
                },
            },
        });
        self.create(&seed).await.unwrap();
        seed["status"] = json!({
            "conditions": [{"type": "GardenletReady", "status": "True"}],
            "allocatable": {"shoots": room.to_string()},
        });
        self.write(Verb::Update, &seed, "status").await.unwrap();
        seed
    }

    fn stored(&self, resource: GroupResource, namespace: &str, name: &str) -> Option<Arc<Object>> {
        self.store.cached(resource).get(namespace, name).cloned()
    }
}

fn shoot(name: &str, seed: Option<&str>) -> Value {
    let mut shoot = json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot",
        "metadata": {"name": name, "namespace": "garden-dev"},
        "spec": {
            "cloudProfile": {"kind": "CloudProfile", "name": "aws"}, "region": "eu-west-1",
            "provider": {"type": "aws", "workers": [{"name": "w", "machine": {"type": "m5.large"}, "minimum": 1, "maximum": 2}]},
            "networking": {"nodes": "10.250.0.0/16"}, "kubernetes": {"version": "1.34.1"},
        },
    });
    if let Some(seed) = seed {
        shoot["spec"]["seedName"] = seed.into();
    }
    shoot
}
