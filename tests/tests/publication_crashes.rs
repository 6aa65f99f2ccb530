//! `kill -9` between any two writes of what is published: no consumer ever sees a cluster in no slice that was decided before and
//! is after. The fault point is in builds with debug assertions only.

#![cfg(debug_assertions)]

use std::collections::BTreeSet;

use serde_json::json;
use tests::differential::{Draw, variable};
use tests::follower::Follower;
use tests::{Server, eventually, ports, until};

/// More than two slices hold.
const CLUSTERS: usize = 230;
/// The decision itself, and each of three slices: more writes than that no change takes.
const WRITES: u64 = 4;
const ROUNDS: u64 = 12;

fn name(number: usize) -> String {
    format!("c{number:03}")
}

/// A fleet, a Publication of all of it, and no decision.
fn prepare(server: &Server) {
    let group = "cluster.open-cluster-management.io";
    let mut objects = vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "argocd"}}),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}),
        json!({"apiVersion": format!("{group}/v1beta2"), "kind": "ManagedClusterSet", "metadata": {"name": "all"},
               "spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}}),
        json!({"apiVersion": format!("{group}/v1beta2"), "kind": "ManagedClusterSetBinding",
               "metadata": {"name": "all", "namespace": "team"}, "spec": {"clusterSet": "all"}}),
        json!({"apiVersion": "config.berth.dev/v1alpha1", "kind": "Publication", "metadata": {"name": "all"},
               "spec": {"namespace": "argocd", "systems": ["ocm"], "names": "Bare"}}),
    ];
    objects.extend((0..CLUSTERS).map(|number| {
        json!({"apiVersion": format!("{group}/v1"), "kind": "ManagedCluster",
               "metadata": {"name": name(number), "labels": {"name": name(number), format!("{group}/clusterset"): "all"}},
               "spec": {"hubAcceptsClient": true}})
    }));
    let file = server.file(
        "fleet.json",
        &json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string(),
    );
    server.load(&file);
    eventually("all clusters to be published", || {
        let get = "get clusterprofiles.multicluster.x-k8s.io -n argocd -o name";
        (server.kubectl(get).ok().lines().count() == CLUSTERS).then_some(())
    });
}

/// Has exactly these clusters decided, by one write. Whether the server lived to answer.
fn decide(server: &Server, clusters: &BTreeSet<String>) -> bool {
    // The last name is nobody's: a list of names has one at least.
    let names: Vec<&str> = clusters.iter().map(String::as_str).chain(["none"]).collect();
    let placement = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": "p", "namespace": "team"},
        "spec": {"predicates": [{"requiredClusterSelector": {"labelSelector": {"matchExpressions": [
            {"key": "name", "operator": "In", "values": names}]}}}]},
    });
    let apply = server.kubectl_args(&["apply", "--server-side", "-f", "-"]);
    apply.input(placement.to_string()).run().success
}

/// Some clusters, mostly of one stretch, so that slices come, change and go.
fn drawn(draw: &mut Draw) -> BTreeSet<String> {
    let (from, many) = (draw.below(CLUSTERS), draw.below(CLUSTERS));
    let stretch = (from..from + many).map(|number| number % CLUSTERS);
    stretch.filter(|_| !draw.once_in(12)).map(name).collect()
}

#[test]
fn killed_before_any_write_of_a_change_a_decided_cluster_is_in_a_slice_at_every_event() {
    let seed = variable("PUBLICATION_SEED", 1);
    let port = ports::free();
    let mut server = Server::start_at(port);
    prepare(&server);
    let mut draw = Draw::new(seed, 0);
    let mut before = drawn(&mut draw);
    assert!(decide(&server, &before), "nothing dies without a fault");
    let home = server.file("home", "").with_file_name("follower");
    let follower = Follower::start(server.kubeconfig(), home, "argocd");
    eventually("the first decision", || {
        (follower.shown() == before).then_some(())
    });
    let mut reached = BTreeSet::new();
    for round in 0..ROUNDS {
        let number = 1 + round % WRITES;
        let wanted = drawn(&mut draw);
        follower.expect(before.intersection(&wanted).cloned().collect());
        server.crash();
        server.restart_with_fault(port, &format!("before={number}"));
        let mut is_alive = decide(&server, &wanted);
        let mut died = false;
        until(
            &format!("the decision killed before write {number} (PUBLICATION_SEED={seed})"),
            || {
                if server.has_ended() {
                    died = true;
                    server.restart_at(port);
                }
                is_alive = is_alive || decide(&server, &wanted);
                (follower.shown() == wanted, follower.missed())
            },
            |(is_seen, missed)| *is_seen || !missed.is_empty(),
        );
        let missed = follower.missed();
        assert!(
            missed.is_empty(),
            "killed before write {number} (PUBLICATION_SEED={seed}): {missed:?}"
        );
        before = wanted;
        if died {
            reached.insert(number);
        }
    }
    println!("killed before writes {reached:?}; {} events", follower.events());
    assert!(reached.len() >= 3, "only {reached:?}");
}
