//! Server-side apply with kube's own client: conflicts, force, status and scale, drift that a
//! controller corrects, and lists that managers share by key.

use berth_tests::{Server, raw};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
use kube::Api;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

/// The names, operations and subresources of the managers of an object.
fn managers(metadata: &kube::core::ObjectMeta) -> Vec<Value> {
    let entries = metadata.managed_fields.iter().flatten();
    entries
        .map(|entry| json!([entry.manager, entry.operation, entry.subresource]))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_controllers_apply_corrects_drift_and_leaves_alone_what_it_does_not_name() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    let maps: Api<ConfigMap> = Api::namespaced(client, "default");
    let wanted = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"color": "blue"}});
    let flux = PatchParams::apply("kustomize-controller");
    let apply = async |params: &PatchParams| maps.patch("a", params, &Patch::Apply(&wanted)).await;
    let made = apply(&flux).await.unwrap();
    assert_eq!(
        managers(&made.metadata),
        [json!(["kustomize-controller", "Apply", null])]
    );
    let by_hand = json!({"data": {"color": "red", "note": "mine"}});
    let hand = PatchParams {
        field_manager: Some("hand".to_owned()),
        ..PatchParams::default()
    };
    maps.patch("a", &hand, &Patch::Merge(&by_hand)).await.unwrap();
    // Drift is detected by a dry run, refused without force, and corrected with it.
    let dry = apply(&flux.clone().force().dry_run()).await.unwrap();
    assert_eq!(dry.data.unwrap()["color"], "blue");
    let refused = apply(&flux).await.unwrap_err();
    let kube::Error::Api(status) = refused else {
        panic!("{refused}");
    };
    assert_eq!(
        (status.code, status.message.as_str()),
        (
            409,
            "Apply failed with 1 conflict: conflict with \"hand\" using v1: .data.color"
        )
    );
    let corrected = apply(&flux.clone().force()).await.unwrap();
    let data = corrected.data.unwrap();
    assert_eq!((data["color"].as_str(), data["note"].as_str()), ("blue", "mine"));
    let again = apply(&flux.force()).await.unwrap();
    assert_eq!(
        again.metadata.resource_version,
        corrected.metadata.resource_version
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn scale_is_applied_to_and_shares_its_owners_with_the_deployment() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    let deployments: Api<Deployment> = Api::namespaced(client, "default");
    let deployment = |replicas: Option<i32>| {
        let mut spec = json!({
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        });
        if let Some(replicas) = replicas {
            spec["replicas"] = replicas.into();
        }
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec})
    };
    let git = PatchParams::apply("git");
    let hpa = PatchParams::apply("hpa");
    let made = deployments
        .patch("web", &git, &Patch::Apply(deployment(Some(2))))
        .await
        .unwrap();
    assert_eq!(managers(&made.metadata), [json!(["git", "Apply", null])]);
    let scale = |replicas: i32| {
        Patch::Apply(
            json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}, "spec": {"replicas": replicas}}),
        )
    };
    let refused = deployments.patch_scale("web", &hpa, &scale(5)).await.unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("conflict with \"git\": .spec.replicas"),
        "{refused}"
    );
    let scaled = deployments
        .patch_scale("web", &hpa.clone().force(), &scale(5))
        .await
        .unwrap();
    assert_eq!(scaled.spec.unwrap().replicas, Some(5));
    let live = deployments.get("web").await.unwrap();
    assert_eq!(
        managers(&live.metadata),
        [json!(["git", "Apply", null]), json!(["hpa", "Apply", "scale"])]
    );
    // Git no longer sets another number, so it may continue to apply the rest.
    let refused = deployments
        .patch("web", &git, &Patch::Apply(deployment(Some(2))))
        .await
        .unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("conflict with \"hpa\" with subresource \"scale\": .spec.replicas"),
        "{refused}"
    );
    let kept = deployments
        .patch("web", &git, &Patch::Apply(deployment(None)))
        .await
        .unwrap();
    assert_eq!(kept.spec.unwrap().replicas, Some(5));
    let wrong = Patch::Apply(
        json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}, "spec": {"replicas": "x"}}),
    );
    let refused = deployments.patch_scale("web", &hpa, &wrong).await.unwrap_err();
    assert!(
        refused.to_string().contains(".spec.replicas: expected numeric"),
        "{refused}"
    );
}

fn placements(client: kube::Client) -> Api<DynamicObject> {
    let placement = ApiResource {
        group: "cluster.open-cluster-management.io".to_owned(),
        version: "v1beta1".to_owned(),
        api_version: "cluster.open-cluster-management.io/v1beta1".to_owned(),
        kind: "Placement".to_owned(),
        plural: "placements".to_owned(),
    };
    Api::namespaced_with(client, "default", &placement)
}

fn placement(fields: Value) -> Patch<Value> {
    let mut config = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "Placement",
        "metadata": {"name": "a"},
    });
    for (name, value) in fields.as_object().unwrap() {
        config[name] = value.clone();
    }
    Patch::Apply(config)
}

/// The code and the message of a refusal.
fn refusal<T: std::fmt::Debug>(result: kube::Result<T>) -> (u16, String) {
    match result.unwrap_err() {
        kube::Error::Api(status) => (status.code, status.message),
        other => panic!("{other}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_custom_kind_is_applied_refused_forced_and_its_status_is_owned_apart() {
    let server = Server::start();
    let placements = placements(raw::client(&server.kubeconfig()).await);
    let (git, ops) = (PatchParams::apply("git"), PatchParams::apply("ops"));
    let spec = |clusters: i32| placement(json!({"spec": {"numberOfClusters": clusters}}));
    let made = placements.patch("a", &git, &spec(1)).await.unwrap();
    assert_eq!(managers(&made.metadata)[0], json!(["git", "Apply", null]));
    assert_eq!(
        refusal(placements.patch("a", &ops, &spec(2)).await),
        (
            409,
            "Apply failed with 1 conflict: conflict with \"git\": .spec.numberOfClusters".to_owned()
        )
    );
    let forced = placements
        .patch("a", &ops.clone().force(), &spec(2))
        .await
        .unwrap();
    assert_eq!(forced.data["spec"]["numberOfClusters"], 2);
    assert_eq!(
        forced.metadata.generation,
        made.metadata.generation.map(|generation| generation + 1)
    );
    assert_eq!(
        refusal(placements.patch("a", &git, &spec(1)).await).0,
        409,
        "the field is the other's now"
    );
    // The status has its own owners, and a write of it does not change the spec.
    let status = placement(json!({
        "spec": {"numberOfClusters": 9},
        "status": {"conditions": [{
            "type": "Audited", "status": "True", "reason": "Done", "message": "",
            "lastTransitionTime": "2026-01-02T03:04:05Z",
        }]},
    }));
    let applied = placements
        .patch_status("a", &PatchParams::apply("audit"), &status)
        .await
        .unwrap();
    assert_eq!(applied.data["spec"]["numberOfClusters"], 2);
    assert!(
        managers(&applied.metadata).contains(&json!(["audit", "Apply", "status"])),
        "{:?}",
        managers(&applied.metadata)
    );
    let conditions = applied.data["status"]["conditions"].as_array().unwrap();
    assert!(conditions.iter().any(|condition| condition["type"] == "Audited"));
}

#[tokio::test(flavor = "multi_thread")]
async fn managers_share_a_list_by_key_and_each_takes_out_its_own_items() {
    let server = Server::start();
    let services: Api<Service> = Api::namespaced(raw::client(&server.kubeconfig()).await, "default");
    let ports = |ports: Value| {
        Patch::Apply(json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": ports},
        }))
    };
    let numbers = |service: &Service| -> Vec<i32> {
        let ports = service.spec.iter().flat_map(|spec| spec.ports.iter().flatten());
        ports.map(|port| port.port).collect()
    };
    let (web, metrics) = (PatchParams::apply("web"), PatchParams::apply("metrics"));
    let http = json!({"name": "http", "port": 80});
    let scrape = json!({"name": "scrape", "port": 9090});
    services.patch("web", &web, &ports(json!([http]))).await.unwrap();
    let both = services
        .patch("web", &metrics, &ports(json!([scrape])))
        .await
        .unwrap();
    assert_eq!(numbers(&both), [80, 9090]);
    // An item is identified by its keys, one of which has a default; its other fields have separate owners.
    let other = json!([{"name": "other", "port": 80, "protocol": "TCP"}, scrape]);
    assert_eq!(
        refusal(services.patch("web", &metrics, &ports(other)).await),
        (
            409,
            "Apply failed with 1 conflict: conflict with \"web\": .spec.ports[port=80,protocol=\"TCP\"].name"
                .to_owned()
        )
    );
    let tls = json!({"name": "tls", "port": 443});
    let moved = services.patch("web", &web, &ports(json!([tls]))).await.unwrap();
    let mut left = numbers(&moved);
    left.sort_unstable();
    assert_eq!(
        left,
        [443, 9090],
        "the item that its only owner named no more is gone"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn who_sends_string_data_owns_data_and_who_applies_it_what_it_applied() {
    let server = Server::start();
    let secrets: Api<Secret> = Api::namespaced(raw::client(&server.kubeconfig()).await, "default");
    let secret = |text: &str| {
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "stringData": {"key": text},
        })
    };
    let owned = |secret: &Secret| -> Vec<Value> {
        let entries = secret.metadata.managed_fields.iter().flatten();
        entries
            .map(|entry| json!([entry.manager, entry.fields_v1.as_ref().map(|fields| &fields.0)]))
            .collect()
    };
    let params = PostParams {
        field_manager: Some("maker".to_owned()),
        ..PostParams::default()
    };
    let body: Secret = serde_json::from_value(secret("one")).unwrap();
    let made = secrets.create(&params, &body).await.unwrap();
    let of_maker = json!(["maker", {"f:data": {".": {}, "f:key": {}}, "f:type": {}}]);
    assert_eq!(owned(&made), [of_maker]);
    let git = PatchParams::apply("git");
    let applied = secrets
        .patch("a", &git, &Patch::Apply(secret("one")))
        .await
        .unwrap();
    let of_git = json!(["git", {"f:stringData": {"f:key": {}}}]);
    assert!(owned(&applied).contains(&of_git), "{:?}", owned(&applied));
    let again = secrets
        .patch("a", &git, &Patch::Apply(secret("one")))
        .await
        .unwrap();
    assert_eq!(
        again.metadata.resource_version, applied.metadata.resource_version,
        "nothing is written"
    );
}
