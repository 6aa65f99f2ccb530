//! Fleet: a placement is spread, scaled, changed to other clusters and deleted.

use berth_apimachinery::{Clock, time};
use berth_apiserver::SystemClock;

use super::*;

const PLACEMENTS: &str = "placement.kubernetes-fleet.io/v1beta1/clusterresourceplacements";
const SNAPSHOTS: &str = "placement.kubernetes-fleet.io/v1beta1/clusterschedulingpolicysnapshots";
const BINDINGS: &str = "placement.kubernetes-fleet.io/v1beta1/clusterresourcebindings";

fn members(victim: &Victim) -> Result<(), Died> {
    let now = time::rfc3339(SystemClock.now());
    let condition = |kind: &str| {
        format!(
            "{{type: {kind}, status: \"True\", reason: R, message: m, lastTransitionTime: \"2021-10-28T08:00:00Z\"}}"
        )
    };
    let mut text = String::new();
    for name in ["m1", "m2", "m3"] {
        text.push_str(&format!(
            "---\napiVersion: cluster.kubernetes-fleet.io/v1beta1\nkind: MemberCluster\nmetadata: {{name: {name}, labels: {{site: {name}}}}}\n\
             spec: {{identity: {{kind: ServiceAccount, name: a, namespace: fleet-system, apiGroup: \"\"}}}}\n\
             status: {{agentStatus: [{{type: MemberAgent, lastReceivedHeartbeat: \"{now}\", conditions: [{}, {}]}}]}}\n",
            condition("Joined"),
            condition("Healthy"),
        ));
    }
    victim.load(&text)
}

fn place(victim: &Victim, policy: &str) -> Result<(), Died> {
    victim.apply(&format!(
        "apiVersion: placement.kubernetes-fleet.io/v1beta1\nkind: ClusterResourcePlacement\nmetadata: {{name: p}}\n\
         spec: {{resourceSelectors: [{{group: \"\", version: v1, kind: Namespace, name: shop}}], policy: {{placementType: PickN, {policy}}}}}\n"
    ))
}

/// Whether there are these numbers of snapshots and of bindings that stay, and the placement's status
/// is of its latest generation.
fn is_current(victim: &Victim, snapshots: usize, live: usize) -> Result<bool, Died> {
    let placement = victim.get(&format!("{PLACEMENTS}/p"))?.unwrap_or_default();
    let count = victim.list(SNAPSHOTS)?.len();
    let bindings = victim.list(BINDINGS)?;
    let staying = bindings
        .iter()
        .filter(|binding| binding["spec"]["state"] != "Unscheduled");
    let conditions = placement["status"]["conditions"].as_array();
    let is_told = conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["observedGeneration"] == placement["metadata"]["generation"]);
    Ok(is_told && count == snapshots && staying.count() == live)
}

const ELSEWHERE: &str = "numberOfClusters: 1, affinity: {clusterAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {clusterSelectorTerms: [{labelSelector: {matchLabels: {site: m1}}}]}}}";

pub(in super::super) const STORY: Story = Story {
    dialect: "fleet",
    phases: &[
        Phase {
            act: members,
            is_done: |_| Ok(true),
        },
        Phase {
            act: |victim| place(victim, "numberOfClusters: 2"),
            is_done: |victim| is_current(victim, 1, 2),
        },
        Phase {
            act: |victim| place(victim, "numberOfClusters: 3"),
            is_done: |victim| is_current(victim, 1, 3),
        },
        Phase {
            act: |victim| place(victim, "numberOfClusters: 1"),
            is_done: |victim| is_current(victim, 1, 1),
        },
        Phase {
            act: |victim| place(victim, ELSEWHERE),
            is_done: |victim| is_current(victim, 2, 1),
        },
    ],
    state: |victim| {
        let mut bindings = victim.list(BINDINGS)?;
        for binding in &mut bindings {
            // Generated from the placement's uid.
            binding["metadata"]["name"] = json!("");
        }
        bindings.extend(victim.list(SNAPSHOTS)?);
        bindings.extend(victim.list(PLACEMENTS)?);
        Ok(settle(bindings))
    },
};
