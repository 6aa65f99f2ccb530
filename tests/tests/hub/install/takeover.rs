//! A change of a system's scheduler and back, on a hub where the other scheduler is only a Lease of the test.

use std::process::{Child, Command, Output, Stdio};

use berth_apimachinery::Clock as _;
use berth_apiserver::SystemClock;
use berth_tests::eventually;
use berth_tests::hub::Hub;
use berth_tests::hub::berth::load;
use serde_json::{Value, json};

use crate::install::installation::{Installation, define_systems, shoot};

/// Writes the other scheduler's Lease, with an empty `holder` as a released one.
fn lease(hub: &Hub, holder: &str) {
    let object = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "gardener-scheduler-leader-election", "namespace": "garden"},
        "spec": {
            "holderIdentity": holder, "leaseDurationSeconds": 3600,
            "renewTime": berth_apimachinery::time::rfc3339_micro(SystemClock.now()),
        },
    });
    hub.kubectl("apply --server-side --force-conflicts -f -")
        .input(object.to_string())
        .succeeds();
}

fn berth(hub: &Hub, words: &str) -> Command {
    let mut command = Command::new(berth_tests::berth());
    command.args(words.split(' ')).env("KUBECONFIG", hub.admin());
    command
}

fn run(hub: &Hub, words: &str) -> (Option<i32>, String) {
    code_and_text(berth(hub, words).output().expect("berth runs"))
}

fn begin(hub: &Hub, words: &str) -> Child {
    let mut command = berth(hub, words);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("berth runs")
}

fn code_and_text(output: Output) -> (Option<i32>, String) {
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

fn configuration(hub: &Hub) -> Value {
    hub.kubectl("get schedulerconfiguration gardener -o json").json()
}

fn deciding(hub: &Hub) -> Value {
    let configuration = configuration(hub);
    let conditions = configuration["status"]["conditions"].as_array().cloned();
    let mut conditions = conditions.into_iter().flatten();
    conditions
        .find(|condition| condition["type"] == "Deciding")
        .unwrap_or_default()
}

/// Waits for an event of the SchedulerConfiguration.
fn is_told(hub: &Hub, reason: &str, part: &str) {
    let selector = format!("reason={reason},regarding.kind=SchedulerConfiguration,regarding.name=gardener");
    eventually("an event that says so", || {
        let words = format!("get events.events.k8s.io -n default --field-selector {selector} -o json");
        let list = hub.kubectl(&words).json();
        let mut notes = list["items"]
            .as_array()?
            .iter()
            .filter_map(|event| event["note"].as_str());
        notes.any(|note| note.contains(part)).then_some(())
    });
}

/// Whether another client than Berth can move the Shoot, which guards refuse.
fn moves(hub: &Hub, shoot: &str) -> bool {
    let patch = json!({"spec": {"seedName": "aws-us1"}}).to_string();
    let words = [
        "patch",
        "shoot",
        shoot,
        "-n",
        "garden-dev",
        "--type=merge",
        "-p",
        &patch,
    ];
    hub.kubectl_args(&words).run().success
}

fn seed(hub: &Hub, shoot: &str) -> Option<String> {
    let shoot = hub
        .kubectl(&format!("get shoot {shoot} -n garden-dev -o json"))
        .json();
    shoot["spec"]["seedName"].as_str().map(str::to_owned)
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn a_system_is_decided_once_its_own_scheduler_is_stopped_and_given_back_to_it() {
    let hub = Hub::start();
    define_systems(&hub);
    hub.kubectl("create namespace garden").succeeds();
    lease(&hub, "pod-1");
    let installation = Installation::new(&["--source=gardener=hub"]);
    let berth = installation.install(&hub, &[]);
    load(&hub, "../examples/gardener/fleet.yaml");
    hub.kubectl("apply -f -")
        .input("apiVersion: config.berth.dev/v1alpha1\nkind: SchedulerConfiguration\nmetadata: {name: gardener}\nspec: {}\n")
        .succeeds();
    let waits = eventually("Berth to say that it waits", || {
        Some(deciding(&hub)).filter(|condition| condition["reason"] == "OtherSchedulerRuns")
    });
    let message = waits["message"].as_str().unwrap_or_default();
    assert!(message.contains("pod-1 renews its Lease garden/"), "{message}");
    is_told(&hub, "OtherSchedulerRuns", "pod-1 renews its Lease");
    hub.kubectl("create -f -")
        .input(shoot("one").to_string())
        .succeeds();
    assert!(moves(&hub, "one"), "nothing of the other scheduler's is refused");

    let (code, text) = run(&hub, "check");
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("Berth is to decide and waits"), "{text}");
    let (code, text) = run(&hub, "takeover gardener");
    assert_eq!(code, Some(0), "{text}");
    for part in [
        "1 request: ",
        "gardener-scheduler runs: pod-1 renews",
        "scale deployment gardener-scheduler",
        "Nothing was changed",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert_eq!(configuration(&hub)["spec"], json!({}));

    let taking = begin(&hub, "takeover gardener --yes --timeout=2m");
    eventually("the mode to be set", || {
        (configuration(&hub)["spec"]["mode"] == "Decide").then_some(())
    });
    hub.kubectl("create -f -")
        .input(shoot("two").to_string())
        .succeeds();
    assert_eq!(seed(&hub, "two"), None, "Berth waits");
    lease(&hub, "");
    let (code, text) = code_and_text(taking.wait_with_output().expect("it ends"));
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("waiting: ") && text.contains("Berth decides gardener"),
        "{text}"
    );
    eventually("Berth to decide", || seed(&hub, "two"));
    is_told(&hub, "Deciding", "Berth decides gardener");
    assert!(!moves(&hub, "two"), "decisions are guarded");

    let (code, text) = run(&hub, "handback gardener --yes --timeout=1s");
    assert_eq!(code, Some(1), "nobody took it back: {text}");
    assert!(text.contains("no scheduler decides new requests"), "{text}");
    let giving = begin(&hub, "handback gardener --yes --timeout=2m");
    lease(&hub, "pod-2");
    let (code, text) = code_and_text(giving.wait_with_output().expect("it ends"));
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("scale deployment gardener-scheduler"), "{text}");
    eventually("guards to end", || moves(&hub, "two").then_some(()));
    assert_eq!(configuration(&hub)["spec"]["mode"], "Observe");
    drop(berth);
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn a_server_steps_back_when_the_other_scheduler_is_started_again() {
    let hub = Hub::start();
    define_systems(&hub);
    hub.kubectl("create namespace garden").succeeds();
    let installation = Installation::new(&["--source=gardener=hub"]);
    let berth = installation.install(&hub, &[]);
    load(&hub, "../examples/gardener/fleet.yaml");
    hub.kubectl("create -f -")
        .input(shoot("one").to_string())
        .succeeds();
    eventually("Berth to decide", || seed(&hub, "one"));
    assert!(!moves(&hub, "one"), "decisions are guarded");
    lease(&hub, "pod-1");
    eventually("guards to end", || moves(&hub, "one").then_some(()));
    // Two schedulers decide where a user configures that.
    hub.kubectl("apply -f -")
        .input(
            "apiVersion: config.berth.dev/v1alpha1\nkind: SchedulerConfiguration\nmetadata: {name: gardener}\n\
             spec: {otherScheduler: Ignore, requests: {selector: {matchLabels: {scheduler: berth}}}}\n",
        )
        .succeeds();
    eventually("Berth to decide beside it", || {
        (deciding(&hub)["status"] == "True").then_some(())
    });
    let mut ours = shoot("ours");
    ours["metadata"]["labels"] = json!({"scheduler": "berth"});
    for made in [shoot("theirs"), ours] {
        hub.kubectl("create -f -").input(made.to_string()).succeeds();
    }
    eventually("Berth to decide its own", || seed(&hub, "ours"));
    assert_eq!(seed(&hub, "theirs"), None);
    assert!(
        moves(&hub, "theirs") && !moves(&hub, "ours"),
        "only its own is guarded"
    );
    drop(berth);
}
