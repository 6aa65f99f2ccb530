//! The eviction of a workload cluster: all objects are first copied to another one, and then leave the
//! old one in the documented order.

use serde_json::Value;

use crate::syncer::world::{World, deployment, until};

/// The state of the cluster `identifier` in a placement.
fn state<'a>(placement: &'a serde_json::Map<String, Value>, identifier: &str) -> Option<&'a str> {
    let entry = placement
        .iter()
        .find(|(place, _)| place.ends_with(&format!("+{identifier}")));
    entry.and_then(|(_, state)| state.as_str())
}

#[test]
fn an_evicted_cluster_is_drained_in_order_and_soft_finalizers_hold_it_back() {
    let world = World::new(&["east", "west"]);
    let _syncers = [world.sync(0), world.sync(1)];
    let hub = &world.hub;
    let placement = world.place("app");
    let bound = |identifier: &str| state(placement.as_object().expect("a map"), identifier) == Some("Bound");
    let (old, new) = match bound(&world.clusters[0].identifier) {
        true => (&world.clusters[0], &world.clusters[1]),
        false => (&world.clusters[1], &world.clusters[0]),
    };
    hub.kubectl("-n app create configmap settings --from-literal=a=1")
        .succeeds();
    hub.kubectl("-n app apply -f -")
        .input(deployment("web", 1))
        .succeeds();
    old.arrived("configmap", "app", "settings");
    old.arrived("deployment", "app", "web");
    assert_eq!(new.namespace("app"), None);

    // The other one must be ready before it can be picked.
    hub.kubectl_args(&[
        "wait",
        "--for=condition=Ready",
        &format!("workloadcluster/{}", new.name),
    ])
    .succeeds();

    // A coordination controller's finalizer keeps the deployment.
    let soft = format!("finalizers.workloads.kcp.dev/{}", old.identifier);
    hub.kubectl_args(&[
        "-n",
        "app",
        "annotate",
        "deployment",
        "web",
        &format!("{soft}=ingress"),
    ])
    .succeeds();
    let evict = r#"{"spec":{"evictAfter":"2021-10-28T09:00:00Z"}}"#;
    hub.kubectl_args(&["patch", "workloadcluster", &old.name, "--type=merge", "-p", evict])
        .succeeds();

    // 1: the write that picks the new cluster also starts the removal from the old one. All objects
    // arrive on the new one.
    world.placement("app", |placement| {
        state(placement, &old.identifier) == Some("Removing")
            && state(placement, &new.identifier) == Some("Bound")
    });
    new.arrived("configmap", "app", "settings");
    new.arrived("deployment", "app", "web");

    // 2 to 8: objects without other finalizers leave the old one, together with label, finalizer and
    // annotation.
    until("the config map to leave", || {
        let upstream = hub.kubectl("-n app get configmap settings -o json").json();
        let traces = upstream["metadata"].to_string().matches(&old.identifier).count();
        match (traces, old.copy("configmap", "app", "settings")) {
            (0, Err(_)) => Ok(()),
            (_, copy) => Err(format!("{upstream} {copy:?}")),
        }
    });

    // 5: the deployment waits with a deletion timestamp in the view, and still runs; the namespace
    // waits as well.
    let seen = old
        .view_kubectl(hub, &["-n", "app", "get", "deployment", "web", "-o", "json"])
        .json();
    assert!(seen["metadata"]["deletionTimestamp"].is_string(), "{seen}");
    let copy = old.copy("deployment", "app", "web").expect("it is held");
    assert!(copy["metadata"]["deletionTimestamp"].is_null(), "{copy}");
    let stored = hub.kubectl("-n app get deployment web -o json").json();
    assert!(
        stored["metadata"]["deletionTimestamp"].is_null(),
        "it is not deleted, it moves"
    );
    let label = format!("state.internal.workloads.kcp.dev/{}", old.identifier);
    let namespace = hub.kubectl("get namespace app -o json").json();
    assert_eq!(namespace["metadata"]["labels"][&label], "Sync");

    // 9 to 11: without the soft finalizer, it leaves, then the namespace, and the placement no longer has the
    // cluster.
    hub.kubectl_args(&["-n", "app", "annotate", "deployment", "web", &format!("{soft}-")])
        .succeeds();
    world.placement("app", |placement| {
        placement.len() == 1 && state(placement, &new.identifier) == Some("Bound")
    });
    assert_eq!(
        old.namespace("app"),
        None,
        "the namespace is let go of once it is gone"
    );
    let namespace = hub.kubectl("get namespace app -o json").json();
    assert!(
        !namespace["metadata"].to_string().contains(&old.identifier),
        "{namespace}"
    );
    new.copy("deployment", "app", "web").expect("it runs on");
}
