//! Objects that are copied, objects that are not, and copies that are up to date.

use super::*;

fn up() -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"}, "binaryData": {"b": ""},
        "metadata": {
            "name": "kube-root-ca.crt", "namespace": "app", "uid": "u", "resourceVersion": "7",
            "creationTimestamp": "2021-10-28T08:00:00Z", "generation": 2, "managedFields": [],
            "ownerReferences": [{"name": "o"}], "finalizers": ["workloads.kcp.dev/syncer-x"],
            "labels": {"app": "web", "state.internal.workloads.kcp.dev/x": "Sync"},
            "annotations": {"note": "1", "finalizers.workloads.kcp.dev/x": "i",
                "deletion.internal.workloads.kcp.dev/x": "2021-10-28T08:00:00Z"},
        },
    })
}

#[test]
fn a_copy_has_the_content_and_nothing_of_the_syncing() {
    let copy = copy("x", &up(), "kcp1");
    let record = Record::of(&copy);
    assert_eq!(copy["metadata"]["name"], "kcp-root-ca.crt");
    assert_eq!(copy["metadata"]["namespace"], "kcp1");
    assert_eq!(
        copy["metadata"]["labels"],
        json!({"app": "web", "internal.workloads.kcp.dev/cluster": "x"})
    );
    let fields: Vec<&String> = copy["metadata"].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["annotations", "labels", "name", "namespace"]);
    let annotations: Vec<&String> = copy["metadata"]["annotations"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    assert_eq!(annotations, [SYNCED, "note"]);
    assert_eq!(copy["data"], json!({"a": "1"}));
    assert_eq!(record.name, "kube-root-ca.crt");
    assert_eq!(
        record.fields.iter().map(String::as_str).collect::<Vec<_>>(),
        ["binaryData", "data"]
    );
    assert_eq!(owner(&copy), Some("x"));
    assert_eq!(copy_name("Secret", "default-token-abc"), "kcp-default-token-abc");
    assert_eq!(copy_name("Secret", "token"), "token");
}

#[test]
fn what_was_copied_and_no_longer_is_goes_and_what_others_wrote_stays() {
    let mut down = copy("x", &up(), "kcp1");
    down["metadata"]["labels"]["theirs"] = "1".into();
    down["metadata"]["resourceVersion"] = "3".into();
    down["extra"] = 1.into();
    assert_eq!(brought_up_to_date(&copy("x", &up(), "kcp1"), &down), None);

    let mut changed = up();
    changed.as_object_mut().unwrap().remove("binaryData");
    changed["metadata"]["labels"]
        .as_object_mut()
        .unwrap()
        .remove("app");
    changed["metadata"]["annotations"]["note"] = "2".into();
    let next = brought_up_to_date(&copy("x", &changed, "kcp1"), &down).unwrap();
    assert!(next.get("binaryData").is_none());
    let labels = json!({"theirs": "1", "internal.workloads.kcp.dev/cluster": "x"});
    assert_eq!(next["metadata"]["labels"], labels);
    assert_eq!(next["metadata"]["annotations"]["note"], "2");
    assert_eq!(
        (&next["extra"], &next["metadata"]["resourceVersion"]),
        (&json!(1), &json!("3"))
    );
    assert_eq!(
        brought_up_to_date(&copy("x", &changed, "kcp1"), &next),
        None,
        "once is enough"
    );
}

#[test]
fn what_somebody_changed_downstream_is_changed_back_and_defaults_are_no_change() {
    let wanted = copy("x", &up(), "kcp1");
    let mut down = wanted.clone();
    down["immutable"] = true.into();
    assert_eq!(brought_up_to_date(&wanted, &down), None);
    down["data"]["a"] = "2".into();
    let next = brought_up_to_date(&wanted, &down).unwrap();
    assert_eq!(next["data"], json!({"a": "1"}));
    down = wanted.clone();
    down["metadata"]["annotations"][SYNCED] = "{".into();
    assert!(
        brought_up_to_date(&wanted, &down).is_some(),
        "a record that is none is written anew"
    );
}

#[test]
fn data_has_the_keys_of_the_object_upstream_and_no_others() {
    let mut up = up();
    up["data"]["empty"] = "".into();
    let wanted = copy("x", &up, "kcp1");
    let changed = |edit: fn(&mut Value)| {
        let mut down = wanted.clone();
        edit(&mut down);
        let next = brought_up_to_date(&wanted, &down).expect("a difference");
        assert_eq!(brought_up_to_date(&wanted, &next), None, "once is enough");
        assert_eq!(
            (&next["data"], next.get("binaryData")),
            (&wanted["data"], wanted.get("binaryData"))
        );
    };
    changed(|down| drop(down["data"].as_object_mut().unwrap().remove("empty")));
    changed(|down| down["data"]["added"] = "1".into());
    changed(|down| down["binaryData"]["added"] = "AA==".into());
    let bare = copy(
        "x",
        &json!({"kind": "ConfigMap", "metadata": {"name": "a"}}),
        "kcp1",
    );
    let mut filled = bare.clone();
    filled["data"] = json!({"added": "1"});
    assert_eq!(
        brought_up_to_date(&bare, &filled).unwrap().get("data"),
        None,
        "where there is none upstream"
    );
}

#[test]
fn the_token_of_an_account_is_copied_as_data_that_no_controller_takes_for_its_own() {
    let token = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token", "data": {"token": "AA=="},
        "metadata": {"name": "default-token-1", "annotations": {"note": "1",
            "kubernetes.io/service-account.name": "default", "kubernetes.io/service-account.uid": "u"}},
    });
    let wanted = copy("x", &token, "kcp1");
    assert_eq!(wanted["type"], "Opaque");
    let annotations = wanted["metadata"]["annotations"].as_object().unwrap();
    assert_eq!(annotations.keys().collect::<Vec<_>>(), [SYNCED, "note"]);
    assert_eq!(wanted["data"], token["data"]);
    // A Secret that was copied with its original type cannot be updated to this copy.
    let mut before = wanted.clone();
    before["type"] = token["type"].clone();
    assert!(must_recreate(&wanted, &before) && !must_recreate(&wanted, &wanted));
}

fn service(spec: Value) -> Value {
    let mut service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}});
    service["spec"] = spec;
    service
}

#[test]
fn a_cluster_allocates_for_itself_and_keeps_it() {
    let up = service(json!({
        "clusterIP": "10.0.0.7", "clusterIPs": ["10.0.0.7"], "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
        "healthCheckNodePort": 30000, "type": "LoadBalancer", "externalTrafficPolicy": "Local", "selector": {"app": "web"},
        "ports": [{"port": 80, "protocol": "TCP", "nodePort": 30001}, {"port": 53, "protocol": "UDP", "nodePort": 30002}],
    }));
    let wanted = copy("x", &up, "kcp1");
    let ports = json!([{"port": 80, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]);
    let spec = json!({
        "type": "LoadBalancer", "externalTrafficPolicy": "Local", "selector": {"app": "web"}, "ports": ports,
    });
    assert_eq!(wanted["spec"], spec);

    let mut down = wanted.clone();
    let allocated = json!({
        "clusterIP": "fd00::7", "clusterIPs": ["fd00::7"], "ipFamilies": ["IPv6"], "ipFamilyPolicy": "SingleStack",
        "healthCheckNodePort": 31000, "type": "LoadBalancer", "externalTrafficPolicy": "Local", "selector": {"app": "web"},
        "ports": [{"port": 80, "protocol": "TCP", "nodePort": 31001}, {"port": 53, "protocol": "UDP", "nodePort": 31002}],
    });
    down["spec"] = allocated.clone();
    assert_eq!(brought_up_to_date(&wanted, &down), None, "nothing to fight about");
    let mut changed = up.clone();
    changed["spec"]["selector"]["app"] = "api".into();
    changed["spec"]["ports"] =
        json!([{"port": 53, "protocol": "UDP", "nodePort": 9}, {"port": 443, "nodePort": 8}]);
    let next = brought_up_to_date(&copy("x", &changed, "kcp1"), &down).unwrap();
    let mut expected = allocated;
    expected["selector"]["app"] = "api".into();
    expected["ports"] = json!([{"port": 53, "protocol": "UDP", "nodePort": 31002}, {"port": 443}]);
    assert_eq!(next["spec"], expected);

    let headless = copy(
        "x",
        &service(json!({"clusterIP": "None", "clusterIPs": ["None"]})),
        "kcp1",
    );
    assert_eq!(headless["spec"], json!({"clusterIP": "None"}));
}

#[test]
fn a_service_that_becomes_headless_or_gets_an_address_is_made_anew() {
    let copied = |spec: Value| copy("x", &service(spec), "kcp1");
    let down = |spec: Value| {
        let mut down = copied(json!({}));
        down["spec"] = spec;
        down
    };
    let headless = || json!({"clusterIP": "None", "clusterIPs": ["None"]});
    let (with_address, none) = (
        json!({"clusterIP": "10.9.0.7", "clusterIPs": ["10.9.0.7"]}),
        json!({}),
    );
    assert!(must_recreate(&copied(headless()), &down(with_address.clone())));
    assert!(must_recreate(&copied(none.clone()), &down(headless())));
    assert!(!must_recreate(&copied(headless()), &down(headless())));
    assert!(!must_recreate(&copied(none.clone()), &down(with_address.clone())));
    assert!(!must_recreate(&copied(none), &down(json!({}))), "none yet");
    let external = json!({"type": "ExternalName", "externalName": "db.example.com"});
    assert!(!must_recreate(&copied(external.clone()), &down(with_address)));
    assert!(!must_recreate(&copied(headless()), &down(external)));
}

#[test]
fn a_service_keeps_what_was_allocated_only_as_far_as_its_new_type_has_it() {
    let became = |up: Value, down: Value| {
        let mut stored = copy("x", &service(json!({})), "kcp1");
        stored["spec"] = down;
        brought_up_to_date(&copy("x", &service(up), "kcp1"), &stored).unwrap()["spec"].clone()
    };
    let balancer = || {
        json!({
            "type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 31000,
            "clusterIP": "10.9.0.7", "clusterIPs": ["10.9.0.7"], "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
            "ports": [{"port": 80, "nodePort": 31001}],
        })
    };
    assert_eq!(
        became(json!({"type": "ClusterIP", "ports": [{"port": 80}]}), balancer()),
        json!({
            "type": "ClusterIP", "clusterIP": "10.9.0.7", "clusterIPs": ["10.9.0.7"], "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack", "ports": [{"port": 80}],
        })
    );
    let external = json!({"type": "ExternalName", "externalName": "db.example.com"});
    assert_eq!(became(external.clone(), balancer()), external);
    let headless = json!({"clusterIP": "None", "clusterIPs": ["None"], "selector": {"app": "a"}});
    assert_eq!(
        became(
            json!({"clusterIP": "None", "clusterIPs": ["None"], "selector": {"app": "b"}}),
            headless
        ),
        json!({"clusterIP": "None", "clusterIPs": ["None"], "selector": {"app": "b"}})
    );
}

#[test]
fn an_account_keeps_the_secrets_of_its_cluster_and_a_deployment_its_revision() {
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"},
        "secrets": [{"name": "a-token-up"}], "imagePullSecrets": [{"name": "pull"}]});
    let wanted = copy("x", &account, "kcp1");
    assert_eq!(
        (wanted.get("secrets"), &wanted["imagePullSecrets"]),
        (None, &account["imagePullSecrets"])
    );
    let mut down = wanted.clone();
    down["secrets"] = json!([{"name": "a-token-down"}]);
    assert_eq!(brought_up_to_date(&wanted, &down), None);

    let revision = "deployment.kubernetes.io/revision";
    let deployment = |replicas: i64| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": replicas},
        "metadata": {"name": "d", "annotations": {revision: "7"}}})
    };
    let wanted = copy("x", &deployment(1), "kcp1");
    assert_eq!(wanted["metadata"]["annotations"].get(revision), None);
    let mut down = wanted.clone();
    down["metadata"]["annotations"][revision] = "2".into();
    assert_eq!(brought_up_to_date(&wanted, &down), None);
    let next = brought_up_to_date(&copy("x", &deployment(2), "kcp1"), &down).unwrap();
    assert_eq!(next["metadata"]["annotations"][revision], "2");
}

#[test]
fn generations_are_translated() {
    let up = json!({"metadata": {"generation": 7}});
    let down = |generation: i64, observed: i64| json!({"metadata": {"generation": generation}, "status": {"observedGeneration": observed, "replicas": 1}});
    let observed =
        |down: &Value, current| status_for(&up, down, current).unwrap()["observedGeneration"].clone();
    assert_eq!(observed(&down(2, 2), true), 7);
    assert_eq!(observed(&down(2, 1), true), 6);
    assert_eq!(observed(&down(2, 2), false), 6);
    assert_eq!(status_for(&up, &json!({"status": {}}), true), None);
    let plain = json!({"status": {"loadBalancer": {}}});
    assert_eq!(status_for(&up, &plain, true), Some(json!({"loadBalancer": {}})));
}
