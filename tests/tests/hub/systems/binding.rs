//! Targets, decisions, explanations, reviews and bindings of objects that the hub stores.

use berth_tests::eventually;
use berth_tests::hub::Hub;
use serde_json::{Value, json};

use crate::systems::shared;
use crate::systems::system::{ASKED, Asked};

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn every_system_is_explained_reviewed_and_bound_on_the_hub() {
    let hub = shared();
    for asked in ASKED {
        asked.load(hub);
        asked.until(hub, "is pending", |decision| {
            decision["status"]["phase"] != "Bound"
        });
        is_explained(hub, asked);
        is_reviewed(hub, asked);
        is_bound(hub, asked);
    }
}

fn is_explained(hub: &Hub, asked: &Asked) {
    let decision = asked.decision();
    let (cluster, why) = asked.refused;
    // The inputs of the decision arrive from the hub kind by kind.
    eventually(&format!("{} to be schedulable", asked.name), || {
        let report = hub
            .kubectl(&format!("{decision} --subresource=scheduling -o json"))
            .json();
        (report["status"]["outcome"] == "Scheduled").then_some(())
    });
    let table = hub
        .kubectl(&format!("{decision} --subresource=scheduling"))
        .succeeds();
    let line = table.lines().find(|line| line.contains(cluster));
    assert!(line.is_some_and(|line| line.contains(why)), "{table}");
    let listed = hub.kubectl(&asked.candidates()).succeeds();
    assert!(listed.contains(cluster) && listed.contains(why), "{listed}");
}

fn is_reviewed(hub: &Hub, asked: &Asked) {
    let decision = hub.kubectl(&format!("{} -o json", asked.decision())).json();
    let source = &decision["spec"]["sourceRef"];
    let mut reference =
        json!({"apiVersion": source["apiVersion"], "kind": source["kind"], "name": source["name"]});
    if source["namespace"].is_string() {
        reference["namespace"] = source["namespace"].clone();
    }
    let review = json!({
        "apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "SchedulingReview",
        "spec": {"inventory": "Live", "reference": reference},
    });
    let answer = hub
        .kubectl("create -o json -f -")
        .input(review.to_string())
        .json();
    assert_eq!(answer["status"]["outcome"], "Scheduled", "{answer}");
}

fn is_bound(hub: &Hub, asked: &Asked) {
    let binding = asked.binding().to_string();
    hub.kubectl("create -f - --dry-run=server")
        .input(binding.as_str())
        .succeeds();
    let before = hub.kubectl(&format!("{} -o json", asked.decision())).json();
    assert_ne!(before["status"]["phase"], "Bound", "{before}");
    hub.kubectl("create -f -").input(binding.as_str()).succeeds();
    let bound = asked.until(hub, "is bound", |decision| decision["status"]["phase"] == "Bound");
    let clusters = bound["status"]["decisions"].as_array().expect("a list");
    assert!(
        asked.goes_to.is_empty() || clusters.iter().any(|at| at["clusterName"] == asked.goes_to),
        "{bound}"
    );
    let (actor, resource) = asked.written;
    assert!(wrote(hub, actor, resource), "{actor} did not write {resource}");
    // Another decision has no effect.
    let words = format!("{} --subresource=scheduling -o json", asked.decision());
    let again = hub.kubectl(&words).json();
    assert_eq!(again["status"]["outcome"], "Unchanged", "{again}");
    let event = eventually(&format!("an event on {}", asked.name), || {
        event(hub, asked, actor)
    });
    assert_eq!(event["reportingController"], "berth.dev/scheduler", "{event}");
}

/// Whether Berth wrote a `resource` as `actor`, according to the hub's audit log.
pub(crate) fn wrote(hub: &Hub, actor: &str, resource: &str) -> bool {
    audit(hub).iter().any(|event| {
        event["objectRef"]["resource"] == resource
            && event["impersonatedUser"]["username"] == actor
            && event["responseStatus"]["code"]
                .as_u64()
                .is_some_and(|code| code < 300)
    })
}

pub(crate) fn audit(hub: &Hub) -> Vec<Value> {
    let log = std::fs::read_to_string(hub.audit_log()).expect("the audit log is there");
    log.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// The event of the binding on the hub, which the deciding actor writes.
fn event(hub: &Hub, asked: &Asked, actor: &str) -> Option<Value> {
    let namespace = match (asked.system, asked.namespace) {
        // Events of cluster-scoped objects are in `default`.
        (_, "") | ("kcp", _) => "default",
        (_, namespace) => namespace,
    };
    let (name, _) = asked.name.rsplit_once('.').expect("a name and a system");
    let words = format!("get events.events.k8s.io -n {namespace} -o json");
    let list = hub.kubectl(&words).json();
    let mut events = list["items"].as_array().expect("a list").clone().into_iter();
    let found = events.find(|event| {
        event["regarding"]["name"] == name && event["reportingController"] == "berth.dev/scheduler"
    });
    found.filter(|_| wrote(hub, actor, "events"))
}
