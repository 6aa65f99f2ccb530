//! Telemetry of the controllers: metrics by dialect and outcome, and a trace span per decision.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use berth_tests::example::example;
use berth_tests::{Kubectl, berth, eventually};
use serde_json::Value;

/// A server that writes its log to a file.
struct Logging {
    child: Child,
    folder: tempfile::TempDir,
}

impl Logging {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = File::create(folder.path().join("log")).unwrap();
        let mut child = Command::new(berth())
            .args(["--log-level", "berth_engine=debug", "--logging-format", "json"])
            .args(["serve", "--secure-port", "0", "--data-dir"])
            .arg(folder.path().join("data"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let serves = lines.any(|line| line.is_ok_and(|line| line.starts_with("kubeconfig ")));
        // Later output must not fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        let started = Self { child, folder };
        assert!(serves, "{:?}", started.log());
        started
    }

    fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("data/admin.kubeconfig")
    }

    fn home(&self) -> &Path {
        self.folder.path()
    }

    fn kubectl(&self, arguments: &str, input: &str) -> String {
        let split: Vec<&str> = arguments.split_whitespace().collect();
        Kubectl::new(&self.kubeconfig(), self.home(), &split)
            .input(input)
            .succeeds()
    }

    fn load(&self, path: &str) {
        let file = self.home().join("load.yaml");
        std::fs::write(&file, example(path)).unwrap();
        berth_tests::load(&self.kubeconfig(), &file);
    }

    /// The log's lines.
    fn log(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.home().join("log")).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap_or_default())
            .collect()
    }

    /// The spans of decisions, in order.
    fn decided(&self) -> impl Iterator<Item = Value> {
        self.log().into_iter().filter_map(|line| {
            let span = line["span"].clone();
            (line["fields"]["message"] == "decided" && span["name"] == "bind").then_some(span)
        })
    }

    /// The value of one series, or 0 where it does not exist yet.
    fn metric(&self, series: &str) -> f64 {
        let text = self.kubectl("get --raw /metrics", "");
        let line = text.lines().find_map(|line| line.strip_prefix(series));
        line.map_or(0.0, |value| value.trim().parse().unwrap())
    }
}

impl Drop for Logging {
    fn drop(&mut self) {
        // Both fail only when the server has already ended, which is the goal.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

const OBJECTS: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: ns}\n---\n\
    apiVersion: core.gardener.cloud/v1beta1\nkind: CloudProfile\nmetadata: {name: aws}\nspec: {type: aws}\n---\n\
    apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata: {name: s, namespace: ns}\n\
    spec: {cloudProfile: {name: aws}, region: eu-west-1, provider: {type: aws}, networking: {nodes: 172.16.0.0/16, pods: 172.17.0.0/16, services: 172.18.0.0/16}}\n---\n\
    apiVersion: clusters.openmcp.cloud/v1alpha1\nkind: ClusterRequest\nmetadata: {name: r, namespace: ns}\nspec: {purpose: any}\n---\n\
    apiVersion: placement.kubernetes-fleet.io/v1beta1\nkind: ClusterResourcePlacement\nmetadata: {name: p}\n\
    spec: {resourceSelectors: [{group: \"\", version: v1, kind: Namespace, name: ns}], policy: {placementType: PickN, numberOfClusters: 1}}\n---\n\
    apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata: {name: p, namespace: ns}\nspec: {}\n---\n\
    apiVersion: scheduling.kcp.dev/v1alpha1\nkind: Location\nmetadata: {name: east}\n\
    spec: {resource: {group: workloads.kcp.dev, version: v1alpha1, resource: workloadclusters}}\n";

/// Each dialect with an object without a feasible place, and the outcome.
const ENDS: [(&str, &str, &str); 5] = [
    ("gardener", "shoots.core.gardener.cloud/ns/s", "Unschedulable"),
    (
        "openmcp",
        "clusterrequests.clusters.openmcp.cloud/ns/r",
        "Invalid",
    ),
    (
        "fleet",
        "clusterresourceplacements.placement.kubernetes-fleet.io/p",
        "Unschedulable",
    ),
    (
        "ocm",
        "placements.cluster.open-cluster-management.io/ns/p",
        "Unschedulable",
    ),
    ("kcp", "namespaces/ns", "Unschedulable"),
];

/// For each system, the examples to load first, the example of the demand, and the demand.
const PLACED: [(&str, &[&str], &str, &str); 5] = [
    (
        "openmcp",
        &["openmcp/configuration.yaml", "openmcp/fleet.yaml"],
        "openmcp/shared.yaml",
        "clusterrequests.clusters.openmcp.cloud/project-a/batch",
    ),
    (
        "fleet",
        &["fleet/fleet.yaml"],
        "fleet/pick-n.yaml",
        "clusterresourceplacements.placement.kubernetes-fleet.io/two-regions",
    ),
    (
        "gardener",
        &["gardener/fleet.yaml"],
        "gardener/same-region.yaml",
        "shoots.core.gardener.cloud/garden-dev/web",
    ),
    (
        "ocm",
        &["ocm/fleet.yaml"],
        "ocm/story-1.yaml",
        "placements.cluster.open-cluster-management.io/story-1/placement",
    ),
    (
        "kcp",
        &["kcp/fleet.yaml"],
        "kcp/namespaces.yaml",
        "namespaces/shop",
    ),
];

#[test]
fn what_a_client_makes_is_stored_in_one_step_with_its_place_in_every_system() {
    let server = Logging::start();
    for (dialect, fleet, file, demand) in PLACED {
        for path in fleet {
            server.load(path);
        }
        server.load(file);
        let span = eventually(&format!("{demand} to be decided"), || {
            server
                .decided()
                .find(|span| span["dialect"] == dialect && span["demand"] == demand)
        });
        assert_eq!(span["with_create"], true, "{span}");
        assert_eq!(span["outcome"], "Scheduled", "{span}");
        assert!(span["written"].as_u64() > Some(0), "{span}");
    }
    let events = eventually("each to be told of", || {
        let events = server.kubectl("get events -A -o json", "");
        let events: Value = serde_json::from_str(&events).unwrap();
        let events = events["items"].as_array().unwrap().clone();
        (events.len() >= PLACED.len()).then_some(events)
    });
    for event in events {
        let revision = event["involvedObject"]["resourceVersion"].as_str();
        let revision = revision.and_then(|text| text.parse::<u64>().ok());
        assert!(revision > Some(0), "an object that is stored: {event}");
    }
}

#[test]
fn every_decision_is_counted_timed_and_traced() {
    let server = Logging::start();
    server.kubectl("apply -f -", OBJECTS);
    for (dialect, demand, outcome) in ENDS {
        let tried = format!("{{dialect=\"{dialect}\",result=\"{outcome}\"}}");
        let queue = format!("{{name=\"{dialect}\"}}");
        eventually(&format!("{dialect} to be counted as {outcome}"), || {
            (server.metric(&format!("scheduler_schedule_attempts_total{tried}")) >= 1.0).then_some(())
        });
        assert!(
            server.metric(&format!(
                "scheduler_scheduling_attempt_duration_seconds_count{tried}"
            )) >= 1.0
        );
        assert!(
            server.metric(&format!(
                "scheduler_scheduling_attempt_duration_seconds_sum{tried}"
            )) > 0.0
        );
        assert!(server.metric(&format!("workqueue_adds_total{queue}")) >= 1.0);
        assert!(server.metric(&format!("workqueue_queue_duration_seconds_count{queue}")) >= 1.0);
        assert!(server.metric(&format!("workqueue_work_duration_seconds_count{queue}")) >= 1.0);
        eventually(&format!("the queue of {dialect} to be empty"), || {
            let text = server.kubectl("get --raw /metrics", "");
            text.contains(&format!("workqueue_depth{queue} 0")).then_some(())
        });
        let mut of = server
            .decided()
            .filter(|span| span["dialect"] == dialect && span["outcome"] == outcome);
        let span = of.find(|span| span["demand"] == demand);
        let span = span.unwrap_or_else(|| panic!("no span of {demand}: {:?}", server.log()));
        assert!(
            span["reason"].is_string() && span["written"].is_number(),
            "{span}"
        );
    }
    // A shoot that waits for a seed is tried again after a time.
    eventually("the shoot to be tried again", || {
        (server.metric("workqueue_retries_total{name=\"gardener\"}") >= 1.0).then_some(())
    });
    assert_eq!(
        server.metric("leader_election_master_status{name=\"berth-controllers\"}") as u64,
        1
    );
    eventually("the events to be counted", || {
        (server.metric("scheduler_events_total{result=\"created\"}") >= 3.0).then_some(())
    });
}
