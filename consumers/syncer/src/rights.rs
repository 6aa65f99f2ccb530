//! Rights of the syncer of one of kcp's workload clusters (`berth syncer-rights`): to use the syncer's view,
//! to send heartbeats, and to read the identity of the hub. Behind a hub, the synced objects are on the hub,
//! where Berth writes for the syncer as `berth:syncer:<identifier>`. For this, Berth needs the right to
//! impersonate the user of each given cluster by name: RBAC has no patterns.

use berth_apimachinery::GroupResource;
use berth_dialect_contract::names::GROUP;
use berth_dialect_kcp::names::{DIALECT, WORKLOAD_CLUSTERS};
use berth_dialect_kcp::syncer_view::user;
use berth_hub::roles::{cluster_role, cluster_role_binding, rules};
use clap::Args;
use serde_json::{Value, json};

/// The cluster role for the writes of syncers on a hub. Each syncer's user is bound to it by name.
const ON_HUB: &str = "berth:syncer";

/// Arguments of `berth syncer-rights`.
#[derive(Args, Clone, Debug)]
pub struct SyncerRightsArgs {
    /// The WorkloadCluster, by its name or by the name of its target (NAME.kcp).
    #[arg(long, value_name = "NAME")]
    pub target: String,
    /// The user of the syncer, such as system:serviceaccount:NAMESPACE:NAME.
    #[arg(long)]
    pub user: String,
    /// Behind a kube-apiserver: the metadata.uid of the WorkloadCluster. Berth writes to the hub on behalf of
    /// the syncer, and needs the permission to do so.
    #[arg(long, value_name = "UID")]
    pub identifier: Option<String>,
    /// The namespace of Berth on the hub.
    #[arg(long, default_value = "berth-system")]
    pub namespace: String,
    /// The name of Berth's service account in the namespace of Berth.
    #[arg(long, default_value = "berth")]
    pub service: String,
}

/// The role with the rights of any syncer on a hub; `resources` are the resources that syncers see.
#[must_use]
pub fn on_hub(resources: Vec<GroupResource>) -> Value {
    cluster_role(ON_HUB, &rules(resources, &["status"], &["update"]))
}

/// The rights of one syncer. If `args` has the identifier of the WorkloadCluster, they include the right of
/// Berth to impersonate the syncer's user on a hub, and the rights of this user there.
#[must_use]
pub fn syncer_rights(args: &SyncerRightsArgs) -> Vec<Value> {
    let suffix = format!(".{DIALECT}");
    let cluster = args.target.strip_suffix(&suffix).unwrap_or(&args.target);
    let syncer = format!("berth:syncer:{cluster}");
    let rule = |group: &str, resource: String, names: &str, verbs: &[&str]| json!({"apiGroups": [group], "resources": [resource], "resourceNames": [names], "verbs": verbs});
    let (group, plural) = (WORKLOAD_CLUSTERS.group, WORKLOAD_CLUSTERS.resource);
    let own = [
        rule(
            GROUP,
            "targets/proxy".to_owned(),
            &format!("{cluster}{suffix}"),
            &["get", "update", "patch"],
        ),
        rule(group, plural.to_owned(), cluster, &["get"]),
        rule(group, format!("{plural}/status"), cluster, &["patch"]),
        // The uid of this namespace identifies the hub.
        rule("", "namespaces".to_owned(), "kube-system", &["get"]),
    ];
    let user_subject =
        |name: &str| json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name});
    let mut objects = vec![
        cluster_role(&syncer, &own),
        cluster_role_binding(&syncer, &syncer, &user_subject(&args.user)),
    ];
    let Some(identifier) = &args.identifier else {
        return objects;
    };
    let actor = user(identifier);
    let impersonator = format!("{syncer}:impersonator");
    let impersonate = rule("", "users".to_owned(), &actor, &["impersonate"]);
    let account = json!({"kind": "ServiceAccount", "name": args.service, "namespace": args.namespace});
    objects.extend([
        cluster_role(&impersonator, &[impersonate]),
        cluster_role_binding(&impersonator, &impersonator, &account),
        cluster_role_binding(&actor, ON_HUB, &user_subject(&actor)),
    ]);
    objects
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(identifier: Option<&str>) -> SyncerRightsArgs {
        SyncerRightsArgs {
            target: "east.kcp".to_owned(),
            user: "ann".to_owned(),
            identifier: identifier.map(str::to_owned),
            namespace: "berth-system".to_owned(),
            service: "berth".to_owned(),
        }
    }

    fn names(objects: &[Value]) -> Vec<String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let name =
            |object: &Value| format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]));
        objects.iter().map(name).collect()
    }

    #[test]
    fn standalone_a_syncer_needs_its_view_and_its_heartbeat() {
        let objects = syncer_rights(&arguments(None));
        assert_eq!(
            names(&objects),
            [
                "ClusterRole berth:syncer:east",
                "ClusterRoleBinding berth:syncer:east"
            ]
        );
        assert_eq!(objects[0]["rules"][0]["resourceNames"], json!(["east.kcp"]));
        assert_eq!(objects[0]["rules"][1]["resourceNames"], json!(["east"]));
        assert_eq!(objects[0]["rules"][3]["resourceNames"], json!(["kube-system"]));
        assert_eq!(objects[1]["subjects"][0]["name"], "ann");
    }

    #[test]
    fn on_a_hub_berth_may_be_that_syncer_and_no_other() {
        let objects = syncer_rights(&arguments(Some("u-1")));
        assert_eq!(
            names(&objects)[2..],
            [
                "ClusterRole berth:syncer:east:impersonator",
                "ClusterRoleBinding berth:syncer:east:impersonator",
                "ClusterRoleBinding berth:syncer:u-1",
            ]
        );
        assert_eq!(
            objects[2]["rules"][0]["resourceNames"],
            json!(["berth:syncer:u-1"])
        );
        assert_eq!(objects[4]["roleRef"]["name"], ON_HUB);
        assert_eq!(objects[4]["subjects"][0]["name"], "berth:syncer:u-1");
    }
}
