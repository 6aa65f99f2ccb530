//! Writes and events after a change of one cluster: only those about it. The next event proves that there are
//! no others.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use berth_tests::{Server, eventually};
use serde_json::{Value, json};

const API: &str = "/apis/multicluster.x-k8s.io/v1alpha1/namespaces/argocd";

/// A watch of one resource, which starts now.
struct Watching {
    child: Child,
    events: Receiver<Value>,
}

impl Watching {
    fn start(server: &Server, resource: &str) -> Self {
        let list = server
            .kubectl(&format!("get --raw {API}/{resource}?limit=1"))
            .json();
        let from = list["metadata"]["resourceVersion"].as_str().unwrap();
        let path = format!("{API}/{resource}?watch=1&resourceVersion={from}");
        let mut child = server.kubectl_args(&["get", "--raw", &path]).spawn();
        let lines: Lines<BufReader<ChildStdout>> = BufReader::new(child.stdout.take().unwrap()).lines();
        let (sender, events) = channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let event: Value = serde_json::from_str(&line).unwrap();
                if sender.send(event["object"].clone()).is_err() {
                    return;
                }
            }
        });
        Self { child, events }
    }

    /// The names in the events until the next event of `last`, which must arrive soon, and its object.
    fn until(&self, last: &str) -> (Vec<String>, Value) {
        let mut names = Vec::new();
        loop {
            let object = self.events.recv_timeout(Duration::from_secs(30)).unwrap();
            let name = object["metadata"]["name"].as_str().unwrap().to_owned();
            if name == last {
                return (names, object);
            }
            names.push(name);
        }
    }

    /// Requires that the next event is about `last`.
    fn next_is(&self, last: &str) {
        assert_eq!(self.until(last).0, Vec::<String>::new());
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Starts a server with OCM's examples, published in `argocd`.
fn published() -> Server {
    let server = Server::start();
    for file in [
        "ocm/fleet.yaml",
        "ocm/story-1.yaml",
        "ocm/story-2.yaml",
        "consumers/publication.yaml",
    ] {
        server.load(
            &Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../examples")
                .join(file),
        );
    }
    eventually("all of it to be published", || {
        let get = "get placementdecisions.multicluster.x-k8s.io -n argocd -o json";
        let list = server.kubectl(get).json();
        let items = list["items"].as_array().unwrap();
        let decided = items.iter().filter(|slice| slice["decisions"] != json!([]));
        (decided.count() >= 3).then_some(())
    });
    server
}

fn patch(server: &Server, cluster: &str, further: &[&str], patch: &Value) {
    let patch = patch.to_string();
    let mut arguments = vec!["patch", "managedcluster", cluster, "--type=merge", "-p", &patch];
    arguments.extend(further);
    server.kubectl_args(&arguments).succeeds();
}

#[test]
fn one_clusters_change_is_one_event_of_its_profile_and_of_no_decision() {
    let server = published();
    let (profiles, decisions) = (
        Watching::start(&server, "clusterprofiles"),
        Watching::start(&server, "placementdecisions"),
    );
    server
        .kubectl("label managedcluster cluster2 note=one")
        .succeeds();
    profiles.next_is("cluster2.ocm");
    server
        .kubectl("label managedcluster cluster3 note=two")
        .succeeds();
    profiles.next_is("cluster3.ocm");
    // The first event of a decision belongs to the change that affects it.
    let decided = server
        .kubectl("get decision placement.ocm -n story-1 -o json")
        .json();
    let gone = decided["status"]["decisions"][0]["clusterName"].as_str().unwrap();
    let taint = json!({"spec": {"taints": [{"key": "gone", "effect": "NoSelect"}]}});
    patch(&server, gone, &[], &taint);
    let (others, slice) = decisions.until("story-1.placement.ocm-0");
    assert!(
        !slice["decisions"].to_string().contains(&format!("{gone}.ocm")),
        "{slice}"
    );
    // The cluster may also be in the decisions of the other story.
    let others: BTreeSet<String> = others.into_iter().collect();
    assert!(
        others.iter().all(|name| name.starts_with("story-2.")),
        "{others:?}"
    );
}

/// The value of the claim `load` in the profile of cluster2.
fn load(server: &Server) -> Option<String> {
    let get = "get clusterprofiles.multicluster.x-k8s.io cluster2.ocm -n argocd -o json";
    let profile = server.kubectl(get).json();
    let properties = profile["status"]["properties"].as_array()?;
    let load = properties.iter().find(|property| property["name"] == "load")?;
    load["value"].as_str().map(str::to_owned)
}

#[test]
fn what_changes_fast_in_a_cluster_is_written_once_in_thirty_seconds_and_what_matters_at_once() {
    let server = published();
    let claim = |value: usize| {
        let claims = json!({"status": {"clusterClaims": [{"name": "load", "value": value.to_string()}]}});
        patch(&server, "cluster2", &["--subresource=status"], &claims);
    };
    claim(0);
    eventually("the new claim", || load(&server));
    server
        .kubectl("label managedcluster cluster2 note=one")
        .succeeds();
    eventually("the label", || {
        let get = "get clusterprofiles.multicluster.x-k8s.io -l note=one -n argocd -o name";
        (!server.kubectl(get).succeeds().is_empty()).then_some(())
    });
    let profiles = Watching::start(&server, "clusterprofiles");
    (1..20).for_each(claim);
    server
        .kubectl("label managedcluster cluster3 note=one")
        .succeeds();
    let (before, _) = profiles.until("cluster3.ocm");
    assert!(before.len() <= 1, "{before:?}");
    // A label is published immediately, together with the newest value.
    server
        .kubectl("label managedcluster cluster2 note=two --overwrite")
        .succeeds();
    profiles.next_is("cluster2.ocm");
    assert_eq!(load(&server).as_deref(), Some("19"));
}
