//! A consumer of PlacementDecisions that reads every event, and records when a decided cluster is in no
//! slice.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use crate::Kubectl;

/// State of a consumer, and the recorded misses.
#[derive(Default)]
struct Seen {
    slices: BTreeMap<String, BTreeSet<String>>,
    /// Clusters that are decided before and after a change.
    lasting: BTreeSet<String>,
    missed: Vec<String>,
    events: usize,
}

impl Seen {
    fn shown(&self) -> BTreeSet<String> {
        self.slices.values().flatten().cloned().collect()
    }

    fn look(&mut self, event: &str) {
        self.events += 1;
        let shown = self.shown();
        let missing = self.lasting.iter().find(|cluster| !shown.contains(*cluster));
        self.missed
            .extend(missing.map(|cluster| format!("after {event} {cluster} is in no slice")));
    }

    fn put(&mut self, slice: &Value) {
        let entries = slice["decisions"].as_array().expect("decisions are a list");
        let clusters = entries
            .iter()
            .map(|entry| text(&entry["clusterProfileRef"]["name"]));
        self.slices
            .insert(text(&slice["metadata"]["name"]), clusters.collect());
    }
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

/// A consumer, which lists and watches again and again, in spite of failures of the server.
pub struct Consumer {
    seen: Arc<Mutex<Seen>>,
    ended: Arc<AtomicBool>,
}

impl Consumer {
    /// Watches all slices in `namespace` of the server that `kubeconfig` names; `home` is for kubectl's
    /// caches.
    #[must_use]
    pub fn start(kubeconfig: PathBuf, home: PathBuf, namespace: &str) -> Self {
        let slices =
            format!("/apis/multicluster.x-k8s.io/v1alpha1/namespaces/{namespace}/placementdecisions");
        let (seen, ended) = (
            Arc::new(Mutex::new(Seen::default())),
            Arc::new(AtomicBool::new(false)),
        );
        let (noting, over) = (Arc::clone(&seen), Arc::clone(&ended));
        std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let raw = |path: &str| Kubectl::new(&kubeconfig, &home, &["get", "--raw", path]);
                let listed = raw(&slices).run();
                // A failed list is ignored.
                if listed.success {
                    let list: Value = serde_json::from_str(&listed.out).expect("a list");
                    take_list(&noting, &list);
                    let from = text(&list["metadata"]["resourceVersion"]);
                    follow(
                        &noting,
                        raw(&format!(
                            "{slices}?watch=1&timeoutSeconds=20&resourceVersion={from}"
                        )),
                    );
                } else {
                    std::thread::park_timeout(Duration::from_millis(20));
                }
            }
        });
        Self { seen, ended }
    }

    /// Sets the clusters that are decided until the next call: they must be in a slice at every event.
    pub fn expect(&self, lasting: BTreeSet<String>) {
        self.ask(|seen| seen.lasting = lasting);
    }

    /// The clusters of all slices.
    #[must_use]
    pub fn shown(&self) -> BTreeSet<String> {
        self.ask(|seen| seen.shown())
    }

    /// All recorded misses.
    #[must_use]
    pub fn missed(&self) -> Vec<String> {
        self.ask(|seen| seen.missed.clone())
    }

    /// Number of events.
    #[must_use]
    pub fn events(&self) -> usize {
        self.ask(|seen| seen.events)
    }

    fn ask<T>(&self, ask: impl FnOnce(&mut Seen) -> T) -> T {
        ask(&mut self.seen.lock().expect("the consumer lives"))
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        // The last watch ends with the server.
        self.ended.store(true, Ordering::Relaxed);
    }
}

/// Applies a list: for a consumer, objects that it does not contain are deleted.
fn take_list(seen: &Mutex<Seen>, list: &Value) {
    let mut seen = seen.lock().expect("nobody panics");
    seen.slices.clear();
    for slice in list["items"].as_array().expect("a list has items") {
        seen.put(slice);
    }
    seen.look("a list");
}

fn follow(seen: &Mutex<Seen>, watch: Kubectl) {
    let mut child = watch.spawn();
    let lines = BufReader::new(child.stdout.take().expect("the output is piped")).lines();
    for line in lines.map_while(Result::ok) {
        let Ok(event) = serde_json::from_str::<Value>(&line) else {
            break;
        };
        let mut seen = seen.lock().expect("nobody panics");
        let slice = &event["object"];
        match event["type"].as_str() {
            Some("ADDED" | "MODIFIED") => seen.put(slice),
            Some("DELETED") => drop(seen.slices.remove(&text(&slice["metadata"]["name"]))),
            _ => break,
        }
        seen.look(&format!("{} of {}", event["type"], slice["metadata"]["name"]));
    }
    // The process has already ended, or is not needed any more.
    drop(child.kill());
    drop(child.wait());
}
