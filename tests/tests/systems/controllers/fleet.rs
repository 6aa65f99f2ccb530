//! Fleet: placements follow their policy and clusters that become eligible or leave; bindings do not
//! change without need. The user `roller` simulates the rollout.

mod lifecycle;
mod status;
mod triggers;

use std::time::Duration;

use berth_apimachinery::{Clock, time};
use berth_apiserver::SystemClock;
use berth_tests::{Server, eventually};
use serde_json::{Value, json};

use super::{counted, decisions, event, patch};

const PREVIOUS: &str = "kubernetes-fleet.io/previous-binding-state";
const NUMBER: &str = "kubernetes-fleet.io/number-of-clusters";
const LATEST: &str = "kubernetes-fleet.io/is-latest-snapshot";

/// Starts a server whose controllers bind placements after their creation.
fn server() -> Server {
    let server = Server::start_with(&["--fleet-rollout-user", "roller"]);
    super::auto_bind(&server, "fleet", "Controller");
    server
}

/// A member whose agent reports at present.
struct Member<'a> {
    name: &'a str,
    labels: &'a str,
    taints: &'a str,
    healthy: bool,
    nodes: u32,
    /// Seconds since the last heartbeat.
    silent: u64,
}

impl Default for Member<'_> {
    fn default() -> Self {
        Self {
            name: "",
            labels: "",
            taints: "",
            healthy: true,
            nodes: 3,
            silent: 0,
        }
    }
}

impl Member<'_> {
    fn text(&self) -> String {
        let Self {
            name,
            labels,
            taints,
            healthy,
            nodes,
            silent,
        } = self;
        let heartbeat = SystemClock
            .now()
            .checked_sub(Duration::from_secs(*silent))
            .unwrap();
        let heartbeat = time::rfc3339(heartbeat);
        let healthy = if *healthy { "True" } else { "False" };
        let condition = |kind: &str, status: &str| {
            format!(
                "{{type: {kind}, status: \"{status}\", reason: R, message: m, lastTransitionTime: \"2021-10-28T08:00:00Z\"}}"
            )
        };
        format!(
            "apiVersion: cluster.kubernetes-fleet.io/v1beta1\nkind: MemberCluster\nmetadata: {{name: {name}, labels: {{{labels}}}}}\n\
             spec:\n  identity: {{kind: ServiceAccount, name: a, namespace: fleet-system, apiGroup: \"\"}}\n  taints: [{taints}]\n\
             status:\n  conditions: [{}]\n  properties: {{kubernetes-fleet.io/node-count: {{value: \"{nodes}\", observationTime: \"{heartbeat}\"}}}}\n  \
             agentStatus:\n  - {{type: MemberAgent, lastReceivedHeartbeat: \"{heartbeat}\", conditions: [{}, {}]}}\n",
            condition("Joined", "True"),
            condition("Joined", "True"),
            condition("Healthy", healthy),
        )
    }

    fn put(&self, server: &Server) {
        server.load(&server.file("member.yaml", &self.text()));
    }
}

fn member(server: &Server, name: &str, labels: &str) {
    let member = Member {
        name,
        labels,
        ..Member::default()
    };
    member.put(server);
}

fn place(server: &Server, name: &str, policy: &str) {
    let text = format!(
        "apiVersion: placement.kubernetes-fleet.io/v1beta1\nkind: ClusterResourcePlacement\nmetadata: {{name: {name}}}\n\
         spec:\n  resourceSelectors: [{{group: \"\", version: v1, kind: Namespace, name: shop}}]\n  policy: {{{policy}}}\n"
    );
    server.kubectl("apply -f -").input(text).succeeds();
}

/// The term of an affinity that requires `labels`.
fn requiring(labels: &str) -> String {
    format!(
        "affinity: {{clusterAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{clusterSelectorTerms: [{{labelSelector: {{matchLabels: {{{labels}}}}}}}]}}}}}}"
    )
}

/// The objects of `resource` of a placement.
fn owned(server: &Server, resource: &str, placement: &str) -> Vec<Value> {
    let list = server
        .kubectl(&format!(
            "get {resource} -l kubernetes-fleet.io/parent-CRP={placement} -o json"
        ))
        .json();
    list["items"].as_array().unwrap().clone()
}

/// The bindings of a placement as `<cluster> <state>`, sorted.
fn bindings(server: &Server, placement: &str) -> Vec<String> {
    let mut list: Vec<String> = owned(server, "clusterresourcebindings", placement)
        .iter()
        .map(|binding| {
            let spec = &binding["spec"];
            format!(
                "{} {}",
                spec["targetCluster"].as_str().unwrap(),
                spec["state"].as_str().unwrap()
            )
        })
        .collect();
    list.sort();
    list
}

fn binding(server: &Server, placement: &str, cluster: &str) -> Value {
    let list = owned(server, "clusterresourcebindings", placement).into_iter();
    let mut of = list.filter(|binding| binding["spec"]["targetCluster"] == cluster);
    let found = of.next().unwrap_or_else(|| panic!("{placement} on {cluster}"));
    assert!(of.next().is_none(), "two bindings of {placement} on {cluster}");
    found
}

fn becomes(server: &Server, placement: &str, wanted: &[&str]) {
    let mut last = Vec::new();
    eventually(&format!("{placement} to be {wanted:?}"), || {
        let now = bindings(server, placement);
        if now != last {
            println!("{placement}: {now:?}");
            last.clone_from(&now);
        }
        (now == wanted).then_some(())
    });
}

/// Moves the Scheduled bindings of a placement to Bound, as the rollout does.
fn roll_out(server: &Server, placement: &str) {
    let roller = server.kubeconfig_for("roller", &["system:masters"]);
    for binding in owned(server, "clusterresourcebindings", placement) {
        if binding["spec"]["state"] == "Scheduled" {
            let name = binding["metadata"]["name"].as_str().unwrap();
            let bound = r#"{"spec":{"state":"Bound","resourceSnapshotName":"p-1-snapshot"}}"#;
            server
                .kubectl_as(
                    &roller,
                    &[
                        "patch",
                        "clusterresourcebinding",
                        name,
                        "--type=merge",
                        "-p",
                        bound,
                    ],
                )
                .succeeds();
        }
    }
}

/// Status, reason and message of the condition `of` of an object.
fn condition(object: &Value, of: &str) -> Option<[String; 3]> {
    let list = object["status"]["conditions"].as_array()?;
    let found = list.iter().find(|condition| condition["type"] == of)?;
    Some(["status", "reason", "message"].map(|field| found[field].as_str().unwrap_or_default().to_owned()))
}
