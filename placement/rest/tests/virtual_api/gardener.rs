//! Gardener's Shoots: filter, then least loaded, then into the object itself.

use berth_apimachinery::selector::FieldSelector;
use berth_apimachinery::{GroupResource, Key, Timestamp};
use berth_apiserver::{ListQuery, Reply};
use berth_storage::{Scope, Source};
use serde_json::{Value, json};

use super::{World, next, text};
use berth_scheduling_rest::projection::{DECISIONS, TARGETS};

const FLEET: &str = include_str!("../../../../examples/gardener/fleet.yaml");
pub(super) const SHOOTS: GroupResource = GroupResource::new("core.gardener.cloud", "shoots");
const SEEDS: GroupResource = GroupResource::new("core.gardener.cloud", "seeds");

pub(super) fn world() -> World {
    let world = World::new(berth_dialect_registry::by_name("gardener").unwrap());
    world.load(FLEET);
    world
}

pub(super) fn shoot(name: &str, region: &str) -> Value {
    json!({
        "apiVersion": "core.gardener.cloud/v1beta1",
        "kind": "Shoot",
        "metadata": {"name": name, "namespace": "garden-dev", "labels": {"team": "a"}},
        "spec": {
            "cloudProfile": {"kind": "CloudProfile", "name": "aws"},
            "region": region,
            "provider": {"type": "aws", "workers": [{"name": "w", "machine": {"type": "m5.large"}, "minimum": 1, "maximum": 2}]},
            "networking": {"nodes": "10.250.0.0/16"},
            "kubernetes": {"version": "1.34.1"},
        },
    })
}

#[tokio::test]
async fn targets_show_seeds() {
    let world = world();
    let target = world.target("aws-guarded.gardener").await;
    assert_eq!(text(&target, "/spec/clusterName"), "aws-guarded");
    assert_eq!(text(&target, "/spec/sourceRef/kind"), "Seed");
    assert_eq!(text(&target, "/status/region"), "eu-west-1");
    assert_eq!(text(&target, "/status/provider"), "aws");
    assert_eq!(
        text(&target, "/status/taints/0/key"),
        "seed.gardener.cloud/protected"
    );
    assert_eq!(text(&target, "/status/conditions/0/status"), "True");
    assert_eq!(
        text(&target, "/status/conditions/0/lastTransitionTime"),
        "2021-10-28T08:00:00Z"
    );
    assert_eq!(
        text(
            &*world.target("gcp-eu1.gardener").await,
            "/status/conditions/0/status"
        ),
        "Unknown"
    );
    world.remove(&Key::new(SEEDS, "", "gcp-eu1"));
    assert!(world.get(TARGETS, "", "gcp-eu1.gardener").await.is_none());
}

#[tokio::test]
async fn a_shoot_goes_from_pending_to_bound_and_watchers_see_it() {
    let world = world();
    let key = world.put(shoot("foo", "eu-west-1"));
    let decision = world.get(DECISIONS, "garden-dev", "foo.gardener").await.unwrap();
    assert_eq!(text(decision.value(), "/status/phase"), "Pending");
    assert_eq!(decision.meta().labels().get("team"), Some("a"));
    let mut watch = world
        .api
        .projection()
        .watch(Scope::One(DECISIONS), decision.revision())
        .unwrap();

    let report = world.scheduling("garden-dev", "foo.gardener").await;
    assert_eq!(text(&report, "/status/outcome"), "Scheduled");
    let picked = text(&report, "/status/picked/0/clusterName").to_owned();

    let bound = world
        .bind(&world.call("garden-dev", "foo.gardener"), &[])
        .await
        .unwrap();
    assert_eq!(text(&bound, "/status/outcome"), "Scheduled");
    assert_eq!(text(&bound, "/status/decisions/0/clusterName"), picked);
    assert_eq!(world.stored(&key).unwrap().value()["spec"]["seedName"], *picked);

    let event = next(&mut watch, "foo.gardener").await;
    let seen = event.change.new.as_ref().unwrap().value();
    assert_eq!(text(seen, "/status/phase"), "Bound");
    assert_eq!(text(seen, "/status/decisions/0/clusterName"), picked);
    assert_eq!(text(seen, "/status/conditions/0/type"), "Bound");
    assert_eq!(text(seen, "/status/conditions/0/status"), "True");
    assert_eq!(
        text(seen, "/status/conditions/0/lastTransitionTime"),
        "2021-10-28T09:00:00Z"
    );

    let again = world
        .bind(&world.call("garden-dev", "foo.gardener"), &[])
        .await
        .unwrap();
    assert_eq!(text(&again, "/status/outcome"), "Unchanged");
    let target = world.target(&format!("{picked}.gardener")).await;
    assert_eq!(target.pointer("/status/capacity/0/used"), Some(&json!(1)));
}

#[tokio::test]
async fn an_unschedulable_shoot_becomes_pending_when_a_seed_fits_and_a_no_op_is_no_event() {
    let world = world();
    world.put(shoot("far", "sa-east-1"));
    let decision = world.decision("garden-dev", "far.gardener").await;
    assert_eq!(text(&decision, "/status/phase"), "Unschedulable");
    assert_eq!(text(&decision, "/status/reason"), "NoSuitableSeed");
    assert!(!text(&decision, "/status/message").is_empty());
    let counts = decision["status"]["rejections"].as_array().unwrap();
    assert!(
        counts.iter().any(|count| count["reason"] == "NotSameRegion"),
        "{counts:?}"
    );

    let refused = world
        .bind(&world.call("garden-dev", "far.gardener"), &[])
        .await
        .unwrap_err();
    assert_eq!(refused.code, 422);
    assert!(
        refused.message.contains("nothing was bound"),
        "{}",
        refused.message
    );

    let before = world
        .get(DECISIONS, "garden-dev", "far.gardener")
        .await
        .unwrap()
        .revision();
    world.edit(&Key::new(SEEDS, "", "gcp-eu1"), |seed| {
        seed["metadata"]["annotations"] = json!({"a": "b"})
    });
    let after = world
        .get(DECISIONS, "garden-dev", "far.gardener")
        .await
        .unwrap()
        .revision();
    assert_eq!(before, after);

    world.edit(&Key::new(SEEDS, "", "aws-us1"), |seed| {
        seed["spec"]["provider"]["region"] = "sa-east-1".into()
    });
    let decision = world.decision("garden-dev", "far.gardener").await;
    assert_eq!(text(&decision, "/status/phase"), "Pending");
    assert!(decision["status"].get("rejections").is_none());
}

#[tokio::test]
async fn a_dry_run_answers_and_stores_nothing() {
    let world = world();
    let key = world.put(shoot("foo", "eu-west-1"));
    let mut call = world.call("garden-dev", "foo.gardener");
    call.dry_run = true;
    let bound = world.bind(&call, &[]).await.unwrap();
    assert_eq!(text(&bound, "/status/outcome"), "Scheduled");
    assert!(
        world.stored(&key).unwrap().value()["spec"]
            .get("seedName")
            .is_none()
    );
}

#[tokio::test]
async fn targets_can_be_chosen_and_unfit_ones_are_refused_one_by_one() {
    let world = world();
    let key = world.put(shoot("foo", "eu-west-1"));
    let call = world.call("garden-dev", "foo.gardener");
    for unfit in ["aws-guarded.gardener", "nowhere.gardener", "aws-us1"] {
        let status = world.bind(&call, &[unfit]).await.unwrap_err();
        assert_eq!((status.code, status.reason.as_str()), (422, "Invalid"), "{unfit}");
        let causes = status.details.unwrap().causes;
        assert_eq!(causes[0].field, "spec.targets[0]", "{unfit}");
    }
    let twice = world
        .bind(&call, &["aws-eu2", "aws-eu2.gardener"])
        .await
        .unwrap_err();
    assert_eq!(twice.details.unwrap().causes[0].reason, "FieldValueDuplicate");
    world.bind(&call, &["aws-eu2.gardener"]).await.unwrap();
    assert_eq!(world.stored(&key).unwrap().value()["spec"]["seedName"], "aws-eu2");
}

#[tokio::test]
async fn binding_a_shoot_takes_the_rights_of_both_ways() {
    let mut world = world();
    world.put(shoot("foo", "eu-west-1"));
    let body = json!({"metadata": {"name": "foo.gardener"}, "spec": {}});
    for (denied, word) in [
        ("update shoots/binding", "shoots"),
        ("create decisions/binding", "decisions"),
    ] {
        world.denied = vec![denied];
        let call = world.call("garden-dev", "");
        let status = world
            .computed("bindings")
            .create(&call, body.clone())
            .await
            .unwrap_err();
        assert_eq!(status.code, 403, "{denied}");
        assert!(status.message.contains(word), "{}", status.message);
    }
    world.denied = Vec::new();
    let call = world.call("garden-dev", "");
    let Reply::Value(bound) = world.computed("bindings").create(&call, body).await.unwrap() else {
        panic!()
    };
    assert_eq!(bound["metadata"]["name"], "foo.gardener");
    let read = world.call("garden-dev", "foo.gardener");
    let read = super::value(
        world
            .sub(DECISIONS, "binding", &read, "get", Value::Null)
            .await
            .unwrap(),
    );
    assert_eq!(text(&read, "/status/phase"), "Bound");
    assert_eq!(read["spec"]["targets"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn shoots_binding_is_gardeners_own() {
    let world = world();
    let key = world.put(shoot("foo", "eu-west-1"));
    let call = world.call("garden-dev", "foo");
    let put = |seed: &str| {
        let mut body = world.stored(&key).unwrap().parse();
        body["spec"]["seedName"] = seed.into();
        body
    };
    let unknown = world
        .sub(SHOOTS, "binding", &call, "update", put("nowhere"))
        .await
        .unwrap_err();
    assert_eq!(unknown.code, 422);
    let tainted = world
        .sub(SHOOTS, "binding", &call, "update", put("aws-guarded"))
        .await
        .unwrap_err();
    assert_eq!(tainted.details.unwrap().causes[0].field, "spec.seedName");
    for version in [Value::Null, "".into(), "0".into()] {
        let mut blind = put("aws-us1");
        blind["metadata"]["resourceVersion"] = version;
        let blind = world
            .sub(SHOOTS, "binding", &call, "update", blind)
            .await
            .unwrap_err();
        assert_eq!(blind.details.unwrap().causes[0].field, "metadata.resourceVersion");
    }
    let stale = put("aws-us1");
    world.edit(&key, |shoot| shoot["metadata"]["annotations"] = json!({"a": "b"}));
    let stale = world
        .sub(SHOOTS, "binding", &call, "update", stale)
        .await
        .unwrap_err();
    assert_eq!((stale.code, stale.reason.as_str()), (409, "Conflict"));
    // By hand a far seed may be bound: region is not among Gardener's checks there.
    let bound = super::value(
        world
            .sub(SHOOTS, "binding", &call, "update", put("aws-us1"))
            .await
            .unwrap(),
    );
    assert_eq!(text(&bound, "/spec/seedName"), "aws-us1");
    assert_eq!(bound["kind"], "Shoot");
    let decision = world.decision("garden-dev", "foo.gardener").await;
    assert_eq!(text(&decision, "/status/decisions/0/clusterName"), "aws-us1");
}

#[tokio::test]
async fn candidates_are_listed_by_decision_and_read_by_name() {
    let world = world();
    world.put(shoot("foo", "eu-west-1"));
    world.put(shoot("bar", "eu-west-1"));
    let query = |text: &str| ListQuery {
        fields: FieldSelector::parse(text).unwrap(),
        ..ListQuery::default()
    };
    let of_foo = world
        .candidates("garden-dev", &query("decision=foo.gardener"))
        .await
        .unwrap();
    assert_eq!(of_foo.len(), 5);
    let all = world.candidates("", &ListQuery::default()).await.unwrap();
    assert_eq!(all.len(), 10);
    let picked = world
        .candidates("garden-dev", &query("decision=foo.gardener,picked=true"))
        .await
        .unwrap();
    assert_eq!(picked.len(), 1);
    let name = of_foo[0].meta().name();
    assert_eq!(name, "foo.gardener:aws-eu1");
    let one = world
        .computed("candidates")
        .get(&world.call("garden-dev", name))
        .await
        .unwrap();
    assert_eq!(one.meta().uid(), of_foo[0].meta().uid());
    let kind = &world.resource("scheduling.berth.dev", "candidates").kind;
    let mut cells = Vec::new();
    one.cells(&**kind).write(Timestamp::UNIX_EPOCH, &mut cells);
    let cells: Vec<Value> = serde_json::from_slice(&[b"[", &cells[..], b"]"].concat()).unwrap();
    assert_eq!(cells.len(), kind.columns().len());
    for missing in ["foo.gardener:nowhere", "nobody.gardener:aws-eu1", "foo"] {
        let status = world
            .computed("candidates")
            .get(&world.call("garden-dev", missing))
            .await
            .unwrap_err();
        assert_eq!(status.code, 404, "{missing}");
    }
    for missing in ["decision=nobody.gardener", "decision=foo", "decision=foo.ocm"] {
        let none = world.candidates("garden-dev", &query(missing)).await.unwrap();
        assert!(none.is_empty(), "{missing}");
    }
}

/// An empty list would say that no cluster was looked at.
#[tokio::test]
async fn candidates_of_a_decision_are_not_listed_while_its_system_is_not_complete() {
    let world = world();
    world.put(shoot("foo", "eu-west-1"));
    let query = ListQuery {
        fields: FieldSelector::parse("decision=foo.gardener").unwrap(),
        ..ListQuery::default()
    };
    world
        .engine
        .hold("gardener", Some("seeds are not listed yet".to_owned()));
    let status = world.candidates("garden-dev", &query).await.unwrap_err();
    assert_eq!(status.code, 503);
    assert!(
        status.message.contains("seeds are not listed yet"),
        "{}",
        status.message
    );
    world.engine.hold("gardener", None);
    assert_eq!(world.candidates("garden-dev", &query).await.unwrap().len(), 5);
}

#[tokio::test]
async fn a_list_of_more_than_ten_thousand_candidates_is_refused_with_a_hint() {
    let world = world();
    for number in 0..2001 {
        world.put(shoot(&format!("s{number:04}"), "eu-west-1"));
    }
    let status = world
        .candidates("garden-dev", &ListQuery::default())
        .await
        .unwrap_err();
    assert_eq!(status.code, 400);
    assert!(status.message.contains("decision=<name>"), "{}", status.message);
    let query = ListQuery {
        fields: FieldSelector::parse("decision=s0001.gardener").unwrap(),
        ..ListQuery::default()
    };
    assert_eq!(world.candidates("garden-dev", &query).await.unwrap().len(), 5);
}

#[tokio::test]
async fn a_plan_of_a_new_shoot_that_contradicts_other_objects_is_refused() {
    let world = world();
    let good = json!({"changes": [{"object": shoot("foo", "eu-west-1")}]});
    let review = world.review(good).await.unwrap();
    assert_eq!(text(&review, "/status/plan/entries/0/verdict"), "Bound");
    let mut foreign = shoot("foo", "eu-west-1");
    foreign["spec"]["cloudProfile"]["name"] = "gcp".into();
    let status = world
        .review(json!({"changes": [{"object": foreign}]}))
        .await
        .unwrap_err();
    assert_eq!(status.code, 422);
    let causes = status.details.unwrap().causes;
    assert_eq!(causes[0].field, "spec.changes[0].object.spec.provider.type");
}

#[tokio::test]
async fn decisions_of_one_name_in_many_namespaces_have_too_many_candidates_too() {
    let world = world();
    for number in 0..2001 {
        let mut shoot = shoot("foo", "eu-west-1");
        shoot["metadata"]["namespace"] = format!("garden-{number:04}").into();
        world.put(shoot);
    }
    world.put(shoot("bar", "eu-west-1"));
    let query = |text: &str| ListQuery {
        fields: FieldSelector::parse(text).unwrap(),
        ..ListQuery::default()
    };
    let foo = query("decision=foo.gardener");
    let status = world.candidates("", &foo).await.unwrap_err();
    assert_eq!(status.code, 400);
    assert!(status.message.contains("single namespace"), "{}", status.message);
    assert_eq!(world.candidates("garden-0001", &foo).await.unwrap().len(), 5);
    let bar = query("decision=bar.gardener");
    assert_eq!(world.candidates("", &bar).await.unwrap().len(), 5);
}

#[tokio::test]
async fn unknown_names_are_not_found_under_the_name_asked_for() {
    let world = world();
    for name in ["foo.gardener", "foo.nothing", "foo", "."] {
        let call = world.call("garden-dev", name);
        let status = world
            .sub(DECISIONS, "scheduling", &call, "get", Value::Null)
            .await
            .unwrap_err();
        assert_eq!(status.code, 404);
        assert_eq!(
            status.message,
            format!("decisions.scheduling.berth.dev \"{name}\" not found")
        );
    }
    let call = world.call("garden-dev", "foo");
    let status = world
        .sub(SHOOTS, "scheduling", &call, "get", Value::Null)
        .await
        .unwrap_err();
    assert_eq!(status.message, "shoots.core.gardener.cloud \"foo\" not found");
}
