//! `kill -9` between any two writes of a publication: for every consumer, a cluster that is decided before
//! and after is always in a slice. The fault point is only in builds with debug assertions.

#![cfg(debug_assertions)]

use std::collections::BTreeSet;

use berth_tests::consumer::Consumer;
use berth_tests::decided::{self, drawn};
use berth_tests::differential::{Draw, variable};
use berth_tests::{Server, eventually, ports, until};

/// More clusters than two slices can have.
const CLUSTERS: usize = 230;
/// The decision itself, and three slices: the most writes of a change.
const WRITES: u64 = 4;
const ROUNDS: u64 = 12;

/// Creates a fleet and its Publication, without a decision.
fn prepare(server: &Server) {
    let file = server.file("fleet.json", &decided::fleet(CLUSTERS).to_string());
    server.load(&file);
    eventually("all clusters to be published", || {
        let get = "get clusterprofiles.multicluster.x-k8s.io -n argocd -o name";
        (server.kubectl(get).succeeds().lines().count() == CLUSTERS).then_some(())
    });
}

/// Changes the decision to exactly these clusters by one write. Returns whether the server answered.
fn decide(server: &Server, clusters: &BTreeSet<String>) -> bool {
    let apply = server.kubectl_args(&["apply", "--server-side", "-f", "-"]);
    apply
        .input(decided::placement(clusters).to_string())
        .run()
        .success
}

#[test]
fn killed_before_any_write_of_a_change_a_decided_cluster_is_in_a_slice_at_every_event() {
    let seed = variable("PUBLICATION_SEED", 1);
    let port = ports::free();
    let mut server = Server::start_at(port);
    prepare(&server);
    let mut draw = Draw::new(seed, 0);
    let mut before = drawn(&mut draw, CLUSTERS);
    assert!(decide(&server, &before), "nothing dies without a fault");
    let home = server.file("home", "").with_file_name("consumer");
    let consumer = Consumer::start(server.kubeconfig(), home, "argocd");
    eventually("the first decision", || {
        (consumer.shown() == before).then_some(())
    });
    let mut reached = BTreeSet::new();
    for round in 0..ROUNDS {
        let number = 1 + round % WRITES;
        let wanted = drawn(&mut draw, CLUSTERS);
        consumer.expect(before.intersection(&wanted).cloned().collect());
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
                (consumer.shown() == wanted, consumer.missed())
            },
            |(is_seen, missed)| *is_seen || !missed.is_empty(),
        );
        let missed = consumer.missed();
        assert!(
            missed.is_empty(),
            "killed before write {number} (PUBLICATION_SEED={seed}): {missed:?}"
        );
        before = wanted;
        if died {
            reached.insert(number);
        }
    }
    println!("killed before writes {reached:?}; {} events", consumer.events());
    assert!(reached.len() >= 3, "only {reached:?}");
}
