//! A hub of Gardener: its own API server and its own scheduler beside Berth, which predicts every Seed while
//! it observes, and decides after the scheduler is stopped.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use berth_tests::differential::variable;
use berth_tests::gardener::{self, SHOOTS, Scheduler, seed_name, shoot};
use berth_tests::hub::Hub;
use berth_tests::hub::audit::{BERTH_USER, Entry, Witness};
use berth_tests::hub::installation::Installation;
use berth_tests::{eventually, until};
use serde_json::{Value, json};

use crate::brownfield::observe::SECONDS;
use crate::brownfield::{agrees, healthy, set_mode};

/// Least number of created Shoots.
const LEAST: usize = 24;

/// Most Shoots at a time, for which the Seeds of each region have room.
const STAYING: usize = 12;

/// Berth's Seeds for a Shoot: the decided one and those with the same score, of which the scheduler takes
/// any.
fn predicted_seeds(hub: &Hub, name: &str) -> BTreeSet<String> {
    let path = format!(
        "get --raw /apis/scheduling.berth.dev/v1alpha1/namespaces/{}/decisions/{name}.gardener/scheduling",
        SHOOTS.0
    );
    let ask = || serde_json::from_str(&hub.kubectl(&path).run().out).unwrap_or(Value::Null);
    let has_picked = |report: &Value| report["status"]["picked"][0]["clusterName"].is_string();
    let report = until("Berth to foretell a Seed", ask, has_picked);
    let status = &report["status"];
    let picked = &status["picked"][0]["clusterName"];
    let candidates = status["candidates"].as_array().expect("a report has candidates");
    let scores = |of: &Value| of["scores"].clone();
    let best = candidates
        .iter()
        .find(|one| one["clusterName"] == *picked)
        .map(scores);
    let as_good = candidates
        .iter()
        .filter(|one| one["feasible"] == true && Some(scores(one)) == best);
    as_good
        .filter_map(|one| one["clusterName"].as_str().map(str::to_owned))
        .collect()
}

fn bound(hub: &Hub, name: &str) -> String {
    eventually("the Shoot to have a Seed", || {
        let words = format!("get shoot {name} -n {} -o jsonpath={{.spec.seedName}}", SHOOTS.0);
        Some(hub.kubectl(&words).succeeds()).filter(|seed| !seed.is_empty())
    })
}

fn create(hub: &Hub, number: usize) -> String {
    let shoot = shoot(number);
    hub.kubectl("create -f -").input(shoot.to_string()).succeeds();
    shoot["metadata"]["name"]
        .as_str()
        .expect("it has a name")
        .to_owned()
}

/// Creates Shoots one after the other, each with a prediction of its Seed before the scheduler reads it,
/// deletes Shoots, and hides and shows Seeds. Returns the number of created Shoots.
fn churn(hub: &Hub, scheduler: &Scheduler) -> usize {
    let seconds = Duration::from_secs(variable(SECONDS.0, SECONDS.1));
    let (started, mut number) = (Instant::now(), 0);
    while number < LEAST || started.elapsed() < seconds {
        if number % 4 == 3 {
            let hidden =
                json!({"spec": {"settings": {"scheduling": {"visible": number % 8 == 7}}}}).to_string();
            let seed = seed_name(4);
            let words = [
                "patch",
                "seed",
                seed.as_str(),
                "--type=merge",
                "-p",
                hidden.as_str(),
            ];
            hub.kubectl_args(&words).succeeds();
        }
        scheduler.pause(true);
        let name = create(hub, number);
        let expected = predicted_seeds(hub, &name);
        scheduler.pause(false);
        let seed = bound(hub, &name);
        assert!(
            expected.contains(&seed),
            "{name}: {seed}, and Berth would take one of {expected:?}"
        );
        number += 1;
        if let Some(oldest) = number.checked_sub(STAYING) {
            let words = format!("delete shoot shoot-{oldest:02} -n {} --wait=false", SHOOTS.0);
            hub.kubectl(&words).succeeds();
        }
    }
    number
}

/// Requires that no write of the scheduler was refused.
fn scheduler_is_refused_nothing(witness: &Witness<'_>) {
    let writes = witness.writes_of(gardener::USER);
    let bindings = writes
        .iter()
        .filter(|entry| entry.resource() == "shoots/binding.core.gardener.cloud");
    assert!(bindings.count() > 0, "it binds");
    // Another client was faster with a Lease or an event, or the Shoot has changed: the scheduler tries
    // again.
    let refused: Vec<String> = writes
        .iter()
        .filter(|entry| entry.code() >= 400 && ![404, 409].contains(&entry.code()))
        .map(Entry::summary)
        .collect();
    assert!(refused.is_empty(), "{refused:#?}");
    let by_berth = witness.refused_by_berth();
    assert!(by_berth.is_empty(), "{by_berth:#?}");
}

/// Number of Berth's bindings of Shoots.
fn berths_bindings(witness: &Witness<'_>) -> usize {
    let writes = witness.writes_of(BERTH_USER);
    let bindings = writes
        .iter()
        .filter(|entry| entry.resource() == "shoots/binding.core.gardener.cloud");
    bindings.filter(|entry| entry.code() < 300).count()
}

fn deciding(hub: &Hub, reason: &str) {
    eventually(&format!("the condition Deciding to say {reason}"), || {
        let object = hub.kubectl("get schedulerconfiguration gardener -o json").json();
        let mut conditions = object["status"]["conditions"].as_array()?.iter();
        conditions
            .any(|condition| condition["type"] == "Deciding" && condition["reason"] == reason)
            .then_some(())
    });
}

#[test]
#[ignore = "builds and runs a real kube-apiserver and Gardener's API server: `make e2e`"]
fn who_observes_beside_gardeners_scheduler_foretells_its_seeds_and_decides_once_it_is_stopped() {
    let mut hub = Hub::start();
    hub.start_controllers();
    let _garden = gardener::ApiServer::start(&hub);
    gardener::load(&hub);
    let scheduler = Scheduler::start(&hub);
    let installation = Installation::new(&["--source=gardener=hub"]).observing();
    let witness = hub.witness();
    let running = installation.install(&hub, &[]);
    healthy(&hub);
    let came = churn(&hub, &scheduler);
    agrees(&hub);
    let agreeing = || {
        let words = "get decisions -A --field-selector status.agrees=True -o name";
        hub.kubectl(words).succeeds().lines().count()
    };
    let shoots = hub.versions("shoots.core.gardener.cloud").len();
    until("every decision to agree", agreeing, |count| *count == shoots);
    println!("{came} Shoots came, {shoots} are there; each got a Seed that Berth foretold");
    scheduler_is_refused_nothing(&witness);
    witness.requires_observing(&[]);
    drop(running);

    // For its decisions, Berth waits for the Lease, which is renewed.
    let installation = Installation::new(&["--source=gardener=hub"]);
    let running = installation.install(&hub, &[]);
    let witness = hub.witness();
    set_mode(&hub, "gardener", "Decide");
    deciding(&hub, "OtherSchedulerRuns");
    bound(&hub, &create(&hub, came));
    scheduler_is_refused_nothing(&witness);
    assert_eq!(berths_bindings(&witness), 0, "Berth has decided beside it");
    scheduler.stop();
    deciding(&hub, "Deciding");
    bound(&hub, &create(&hub, came + 1));
    assert!(berths_bindings(&witness) > 0, "Berth decides");
    set_mode(&hub, "gardener", "Observe");
    deciding(&hub, "Observing");
    let witness = hub.witness();
    let scheduler = Scheduler::start(&hub);
    bound(&hub, &create(&hub, came + 2));
    scheduler_is_refused_nothing(&witness);
    assert_eq!(berths_bindings(&witness), 0, "it was given back");
    scheduler.stop();
    drop(running);
}
