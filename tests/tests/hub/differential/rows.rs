//! The known sequences of server-side apply (`machinery/apply/src/reference/rows.json`) on kube-apiserver,
//! with a definition of their schema: its answers are as recorded, like Berth's
//! (`apiserver/src/handlers/tests/rows.rs`).

use std::time::Duration;

use berth_apply::reference::{self, expected, request};
use berth_tests::hub::Hub;
use berth_tests::{eventually, raw};
use futures::{StreamExt as _, stream};
use http::Method;
use kube::Client;
use serde_json::{Value, json};

use crate::differential::World;

const GROUP: &str = "example.dev";
/// Number of parallel rows.
const BESIDE: usize = 8;
/// A little more than the resolution of times of managed fields.
const SECOND: Duration = Duration::from_millis(1050);
/// Rows in which kube-apiserver differs with a custom resource, and which record Berth's answers:
/// kube-apiserver refuses the null that remains of a list or map (32, 42) or is sent (49b), drops all entries
/// when one is of a version that is not served (71), and writes to sort entries (80). 78 needs a webhook.
const OTHERWISE: [&str; 6] = ["32", "42", "49b", "71", "78", "80"];

/// Defines the kind, and waits until it is served.
fn define(hub: &Hub) {
    let schema = reference::schema();
    let version = |name: &str| {
        json!({
            "name": name, "served": true, "storage": name == "v1",
            "schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}},
        })
    };
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("widgets.{GROUP}")},
        "spec": {
            "group": GROUP, "scope": "Namespaced", "versions": [version("v1"), version("v1beta1")],
            "names": {"kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget"},
        },
    });
    hub.kubectl("create -f -")
        .input(definition.to_string())
        .succeeds();
    eventually("widgets to be served in both versions", || {
        let served = |version: &str| {
            hub.kubectl(&format!(
                "get --raw /apis/{GROUP}/{version}/namespaces/default/widgets"
            ))
            .run()
            .success
        };
        (served("v1") && served("v1beta1")).then_some(())
    });
}

/// One object of the defined kind.
struct Widget<'a> {
    client: &'a Client,
    name: String,
}

impl Widget<'_> {
    async fn send(&self, method: Method, path: &str, kind: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() {
            Vec::new()
        } else {
            body.to_string().into_bytes()
        };
        let answer = raw::send(self.client, method, path, &[("content-type", kind)], &body).await;
        (answer.code, answer.json())
    }

    async fn live(&self) -> Option<Value> {
        let path = request::path("v1", &self.name);
        let (code, object) = self
            .send(Method::GET, &path, "application/json", &Value::Null)
            .await;
        (code == 200).then_some(object)
    }

    /// Runs `step`.
    async fn step(&self, step: &Value, live: Option<&Value>) -> (u16, Value) {
        let request = request::from_step(step, &self.name, live);
        let method = request.method.parse().expect("a method");
        let (code, answer) = self
            .send(method, &request.path, request.media_type, &request.body)
            .await;
        if !request.clears_managed_fields {
            return (code, answer);
        }
        let mut cleared = answer;
        cleared["metadata"]["managedFields"] = json!([{}]);
        let one = request::path("v1", &self.name);
        self.send(Method::PUT, &one, "application/json", &cleared).await
    }

    async fn play(&self, row: &Value) {
        let mut before = None;
        let steps = row["steps"].as_array().expect("a row has steps");
        // Entries have times in whole seconds; where their order is compared, each step is in another second.
        let has_order = steps.iter().any(|step| step.get("order").is_some());
        for (index, step) in steps.iter().enumerate() {
            if has_order && index > 0 {
                tokio::time::sleep(SECOND).await;
            }
            let at = format!("row {}, step {} ({step})", row["row"], index + 1);
            let (code, answer) = self.step(step, before.as_ref()).await;
            assert_eq!(
                u64::from(code),
                request::expected_code(step, before.is_some()),
                "{at}: {answer}"
            );
            let after = self.live().await;
            let error = step
                .get("409")
                .map(|_| answer["message"].as_str().expect("a Status"));
            let object = after.clone().unwrap_or_default();
            // The server's clock applies.
            let mut step = step.clone();
            step.as_object_mut().expect("a step is an object").remove("times");
            expected::check(&at, &step, &before.clone().unwrap_or_default(), &object, error);
            for (name, value) in step["answers"].as_object().into_iter().flatten() {
                assert_eq!(answer["spec"][name], *value, "{at}: the answer");
            }
            before = after;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
async fn the_rows_end_so_on_kube_apiserver() {
    let world = World::shared().await;
    tokio::task::block_in_place(|| define(&world.hub));
    let client = raw::client(&world.hub.admin()).await;
    let rows = reference::rows("server");
    let played = |row: &&Value| !OTHERWISE.contains(&row["row"].as_str().expect("a row has a number"));
    let rows: Vec<&Value> = rows.iter().filter(played).collect();
    assert!(rows.len() > 75, "rows are missing");
    stream::iter(rows)
        .for_each_concurrent(BESIDE, |row| {
            let name = format!("w-{}", row["row"].as_str().unwrap_or_default());
            let widget = Widget {
                client: &client,
                name,
            };
            async move { widget.play(row).await }
        })
        .await;
}
