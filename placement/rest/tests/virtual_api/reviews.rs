//! Questions of the form "what if" on the live world, on top of it, and on one of their own.

use berth_storage::Source;
use serde_json::{Value, json};

use super::gardener::{self, shoot};
use super::{documents, ocm, text};

const GARDENER_FLEET: &str = include_str!("../../../../examples/gardener/fleet.yaml");

fn reference() -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "Placement",
        "namespace": "story-1",
        "name": "placement",
    })
}

/// Fleet of a review, by other names than those of the live one: the documents of Gardener's fleet without
/// the namespace.
fn fleet() -> Vec<Value> {
    documents(GARDENER_FLEET)
        .into_iter()
        .filter(|value| value["kind"] != "Namespace")
        .collect()
}

#[tokio::test]
async fn a_review_by_reference_says_what_scheduling_says() {
    let mut world = ocm::world();
    let review = world.review(json!({"reference": reference()})).await.unwrap();
    let report = world.scheduling("story-1", "placement.ocm").await;
    assert_eq!(review["status"], report["status"]);
    for denied in ["get placements", "list targets"] {
        world.denied = vec![denied];
        assert_eq!(
            world
                .review(json!({"reference": reference()}))
                .await
                .unwrap_err()
                .code,
            403,
            "{denied}"
        );
    }
}

#[tokio::test]
async fn a_review_in_a_namespace_is_about_what_is_there_and_needs_no_right_to_targets() {
    let mut world = ocm::world();
    world.denied = vec!["list targets"];
    let report = world.scheduling("story-1", "placement.ocm").await;
    let mut here = reference();
    here.as_object_mut().unwrap().remove("namespace");
    for spec in [
        json!({"reference": here}),
        json!({"reference": reference(), "inventory": "Overlay"}),
    ] {
        let review = world.review_in("story-1", spec).await.unwrap();
        assert_eq!(review["status"], report["status"]);
    }
    let object = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": "other"}, "spec": {},
    });
    let review = world
        .review_in("story-1", json!({"object": object}))
        .await
        .unwrap();
    assert_eq!(text(&review, "/spec/object/metadata/namespace"), "story-1");
    assert_eq!(text(&review, "/status/outcome"), "Scheduled");
    let status = world
        .review_in("story-2", json!({"reference": reference()}))
        .await
        .unwrap_err();
    let cause = &status.details.unwrap().causes[0];
    assert_eq!(cause.field, "spec.reference.namespace");
    assert!(
        cause
            .message
            .contains("must be story-2, the namespace of the review"),
        "{}",
        cause.message
    );
    world.denied = vec!["get placements"];
    let refused = world
        .review_in("story-1", json!({"reference": reference()}))
        .await;
    assert_eq!(refused.unwrap_err().code, 403);
}

#[tokio::test]
async fn a_reference_to_nothing_is_invalid() {
    let world = ocm::world();
    let mut gone = reference();
    gone["name"] = "gone".into();
    let status = world.review(json!({"reference": gone})).await.unwrap_err();
    assert_eq!(status.details.unwrap().causes[0].field, "spec.reference");
    let foreign = json!({"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "a", "name": "b"});
    let status = world.review(json!({"reference": foreign})).await.unwrap_err();
    let cause = &status.details.unwrap().causes[0];
    assert_eq!(cause.field, "spec.reference.kind");
    assert!(cause.message.contains("Placement"), "{}", cause.message);
}

#[tokio::test]
async fn an_overlay_changes_the_answer_and_nothing_else() {
    let world = ocm::world();
    let before = world.review(json!({"reference": reference()})).await.unwrap();
    let cordoned = text(&before, "/status/picked/0/clusterName").to_owned();
    let taint = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {"name": cordoned, "labels": {"cluster.open-cluster-management.io/clusterset": "fleet"}},
        "spec": {"taints": [{"key": "drill", "effect": "NoSelect"}]},
    });
    let spec = json!({"reference": reference(), "inventory": "Overlay", "objects": [taint]});
    let after = world.review(spec).await.unwrap();
    let candidates = after["status"]["candidates"].as_array().unwrap();
    assert_eq!(candidates.len(), 5);
    let judged = candidates
        .iter()
        .find(|candidate| candidate["clusterName"] == *cordoned)
        .unwrap();
    assert_eq!(judged["rejections"][0]["reason"], "Untolerated");
    let now = world.review(json!({"reference": reference()})).await.unwrap();
    assert_eq!(now["status"], before["status"]);
}

#[tokio::test]
async fn another_instant_is_another_answer() {
    let world = ocm::world();
    let mut spec = json!({"reference": reference()});
    let now = world.review(spec.clone()).await.unwrap();
    spec["at"] = "2031-01-01T00:00:00Z".into();
    let later = world.review(spec.clone()).await.unwrap();
    assert_eq!(text(&later, "/status/evaluatedAt"), "2031-01-01T00:00:00Z");
    assert_ne!(now["status"]["evaluatedAt"], later["status"]["evaluatedAt"]);
    spec["at"] = "tomorrow".into();
    let status = world.review(spec).await.unwrap_err();
    assert_eq!(status.details.unwrap().causes[0].field, "spec.at");
}

#[tokio::test]
async fn a_provided_world_needs_no_other() {
    let mut world = ocm_free();
    world.denied = vec!["list targets"];
    let spec = json!({"object": shoot("new", "eu-west-1"), "inventory": "Provided", "objects": fleet()});
    let review = world.review(spec).await.unwrap();
    assert_eq!(text(&review, "/status/outcome"), "Scheduled");
    assert_eq!(text(&review, "/status/inventoryRevision"), "0");
    assert_eq!(review["status"]["candidates"].as_array().unwrap().len(), 5);
    let live = world
        .review(json!({"object": shoot("new", "eu-west-1")}))
        .await
        .unwrap_err();
    assert_eq!(live.code, 403);
}

fn ocm_free() -> super::World {
    super::World::new(berth_dialect_registry::by_name("gardener").unwrap())
}

#[tokio::test]
async fn a_review_brings_its_own_configuration() {
    let world = gardener::world();
    let far = shoot("far", "us-west-1");
    let as_it_is = world.review(json!({"object": far})).await.unwrap();
    assert_eq!(text(&as_it_is, "/status/outcome"), "Unschedulable");
    let config = json!({"schedulers": {"shoot": {"candidateDeterminationStrategy": "MinimalDistance"}}});
    let nearest = world
        .review(json!({"object": far, "config": config}))
        .await
        .unwrap();
    assert_eq!(text(&nearest, "/status/picked/0/clusterName"), "aws-us1");
    let wrong = json!({"schedulers": {"shoot": {"candidateDeterminationStrategy": "Nearest"}}});
    let status = world
        .review(json!({"object": far, "config": wrong}))
        .await
        .unwrap_err();
    let field = &status.details.unwrap().causes[0].field;
    assert_eq!(
        field,
        "spec.config.schedulers.shoot.candidateDeterminationStrategy"
    );
}

#[tokio::test]
async fn bad_input_is_named_by_its_path() {
    let world = gardener::world();
    let fields = |status: berth_apimachinery::Status| -> Vec<String> {
        assert_eq!(status.code, 422);
        status
            .details
            .unwrap()
            .causes
            .into_iter()
            .map(|cause| cause.field)
            .collect()
    };
    let ask = async |spec: Value| fields(world.review(spec).await.unwrap_err());
    assert_eq!(ask(json!({})).await, ["spec.object"]);
    assert_eq!(
        ask(json!({"object": shoot("a", "b"), "reference": reference()})).await,
        ["spec.reference"]
    );
    assert_eq!(
        ask(json!({"object": shoot("a", "b"), "objects": fleet()})).await,
        ["spec.objects"]
    );
    assert_eq!(
        ask(json!({"object": shoot("a", "b"), "inventory": "Dead"})).await,
        ["spec.inventory"]
    );
    assert_eq!(
        ask(json!({"object": {"kind": "Shoot"}})).await,
        ["spec.object.kind"]
    );
    let mut unnamed = shoot("a", "b");
    unnamed["metadata"] = json!({});
    assert_eq!(
        ask(json!({"object": unnamed})).await,
        ["spec.object.metadata.name"]
    );
    let mut typed = shoot("a", "b");
    typed["spec"]["region"] = 7.into();
    assert_eq!(ask(json!({"object": typed})).await, ["spec.object.spec.region"]);

    let twice = shoot("a", "eu-west-1");
    assert_eq!(
        ask(json!({"object": twice, "inventory": "Provided", "objects": [twice]})).await,
        ["spec.objects[0].metadata.name"]
    );

    let mut objects = fleet();
    objects.retain(|object| object["kind"] == "Seed");
    objects.truncate(3);
    objects[2]["spec"]["networks"]["pods"] = "10.1.0.0/99".into();
    objects.push(objects[0].clone());
    objects.push(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}));
    let seen = ask(json!({"object": shoot("a", "b"), "inventory": "Provided", "objects": objects})).await;
    assert!(
        seen.contains(&"spec.objects[2].spec.networks.pods".to_owned()),
        "{seen:?}"
    );
    assert!(
        seen.contains(&"spec.objects[3].metadata.name".to_owned()),
        "{seen:?}"
    );
    assert!(seen.contains(&"spec.objects[4].kind".to_owned()), "{seen:?}");
}

#[tokio::test]
async fn a_review_of_an_object_whose_name_is_taken_needs_the_right_to_read_the_stored_one() {
    let mut world = ocm::world();
    world.denied = vec!["get placements"];
    let placement = |name: &str| {
        let metadata = json!({"namespace": "story-1", "name": name});
        let (api_version, kind) = (&reference()["apiVersion"], &reference()["kind"]);
        json!({"object": {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": {}}})
    };
    let refused = world.review(placement("placement")).await.unwrap_err();
    assert_eq!(refused.code, 403, "{}", refused.message);
    let review = world.review(placement("another")).await.unwrap();
    assert_eq!(review["status"]["current"], json!([]));
    // In a world of its own there is no other.
    let mut alone = placement("placement");
    alone["inventory"] = "Provided".into();
    world.review(alone).await.unwrap();
}

#[tokio::test]
async fn the_changed_paths_of_an_object_of_the_review_tell_nothing_of_the_stored_one() {
    let mut world = gardener::world();
    world.denied = vec!["get shoots"];
    let spec = json!({"object": shoot("new", "eu-west-1"), "inventory": "Provided", "objects": fleet()});
    let alone = world.review(spec.clone()).await.unwrap();
    let paths = &alone["status"]["writes"][0]["changedPaths"];
    assert!(
        paths.as_array().unwrap().contains(&"/spec/seedName".into()),
        "{paths}"
    );
    let mut stored = shoot("new", "eu-west-1");
    stored["metadata"]["labels"] = json!({"secret": "yes"});
    world.put(stored);
    let beside = world.review(spec).await.unwrap();
    assert_eq!(beside["status"]["writes"], alone["status"]["writes"]);
}

#[tokio::test]
async fn of_objects_that_a_caller_may_not_read_planned_writes_show_names_and_changed_paths() {
    let mut world = ocm::world();
    let written = |report: &Value| -> Vec<Value> {
        let writes = report["status"]["writes"].as_array().unwrap().iter();
        let decisions = writes.filter(|write| write["object"]["kind"] == "PlacementDecision");
        decisions.cloned().collect()
    };
    let whole = written(&world.scheduling("story-1", "placement.ocm").await);
    assert!(
        whole.iter().any(|write| write["object"]["status"].is_object()),
        "{whole:?}"
    );
    world.denied = vec!["get placementdecisions"];
    let review = json!({"reference": reference()});
    for report in [
        world.scheduling("story-1", "placement.ocm").await,
        world.review(review).await.unwrap(),
    ] {
        let hidden = written(&report);
        assert_eq!(hidden.len(), whole.len());
        for (hidden, whole) in hidden.iter().zip(&whole) {
            let (object, metadata) = (&whole["object"], &whole["object"]["metadata"]);
            assert_eq!(
                hidden["object"],
                json!({
                    "apiVersion": object["apiVersion"], "kind": object["kind"],
                    "metadata": {"namespace": metadata["namespace"], "name": metadata["name"]},
                })
            );
            assert!(!hidden["changedPaths"].as_array().unwrap().is_empty(), "{hidden}");
        }
    }
}

/// The fleet of story 1 with its placement bound, and one of the clusters it is bound to.
async fn bound() -> (super::World, String) {
    let world = ocm::world();
    let call = world.call("story-1", "placement.ocm");
    let binding = world.bind(&call, &[]).await.unwrap();
    let cluster = text(&binding, "/status/decisions/0/clusterName").to_owned();
    (world, cluster)
}

#[tokio::test]
async fn a_plan_tells_what_draining_a_cluster_moves_and_stores_nothing() {
    let (world, cluster) = bound().await;
    let revision = world.store.revision();
    let review = world
        .review(json!({"changes": [{"drain": format!("{cluster}.ocm")}]}))
        .await
        .unwrap();
    let plan = &review["status"]["plan"];
    assert_eq!(plan["counts"]["moved"], 1, "{plan}");
    let entry = &plan["entries"][0];
    assert_eq!(
        (text(entry, "/name"), text(entry, "/verdict")),
        ("placement.ocm", "Moved")
    );
    assert_eq!(entry["left"], json!([cluster]));
    assert_eq!(entry["joined"].as_array().unwrap().len(), 1);
    assert_eq!(world.store.revision(), revision);

    // Doing it has that effect.
    let patch =
        json!([{"key": "berth.dev/drain", "effect": "NoSelect", "timeAdded": "2021-10-28T09:00:00Z"}]);
    let key = berth_apimachinery::Key::new(
        berth_apimachinery::GroupResource::new("cluster.open-cluster-management.io", "managedclusters"),
        "",
        &cluster,
    );
    world.edit(&key, |object| object["spec"]["taints"] = patch.clone());
    let call = world.call("story-1", "placement.ocm");
    let after = world.bind(&call, &[]).await.unwrap();
    let now: Vec<&Value> = after["status"]["decisions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|at| &at["clusterName"])
        .collect();
    assert!(
        now.contains(&&entry["joined"][0]) && !now.contains(&&json!(cluster)),
        "{now:?}"
    );
}

#[tokio::test]
async fn a_plan_tells_of_the_decisions_that_are_asked_for_even_when_they_stay() {
    let (world, cluster) = bound().await;
    let change = json!({"patch": {
        "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": {"name": cluster, "labels": {"color": "red"}},
    }});
    let ask =
        |name: &str| json!({"changes": [change], "decisions": [{"namespace": "story-1", "name": name}]});
    let review = world.review(ask("placement.ocm")).await.unwrap();
    let plan = &review["status"]["plan"];
    assert_eq!(
        (&plan["counts"]["moved"], &plan["counts"]["same"]),
        (&json!(0), &json!(1))
    );
    assert_eq!(text(plan, "/entries/0/verdict"), "Same");
    let status = world.review(ask("nothing.ocm")).await.unwrap_err();
    assert_eq!(status.code, 422);
    assert_eq!(status.details.unwrap().causes[0].field, "spec.decisions[0]");
}

#[tokio::test]
async fn a_plan_tells_of_the_decisions_that_a_selector_selects() {
    let (world, cluster) = bound().await;
    let resource = berth_apimachinery::GroupResource::new("cluster.open-cluster-management.io", "placements");
    let key = berth_apimachinery::Key::new(resource, "story-1", "placement");
    world.edit(&key, |object| {
        object["metadata"]["labels"] = json!({"team": "a", "tier": "web"});
    });
    let change = json!({"patch": {
        "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": {"name": cluster, "labels": {"color": "red"}},
    }});
    let table = [
        (json!({"selector": {"matchLabels": {"team": "a"}}}), true),
        (json!({"selector": {}}), true),
        (
            json!({"namespace": "story-1", "selector": {"matchExpressions": [
                {"key": "tier", "operator": "In", "values": ["db", "web"]},
            ]}}),
            true,
        ),
        (
            json!({"namespace": "elsewhere", "selector": {"matchLabels": {"team": "a"}}}),
            false,
        ),
        // Nothing selected is no error.
        (json!({"selector": {"matchLabels": {"team": "b"}}}), false),
    ];
    for (entry, is_told) in table {
        let spec = json!({"changes": [change], "decisions": [entry]});
        let review = world.review(spec).await.unwrap();
        let plan = &review["status"]["plan"];
        let entries = plan["entries"].as_array().unwrap();
        let told: Vec<(&str, &str)> = entries
            .iter()
            .map(|entry| (text(entry, "/name"), text(entry, "/verdict")))
            .collect();
        let expected: &[(&str, &str)] = if is_told {
            &[("placement.ocm", "Same")]
        } else {
            &[]
        };
        assert_eq!(told, expected, "{entry}");
    }
}

#[tokio::test]
async fn a_plan_selects_by_the_labels_that_its_own_change_gives() {
    let (world, _) = bound().await;
    let change = json!({"patch": {
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"namespace": "story-1", "name": "placement", "labels": {"team": "new"}},
    }});
    let selected = json!([{"selector": {"matchLabels": {"team": "new"}}}]);
    let review = world
        .review(json!({"changes": [change], "decisions": selected}))
        .await
        .unwrap();
    assert_eq!(text(&review, "/status/plan/entries/0/name"), "placement.ocm");
}

#[tokio::test]
async fn a_plan_that_names_decisions_badly_is_refused_with_every_entry() {
    let (world, cluster) = bound().await;
    let change = json!({"drain": cluster});
    let decisions = json!([
        {"namespace": "story-1"},
        {"name": "placement.ocm", "selector": {}},
        {"selector": {"matchExpressions": [{"key": "team", "operator": "Like", "values": ["a"]}]}},
        {"selector": {"matchLabels": {"team": "not a value"}}},
        {"namespace": "story-1", "name": "placement.ocm"},
    ]);
    let asked = json!({"changes": [change], "decisions": decisions});
    let status = world.review(asked).await.unwrap_err();
    assert_eq!(status.code, 422);
    let causes = status.details.unwrap().causes;
    let fields: Vec<&str> = causes.iter().map(|cause| cause.field.as_str()).collect();
    assert_eq!(
        fields,
        [
            "spec.decisions[0].name",
            "spec.decisions[1].selector",
            "spec.decisions[2].selector.matchExpressions[0].operator",
            "spec.decisions[3].selector.matchLabels",
        ]
    );
    let many: Vec<Value> = (0..101).map(|_| json!({"selector": {}})).collect();
    let asked = json!({"changes": [change], "decisions": many});
    let status = world.review(asked).await.unwrap_err();
    assert_eq!(status.details.unwrap().causes[0].field, "spec.decisions");
}

#[tokio::test]
async fn a_plan_is_refused_with_every_change_that_makes_no_sense() {
    let (world, cluster) = bound().await;
    let cluster = json!({"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": {"name": cluster}});
    let changes = json!([
        {"drain": "nowhere.ocm"},
        {"patch": cluster},
        {"patch": cluster},
        {"delete": {"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster", "name": "nowhere"}},
        {"object": {"apiVersion": "v1", "kind": "Nothing", "metadata": {"name": "x"}}},
    ]);
    let status = world.review(json!({"changes": changes})).await.unwrap_err();
    assert_eq!(status.code, 422);
    let causes = status.details.unwrap().causes;
    let fields: Vec<&str> = causes.iter().map(|cause| cause.field.as_str()).collect();
    for index in [0, 2, 3, 4] {
        let path = format!("spec.changes[{index}]");
        assert!(
            fields.iter().any(|field| field.starts_with(&path)),
            "{path}: {fields:?}"
        );
    }
    assert!(
        !fields.iter().any(|field| field.starts_with("spec.changes[1]")),
        "{fields:?}"
    );
    let many: Vec<Value> = (0..5001).map(|_| json!({"drain": "a.ocm"})).collect();
    let status = world.review(json!({"changes": many})).await.unwrap_err();
    assert_eq!(status.details.unwrap().causes[0].field, "spec.changes");
}

#[tokio::test]
async fn a_plan_needs_the_right_to_read_what_it_tells_of_and_what_it_changes() {
    let (mut world, cluster) = bound().await;
    let change = json!({"patch": {
        "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": {"name": cluster, "labels": {"color": "red"}},
    }});
    let drain = json!({"drain": cluster});
    for denied in [
        "list targets",
        "list decisions",
        "list clusterdecisions",
        "get managedclusters",
    ] {
        world.denied = vec![denied];
        for change in [&change, &drain] {
            let status = world.review(json!({"changes": [change]})).await.unwrap_err();
            assert_eq!(status.code, 403, "{denied}");
        }
    }
    world.denied = Vec::new();
    assert!(world.review(json!({"changes": [drain]})).await.is_ok());
}
