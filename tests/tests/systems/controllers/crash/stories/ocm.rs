//! OCM: decisions in several objects, with growing and shrinking numbers, and the loss of all clusters.

use super::*;

const FLEET: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: ns1}\n---\n\
    apiVersion: cluster.open-cluster-management.io/v1beta2\nkind: ManagedClusterSet\nmetadata: {name: all}\nspec: {clusterSelector: {selectorType: LabelSelector, labelSelector: {}}}\n---\n\
    apiVersion: cluster.open-cluster-management.io/v1beta2\nkind: ManagedClusterSetBinding\nmetadata: {name: all, namespace: ns1}\nspec: {clusterSet: all}\n---\n\
    apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {name: a}\nspec: {hubAcceptsClient: true}\n---\n\
    apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {name: b}\nspec: {hubAcceptsClient: true}\n---\n\
    apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {name: c}\nspec: {hubAcceptsClient: true}\n";

const GROUP: &str = "cluster.open-cluster-management.io/v1beta1";

fn place(victim: &Victim, number: usize) -> Result<(), Died> {
    victim.apply(&format!(
        "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata: {{name: p, namespace: ns1}}\n\
         spec: {{numberOfClusters: {number}, decisionStrategy: {{groupStrategy: {{clustersPerDecisionGroup: 1}}}}}}\n"
    ))
}

/// Whether the status, which is written last, has the number of `clusters`, and the decisions have
/// their names.
fn selected(victim: &Victim, clusters: &[&str]) -> Result<bool, Died> {
    let placement = victim
        .get(&format!("{GROUP}/namespaces/ns1/placements/p"))?
        .unwrap_or_default();
    let decisions = victim.list(&format!("{GROUP}/placementdecisions"))?;
    let mut named: Vec<&str> = decisions
        .iter()
        .flat_map(|decision| decision["status"]["decisions"].as_array().into_iter().flatten())
        .filter_map(|entry| entry["clusterName"].as_str())
        .collect();
    named.sort_unstable();
    let status = &placement["status"];
    let groups = status["decisionGroups"].as_array().map_or(0, Vec::len);
    Ok(
        named == clusters
            && status["numberOfSelectedClusters"] == clusters.len()
            && groups == decisions.len(),
    )
}

pub(in super::super) const STORY: Story = Story {
    dialect: "ocm",
    phases: &[
        apply!(FLEET, |_| Ok(true)),
        Phase {
            act: |victim| place(victim, 3),
            is_done: |victim| selected(victim, &["a", "b", "c"]),
        },
        Phase {
            act: |victim| place(victim, 1),
            is_done: |victim| selected(victim, &["a"]),
        },
        Phase {
            act: |victim| {
                let taint = r#"{"spec":{"taints":[{"key":"down","effect":"NoSelect"}]}}"#;
                victim.patch("managedcluster a", taint)
            },
            is_done: |victim| selected(victim, &["b"]),
        },
        Phase {
            act: |victim| place(victim, 2),
            is_done: |victim| selected(victim, &["b", "c"]),
        },
    ],
    state: |victim| {
        let mut all = victim.list(&format!("{GROUP}/placements"))?;
        all.extend(victim.list(&format!("{GROUP}/placementdecisions"))?);
        Ok(settle(all))
    },
};
