//! Validation of writes of each system's kinds, as by their own API servers: immutable fields, and
//! contradictory fields.

use super::*;

/// An object, and refused changes of it with parts of their messages.
struct RefusedChanges {
    object: Value,
    /// kubectl's arguments for the object, with the namespace.
    named: &'static [&'static str],
    changes: &'static [(&'static str, &'static str)],
}

fn refused_changes() -> Vec<RefusedChanges> {
    vec![
        RefusedChanges {
            object: json!({
                "apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "ClusterRequest",
                "metadata": {"name": "r", "namespace": "garden-dev"}, "spec": {"purpose": "workload"},
            }),
            named: &["-n", "garden-dev", "clusterrequest", "r"],
            changes: &[(
                r#"{"spec":{"purpose":"mcp"}}"#,
                "spec: Invalid value: {\"purpose\":\"mcp\"}: spec is immutable",
            )],
        },
        RefusedChanges {
            object: json!({
                "apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "Cluster",
                "metadata": {"name": "c", "namespace": "garden-dev"}, "spec": {"profile": "p", "tenancy": "Shared"},
            }),
            named: &["-n", "garden-dev", "clusters.clusters.openmcp.cloud", "c"],
            changes: &[
                (
                    r#"{"spec":{"profile":"q"}}"#,
                    "spec.profile: Invalid value: \"q\": profile is immutable",
                ),
                (
                    r#"{"spec":{"tenancy":"Mine"}}"#,
                    "spec.tenancy: Unsupported value: \"Mine\"",
                ),
                (r#"{"spec":{"purposes":[]}}"#, "spec.purposes"),
            ],
        },
        RefusedChanges {
            object: shoot("s", "eu-west-1"),
            named: &["-n", "garden-dev", "shoot", "s"],
            changes: &[
                (
                    r#"{"spec":{"region":"x"}}"#,
                    "spec.region: Invalid value: \"x\": field is immutable",
                ),
                (
                    r#"{"spec":{"provider":{"type":"gcp"}}}"#,
                    "spec.provider.type: Invalid value: \"gcp\": field is immutable",
                ),
                (
                    r#"{"spec":{"controlPlane":{"zones":["a"]}}}"#,
                    "spec.controlPlane.zones: Forbidden: field is immutable",
                ),
                (
                    r#"{"spec":{"cloudProfile":{"name":"gcp"}}}"#,
                    "spec.cloudProfile.name: Invalid value: \"gcp\": cannot change from CloudProfile \"aws\" to CloudProfile \"gcp\"",
                ),
                (
                    r#"{"spec":{"schedulerName":"mine"}}"#,
                    "spec.schedulerName: Invalid value: \"mine\": field is immutable",
                ),
                (
                    r#"{"spec":{"seedName":"aws-eu2"}}"#,
                    "spec.seedName may only be changed through the subresource shoots/binding",
                ),
                (
                    r#"{"spec":{"purpose":"infrastructure"}}"#,
                    "spec.purpose: Unsupported value: \"infrastructure\"",
                ),
            ],
        },
        RefusedChanges {
            object: json!({
                "apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ClusterResourcePlacement",
                "metadata": {"name": "p"},
                "spec": {
                    "resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": "web"}],
                    "policy": {
                        "placementType": "PickN", "numberOfClusters": 1,
                        "tolerations": [{"key": "a", "operator": "Exists"}],
                    },
                },
            }),
            named: &["clusterresourceplacement", "p"],
            changes: &[
                (
                    r#"{"spec":{"policy":null}}"#,
                    "spec.policy: Forbidden: may not be removed once it is set",
                ),
                (
                    r#"{"spec":{"policy":{"placementType":"PickAll","numberOfClusters":null}}}"#,
                    "spec.policy.placementType: Invalid value: \"PickAll\": field is immutable: it is PickN",
                ),
                (
                    r#"{"spec":{"policy":{"tolerations":[]}}}"#,
                    "spec.policy.tolerations: Forbidden: tolerations may only be added",
                ),
                (
                    r#"{"spec":{"policy":{"numberOfClusters":null}}}"#,
                    "spec.policy.numberOfClusters: Required value",
                ),
                (
                    r#"{"spec":{"policy":{"clusterNames":["a"]}}}"#,
                    "spec.policy.clusterNames: Forbidden: may not be specified when placementType is PickN",
                ),
            ],
        },
        RefusedChanges {
            object: json!({
                "apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSetBinding",
                "metadata": {"name": "a", "namespace": "garden-dev"}, "spec": {"clusterSet": "a"},
            }),
            named: &["-n", "garden-dev", "managedclustersetbinding", "a"],
            changes: &[(
                r#"{"spec":{"clusterSet":"b"}}"#,
                "spec.clusterSet: Invalid value: \"b\": must equal metadata.name \"a\"",
            )],
        },
        RefusedChanges {
            object: json!({
                "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
                "metadata": {"name": "m"}, "spec": {"hubAcceptsClient": true},
            }),
            named: &["managedcluster", "m"],
            changes: &[
                (
                    r#"{"spec":{"taints":[{"key":"a","effect":"NoSelect","timeAdded":"2020-01-01T00:00:00Z"}]}}"#,
                    "spec.taints[0].timeAdded: Invalid value",
                ),
                (
                    r#"{"spec":{"managedClusterClientConfigs":[{"url":"http://m"}]}}"#,
                    "spec.managedClusterClientConfigs[0].url: Invalid value: \"http://m\": must be an absolute https URL",
                ),
            ],
        },
        RefusedChanges {
            object: json!({
                "apiVersion": "scheduling.kcp.dev/v1alpha1", "kind": "Location", "metadata": {"name": "l"},
                "spec": {"resource": {"group": "workloads.kcp.dev", "version": "v1alpha1", "resource": "workloadclusters"}},
            }),
            named: &["location", "l"],
            changes: &[
                (
                    r#"{"spec":{"resource":{"resource":"pods"}}}"#,
                    "spec.resource.resource: Unsupported value: \"pods\"",
                ),
                (
                    r#"{"spec":{"instanceSelector":{"matchExpressions":[{"key":"a","operator":"Is"}]}}}"#,
                    "spec.instanceSelector.matchExpressions[0].operator",
                ),
            ],
        },
    ]
}

#[test]
fn what_may_not_change_is_refused_by_name_in_every_system() {
    let server = gardener();
    for RefusedChanges {
        object,
        named,
        changes,
    } in refused_changes()
    {
        server.kubectl("create -f -").input(object.to_string()).succeeds();
        let before = server
            .kubectl_args(&[&["get", "-o", "json"][..], named].concat())
            .json();
        for &(change, text) in changes {
            let patch = ["patch", "--type=merge", "-p", change];
            let refused = server.kubectl_args(&[&patch[..], named].concat()).fails();
            assert!(refused.contains(text), "{change}: {refused}");
        }
        let after = server
            .kubectl_args(&[&["get", "-o", "json"][..], named].concat())
            .json();
        assert_eq!(before["spec"], after["spec"]);
    }
}

#[test]
fn scores_weights_and_numbers_are_kept_in_their_ranges() {
    let server = gardener();
    let placement = |spec: Value| {
        json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
            "metadata": {"name": "p", "namespace": "garden-dev"}, "spec": spec,
        })
    };
    let score = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1alpha1", "kind": "AddOnPlacementScore",
        "metadata": {"name": "s", "namespace": "garden-dev"},
    });
    for (spec, text) in [
        (
            json!({"numberOfClusters": -1}),
            "spec.numberOfClusters: Invalid value: -1",
        ),
        (
            json!({"prioritizerPolicy": {"configurations": [{"name": "Steady", "weight": 11}]}}),
            "spec.prioritizerPolicy.configurations[0].weight: Invalid value: 11",
        ),
        (
            json!({"decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": "101%"}}}),
            "spec.decisionStrategy.groupStrategy.clustersPerDecisionGroup: Invalid value: \"101%\"",
        ),
    ] {
        let refused = server
            .kubectl("create -f -")
            .input(placement(spec).to_string())
            .fails();
        assert_eq!(
            refused.matches("Invalid value: ").count(),
            1,
            "told once: {refused}"
        );
        assert!(refused.contains(text), "{refused}");
    }
    server.kubectl("create -f -").input(score.to_string()).succeeds();
    let patch = r#"{"status":{"scores":[{"name":"a","value":101},{"name":"a","value":1}]}}"#;
    let named = ["-n", "garden-dev", "addonplacementscore", "s"];
    let change = ["patch", "--subresource=status", "--type=merge", "-p", patch];
    let refused = server.kubectl_args(&[&change[..], &named].concat()).fails();
    assert!(
        refused.contains("status.scores[0].value: Invalid value: 101")
            && refused.contains("status.scores[1]: Duplicate value"),
        "every error at once: {refused}"
    );
}

#[test]
fn a_configuration_is_refused_with_all_its_errors_and_warned_of_what_is_surely_not_meant() {
    let server = Server::start();
    let configuration = |spec: Value| {
        json!({
            "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration",
            "metadata": {"name": "openmcp"}, "spec": {"openmcp": {"scheduler": spec}},
        })
        .to_string()
    };
    let wrong = json!({
        "scope": "Everywhere", "strategy": "Best",
        "purposeMappings": {
            "a": {"tenancyCount": -1, "template": {"spec": {"profile": "p", "tenancy": "Shared"}}},
            "b": {"tenancyCount": 2, "template": {"spec": {"profile": "p", "tenancy": "Exclusive"}}},
            "c": {"template": {"spec": {"tenancy": "Shared"}}},
        },
    });
    let refused = server.kubectl("create -f -").input(configuration(wrong)).fails();
    for text in [
        "spec.openmcp.scheduler.scope: Unsupported value: \"Everywhere\"",
        "spec.openmcp.scheduler.strategy: Unsupported value: \"Best\"",
        "spec.openmcp.scheduler.purposeMappings.a.tenancyCount: Invalid value: -1",
        "spec.openmcp.scheduler.purposeMappings.b.tenancyCount: Invalid value: 2",
        "spec.openmcp.scheduler.purposeMappings.c.template.spec.profile: Required value",
    ] {
        assert!(refused.contains(text), "{text}: {refused}");
    }
    let odd = json!({"purposeMappings": {"No Name": {"template": {"spec": {"profile": "p", "tenancy": "Shared"}}}}});
    let warned = server.kubectl("create -f -").input(configuration(odd)).run();
    assert!(
        warned.success && warned.err.contains("Warning: "),
        "{}",
        warned.err
    );
    assert!(warned.err.contains("No Name"), "{}", warned.err);
}
