//! Changes that require a special right in Open Cluster Management, with their messages.

use super::*;

const GROUP: &str = "cluster.open-cluster-management.io";

/// Creates a cluster role with one rule, which is bound to `users`.
fn role(
    name: &str,
    group: &str,
    resources: &[&str],
    verbs: &[&str],
    names: &[&str],
    users: &[&str],
) -> Value {
    let mut rule = json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
    if !names.is_empty() {
        rule["resourceNames"] = json!(names);
    }
    let api_version = "rbac.authorization.k8s.io/v1";
    let subjects: Vec<Value> = users
        .iter()
        .map(|user| json!({"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}))
        .collect();
    json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": api_version, "kind": "ClusterRole", "metadata": {"name": name}, "rules": [rule]},
        {"apiVersion": api_version, "kind": "ClusterRoleBinding", "metadata": {"name": name}, "subjects": subjects,
         "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}},
    ]})
}

fn cluster(name: &str, accepted: bool, set: Option<&str>) -> String {
    let mut cluster = json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "ManagedCluster",
        "metadata": {"name": name}, "spec": {"hubAcceptsClient": accepted},
    });
    if let Some(set) = set {
        cluster["metadata"]["labels"] = json!({format!("{GROUP}/clusterset"): set});
    }
    cluster.to_string()
}

#[test]
fn letting_a_cluster_in_and_moving_it_between_sets_take_rights_of_their_own() {
    let server = Server::start();
    let write = ["create", "get", "patch", "update"];
    for granted in [
        role(
            "clusters",
            GROUP,
            &["managedclusters"],
            &write,
            &[],
            &["jane", "joe"],
        ),
        role(
            "accept",
            "register.open-cluster-management.io",
            &["managedclusters/accept"],
            &["update"],
            &[],
            &["joe"],
        ),
        role(
            "join-a",
            GROUP,
            &["managedclustersets/join"],
            &["create"],
            &["a"],
            &["joe"],
        ),
    ] {
        server
            .kubectl("create -f -")
            .input(granted.to_string())
            .succeeds();
    }
    let (jane, joe) = (
        server.kubeconfig_for("jane", &[]),
        server.kubeconfig_for("joe", &[]),
    );
    let create = |user: &Path, object: String| server.kubectl_as(user, &["create", "-f", "-"]).input(object);
    create(&jane, cluster("plain", false, None)).succeeds();
    let refused = create(&jane, cluster("c1", true, None)).fails();
    assert_eq!(
        refused.trim(),
        "Error from server (Forbidden): error when creating \"STDIN\": \
         managedclusters.cluster.open-cluster-management.io \"c1\" is forbidden: spec.hubAcceptsClient accepts cluster \"c1\" \
         on the hub, but user \"jane\" may not update managedclusters.register.open-cluster-management.io/accept \"c1\": \
         leave it false, and ask a user with this permission to accept the cluster"
    );
    create(&joe, cluster("c1", true, None)).succeeds();
    let patch = |user: &Path, name: &str, change: &str| {
        server.kubectl_as(
            user,
            &["patch", "managedcluster", name, "--type=merge", "-p", change],
        )
    };
    let refused = patch(&jane, "plain", r#"{"spec":{"hubAcceptsClient":true}}"#).fails();
    assert!(
        refused.contains("user \"jane\" may not update managedclusters"),
        "{refused}"
    );
    patch(&jane, "c1", r#"{"metadata":{"labels":{"region":"eu"}}}"#).succeeds();
    let refused = create(&jane, cluster("c2", false, Some("a"))).fails();
    assert!(
        refused.contains(
            "label cluster.open-cluster-management.io/clusterset moves the cluster into or out of ManagedClusterSet \"a\", \
             but user \"jane\" may not create managedclustersets.cluster.open-cluster-management.io/join \"a\""
        ),
        "{refused}"
    );
    create(&joe, cluster("c2", false, Some("a"))).succeeds();
    let away = format!(r#"{{"metadata":{{"labels":{{"{GROUP}/clusterset":"b"}}}}}}"#);
    let refused = patch(&joe, "c2", &away).fails();
    assert!(
        refused.contains("ManagedClusterSet \"b\", but user \"joe\" may not"),
        "{refused}"
    );
    // A user with all rights has this one, too.
    patch(&server.kubeconfig(), "c2", &away).succeeds();
}

#[test]
fn binding_a_set_to_a_namespace_takes_a_right_on_the_set() {
    let server = Server::start();
    server.kubectl("create namespace team").succeeds();
    let users = ["jane", "joe"];
    let bindings = role(
        "bindings",
        GROUP,
        &["managedclustersetbindings"],
        &["create"],
        &[],
        &users,
    );
    server
        .kubectl("create -f -")
        .input(bindings.to_string())
        .succeeds();
    let bind = role(
        "bind",
        GROUP,
        &["managedclustersets/bind"],
        &["create"],
        &["a"],
        &["joe"],
    );
    server.kubectl("create -f -").input(bind.to_string()).succeeds();
    let binding = |set: &str| {
        json!({
            "apiVersion": format!("{GROUP}/v1beta2"), "kind": "ManagedClusterSetBinding",
            "metadata": {"name": set, "namespace": "team"}, "spec": {"clusterSet": set},
        })
        .to_string()
    };
    let create = |user: &str, set: &str| {
        let user = server.kubeconfig_for(user, &[]);
        server
            .kubectl_as(&user, &["create", "-f", "-"])
            .input(binding(set))
    };
    let refused = create("jane", "a").fails();
    assert!(
        refused.contains(
            "it lets the placements of namespace \"team\" use ManagedClusterSet \"a\", but user \"jane\" may not create \
             managedclustersets.cluster.open-cluster-management.io/bind \"a\""
        ),
        "{refused}"
    );
    create("joe", "a").succeeds();
    assert!(
        create("joe", "b")
            .fails()
            .contains("may not create managedclustersets")
    );
}
