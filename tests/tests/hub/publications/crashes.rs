//! `kill -9` between any two of Berth's writes of a publication on a hub: for every consumer, a cluster that
//! is decided before and after is always in a slice. The fault point is only in builds with debug assertions.

use std::collections::BTreeSet;

use berth_tests::consumer::Consumer;
use berth_tests::decided::{self, drawn, name};
use berth_tests::differential::{Draw, variable};
use berth_tests::hub::Hub;
use berth_tests::hub::berth::{self, Berth};
use berth_tests::{eventually, ports, until};

use super::{PROFILES, names, upstream_definitions};

/// More clusters than two slices can have.
const CLUSTERS: usize = 230;
/// Two writes of a new profile, four slices of which one is created or deleted, and a deleted profile.
const WRITES: u64 = 7;
const ROUNDS: u64 = 14;

/// A hub with the kinds and a fleet, on which Berth is started again and again.
struct World {
    hub: Hub,
    port: String,
}

impl World {
    fn new() -> Self {
        let hub = Hub::start();
        berth::apply_definitions(&hub);
        berth::apply_rights(&hub);
        berth::apply(&hub, "hub-sources-rbac.yaml");
        upstream_definitions(&hub);
        let port = ports::free().to_string();
        Self { hub, port }
    }

    /// Starts Berth, which aborts at `fault`.
    fn start(&self, fault: &str) -> Berth {
        // A short lease, so that the next Berth waits briefly for the killed one's.
        let arguments = [
            "--source=ocm=hub",
            "--storage=memory",
            "--secure-port",
            &self.port,
            "--leader-elect-lease-duration=2s",
            "--leader-elect-renew-deadline=1500ms",
            "--leader-elect-retry-period=300ms",
        ];
        Berth::start_with_fault(&self.hub, "berth", &arguments, fault)
    }

    fn apply(&self, object: &serde_json::Value) {
        let apply = self.hub.kubectl("apply --server-side -f -");
        apply.input(object.to_string()).succeeds();
    }

    /// Changes the decision to exactly these clusters, one of which is created, while another is
    /// deleted.
    fn change(&self, wanted: &BTreeSet<String>, coming: Option<&String>, going: &str) {
        self.apply(&decided::placement(wanted));
        if let Some(coming) = coming {
            self.apply(&decided::cluster(coming));
        }
        self.hub
            .kubectl(&format!("delete managedcluster {going} --wait=false"))
            .succeeds();
    }

    fn published(&self) -> BTreeSet<String> {
        names(&self.hub, PROFILES, "argocd")
    }
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn killed_before_any_write_on_a_hub_a_decided_cluster_is_in_a_slice_at_every_event() {
    let seed = variable("PUBLICATION_SEED", 1);
    let world = World::new();
    let mut berth = world.start("");
    berth::load_text(&world.hub, "fleet.json", &decided::fleet(CLUSTERS).to_string());
    let mut there: BTreeSet<String> = (0..CLUSTERS).map(name).collect();
    eventually("all clusters to be published", || {
        (world.published() == there).then_some(())
    });
    let mut draw = Draw::new(seed, 0);
    let mut before = drawn(&mut draw, CLUSTERS);
    world.apply(&decided::placement(&before));
    let home = world.hub.folder().join("consumer");
    let consumer = Consumer::start(world.hub.admin(), home, "argocd");
    eventually("the first decision", || {
        (consumer.shown() == before).then_some(())
    });
    let (mut reached, mut gone) = (BTreeSet::new(), None);
    for round in 0..ROUNDS {
        let number = 1 + round % WRITES;
        let mut wanted = drawn(&mut draw, CLUSTERS);
        let coming: Option<String> = gone.take();
        wanted.extend(coming.clone());
        let going = before
            .first()
            .or(there.first())
            .expect("there are clusters")
            .clone();
        wanted.remove(&going);
        there.remove(&going);
        there.extend(coming.clone());
        consumer.expect(before.intersection(&wanted).cloned().collect());
        berth.kill();
        berth = world.start(&format!("before={number}"));
        world.change(&wanted, coming.as_ref(), &going);
        let what = format!("write {number} of round {round} (PUBLICATION_SEED={seed})");
        let mut died = false;
        until(
            &format!("the decision after a death before {what}"),
            || {
                if berth.has_ended() {
                    died = true;
                    berth = world.start("");
                }
                (consumer.shown() == wanted, consumer.missed())
            },
            |(is_seen, missed)| *is_seen || !missed.is_empty(),
        );
        let missed = consumer.missed();
        assert!(missed.is_empty(), "killed before {what}: {missed:?}");
        let published = world.published();
        assert!(wanted.is_subset(&published), "a decision refers to no profile");
        eventually("the profiles of what is there, and no others", || {
            if berth.has_ended() {
                died = true;
                berth = world.start("");
            }
            (world.published() == there).then_some(())
        });
        (before, gone) = (wanted, Some(going));
        if died {
            reached.insert(number);
        }
    }
    println!("killed before writes {reached:?}; {} events", consumer.events());
    assert!(reached.len() >= 4, "only {reached:?}");
}
