//! Words of single systems: a drained WorkloadCluster of kcp, files of openMCP.

use super::*;

#[test]
fn a_drained_workload_cluster_says_why_namespaces_leave_it_and_why_one_stays() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let bound = r#"{"root:compute+default+a":"Bound"}"#;
    let namespace = |name: &str, labels: &str| {
        format!(
            "apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}, labels: {{{labels}}}, \
             annotations: {{scheduling.kcp.dev/placement: '{bound}'}}}}\n---\n"
        )
    };
    let cluster = |name: &str| {
        format!(
            "apiVersion: workloads.kcp.dev/v1alpha1\nkind: WorkloadCluster\nmetadata: {{name: {name}}}\n\
             status: {{conditions: [{{type: Ready, status: \"True\", lastTransitionTime: \"2021-10-28T08:00:00Z\"}}]}}\n---\n"
        )
    };
    let disabled = "experimental.workloads.kcp.dev/scheduling-disabled: \"true\"";
    let text = [
        cluster("a"),
        cluster("b"),
        namespace("goes", ""),
        namespace("stays", disabled),
    ]
    .concat();
    let path = file(&folder, "world.yaml", &text).display().to_string();
    let output = simulate(&["-f", &path, "--drain", "a", "--at", AT]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    let text = out(&output);
    let row = |name: &str| text.lines().find(|line| line.contains(name)).unwrap_or_default();
    assert!(
        row("goes").contains("Moved") && row("goes").contains("spec.evictAfter"),
        "{text}"
    );
    assert!(!text.contains("takes no new namespaces"), "{text}");
    assert!(
        row("stays").contains("Same") && row("stays").contains("disabled by label"),
        "{text}"
    );
}

#[test]
fn openmcps_files_are_read_whole_and_a_scope_left_unsaid_is_told() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let head = "apiVersion: clusters.openmcp.cloud/v1alpha1\n";
    let objects = format!(
        "{head}kind: ClusterRequest\nmetadata: {{name: r1, namespace: team-a}}\nspec: {{purpose: workload}}\n---\n\
         {head}kind: AccessRequest\nmetadata: {{name: r1, namespace: team-a}}\nspec:\n  \
         requestRef: {{name: r1, namespace: team-a}}\n  token: {{roleRefs: [{{kind: ClusterRole, name: cluster-admin}}]}}\n---\n\
         {head}kind: Cluster\nmetadata: {{name: c, namespace: team-a}}\nspec: {{profile: kind, tenancy: Shared, purposes: [workload]}}\n\
         status: {{phase: Ready}}\n"
    );
    let objects = file(&folder, "objects.yaml", &objects).display().to_string();
    let mapping = "purposeMappings: {workload: {template: {spec: {profile: kind, tenancy: Shared}}}}";
    let unsaid = file(&folder, "unsaid.yaml", &format!("scheduler: {{{mapping}}}\n"));
    let said = file(
        &folder,
        "said.yaml",
        &format!("scheduler: {{scope: Cluster, {mapping}}}\n"),
    );
    let output = simulate(&["-f", &objects, "--config", &unsaid.display().to_string()]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    assert!(out(&output).contains("picked team-a/c"), "{}", out(&output));
    let warned = errors(&output);
    assert!(
        warned.contains(
            "warning: configuration of openmcp: scheduler.scope: is not set, and Cluster is in force for the requests of a hub"
        ),
        "{warned}"
    );
    let output = simulate(&["-f", &objects, "--config", &said.display().to_string()]);
    assert_eq!(
        (output.status.code(), errors(&output).as_str()),
        (Some(0), ""),
        "nothing is left out"
    );
}

#[test]
fn a_kind_by_its_group_of_another_release_is_read_and_that_is_said_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = |name: &str| {
        format!(
            "---\napiVersion: workload.kcp.dev/v1alpha1\nkind: WorkloadCluster\nmetadata: {{name: {name}}}\nspec: {{}}\n"
        )
    };
    let text = format!("{}{}", cluster("east"), cluster("west"));
    let path = file(&folder, "all.yaml", &text).display().to_string();
    let output = simulate(&["-f", &path]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    let said = "WorkloadCluster of workload.kcp.dev/v1alpha1 is read as workloads.kcp.dev/v1alpha1";
    assert_eq!(errors(&output).matches(said).count(), 1, "{}", errors(&output));
}

#[test]
fn claims_of_a_managed_cluster_are_read_and_it_is_told_where_they_count() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let claim = |name: &str| {
        format!(
            "apiVersion: cluster.open-cluster-management.io/v1alpha1\nkind: ClusterClaim\n\
             metadata: {{name: {name}}}\nspec: {{value: a}}\n---\n"
        )
    };
    let placement = "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\n\
                     metadata: {name: p, namespace: team}\nspec: {}\n";
    let text = [
        claim("id.k8s.io"),
        claim("platform.example.com"),
        placement.to_owned(),
    ]
    .concat();
    let path = file(&folder, "dump.yaml", &text).display().to_string();
    for more in [&[][..], &["--strict"]] {
        let output = simulate(&[&["-f", &path], more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
        assert_eq!(
            errors(&output),
            "note: no scheduler reads ClusterClaim.cluster.open-cluster-management.io: 2 ignored; claims count \
             where OCM's agent puts them, in status.clusterClaims of the cluster's ManagedCluster\n"
        );
    }
    let wrong = file(&folder, "wrong.yaml", &text.replace("value: a", "value: ''"));
    let output = simulate(&["-f", &wrong.display().to_string()]);
    assert_eq!(output.status.code(), Some(3), "{}", errors(&output));
    assert!(
        errors(&output).contains("ClusterClaim is set aside: ")
            && errors(&output).contains("document 1: spec.value"),
        "{}",
        errors(&output)
    );
}
