//! Fields that only their actor may write, with a cluster admin's messages. The controllers of these systems
//! do not run here, so a member of the break-glass group writes the values.

use berth_tests::Output;

use super::*;

const BOUND: &str = r#"{"root:compute+east+x":"Bound"}"#;
const PLACEMENT: &str = "metadata.annotations[scheduling.kcp.dev/placement]: Forbidden: ";

/// Starts a server, and returns the kubeconfig of a member of the break-glass group.
fn guarded(arguments: &[&str]) -> (Server, PathBuf) {
    let fixed = ["--break-glass-group", "firefighters", "--controllers", "ocm"];
    let server = Server::start_with(&[&fixed, arguments].concat());
    server.bind_by_hand(&["kcp"]);
    let firefighter = server.kubeconfig_for("fred", &["system:masters", "firefighters"]);
    (server, firefighter)
}

/// Creates a namespace that is bound to cluster x, and a ConfigMap in it whose removal from x has
/// started.
fn placed_namespace(server: &Server, firefighter: &Path) {
    let objects = json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": "app",
            "annotations": {"scheduling.kcp.dev/placement": BOUND},
            "labels": {"state.internal.workloads.kcp.dev/x": "Sync"},
        }},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
            "name": "settings", "namespace": "app",
            "annotations": {"deletion.internal.workloads.kcp.dev/x": "2021-10-28T09:00:00Z"},
            "labels": {"state.internal.workloads.kcp.dev/x": "Sync"},
            "finalizers": ["workloads.kcp.dev/syncer-x"],
        }},
    ]});
    let create = ["create", "-f", "-"];
    server
        .kubectl_as(firefighter, &create)
        .input(objects.to_string())
        .succeeds();
}

#[track_caller]
fn refused(output: &Output, text: &str) {
    assert!(!output.success, "{} should have failed", output.shown);
    assert!(
        output.err.contains("(Forbidden)") || output.err.contains("is forbidden"),
        "{}",
        output.err
    );
    assert!(output.err.contains(text), "{text:?} is not in\n{}", output.err);
}

#[test]
fn the_placement_of_a_namespace_is_not_even_an_admins_to_change() {
    let (server, firefighter) = guarded(&[]);
    placed_namespace(&server, &firefighter);
    let annotate = |value: &str| {
        let value = format!("scheduling.kcp.dev/placement{value}");
        server
            .kubectl_args(&["annotate", "--overwrite", "namespace", "app", &value])
            .run()
    };
    let gone = "entry \"root:compute+east+x\" from Bound to absent: nobody may do this; from Bound, an entry may only \
                change to Removing by the placement controller (user berth:placement-controller)";
    for (value, text) in [
        ("-", gone),
        ("={}", gone),
        (
            r#"={"root:compute+east+x":"Removing"}"#,
            "entry \"root:compute+east+x\" from Bound to Removing: only the placement controller (user \
             berth:placement-controller) may do this",
        ),
        (
            r#"={"root:compute+east+x": "Bound"}"#,
            "only the placement controller (user berth:placement-controller) and the namespace controller (user \
             berth:namespace-controller) may change the annotation, even if its entries stay the same",
        ),
        ("=east", "is not JSON"),
    ] {
        let output = annotate(value);
        refused(&output, text);
        refused(&output, PLACEMENT);
        refused(&output, "namespaces \"app\" is forbidden: ");
    }
    let bare = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "app"}});
    let put = server.kubectl("replace -f -").input(bare.to_string()).run();
    refused(&put, gone);
    for patch in [
        r#"{"metadata":{"annotations":null}}"#,
        r#"{"metadata":{"annotations":{"scheduling.kcp.dev/placement":null}}}"#,
    ] {
        for kind in ["merge", "strategic"] {
            let output = server
                .kubectl_args(&["patch", "namespace", "app", "--type", kind, "-p", patch])
                .run();
            refused(&output, gone);
        }
    }
    let preset = json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "own", "annotations": {"scheduling.kcp.dev/placement": BOUND.replace("Bound", "Pending")}}});
    let preset = server.kubectl("create -f -").input(preset.to_string()).run();
    refused(
        &preset,
        "entry \"root:compute+east+x\" from absent to Pending: only the placement controller",
    );
}

#[test]
fn no_side_door_leads_to_the_placement() {
    let (server, firefighter) = guarded(&[]);
    placed_namespace(&server, &firefighter);
    let patch = r#"{"metadata":{"annotations":{"scheduling.kcp.dev/placement":null}}}"#;
    server
        .kubectl_args(&[
            "patch",
            "namespace",
            "app",
            "--subresource=status",
            "--type=merge",
            "-p",
            patch,
        ])
        .run();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "app"},
        "spec": {"finalizers": ["kubernetes"]}});
    server
        .kubectl("replace --raw /api/v1/namespaces/app/finalize -f -")
        .input(namespace.to_string())
        .run();
    // Refused or ignored, depending on the server's subresource: the annotation is unchanged.
    let stored = server.kubectl("get namespace app -o json").json();
    assert_eq!(
        stored["metadata"]["annotations"]["scheduling.kcp.dev/placement"],
        BOUND
    );
    assert_eq!(
        stored["metadata"]["labels"]["state.internal.workloads.kcp.dev/x"],
        "Sync"
    );
}

#[test]
fn labels_annotations_and_finalizers_of_syncing_are_their_actors() {
    let (server, firefighter) = guarded(&[]);
    placed_namespace(&server, &firefighter);
    let state = "state.internal.workloads.kcp.dev/x";
    let deletion = "deletion.internal.workloads.kcp.dev/x";
    let no_finalizers = r#"{"metadata":{"finalizers":null}}"#;
    let more_finalizers =
        r#"{"metadata":{"finalizers":["workloads.kcp.dev/syncer-x","workloads.kcp.dev/syncer-y"]}}"#;
    let in_app = |arguments: &[&str]| server.kubectl_args(&[&["-n", "app"], arguments].concat()).run();
    for (arguments, text) in [
        (
            &["label", "namespace", "app", &format!("{state}-")][..],
            "from \"Sync\" to absent: only the namespace controller (user berth:namespace-controller) or the syncer of \
             that cluster (user berth:syncer:x) may do this",
        ),
        (
            &[
                "label",
                "--overwrite",
                "configmap",
                "settings",
                &format!("{state}="),
            ],
            "from \"Sync\" to \"\": nobody may do this",
        ),
        (
            &[
                "label",
                "--overwrite",
                "configmap",
                "settings",
                &format!("{state}=Done"),
            ],
            "must be empty or \"Sync\"",
        ),
        (
            &[
                "annotate",
                "namespace",
                "app",
                &format!("{deletion}=2021-10-28T09:00:00Z"),
            ],
            "only the namespace controller (user berth:namespace-controller) may set it",
        ),
        (
            &["annotate", "configmap", "settings", &format!("{deletion}-")],
            "only the resource controller (user berth:resource-controller) or the syncer of that cluster (user \
             berth:syncer:x) may remove it",
        ),
        (
            &[
                "patch",
                "configmap",
                "settings",
                "--type=merge",
                "-p",
                no_finalizers,
            ],
            "metadata.finalizers[workloads.kcp.dev/syncer-x]: Forbidden: only the syncer of that cluster (user \
             berth:syncer:x) or the resource controller (user berth:resource-controller) may remove it",
        ),
        (
            &[
                "patch",
                "configmap",
                "settings",
                "--type=merge",
                "-p",
                more_finalizers,
            ],
            "metadata.finalizers[workloads.kcp.dev/syncer-y]: Forbidden: only the syncer of that cluster (user \
             berth:syncer:y) may add it",
        ),
        (
            &[
                "annotate",
                "namespace",
                "app",
                "internal.scheduling.kcp.dev/negotiation-workspace=x",
            ],
            "only the placement controller (user berth:placement-controller) may write it",
        ),
    ] {
        refused(&in_app(arguments), text);
    }
}

#[test]
fn what_is_a_users_own_stays_allowed() {
    let (server, firefighter) = guarded(&[]);
    placed_namespace(&server, &firefighter);
    for arguments in [
        "annotate configmap settings finalizers.workloads.kcp.dev/x=mine",
        "annotate configmap settings finalizers.workloads.kcp.dev/x-",
        "label configmap settings team=a",
        "label namespace app experimental.workloads.kcp.dev/scheduling-disabled=true",
        "label namespace app experimental.workloads.kcp.dev/scheduling-disabled-",
        "annotate namespace app note=a",
        "create configmap mine",
        "delete configmap mine",
        "delete namespace app --wait=false",
    ] {
        server.kubectl(&format!("-n app {arguments}")).succeeds();
    }
}

#[test]
fn a_coordination_controller_is_whom_the_flag_names_and_the_configuration_says_what_is_guarded() {
    let (server, firefighter) = guarded(&[
        "--kcp-coordination-user",
        "carol",
        "--kcp-synced-resources",
        "configmaps",
    ]);
    placed_namespace(&server, &firefighter);
    let carol = server.kubeconfig_for("carol", &["system:masters"]);
    let key = "state.internal.workloads.kcp.dev/y";
    let label = |user: &Path, object: &str, value: &str| {
        let change = format!("{key}{value}");
        server
            .kubectl_as(user, &["-n", "app", "label", "--overwrite", object, &change])
            .run()
    };
    let admin = server.kubeconfig();
    assert!(label(&firefighter, "configmap/settings", "=").success);
    refused(
        &label(&admin, "configmap/settings", "=Sync"),
        "from \"\" to \"Sync\": only the resource controller (user berth:resource-controller) or a coordination \
         controller",
    );
    let moved = label(&carol, "configmap/settings", "=Sync");
    assert!(moved.success, "{}", moved.err);
    refused(
        &label(&carol, "configmap/settings", "-"),
        "from \"Sync\" to absent",
    );
    server.kubectl("-n app create secret generic key").succeeds();
    let free = label(&admin, "secret/key", "=Odd");
    assert!(
        free.success,
        "secrets do not follow their namespace: {}",
        free.err
    );
    let configuration = |resources: &str| {
        let text = format!(
            "apiVersion: config.berth.dev/v1alpha1\nkind: SchedulerConfiguration\nmetadata: {{name: kcp}}\nspec: {{kcp: {{syncedResources: [{resources}]}}}}\n"
        );
        server.kubectl("apply -f -").input(text)
    };
    configuration("secrets").succeeds();
    refused(
        &label(&admin, "secret/key", "=Sync"),
        "metadata.labels[state.internal.workloads.kcp.dev/y]",
    );
    let free = label(&admin, "configmap/settings", "-");
    assert!(free.success, "{}", free.err);
    let wrong = configuration("\"*\"").fails();
    assert!(
        wrong.contains("spec.kcp.syncedResources[0]: Invalid value: \"*\": must be a plural name"),
        "{wrong}"
    );
}

#[test]
fn fleets_bindings_are_the_schedulers_and_in_part_the_rollouts() {
    let (server, firefighter) = guarded(&["--fleet-rollout-user", "roller"]);
    let binding = json!({
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ClusterResourceBinding",
        "metadata": {"name": "web-east", "labels": {"kubernetes-fleet.io/parent-CRP": "web"}},
        "spec": {
            "state": "Scheduled", "resourceSnapshotName": "", "schedulingPolicySnapshotName": "web-0",
            "targetCluster": "east", "clusterDecision": {"clusterName": "east", "selected": true, "reason": "picked"},
        },
    });
    let create = ["create", "-f", "-"];
    let whose = "it holds the decision of ClusterResourcePlacement \"web\", which only berth:scheduler writes, \
                 except for the fields of the rollout, which roller or system:serviceaccount:fleet-system:hub-agent-sa \
                 writes";
    let roller = server.kubeconfig_for("roller", &["system:masters"]);
    refused(
        &server.kubectl_args(&create).input(binding.to_string()).run(),
        whose,
    );
    refused(
        &server
            .kubectl_as(&roller, &create)
            .input(binding.to_string())
            .run(),
        "the rollout does not create bindings",
    );
    server
        .kubectl_as(&firefighter, &create)
        .input(binding.to_string())
        .succeeds();
    let patch = |user: &Path, change: &str| {
        let arguments = [
            "patch",
            "clusterresourcebinding",
            "web-east",
            "--type=merge",
            "-p",
            change,
        ];
        server.kubectl_as(user, &arguments).run()
    };
    let admin = server.kubeconfig();
    let bind = r#"{"spec":{"state":"Bound","resourceSnapshotName":"web-1-snapshot"}}"#;
    refused(&patch(&admin, bind), whose);
    let bound = patch(&roller, bind);
    assert!(bound.success, "{}", bound.err);
    refused(
        &patch(&roller, r#"{"spec":{"state":"Unscheduled"}}"#),
        "spec.state: Forbidden: from Bound to Unscheduled: the rollout may only change Scheduled to Bound",
    );
    refused(
        &patch(&roller, r#"{"spec":{"targetCluster":"west"}}"#),
        "spec.targetCluster: Forbidden: only berth:scheduler writes it",
    );
    let delete = ["delete", "clusterresourcebinding", "web-east"];
    refused(&server.kubectl_args(&delete).run(), whose);
    // Evicted, although it is Bound.
    server.kubectl_as(&roller, &delete).succeeds();
    let snapshot = json!({
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ClusterSchedulingPolicySnapshot",
        "metadata": {"name": "web-0", "labels": {"kubernetes-fleet.io/parent-CRP": "web"}},
        "spec": {"policyHash": "YQ=="},
    });
    refused(
        &server.kubectl_args(&create).input(snapshot.to_string()).run(),
        "it holds the decision of ClusterResourcePlacement \"web\", which only berth:scheduler writes; change the \
         placement instead",
    );
    server
        .kubectl_as(&roller, &create)
        .input(snapshot.to_string())
        .succeeds();
    let decided = r#"{"status":{"observedCRPGeneration":1}}"#;
    let arguments = [
        "patch",
        "csps",
        "web-0",
        "--subresource=status",
        "--type=merge",
        "-p",
        decided,
    ];
    refused(
        &server.kubectl_as(&roller, &arguments).run(),
        "its status holds the decision, which only berth:scheduler writes: set mode: Observe",
    );
    server
        .kubectl_as(&roller, &["delete", "csps", "web-0"])
        .succeeds();
}

#[test]
fn what_an_openmcp_request_was_granted_is_the_schedulers() {
    let (server, firefighter) = guarded(&[]);
    server.kubectl("create namespace project-a").succeeds();
    let request = "apiVersion: clusters.openmcp.cloud/v1alpha1\nkind: ClusterRequest\nmetadata: {name: batch, namespace: project-a}\nspec: {purpose: workload}\n";
    server.kubectl("create -f -").input(request).succeeds();
    let patch = |user: &Path, object: &str, subresource: &str, change: &str| {
        let mut arguments = vec!["-n", "project-a", "patch", object, "--type=merge", "-p", change];
        if !subresource.is_empty() {
            arguments.push(subresource);
        }
        server.kubectl_as(user, &arguments).run()
    };
    let (admin, status) = (server.kubeconfig(), "--subresource=status");
    let grant =
        r#"{"status":{"observedGeneration":1,"phase":"Granted","cluster":{"name":"a","namespace":"b"}}}"#;
    let answer = patch(&admin, "clusterrequest/batch", status, grant);
    refused(
        &answer,
        "status.cluster: Forbidden: it says which Cluster the request was granted; only berth:scheduler writes it",
    );
    refused(
        &answer,
        "status.phase: Forbidden: it says whether the request was granted; only berth:scheduler writes it",
    );
    let granted = patch(&firefighter, "clusterrequest/batch", status, grant);
    assert!(granted.success, "{}", granted.err);
    let held = r#"{"metadata":{"finalizers":["clusters.openmcp.cloud/request","example.com/mine"]}}"#;
    refused(
        &patch(&admin, "clusterrequest/batch", "", held),
        "metadata.finalizers[clusters.openmcp.cloud/request]: Forbidden: ",
    );
    let own = r#"{"metadata":{"finalizers":["example.com/mine"],"labels":{"team":"a"}}}"#;
    let free = patch(&admin, "clusterrequest/batch", "", own);
    assert!(free.success, "{}", free.err);
    let cluster = "apiVersion: clusters.openmcp.cloud/v1alpha1\nkind: Cluster\nmetadata: {name: a, namespace: project-a, finalizers: [request.clusters.openmcp.cloud/1]}\nspec: {profile: p, tenancy: Shared}\n";
    server.kubectl("create -f -").input(cluster).succeeds();
    refused(
        &patch(
            &admin,
            "clusters.clusters.openmcp.cloud/a",
            "",
            r#"{"metadata":{"finalizers":null}}"#,
        ),
        "metadata.finalizers[request.clusters.openmcp.cloud/1]: Forbidden: it says that a request uses the Cluster; only \
         berth:scheduler writes it",
    );
}
