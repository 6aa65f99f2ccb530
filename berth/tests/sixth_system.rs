//! A further system: a program that is `berth` with the toy registered beside the others
//! (docs/adding-a-system.md). It decides the toys in files, and serves their kinds, explains their decisions
//! and binds them.
//!
//! This executable is the program and its test: with [`PROGRAM`] in the environment it is the program.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use berth_client::Client;
use serde_json::{Value, json};

/// Set for the program.
const PROGRAM: &str = "BERTH_SIXTH_SYSTEM";

/// Time limit of a test's waits.
const DEADLINE: Duration = Duration::from_secs(60);

const OBJECTS: &str = r#"
apiVersion: v1
kind: Namespace
metadata: {name: nursery}
---
apiVersion: toys.example/v1
kind: Box
metadata: {name: attic}
spec: {capacity: 9, lid: blue}
---
apiVersion: toys.example/v1
kind: Box
metadata: {name: shelf}
spec: {capacity: 1}
---
apiVersion: toys.example/v1
kind: Toy
metadata: {name: bear, namespace: nursery}
spec: {}
"#;

fn main() -> ExitCode {
    if std::env::var_os(PROGRAM).is_some() {
        berth_dialect_registry::register(std::sync::Arc::new(berth_dialect_toy::Toys))
            .expect("no other toys");
        return berth::program::main();
    }
    // A harness is asked what it would run, now and then.
    if std::env::args().any(|argument| argument == "--list") {
        return ExitCode::SUCCESS;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("toys.yaml");
    std::fs::write(&file, OBJECTS).unwrap();
    it_is_simulated(&file);
    println!("test it_is_simulated ... ok");
    it_is_served(&file, &folder.path().join("data"));
    println!("test it_is_served ... ok");
    ExitCode::SUCCESS
}

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(PROGRAM, "1").args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> String {
    let output = program(arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn it_is_simulated(file: &Path) {
    let list = run(&["simulate", "-o", "json", "-f", file.to_str().unwrap()]);
    let list: Value = serde_json::from_str(&list).unwrap();
    let [item] = list["items"].as_array().unwrap().as_slice() else {
        panic!("{list}");
    };
    assert_eq!(item["metadata"]["name"], "bear.toy");
    let status = &item["status"];
    assert_eq!(status["outcome"], "Scheduled", "{status}");
    assert_eq!(status["message"], "1 of 2 boxes are feasible; picked shelf");
    assert_eq!(status["picked"][0]["target"], "shelf.toy");
    assert_eq!(rejections(status), ["attic Closed"]);
}

/// A server that ends with the test.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn it_is_served(file: &Path, data: &Path) {
    let data_dir = data.to_str().unwrap();
    let mut serve = program(&["serve", "--secure-port", "0", "--data-dir", data_dir]);
    let mut server = Served(serve.stdout(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(server.0.stdout.take().unwrap()).lines();
    assert!(
        lines.any(|line| line.unwrap_or_default().contains("https://")),
        "it ended before it served"
    );
    std::thread::spawn(move || lines.for_each(drop));
    run(&["load", "--data-dir", data_dir, "-f", file.to_str().unwrap()]);
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(ask(&data.join("admin.kubeconfig")));
}

async fn ask(kubeconfig: &Path) {
    let mut client = Client::from_kubeconfig(kubeconfig).await.unwrap();
    let decision =
        |name: &str| format!("/apis/scheduling.berth.dev/v1alpha1/namespaces/nursery/decisions/{name}.toy");
    let toy = |name: &str| format!("/apis/toys.example/v1/namespaces/nursery/toys/{name}");
    let bound = |decision: &Value| decision["status"]["phase"] == "Bound";
    let bear = until(&client, &decision("bear"), bound).await;
    assert_eq!(bear["status"]["decisions"][0]["clusterName"], "shelf", "{bear}");
    let target = "/apis/scheduling.berth.dev/v1alpha1/targets/attic.toy";
    let target = until(&client, target, |_| true).await;
    assert_eq!(target["status"]["capacity"][0]["limit"], 9, "{target}");

    let kite = json!({
        "apiVersion": "toys.example/v1", "kind": "Toy",
        "metadata": {"name": "kite", "namespace": "nursery"}, "spec": {},
    });
    client.put(&kite, &mut Vec::new()).await.unwrap();
    let scheduling = until(&client, &format!("{}/scheduling", decision("kite")), |_| true).await;
    let status = &scheduling["status"];
    assert_eq!(status["outcome"], "Unschedulable", "{status}");
    assert_eq!(rejections(status), ["attic Closed", "shelf Full"]);

    // Nobody but the scheduler says where a toy is.
    let patch = json!({"spec": {"box": "attic"}});
    let merge = Some(("application/merge-patch+json", &patch));
    let by_hand = client.send(http::Method::PATCH, &toy("kite"), merge).await;
    let refused = by_hand.unwrap().unwrap_err();
    assert!(refused.message.contains("spec.box"), "{refused:?}");

    let wider = json!({
        "apiVersion": "toys.example/v1", "kind": "Box", "metadata": {"name": "shelf"}, "spec": {"capacity": 2},
    });
    client.put(&wider, &mut Vec::new()).await.unwrap();
    until(&client, &toy("kite"), |toy| toy["spec"]["box"] == "shelf").await;
}

/// Why each cluster is refused, by name.
fn rejections(status: &Value) -> Vec<String> {
    let candidates = status["candidates"].as_array().unwrap().iter();
    let mut all: Vec<String> = candidates
        .flat_map(|candidate| {
            let rejections = candidate["rejections"].as_array().unwrap().iter();
            rejections.map(|rejection| {
                let text = |value: &Value| value.as_str().unwrap().to_owned();
                format!(
                    "{} {}",
                    text(&candidate["clusterName"]),
                    text(&rejection["reason"])
                )
            })
        })
        .collect();
    all.sort();
    all
}

/// The object at `path`, once it is there and `is_so`.
async fn until(client: &Client, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let start = Instant::now();
    loop {
        let answer = client.send(http::Method::GET, path, None).await;
        match &answer {
            Ok(Ok(object)) if is_so(object) => return object.clone(),
            _ => assert!(start.elapsed() < DEADLINE, "{path}: {answer:?}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
