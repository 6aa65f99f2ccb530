//! The hub's ResourceQuota of a kind that Berth owns.

use std::sync::Arc;

use berth_tests::eventually;
use berth_tests::raw::{self, write};
use http::Method;
use serde_json::{Value, json};
use tokio::sync::Barrier;

use super::{GROUP, runtime, shared};

const NAMESPACE: &str = "quota";

fn placement(name: &str) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1beta1"), "kind": "Placement",
        "metadata": {"name": name, "namespace": NAMESPACE}, "spec": {},
    })
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn a_resource_quota_of_the_hub_holds_for_owned_placements_created_at_once() {
    let hub = shared();
    hub.ensure(&["create", "namespace", NAMESPACE]);
    let count = format!("count/placements.{GROUP}");
    let quota = |most: u8| {
        json!({
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few", "namespace": NAMESPACE},
            "spec": {"hard": {&count: most.to_string()}},
        })
    };
    // Retried until Berth has read the quota: first refused, then accepted.
    for (most, passes) in [(0, false), (8, true)] {
        hub.kubectl("apply -f -")
            .input(quota(most).to_string())
            .succeeds();
        eventually("the quota to be in force", || {
            let tried = hub
                .kubectl("create --dry-run=server -f -")
                .input(placement("tried").to_string());
            let tried = tried.run();
            let words =
                format!("exceeded quota: few, requested: {count}=1, used: {count}=0, limited: {count}=0");
            (tried.success == passes && (passes || tried.err.contains(&words))).then_some(())
        });
    }
    let codes: Vec<u16> = runtime().block_on(async {
        let client = raw::client(&hub.admin()).await;
        let path = format!("/apis/{GROUP}/v1beta1/namespaces/{NAMESPACE}/placements");
        let barrier = Arc::new(Barrier::new(64));
        let creates = (0..64).map(|number| {
            let (client, path, barrier) = (client.clone(), path.clone(), Arc::clone(&barrier));
            tokio::spawn(async move {
                barrier.wait().await;
                write(&client, Method::POST, &path, &placement(&format!("p{number}")))
                    .await
                    .code
            })
        });
        let creates: Vec<_> = creates.collect();
        let mut codes = Vec::new();
        for create in creates {
            codes.push(create.await.expect("it does not panic"));
        }
        codes
    });
    let of = |wanted: u16| codes.iter().filter(|code| **code == wanted).count();
    assert_eq!((of(201), of(403)), (8, 56), "{codes:?}");
}
