//! Sensitivity of the comparison: two Berths are equal, and a change of the answers of one of them is found
//! and reduced. This does not need kube-apiserver.

use std::sync::Arc;

use berth_tests::raw::Answer;
use http::Method;
use serde_json::{Value, json};

use crate::differential::compare::Pair;
use crate::differential::side::{Side, Tamper};
use crate::differential::{Report, generate, quiet_server, run};

/// Number of sequences, enough for every kind and most requests.
const SEQUENCES: u64 = 56;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn planted_differences_are_seen_and_made_small() {
    let (one, two) = tokio::task::spawn_blocking(|| (quiet_server(), quiet_server()))
        .await
        .expect("both servers start");
    let reference = Side::new(&one.kubeconfig()).await;
    let other = Side::new(&two.kubeconfig()).await;
    let same = Arc::new(Pair::new(reference.clone(), other.clone(), "same"));
    let report = run(&same, generate::sequence, 1, SEQUENCES).await;
    assert!(report.found.is_empty(), "{}", report.shown(&same).await);
    for (name, run_name, tamper) in PLANTED {
        let pair = Arc::new(Pair::new(reference.clone(), other.tampered(*tamper), run_name));
        let report = run(&pair, generate::sequence, 1, SEQUENCES).await;
        smallest_is_small(name, &report, &pair).await;
    }
    tokio::task::spawn_blocking(move || drop((one, two)))
        .await
        .expect("both servers end");
}

async fn smallest_is_small(name: &str, report: &Report, pair: &Pair) {
    let (_, found) = report
        .found
        .first()
        .unwrap_or_else(|| panic!("nobody saw {name}: {}", report.summary(1)));
    let small = pair.reduce(found.clone()).await;
    assert!(small.requests.len() <= 3, "{name}: {}", small.shown());
    assert!(small.shown().contains("curl"), "{}", small.shown());
}

/// Changes of answers, and the names of their runs.
const PLANTED: &[(&str, &str, Tamper)] = &[
    ("a conflict that passes", "conflict", |_, answer| {
        if answer.code == 409 {
            answer.code = 200;
        }
    }),
    ("a label that is lost", "label", |request, answer| {
        if request.method == Method::GET {
            change(answer, |body| {
                if let Some(labels) = body
                    .pointer_mut("/metadata/labels")
                    .and_then(Value::as_object_mut)
                {
                    labels.remove("tier");
                }
            });
        }
    }),
    (
        "a generation that does not move",
        "generation",
        |request, answer| {
            if request.method == Method::PATCH {
                change(answer, |body| {
                    if body.pointer("/metadata/generation").is_some() {
                        body["metadata"]["generation"] = json!(1);
                    }
                });
            }
        },
    ),
    ("a list with one item less", "items", |request, answer| {
        if request.method == Method::GET {
            change(answer, |body| {
                if let Some(items) = body.get_mut("items").and_then(Value::as_array_mut) {
                    items.pop();
                }
            });
        }
    }),
    (
        "a resourceVersion that is not there",
        "version",
        |request, answer| {
            if request.method == Method::PUT {
                change(answer, |body| {
                    if let Some(metadata) = body["metadata"].as_object_mut() {
                        metadata.remove("resourceVersion");
                    }
                });
            }
        },
    ),
];

fn change(answer: &mut Answer, how: impl FnOnce(&mut Value)) {
    if let Ok(mut body) = serde_json::from_slice::<Value>(&answer.body) {
        how(&mut body);
        answer.body = serde_json::to_vec(&body).expect("JSON can be written");
    }
}
