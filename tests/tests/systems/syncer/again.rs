//! A workload cluster that is registered again: its WorkloadCluster, or the whole hub, was lost and created
//! again.

use serde_json::Value;

use crate::syncer::world::{World, register, until};

const MARK: &str = "internal.workloads.kcp.dev/cluster";

/// Creates a namespace with config maps, and waits for their copies.
fn fill(world: &World, namespace: &str, names: &[&str]) {
    world.place(namespace);
    for name in names {
        world
            .hub
            .kubectl_args(&["-n", namespace, "create", "configmap", name, "--from-literal=a=b"])
            .succeeds();
        world.clusters[0].arrived("configmap", namespace, name);
    }
}

fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().expect("a uid")
}

/// Waits until the same copy has the mark of the current registration.
fn wait_for_takeover(world: &World, namespace: &str, name: &str, before: &Value) {
    let east = &world.clusters[0];
    let copy = until(&format!("{namespace}/{name} to be taken over"), || {
        let copy = east.copy("configmap", namespace, name)?;
        match copy["metadata"]["labels"][MARK] == east.identifier.as_str() {
            true => Ok(copy),
            false => Err(copy.to_string()),
        }
    });
    assert_eq!(uid(&copy), uid(before), "it was never away");
}

/// Waits until the cluster has no copy of `namespace`.
fn wait_for_removal(world: &World, namespace: &str) {
    until(&format!("{namespace} to go"), || {
        match world.clusters[0].namespace(namespace) {
            None => Ok(()),
            Some(name) => Err(name),
        }
    });
}

#[test]
fn a_workload_cluster_registered_again_keeps_its_copies_and_what_is_left_goes() {
    let mut world = World::new(&["east"]);
    let syncer = world.sync(0);
    fill(&world, "stay", &["one"]);
    fill(&world, "gone", &["one"]);
    fill(&world, "half", &["keep", "drop"]);
    let before = |namespace: &str, name: &str| world.clusters[0].arrived("configmap", namespace, name);
    let (one, keep) = (before("stay", "one"), before("half", "keep"));
    let home = world.clusters[0].namespace("stay").expect("it is there");
    let theirs = &world.clusters[0].server;
    // An object that looks like a copy, but is not the syncer's.
    theirs
        .kubectl_args(&["-n", &home, "create", "configmap", "theirs", "--from-literal=a=b"])
        .succeeds();
    theirs
        .kubectl_args(&["-n", &home, "label", "configmap", "theirs", &format!("{MARK}=x")])
        .succeeds();
    syncer.kill();

    let hub = &world.hub;
    hub.kubectl("delete workloadcluster east").succeeds();
    for namespace in ["stay", "gone", "half"] {
        world.placement(namespace, serde_json::Map::is_empty);
    }
    hub.kubectl("delete namespace gone").succeeds();
    hub.kubectl("-n half delete configmap drop").succeeds();
    world.clusters[0].identifier = register(&world.hub, "east");
    let _syncer = world.sync_with(0, &["--remove-leftovers-after", "5s"]);

    wait_for_takeover(&world, "stay", "one", &one);
    wait_for_takeover(&world, "half", "keep", &keep);
    wait_for_removal(&world, "gone");
    until("half/drop to go", || {
        match world.clusters[0].copy("configmap", "half", "drop") {
            Err(problem) if problem.contains("NotFound") => Ok(()),
            other => Err(format!("{other:?}")),
        }
    });
    world.condition(0, "Synced", |known| known["status"] == "True");
    let server = &world.clusters[0].server;
    server
        .kubectl_args(&["-n", &home, "get", "configmap", "theirs"])
        .succeeds();
}

#[test]
fn a_syncer_that_runs_while_its_workload_cluster_is_registered_again_keeps_the_copies() {
    let mut world = World::new(&["east"]);
    // The view shows nothing to the new registration long before the next heartbeat.
    let _syncer = world.sync_at(0, "20s", &[]);
    fill(&world, "stay", &["one", "two"]);
    fill(&world, "too", &["one"]);
    let copies = [("stay", "one"), ("stay", "two"), ("too", "one")];
    let before = copies.map(|(namespace, name)| world.clusters[0].arrived("configmap", namespace, name));

    world.hub.kubectl("delete workloadcluster east").succeeds();
    world.clusters[0].identifier = register(&world.hub, "east");
    for ((namespace, name), before) in copies.into_iter().zip(&before) {
        wait_for_takeover(&world, namespace, name, before);
    }
    world.condition(0, "Synced", |known| known["status"] == "True");
}

#[test]
fn copies_of_a_lost_hub_are_told_and_taken_over_with_adopt_alone() {
    let lost = World::new(&["east"]);
    let syncer = lost.sync(0);
    fill(&lost, "n1", &["c"]);
    fill(&lost, "n2", &["c"]);
    let before = lost.clusters[0].arrived("configmap", "n1", "c");
    syncer.kill();

    // A new hub with other uids, the same names, and without n2. The namespace default is synced, too.
    let mut world = World::new(&["east"]);
    let was = lost.clusters[0].identifier.clone();
    for (new, old) in world.clusters.iter_mut().zip(lost.clusters) {
        new.server = old.server;
    }
    let leftovers = ["--remove-leftovers-after", "5s"];
    let syncer = world.sync_with(0, &leftovers);
    world.place("n1");
    world
        .hub
        .kubectl("-n n1 create configmap c --from-literal=a=b")
        .succeeds();
    let condition = world.condition(0, "Synced", |known| {
        let message = known["message"].as_str().unwrap_or_default();
        known["reason"] == "ObjectsNotSynced" && message.contains(&format!("3 with the identifier {was}"))
    });
    let message = condition["message"].as_str().expect("a message");
    assert!(
        message.contains(&format!("berth syncer --adopt {was}")),
        "{message}"
    );
    let copy = world.clusters[0].copy("configmap", "n1", "c").expect("it stays");
    assert_eq!(copy["metadata"]["labels"][MARK], was.as_str());
    syncer.kill();

    let _syncer = world.sync_with(0, &[&leftovers[..], &["--adopt", &was]].concat());
    wait_for_takeover(&world, "n1", "c", &before);
    wait_for_removal(&world, "n2");
    world.condition(0, "Synced", |known| known["status"] == "True");
}
