//! A watch of PlacementDecisions, which checks that no request was ever without its clusters.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufReader;
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use berth_tests::eventually;
use berth_tests::hub::Hub;
use berth_tests::ocm::{DECISIONS, PLACEMENTS};
use serde_json::Value;

/// A watch until it is ended, and its events so far.
pub(crate) struct Watch {
    child: Child,
    events: Arc<Mutex<Vec<Value>>>,
    reader: Option<JoinHandle<()>>,
}

impl Watch {
    /// Starts the watch, and waits until it has all existing objects.
    pub(crate) fn start(hub: &Hub) -> Self {
        let there = hub.versions(DECISIONS).len();
        let words = format!("get {DECISIONS} -A -o json --watch --output-watch-events");
        let mut child = hub.kubectl(&words).spawn();
        let output = child.stdout.take().expect("the output is piped");
        let events = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&events);
        let reader = std::thread::spawn(move || {
            let values = serde_json::Deserializer::from_reader(BufReader::new(output)).into_iter::<Value>();
            // The last value is incomplete at the end of the watch.
            for event in values.map_while(Result::ok) {
                into.lock().expect("no holder panics").push(event);
            }
        });
        let watch = Self {
            child,
            events,
            reader: Some(reader),
        };
        eventually("the watch to have seen all decisions", || {
            (watch.events.lock().expect("no holder panics").len() >= there).then_some(())
        });
        watch
    }

    /// Ends the watch, and requires that no remaining request has been without clusters since it first had
    /// some.
    pub(crate) fn end(mut self, hub: &Hub) {
        assert!(
            self.child.try_wait().expect("the process is ours").is_none(),
            "the watch ended before what it is to see"
        );
        self.stop();
        let events = std::mem::take(&mut *self.events.lock().expect("no holder panics"));
        let requests = hub.versions(PLACEMENTS);
        let lost: BTreeSet<String> = without_clusters(&events);
        let lost: Vec<&String> = lost
            .iter()
            .filter(|request| requests.contains_key(*request))
            .collect();
        assert!(lost.is_empty(), "requests that were without clusters: {lost:?}");
    }

    fn stop(&mut self) {
        // Both fail only when it has already ended.
        drop(self.child.kill());
        drop(self.child.wait());
        if let Some(reader) = self.reader.take() {
            reader.join().expect("the reader does not panic");
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The requests that had clusters and then, between two events, had none in any of their decisions.
fn without_clusters(events: &[Value]) -> BTreeSet<String> {
    let mut decisions: BTreeMap<(String, String), (String, bool)> = BTreeMap::new();
    let (mut had, mut lost) = (BTreeSet::new(), BTreeSet::new());
    for event in events {
        let object = &event["object"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &object["metadata"];
        let namespace = text(&metadata["namespace"]);
        let label = text(&metadata["labels"]["cluster.open-cluster-management.io/placement"]);
        let request = format!("{namespace}/{label}");
        let key = (namespace, text(&metadata["name"]));
        match event["type"] == "DELETED" {
            true => drop(decisions.remove(&key)),
            false => {
                let some = object["status"]["decisions"]
                    .as_array()
                    .is_some_and(|list| !list.is_empty());
                decisions.insert(key, (request.clone(), some));
            }
        }
        match decisions.values().any(|(of, some)| *of == request && *some) {
            true => drop(had.insert(request)),
            false if had.contains(&request) => drop(lost.insert(request)),
            false => {}
        }
    }
    lost
}

#[test]
fn a_request_whose_clusters_are_in_another_object_meanwhile_is_not_without_them() {
    let event = |kind: &str, name: &str, clusters: &[&str]| {
        let list: Vec<Value> = clusters
            .iter()
            .map(|cluster| serde_json::json!({"clusterName": cluster, "reason": ""}))
            .collect();
        serde_json::json!({"type": kind, "object": {
            "metadata": {"namespace": "a", "name": name, "labels": {
                "cluster.open-cluster-management.io/placement": "web"}},
            "status": {"decisions": list},
        }})
    };
    let mut events = vec![
        event("ADDED", "web-decision-1", &[]),
        event("MODIFIED", "web-decision-1", &["one"]),
        event("ADDED", "web-decision-2", &["two"]),
        event("MODIFIED", "web-decision-1", &[]),
    ];
    assert_eq!(without_clusters(&events), BTreeSet::new());
    events.push(event("DELETED", "web-decision-2", &["two"]));
    assert_eq!(without_clusters(&events), BTreeSet::from(["a/web".to_owned()]));
}
