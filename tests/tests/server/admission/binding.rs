//! New objects are bound before the answer to their create.

use super::*;

const BINDING_RIGHT: &str = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: bind-shoots, namespace: garden-dev}\nrules: [{apiGroups: [core.gardener.cloud], resources: [shoots/binding], verbs: [update]}]\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: bind-shoots, namespace: garden-dev}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: bind-shoots}\nsubjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: operator}]\n";

#[test]
fn a_create_shows_where_it_went_and_the_decision_is_bound() {
    let server = gardener();
    let created = server
        .kubectl("create -o yaml -f -")
        .input(shoot("web", "eu-west-1").to_string())
        .run();
    assert!(created.success, "{}", created.err);
    assert!(created.out.contains("seedName: aws-eu1"), "{}", created.out);
    assert!(!created.err.contains("Warning"), "{}", created.err);
    assert_eq!(phase(&server, "web.gardener"), "Bound");
    let row = server.kubectl("-n garden-dev get decisions").succeeds();
    assert!(row.contains("Bound") && row.contains("aws-eu1"), "{row}");
    // The next one is placed on the target with less load.
    let next = server
        .kubectl("apply -o jsonpath={.spec.seedName} -f -")
        .input(shoot("next", "eu-west-1").to_string())
        .succeeds();
    assert_eq!(next, "aws-eu2");
}

#[test]
fn what_fits_nowhere_is_created_unbound_with_a_warning_that_says_why() {
    let server = gardener();
    let created = server
        .kubectl("create -f -")
        .input(shoot("lost", "nowhere-1").to_string())
        .run();
    assert!(created.success, "{}", created.err);
    assert!(
        created
            .err
            .contains("Warning: not bound (NoSuitableSeed): No Seed fits. Nearest: "),
        "{}",
        created.err
    );
    assert_eq!(phase(&server, "lost.gardener"), "Unschedulable");
}

#[test]
fn a_dry_run_is_a_forecast_and_keeps_nothing() {
    let server = gardener();
    let dry = |value: Value| {
        server
            .kubectl("create --dry-run=server -o json -f -")
            .input(value.to_string())
            .run()
    };
    let forecast = dry(shoot("web", "eu-west-1"));
    let object: Value = serde_json::from_str(&forecast.out).unwrap();
    assert_eq!(object["spec"]["seedName"], "aws-eu1");
    let lost = dry(shoot("lost", "nowhere-1"));
    assert!(
        lost.err.contains("Warning: would be not bound (NoSuitableSeed)"),
        "{}",
        lost.err
    );
    assert!(
        server
            .kubectl("-n garden-dev get shoots -o name")
            .succeeds()
            .is_empty()
    );
    assert_eq!(
        server
            .kubectl("get target aws-eu1.gardener -o jsonpath={.status.capacity[0].used}")
            .succeeds(),
        "0"
    );
}

#[test]
fn placements_are_decided_before_their_create_is_answered() {
    let server = Server::start();
    server.load(&example("ocm/fleet.yaml"));
    server.load(&example("ocm/story-1.yaml"));
    let placement = "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata: {name: fresh, namespace: story-1}\nspec: {numberOfClusters: 2}\n";
    let created = server.kubectl("create -o json -f -").input(placement).json();
    assert_eq!(created["status"]["numberOfSelectedClusters"], 2);
    let decisions = server
        .kubectl(
            "-n story-1 get placementdecisions -l cluster.open-cluster-management.io/placement=fresh -o json",
        )
        .json();
    assert_eq!(
        decisions["items"][0]["status"]["decisions"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
    let many = placement.replace("fresh", "greedy").replace(": 2}", ": 99}");
    let partly = server.kubectl("create -f -").input(many).run();
    assert!(
        partly.success && partly.err.contains("Warning: bound in part"),
        "{}",
        partly.err
    );
}

#[test]
fn auto_bind_off_leaves_new_objects_unbound() {
    let server = gardener();
    server.bind_by_hand(&["gardener"]);
    let created = server
        .kubectl("create -o json -f -")
        .input(shoot("web", "eu-west-1").to_string())
        .json();
    assert!(created["spec"].get("seedName").is_none());
    assert_eq!(phase(&server, "web.gardener"), "Pending");
    let listed = server.kubectl("get schedulerconfigurations").succeeds();
    assert!(listed.contains("Off"), "{listed}");
    let wrong = "apiVersion: config.berth.dev/v1alpha1\nkind: SchedulerConfiguration\nmetadata: {name: ocm}\nspec: {autoBind: Sometimes}\n";
    let refused = server.kubectl("create -f -").input(wrong).fails();
    assert!(
        refused.contains("spec.autoBind: Unsupported value: \"Sometimes\": supported values: \"OnCreate\", "),
        "{refused}"
    );
}

#[test]
fn a_place_given_on_create_is_judged_by_feasibility() {
    let server = gardener();
    server.kubectl("apply -f -").input(BINDING_RIGHT).succeeds();
    let edit = "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: editors, namespace: garden-dev}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}\nsubjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}, {apiGroup: rbac.authorization.k8s.io, kind: User, name: operator}]\n";
    server.kubectl("apply -f -").input(edit).succeeds();
    let (alice, operator) = (
        server.kubeconfig_for("alice", &[]),
        server.kubeconfig_for("operator", &[]),
    );
    let create = |user: &Path, object: &Value| {
        server
            .kubectl_as(user, &["create", "-f", "-"])
            .input(object.to_string())
    };
    create(&alice, &placed("good", "aws-eu2")).succeeds();
    let given = server.kubectl("-n garden-dev get shoot good -o json").json();
    assert_eq!(given["spec"]["networking"]["pods"], "100.96.0.0/11");
    let far = create(&alice, &placed("far", "aws-us1")).fails();
    assert!(
        far.contains("is forbidden: spec.seedName \"aws-us1\" is not feasible (NotSameRegion")
            && far.contains("user \"alice\" may not update shoots.core.gardener.cloud/binding"),
        "{far}"
    );
    create(&operator, &placed("far", "aws-us1")).succeeds();
    let guarded = create(&operator, &placed("guarded", "aws-guarded")).fails();
    assert!(
        guarded.contains("spec.seedName: Invalid value: \"aws-guarded\""),
        "{guarded}"
    );
    let unknown = create(&operator, &placed("unknown", "mars")).fails();
    assert!(
        unknown.contains("spec.seedName: Not found: \"mars\""),
        "{unknown}"
    );
    // Capacity counts: three shoots fit, and `good` is one of them.
    for name in ["b", "c"] {
        create(&alice, &placed(name, "aws-eu2")).succeeds();
    }
    let full = create(&operator, &placed("d", "aws-eu2")).fails();
    assert!(full.contains("spec.seedName: Invalid value"), "{full}");
}

#[test]
fn by_the_rules_of_today_a_place_given_on_create_takes_the_right_to_bind() {
    let server = gardener();
    let rules = "apiVersion: config.berth.dev/v1alpha1\nkind: SchedulerConfiguration\nmetadata: {name: gardener}\nspec: {rules: Current}\n";
    server.kubectl("apply -f -").input(rules).succeeds();
    let edit = "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: editors, namespace: garden-dev}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}\nsubjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}]\n";
    server.kubectl("apply -f -").input(edit).succeeds();
    let alice = server.kubeconfig_for("alice", &[]);
    let create = |object: &Value| {
        server
            .kubectl_as(&alice, &["create", "-f", "-"])
            .input(object.to_string())
    };
    let refused = create(&placed("web", "aws-eu2")).fails();
    assert!(
        refused.contains("by the rules of today")
            && refused.contains("may not update shoots.core.gardener.cloud/binding"),
        "{refused}"
    );
    create(&shoot("web", "eu-west-1")).succeeds();
    let bound = server.kubectl("-n garden-dev get shoot web -o json").json();
    assert_eq!(bound["spec"]["seedName"], "aws-eu1");
    let report = server.kubectl("get --raw /apis/scheduling.berth.dev/v1alpha1/namespaces/garden-dev/decisions/web.gardener/scheduling").json();
    assert_eq!(report["status"]["rules"]["name"], "Current");
    // Without a feasible target, the status has the reason.
    create(&shoot("nowhere", "mars-1")).succeeds();
    let pending = server.kubectl("-n garden-dev get shoot nowhere -o json").json();
    let operation = &pending["status"]["lastOperation"];
    assert_eq!(
        (&operation["type"], &operation["state"]),
        (&json!("Create"), &json!("Pending"))
    );
    let description = operation["description"].as_str().unwrap_or_default();
    assert!(
        description.starts_with("Failed to schedule Shoot: No Seed fits. Nearest: "),
        "{description}"
    );
}
