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
/// any. `changed` is a Seed that was hidden or shown just before: the scheduler may read the Shoot before
/// that change, since each kind has a watch of its own, so the Seeds with and without it count.
fn predicted_seeds(hub: &Hub, name: &str, changed: Option<&str>) -> BTreeSet<String> {
    let path = format!(
        "get --raw /apis/scheduling.berth.dev/v1alpha1/namespaces/{}/decisions/{name}.gardener/scheduling",
        SHOOTS.0
    );
    let ask = || serde_json::from_str(&hub.kubectl(&path).run().out).unwrap_or(Value::Null);
    let has_picked = |report: &Value| report["status"]["picked"][0]["clusterName"].is_string();
    let report = until("Berth to foretell a Seed", ask, has_picked);
    let candidates = report["status"]["candidates"].as_array();
    let feasible: Vec<&Value> = candidates
        .expect("a report has candidates")
        .iter()
        .filter(|one| one["feasible"] == true)
        .collect();
    let picked = &report["status"]["picked"][0]["clusterName"];
    let mut seeds = as_good_as(picked, &feasible);
    if let Some(changed) = changed {
        // Candidates are in the order in which Berth would take them.
        let without: Vec<&Value> = feasible
            .into_iter()
            .filter(|one| one["clusterName"] != changed)
            .collect();
        if let Some(best) = without.first() {
            seeds.extend(as_good_as(&best["clusterName"], &without));
        }
        seeds.insert(changed.to_owned());
    }
    seeds
}

/// The names of the candidates with the scores of `seed`, which is one of them.
fn as_good_as(seed: &Value, candidates: &[&Value]) -> BTreeSet<String> {
    let best = candidates
        .iter()
        .find(|one| one["clusterName"] == *seed)
        .map(|one| &one["scores"]);
    candidates
        .iter()
        .filter(|one| Some(&one["scores"]) == best)
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
    let seed = seed_name(4);
    while number < LEAST || started.elapsed() < seconds {
        let changes = number % 4 == 3;
        if changes {
            let hidden =
                json!({"spec": {"settings": {"scheduling": {"visible": number % 8 == 7}}}}).to_string();
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
        let expected = predicted_seeds(hub, &name, changes.then_some(seed.as_str()));
        scheduler.pause(false);
        let taken = bound(hub, &name);
        assert!(
            expected.contains(&taken),
            "{name}: {taken}, and Berth would take one of {expected:?}"
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
