//! The sequences of `machinery/apply/src/reference/rows.json` as requests: ownership, codes, no-op writes,
//! status as a subresource, dry runs, admission, and kubectl's annotation.

use std::sync::Mutex;

use berth_admission::{Chain, Denial, Plugin, Request};
use berth_apimachinery::{Cell, Column, Kind, KindInfo, Object, Revision, Schema, Timestamp};
use berth_apply::reference::{self, expected, request};
use berth_storage::MemoryStore;

use super::*;
use crate::resource::{Backing, Group, Resource};

const GROUP: &str = "example.dev";

/// The kind of the sequences.
struct Widget {
    info: KindInfo,
    schema: Schema,
    columns: [Column; 1],
}

impl Widget {
    fn new() -> Self {
        Self {
            info: KindInfo {
                status_subresource: true,
                ..KindInfo::new(GROUP, &["v1", "v1beta1"], "Widget", "widgets")
            },
            schema: Schema::from_value(reference::schema()),
            columns: [Column::NAME],
        }
    }
}

impl Kind for Widget {
    fn info(&self) -> &KindInfo {
        &self.info
    }

    fn schema(&self, _: &str) -> &Schema {
        &self.schema
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn row(&self, object: &Object) -> Vec<Cell> {
        vec![object.meta().name().into()]
    }
}

/// Admission that merges a configured value into each written object.
#[derive(Default)]
struct Others(Mutex<Value>);

impl Plugin for Others {
    fn name(&self) -> &'static str {
        "Others"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.resource.group == GROUP
    }

    fn mutate(&self, _: &Request<'_>, object: &mut Value, _: &mut Vec<String>) -> Result<(), Denial> {
        let others = self.0.lock().unwrap();
        if others.is_object() {
            json_patch::merge(object, &others);
        }
        Ok(())
    }
}

/// A server with this kind alone.
struct Server {
    api: ApiState,
    others: Arc<Others>,
}

impl Server {
    fn new() -> Self {
        let others = Arc::new(Others::default());
        let chain = Chain::new(vec![Arc::clone(&others) as Arc<dyn Plugin>]);
        let registry = Registry::builder(chain, testing::clock());
        let store = Arc::new(MemoryStore::new(Revision(100), berth_storage::Limits::default()));
        let resources = vec![Resource::new(Arc::new(Widget::new()), Backing::Stored(store))];
        let group = Group {
            name: GROUP,
            resources,
        };
        Self {
            api: ApiState::from_registry(registry.build(&[group]).unwrap()),
            others,
        }
    }

    /// Response to a request at the second `now`.
    async fn send(&self, method: &str, path: &str, kind: &str, body: &Value, now: i64) -> (u16, Value) {
        let text = body.to_string();
        let mut request = Client::request(method, path, &[("content-type", kind)], text.as_bytes());
        request.now = Timestamp::from_second(now).unwrap();
        let response = self.api.dispatch(AuthorizedRequest::new(request)).await;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap())
    }

    async fn live(&self) -> Option<Value> {
        let (code, object) = self
            .send("GET", &request::path("v1", "w"), "", &Value::Null, 0)
            .await;
        (code == 200).then_some(object)
    }

    /// Performs `step`.
    async fn step(&self, step: &Value, live: Option<&Value>, now: i64) -> (u16, Value) {
        *self.others.0.lock().unwrap() = step["admission"].clone();
        let asked = request::from_step(step, "w", live);
        let (code, answer) = self
            .send(asked.method, &asked.path, asked.media_type, &asked.body, now)
            .await;
        if !asked.clears_managed_fields {
            return (code, answer);
        }
        let mut cleared = answer;
        cleared["metadata"]["managedFields"] = json!([{}]);
        self.send(
            "PUT",
            &request::path("v1", "w"),
            "application/json",
            &cleared,
            now,
        )
        .await
    }
}

#[tokio::test]
async fn the_rows_end_as_on_kube_apiserver() {
    let rows = reference::rows("server");
    assert!(rows.len() > 80, "rows are missing");
    for row in rows {
        let server = Server::new();
        let mut before = None;
        for (step, now) in row["steps"].as_array().unwrap().iter().zip(1..) {
            let at = format!("row {}, step {} ({step})", row["row"], now - 1);
            let (code, answer) = server.step(step, before.as_ref(), now).await;
            assert_eq!(
                u64::from(code),
                request::expected_code(step, before.is_some()),
                "{at}: {answer}"
            );
            let after = server.live().await;
            let error = step.get("409").map(|_| answer["message"].as_str().unwrap());
            let object = after.clone().unwrap_or_default();
            let old = before.clone().unwrap_or_default();
            expected::check(&at, step, &old, &object, error);
            for (name, value) in step["answers"].as_object().into_iter().flatten() {
                assert_eq!(answer["spec"][name], *value, "{at}: the answer");
            }
            if step["generation"] == "same" {
                assert_eq!(
                    object["metadata"]["generation"], old["metadata"]["generation"],
                    "{at}: generation"
                );
            }
            before = after;
        }
    }
}
