//! Gardener: unassigned shoots, their events, and the seed that makes them feasible.

use berth_tests::{Server, eventually};

use super::{auto_bind, counted, decisions, event, patch};

const BASE: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: garden-dev}\n---\n\
    apiVersion: core.gardener.cloud/v1beta1\nkind: CloudProfile\nmetadata: {name: aws}\nspec: {type: aws}\n";

fn seed(server: &Server, name: &str, number: u8, shoots: u32) {
    let text = format!(
        "apiVersion: core.gardener.cloud/v1beta1\nkind: Seed\nmetadata: {{name: {name}}}\n\
         spec:\n  provider: {{type: aws, region: eu-west-1}}\n  networks: {{nodes: 10.{number}.0.0/18, pods: 10.{number}.64.0/18, services: 10.{number}.128.0/18}}\n\
         status:\n  conditions:\n  - {{type: GardenletReady, status: \"True\", reason: Ready, message: ready, lastTransitionTime: \"2021-10-28T08:00:00Z\", lastUpdateTime: \"2021-10-28T08:00:00Z\"}}\n  allocatable: {{shoots: \"{shoots}\"}}\n"
    );
    server.load(&server.file("seed.yaml", &text));
}

fn shoot(server: &Server, name: &str) {
    let text = format!(
        "apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata: {{name: {name}, namespace: garden-dev}}\n\
         spec:\n  cloudProfile: {{name: aws}}\n  region: eu-west-1\n  provider: {{type: aws}}\n  networking: {{nodes: 172.16.0.0/16, pods: 172.17.0.0/16, services: 172.18.0.0/16}}\n"
    );
    server.kubectl("apply -f -").input(text).succeeds();
}

fn assigned(server: &Server, name: &str) -> Option<String> {
    let shoot = server
        .kubectl(&format!("-n garden-dev get shoot {name} -o json"))
        .json();
    shoot["spec"]["seedName"].as_str().map(str::to_owned)
}

#[test]
fn a_shoot_waits_with_an_event_until_a_seed_that_could_help_appears() {
    let server = Server::start();
    auto_bind(&server, "gardener", "Controller");
    server.kubectl("apply -f -").input(BASE).succeeds();
    shoot(&server, "waits");
    let why = event(&server, "garden-dev", "waits", "Warning SchedulingFailed");
    assert_eq!(why, "Failed to schedule shoot waits: there are no seeds");
    // The next timed attempt would be in 15 seconds; the seed triggers it.
    seed(&server, "one", 1, 1);
    eventually("the shoot to be assigned", || {
        (assigned(&server, "waits")? == "one").then_some(())
    });
    let note = event(&server, "garden-dev", "waits", "Normal SchedulingSuccessful");
    assert_eq!(note, "Scheduled to seed one");
    // The seed is full now; when its shoot is deleted, the next one gets the place.
    shoot(&server, "second");
    let why = event(&server, "garden-dev", "second", "Warning SchedulingFailed");
    assert!(
        why.contains("No Seed fits. Nearest: one: 1 shoot is on the seed, which takes 1"),
        "{why}"
    );
    assert_eq!(assigned(&server, "second"), None);
    server
        .kubectl("-n garden-dev delete shoot waits --wait=false")
        .succeeds();
    eventually("the second to get the place", || {
        (assigned(&server, "second")? == "one").then_some(())
    });
    // Assigned shoots cause no decision, and neither do seeds without waiting shoots.
    let before = decisions(&server, "gardener");
    seed(&server, "two", 2, 5);
    shoot(&server, "barrier");
    eventually("the barrier to be assigned", || {
        (assigned(&server, "barrier")? == "two").then_some(())
    });
    eventually("it to be counted", || {
        (decisions(&server, "gardener") > before).then_some(())
    });
    assert_eq!(decisions(&server, "gardener"), before + 1);
}

#[test]
fn with_controllers_a_create_is_answered_unassigned_and_off_is_off() {
    let server = Server::start();
    auto_bind(&server, "gardener", "Off");
    server.kubectl("apply -f -").input(BASE).succeeds();
    seed(&server, "one", 1, 10);
    shoot(&server, "by-hand");
    auto_bind(&server, "ocm", "Controller");
    assert_eq!(assigned(&server, "by-hand"), None);
    assert_eq!(decisions(&server, "gardener"), 0);
    // When it is turned on, the controller decides the waiting shoots.
    auto_bind(&server, "gardener", "Controller");
    eventually("it to be taken up", || {
        (assigned(&server, "by-hand")? == "one").then_some(())
    });
}

#[test]
fn a_seed_is_never_given_more_shoots_than_it_takes() {
    let server = Server::start();
    server.kubectl("apply -f -").input(BASE).succeeds();
    let shoots: Vec<String> = (0..24).map(|number| format!("s{number:02}")).collect();
    std::thread::scope(|scope| {
        for part in shoots.chunks(6) {
            scope.spawn(|| part.iter().for_each(|name| shoot(&server, name)));
        }
        scope.spawn(|| {
            seed(&server, "one", 1, 7);
            seed(&server, "two", 2, 9);
        });
    });
    eventually("both seeds to be full", || {
        let on = |seed: &str| {
            shoots
                .iter()
                .filter(|name| assigned(&server, name).as_deref() == Some(seed))
                .count()
        };
        let (one, two) = (on("one"), on("two"));
        assert!(one <= 7 && two <= 9, "{one} and {two}");
        ((one, two) == (7, 9)).then_some(())
    });
}

#[test]
fn everything_that_could_help_wakes_a_waiting_shoot() {
    let server = Server::start();
    auto_bind(&server, "gardener", "Controller");
    server
        .kubectl("apply -f -")
        .input("apiVersion: v1\nkind: Namespace\nmetadata: {name: garden-dev}\n")
        .succeeds();
    seed(&server, "one", 1, 100);
    let waits = |name: &str, why: &str| {
        shoot(&server, name);
        eventually(&format!("{name} to wait for {why}"), || {
            let events = super::events(&server, "garden-dev", name).into_iter();
            let mut failed = events.filter(|(what, _)| what == "Warning SchedulingFailed");
            failed.find(|(_, note)| note.contains(why)).map(drop)
        });
    };
    let is_assigned = |name: &str| {
        eventually(&format!("{name} to be assigned"), || {
            (assigned(&server, name)? == "one").then_some(())
        });
    };
    // The profile of the shoot.
    waits("profile", "aws");
    server
        .kubectl("apply -f -")
        .input("apiVersion: core.gardener.cloud/v1beta1\nkind: CloudProfile\nmetadata: {name: aws}\nspec: {type: aws, seedSelector: {matchLabels: {env: live}}}\n")
        .succeeds();
    waits("profile", "env=live");
    patch(
        &server,
        "seed one",
        r#"{"metadata":{"labels":{"env":"live"}},"spec":{"taints":[{"key":"guarded"}]}}"#,
    );
    // The seed's taints, its visibility, its region (or the strategy that requires it), and the shoot's own
    // spec.
    waits("taint", "does not tolerate the taint guarded");
    patch(&server, "seed one", r#"{"spec":{"taints":[]}}"#);
    is_assigned("taint");
    is_assigned("profile");
    patch(
        &server,
        "seed one",
        r#"{"spec":{"settings":{"scheduling":{"visible":false}}}}"#,
    );
    waits("invisible", "is not visible to the scheduler");
    patch(
        &server,
        "seed one",
        r#"{"spec":{"settings":{"scheduling":{"visible":true}}}}"#,
    );
    is_assigned("invisible");
    let text = "apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata: {name: far, namespace: garden-dev}\n\
         spec:\n  cloudProfile: {name: aws}\n  region: eu-west-2\n  provider: {type: aws}\n  networking: {nodes: 172.16.0.0/16, pods: 172.17.0.0/16, services: 172.18.0.0/16}\n";
    server.kubectl("apply -f -").input(text).succeeds();
    let why = event(&server, "garden-dev", "far", "Warning SchedulingFailed");
    assert!(why.contains("eu-west-2"), "{why}");
    let configuration = "apiVersion: config.berth.dev/v1alpha1\nkind: SchedulerConfiguration\nmetadata: {name: gardener}\n\
         spec: {autoBind: Controller, gardener: {schedulers: {shoot: {candidateDeterminationStrategy: MinimalDistance}}}}\n";
    server.kubectl("apply -f -").input(configuration).succeeds();
    is_assigned("far");
}

#[test]
fn a_waiting_shoot_is_tried_again_by_time_and_its_event_counts() {
    let server = Server::start();
    let configuration = "apiVersion: config.berth.dev/v1alpha1\nkind: SchedulerConfiguration\nmetadata: {name: gardener}\n\
         spec: {autoBind: Controller, gardener: {schedulers: {shoot: {retrySyncPeriod: 1s}}}}\n";
    server.kubectl("apply -f -").input(configuration).succeeds();
    server.kubectl("apply -f -").input(BASE).succeeds();
    shoot(&server, "waits");
    eventually("three tries, told by one event", || {
        let list = server
            .kubectl("-n garden-dev get events.events.k8s.io --field-selector regarding.name=waits -o json")
            .json();
        let items = list["items"].as_array().unwrap();
        assert!(items.len() <= 1, "one event that repeats: {list}");
        (items.first()?["series"]["count"].as_u64()? >= 3).then_some(())
    });
    assert!(super::metric(&server, "workqueue_retries_total{name=\"gardener\"}") >= 3);
    assert!(
        super::metric(
            &server,
            "scheduler_schedule_attempts_total{dialect=\"gardener\",result=\"Unschedulable\"}"
        ) >= 3
    );
}

#[test]
fn an_assigned_shoot_is_never_moved_and_a_foreign_one_never_looked_at() {
    let server = Server::start();
    auto_bind(&server, "gardener", "Controller");
    server.kubectl("apply -f -").input(BASE).succeeds();
    seed(&server, "one", 1, 100);
    shoot(&server, "stays");
    eventually("it to be assigned", || {
        (assigned(&server, "stays")? == "one").then_some(())
    });
    let text = "apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata: {name: foreign, namespace: garden-dev}\n\
         spec:\n  schedulerName: other\n  cloudProfile: {name: aws}\n  region: eu-west-1\n  provider: {type: aws}\n  networking: {nodes: 172.16.0.0/16, pods: 172.17.0.0/16, services: 172.18.0.0/16}\n";
    server.kubectl("apply -f -").input(text).succeeds();
    counted(&server, "gardener", 1);
    seed(&server, "two", 2, 100);
    patch(
        &server,
        "seed one",
        r#"{"spec":{"taints":[{"key":"guarded"}],"settings":{"scheduling":{"visible":false}}}}"#,
    );
    patch(
        &server,
        "cloudprofile aws",
        r#"{"metadata":{"labels":{"a":"b"}}}"#,
    );
    shoot(&server, "barrier");
    eventually("the barrier to be assigned", || {
        (assigned(&server, "barrier")? == "two").then_some(())
    });
    counted(&server, "gardener", 2);
    assert_eq!(assigned(&server, "stays").as_deref(), Some("one"));
    assert_eq!(assigned(&server, "foreign"), None);
}
