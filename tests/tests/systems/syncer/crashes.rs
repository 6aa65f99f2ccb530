//! A syncer that is killed at any point and started again completes its work: no copy is doubled or lost.

use serde_json::Value;

use crate::syncer::world::{Cluster, World, until};

const COUNT: usize = 40;

/// The copied config maps of the test on the cluster.
fn copies(cluster: &Cluster) -> Result<Vec<Value>, String> {
    let list = cluster.server.kubectl_args(&[
        "get",
        "configmaps",
        "-A",
        "-l",
        "internal.workloads.kcp.dev/cluster",
        "-o",
        "json",
    ]);
    Ok(list.json()["items"].as_array().expect("a list").clone())
}

/// For each of `points`, starts the syncer and kills it when `reached` is true.
fn kill_at(
    world: &World,
    points: impl Iterator<Item = usize>,
    mut reached: impl FnMut(usize) -> Result<bool, String>,
) {
    for point in points {
        let syncer = world.sync(0);
        until(&format!("point {point}"), || match reached(point)? {
            true => Ok(()),
            false => Err("not yet".to_owned()),
        });
        syncer.kill();
    }
}

#[test]
fn a_syncer_killed_again_and_again_converges_both_ways() {
    let world = World::new(&["east"]);
    let (hub, east) = (&world.hub, &world.clusters[0]);
    let syncer = world.sync(0);
    world.place("app");
    syncer.kill();
    let maps: Vec<String> = (0..COUNT)
        .map(|index| {
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m{index}, namespace: app}}\ndata: {{number: \"{index}\"}}\n")
        })
        .collect();
    hub.kubectl("apply -f -").input(maps.join("---\n")).succeeds();

    // While copies are created.
    kill_at(&world, [1, 12, 25].into_iter(), |point| {
        Ok(copies(east)?.len() >= point)
    });
    let syncer = world.sync(0);
    until("all copies", || {
        let copies = copies(east)?;
        (copies.len() == COUNT)
            .then_some(())
            .ok_or_else(|| format!("{} of {COUNT}", copies.len()))
    });
    syncer.kill();
    let homes = |copies: &[Value]| -> Vec<String> {
        let mut homes: Vec<String> = copies
            .iter()
            .map(|copy| copy["metadata"]["namespace"].to_string())
            .collect();
        homes.dedup();
        homes
    };
    let all = copies(east).expect("a list");
    assert_eq!(homes(&all).len(), 1, "one namespace stands for one");
    for copy in &all {
        let name = copy["metadata"]["name"].as_str().expect("a name");
        assert_eq!(
            format!("m{}", copy["data"]["number"].as_str().expect("data")),
            name
        );
    }

    // While copies are deleted: every object of the hub has a finalizer until its copy is deleted.
    hub.kubectl("-n app delete configmaps --all --wait=false")
        .succeeds();
    kill_at(&world, [COUNT - 1, COUNT / 2, 5].into_iter(), |point| {
        // The objects with finalizers are read first, so every later copy must belong to one of them.
        let held = hub.kubectl("-n app get configmaps -o json").json();
        let left = copies(east)?.len();
        assert!(
            held["items"].as_array().expect("a list").len() >= left,
            "a copy is left behind"
        );
        Ok(left <= point)
    });
    let _syncer = world.sync(0);
    until("both sides empty", || {
        let (left, held) = (
            copies(east)?.len(),
            hub.kubectl("-n app get configmaps -o name").succeeds(),
        );
        (left == 0 && held.is_empty())
            .then_some(())
            .ok_or_else(|| format!("{left} copies, {held}"))
    });
}

#[test]
fn what_changed_while_nobody_synced_is_caught_up_with() {
    let world = World::new(&["east"]);
    let (hub, east) = (&world.hub, &world.clusters[0]);
    let syncer = world.sync(0);
    world.place("app");
    hub.kubectl("-n app create configmap stays --from-literal=a=1")
        .succeeds();
    hub.kubectl("-n app create configmap goes").succeeds();
    east.arrived("configmap", "app", "stays");
    east.arrived("configmap", "app", "goes");
    syncer.kill();

    hub.kubectl_args(&[
        "-n",
        "app",
        "patch",
        "configmap",
        "stays",
        "--type=merge",
        "-p",
        r#"{"data":{"a":"2"}}"#,
    ])
    .succeeds();
    hub.kubectl("-n app delete configmap goes --wait=false")
        .succeeds();
    hub.kubectl("-n app create configmap comes").succeeds();
    let home = east.namespace("app").expect("it is there");
    east.server
        .kubectl_args(&["-n", &home, "delete", "configmap", "stays"])
        .succeeds();
    let _syncer = world.sync(0);
    east.arrived("configmap", "app", "comes");
    assert_eq!(east.arrived("configmap", "app", "stays")["data"]["a"], "2");
    until("what was deleted to go", || {
        match hub.kubectl("-n app get configmap goes").run().success {
            true => Err("it is held".to_owned()),
            false => east
                .copy("configmap", "app", "goes")
                .map_or(Ok(()), |copy| Err(copy.to_string())),
        }
    });
}
