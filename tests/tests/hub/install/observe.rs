//! An observing installation: it explains, refuses no write, and has no right to write the systems' objects.

use berth_tests::hub::Hub;
use berth_tests::hub::berth::load;
use berth_tests::{eventually, until};
use serde_json::{Value, json};

use crate::install::installation::{Installation, define_systems, shoot};

const SOURCES: [&str; 4] = [
    "--source=fleet=hub",
    "--source=gardener=hub",
    "--source=ocm=hub",
    "--source=openmcp=hub",
];

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn who_observes_explains_everything_refuses_nothing_and_writes_nothing() {
    let hub = Hub::start();
    let witness = hub.witness();
    define_systems(&hub);
    let berth = Installation::new(&SOURCES).observing().install(&hub, &[]);
    load(&hub, "../examples/gardener/fleet.yaml");
    hub.kubectl("create -f -")
        .input(shoot("one").to_string())
        .succeeds();
    let explained = eventually("the shoot to be explained", || {
        let words = "get decision one.gardener -n garden-dev --subresource=scheduling -o json";
        let output = hub.kubectl(words).run();
        let explained: Value = serde_json::from_str(&output.out).ok()?;
        explained["status"]["picked"]
            .as_array()
            .filter(|picked| !picked.is_empty())
            .cloned()
    });
    let picked = explained[0]["clusterName"]
        .as_str()
        .expect("it has a name")
        .to_owned();
    assert!(picked.starts_with("aws-eu"), "{explained:?}");
    let binding = json!({
        "apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "Binding",
        "metadata": {"name": "one.gardener", "namespace": "garden-dev"}, "spec": {"targets": []},
    });
    let refused = hub.kubectl("create -f -").input(binding.to_string()).fails();
    assert!(
        refused.contains("Berth observes gardener here") && refused.contains("SchedulingReview"),
        "{refused}"
    );
    let undecided = hub
        .kubectl("get decision one.gardener -n garden-dev -o json")
        .json();
    assert_eq!(
        undecided["status"]["wouldChange"]["verdict"], "Fits",
        "{undecided:#}"
    );
    // The other scheduler's writes, which guards would refuse.
    for seed in [picked.as_str(), "aws-us1"] {
        let patch = json!({"spec": {"seedName": seed}}).to_string();
        hub.kubectl_args(&[
            "patch",
            "shoot",
            "one",
            "-n",
            "garden-dev",
            "--type=merge",
            "-p",
            &patch,
        ])
        .succeeds();
        let path = "/apis/scheduling.berth.dev/v1alpha1/namespaces/garden-dev/decisions/one.gardener/history";
        until(
            "the history to say who moved it",
            || hub.kubectl(&format!("get --raw {path}")).json()["status"]["records"].clone(),
            |records| {
                let last = records.as_array().and_then(|records| records.last());
                last.is_some_and(|last| {
                    last["to"]["clusters"][0]["clusterName"] == seed
                        && last["actor"]["fieldManager"] == "kubectl-patch"
                        && last["agreement"]["status"] == "True"
                })
            },
        );
    }
    eventually("the decision of others to be shown", || {
        let words = "get decision one.gardener -n garden-dev -o json";
        let decision = hub.kubectl(words).json();
        let conditions = decision["status"]["conditions"].as_array()?;
        let agrees = conditions
            .iter()
            .find(|condition| condition["type"] == "Agrees")?;
        let is_there = decision["status"]["decisions"][0]["clusterName"] == "aws-us1";
        // Gardener does not move Shoots, and Berth would not either.
        (is_there && agrees["status"] == "True").then_some(())
    });
    // Another mode in the configuration grants no rights that the installation does not have.
    hub.kubectl("apply -f -")
        .input(
            "apiVersion: config.berth.dev/v1alpha1\nkind: SchedulerConfiguration\nmetadata: {name: gardener}\n\
             spec: {mode: Decide}\n",
        )
        .succeeds();
    hub.kubectl("create -f -")
        .input(shoot("two").to_string())
        .succeeds();
    eventually("the second shoot to be known", || {
        hub.kubectl("get decision two.gardener -n garden-dev")
            .run()
            .success
            .then_some(())
    });
    witness.requires_observing(&[]);
    drop(berth);
}
