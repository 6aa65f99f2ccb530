//! openMCP: clusters are created, shared, released and deleted.

use super::*;

const CONFIGURATION: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: ns}\n---\n\
    apiVersion: config.berth.dev/v1alpha1\nkind: SchedulerConfiguration\nmetadata: {name: openmcp}\n\
    spec: {autoBind: Controller, openmcp: {scheduler: {purposeMappings: {workload: {tenancyCount: 2, template: {spec: {profile: small, tenancy: Shared}}}}}}}\n";

const REQUESTS: &str = "clusters.openmcp.cloud/v1alpha1/clusterrequests";
const REQUESTS_OF: &str = "clusters.openmcp.cloud/v1alpha1/namespaces/ns/clusterrequests";
const CLUSTERS: &str = "clusters.openmcp.cloud/v1alpha1/clusters";

const A: &str = "apiVersion: clusters.openmcp.cloud/v1alpha1\nkind: ClusterRequest\nmetadata: {name: a, namespace: ns}\nspec: {purpose: workload}\n";
const B: &str = "apiVersion: clusters.openmcp.cloud/v1alpha1\nkind: ClusterRequest\nmetadata: {name: b, namespace: ns}\nspec: {purpose: workload}\n";
const C: &str = "apiVersion: clusters.openmcp.cloud/v1alpha1\nkind: ClusterRequest\nmetadata: {name: c, namespace: ns}\nspec: {purpose: workload}\n";

fn granted(victim: &Victim, name: &str) -> Result<bool, Died> {
    let request = victim.get(&format!("{REQUESTS_OF}/{name}"))?;
    Ok(request.is_some_and(|request| request["status"]["phase"] == "Granted"))
}

fn delete(victim: &Victim, name: &str) -> Result<(), Died> {
    let delete = format!("-n ns delete clusterrequest {name} --wait=false --ignore-not-found");
    victim.kubectl(&delete, "").map(drop)
}

fn are_counted(victim: &Victim, requests: usize, clusters: usize) -> Result<bool, Died> {
    let is = |list: Vec<Value>, count| list.len() == count;
    Ok(is(victim.list(REQUESTS)?, requests) && is(victim.list(CLUSTERS)?, clusters))
}

pub(in super::super) const STORY: Story = Story {
    dialect: "openmcp",
    phases: &[
        apply!(CONFIGURATION, |_| Ok(true)),
        apply!(A, |victim| granted(victim, "a")),
        apply!(B, |victim| granted(victim, "b")),
        apply!(C, |victim| granted(victim, "c")),
        Phase {
            act: |victim| delete(victim, "c"),
            is_done: |victim| are_counted(victim, 2, 1),
        },
        Phase {
            act: |victim| delete(victim, "a"),
            is_done: |victim| are_counted(victim, 1, 1),
        },
    ],
    state: |victim| {
        let requests = victim.list(REQUESTS)?;
        let mut all = victim.list(CLUSTERS)?;
        all.extend(requests.iter().cloned());
        Ok(settle(name_uids(all, &requests)))
    },
};
