//! Policies against webhooks over TLS, and a hub that has only Services.

mod calls;
mod catalog;
mod kind;
mod outcomes;
mod server;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use berth_admission::client::{ObjectKind, Policies as _, PolicyNotes, Rounds, VersionedWrite, WebhookType};
use berth_admission::{Operation, Request, UserInfo};
use berth_apimachinery::write::Verb;
use berth_apimachinery::{Clock, Draft, Key, Kind, Status};
use berth_apiserver::SystemClock;
use berth_cel::{Decision, Review};
use berth_policies::{AccessReviewer, PendingReview};
use berth_storage::{Expect, MemoryStore, Step, Store};
use http::Response;
use kube::client::Body;
use serde_json::{Value, json};

use super::{HubWebhooks, NAMESPACES, OwnAddresses};
use kind::Toy;
use server::{Reply, Server};

/// The names in the certificates of the webhooks.
const NAMES: [&str; 3] = ["127.0.0.1", "localhost", "hooks.policies.svc"];

/// A webhook of the test.
async fn webhook(say: impl Fn(&str, &Value) -> Reply + Send + Sync + 'static) -> Server {
    Server::start(&NAMES, SystemClock.now(), say).await
}

/// A hub with one Service.
fn hub(service: Value) -> kube::Client {
    let answer = move |request: http::Request<Body>| {
        let known = request.uri().path() == "/api/v1/namespaces/policies/services/hooks";
        let (code, body) = if known {
            (200, service.clone())
        } else {
            let missing = Status::failure(404, "NotFound", "no such Service");
            (404, serde_json::to_value(missing).expect("it is JSON"))
        };
        let response = Response::builder()
            .status(code)
            .body(Body::from(body.to_string().into_bytes()));
        async move { Ok::<_, Infallible>(response.expect("it is well formed")) }
    };
    kube::Client::new(tower::service_fn(answer), "default")
}

/// Allows everyone to get everything, and nothing else.
struct Gets;

impl AccessReviewer for Gets {
    fn decide<'a>(&'a self, _: &'a UserInfo, review: &'a Review) -> PendingReview<'a> {
        let allowed = &*review.verb == "get";
        Box::pin(std::future::ready(Decision {
            allowed,
            ..Decision::default()
        }))
    }
}

/// A store with the namespace `team`, labelled `tier: gold`.
async fn store() -> Arc<dyn Store> {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {
        "name": "team", "uid": "u", "labels": {"tier": "gold"}}});
    let step = Step {
        verb: Verb::Create,
        key: Key::new(NAMESPACES, "", "team"),
        subresource: "",
        object: Some(Draft::new(&namespace).expect("it is well formed")),
        expect: Expect::Absent,
        guards: Vec::new(),
    };
    store.apply(vec![step]).await.expect("it is stored");
    store
}

/// Policies with configurations, each a name and its webhooks.
async fn policies(mutating: &[(&str, Value)], validating: &[(&str, Value)]) -> Arc<HubWebhooks> {
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hooks"},
        "spec": {"type": "ExternalName", "externalName": "localhost"}});
    let own = OwnAddresses {
        names: vec!["berth.berth-system.svc".to_owned()],
        ports: vec![7443],
        paths: &["/admission/mutate", "/admission/validate"],
    };
    let policies = HubWebhooks::new(hub(service), &store().await, own, Arc::new(Gets));
    for (webhook_type, configurations) in [
        (WebhookType::Mutating, mutating),
        (WebhookType::Validating, validating),
    ] {
        policies.replace(webhook_type, &configured(configurations));
    }
    policies
}

fn configured(configurations: &[(&str, Value)]) -> BTreeMap<String, Arc<Value>> {
    let all = configurations.iter().map(|(name, webhooks)| {
        let value = json!({"metadata": {"name": name}, "webhooks": webhooks});
        ((*name).to_owned(), Arc::new(value))
    });
    all.collect()
}

/// A webhook of a configuration that matches every write of toys; `fields` override its own.
fn hook(name: &str, client_config: &Value, fields: &Value) -> Value {
    let mut hook = json!({
        "name": name, "clientConfig": client_config, "admissionReviewVersions": ["v1"], "sideEffects": "None",
        "rules": [{"apiGroups": ["toys.example.com"], "apiVersions": ["*"],
                   "resources": ["toys"], "operations": ["*"]}],
    });
    for (field, value) in fields.as_object().expect("fields") {
        hook[field] = value.clone();
    }
    hook
}

/// A toy as it is stored.
fn object() -> Value {
    json!({"apiVersion": "toys.example.com/v1beta1", "kind": "Toy",
           "metadata": {"name": "p", "namespace": "team"}, "spec": {}})
}

/// Asks about a write of a toy and returns the outcome and the records.
struct Asker {
    user: UserInfo,
    kind: Arc<dyn Kind>,
    operation: Operation,
    dry_run: bool,
    old: Option<Value>,
}

impl Asker {
    fn new() -> Self {
        Self {
            user: UserInfo {
                name: "alice".to_owned(),
                groups: vec!["dev".to_owned()],
                ..UserInfo::default()
            },
            kind: Arc::new(Toy),
            operation: Operation::Create,
            dry_run: false,
            old: None,
        }
    }

    fn request(&self) -> Request<'_> {
        Request {
            operation: self.operation,
            resource: self.kind.info().resource(),
            kind: "Toy",
            subresource: "",
            namespace: "team",
            name: "p",
            user: &self.user,
            old: self.old.as_ref(),
            dry_run: self.dry_run,
        }
    }

    fn write<'a>(&'a self, request: &'a Request<'a>) -> VersionedWrite<'a> {
        let info = self.kind.info();
        VersionedWrite {
            request,
            version: info.versions[0],
            versions: info.versions,
            object_kind: ObjectKind::Own {
                kind: &*self.kind,
                object_version: info.storage_version,
            },
        }
    }

    /// Runs one round of mutating webhooks.
    async fn mutate(&self, policies: &HubWebhooks, object: &mut Value) -> (Result<(), Status>, PolicyNotes) {
        self.round(policies, object, &mut Rounds::default()).await
    }

    async fn round(
        &self,
        policies: &HubWebhooks,
        object: &mut Value,
        rounds: &mut Rounds,
    ) -> (Result<(), Status>, PolicyNotes) {
        let request = self.request();
        let mut recorded = PolicyNotes::default();
        let result = policies
            .mutate(&self.write(&request), object, rounds, &mut recorded)
            .await;
        (result, recorded)
    }

    fn effort(&self, policies: &HubWebhooks) -> usize {
        let request = self.request();
        policies.effort(&self.write(&request))
    }

    async fn validate(
        &self,
        policies: &HubWebhooks,
        object: Option<&Value>,
    ) -> (Result<(), Status>, PolicyNotes) {
        let request = self.request();
        let mut recorded = PolicyNotes::default();
        let result = policies
            .validate(&self.write(&request), object, &mut recorded)
            .await;
        (result, recorded)
    }
}
