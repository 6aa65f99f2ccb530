//! Defaults, refusals and columns.

use berth_apimachinery::{Revision, Timestamp, WriteOperation};
use serde_json::json;

use super::*;

fn write(old: Option<&Value>) -> Write<'_> {
    Write {
        operation: if old.is_some() {
            WriteOperation::Update
        } else {
            WriteOperation::Create
        },
        old,
        now: Timestamp::UNIX_EPOCH,
    }
}

fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "app"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web", "tier": "front"}},
                "spec": {"containers": [{"name": "web", "image": "web:1", "livenessProbe": {"exec": {}}}]},
            },
        },
    })
}

fn settled(mut deployment: Value) -> Value {
    Deployment.schema("v1").default(&mut deployment);
    Deployment.prepare(&write(None), &mut deployment);
    deployment
}

fn errors(old: Option<&Value>, deployment: &Value) -> Vec<String> {
    let deployment = settled(deployment.clone());
    let mut errors = Deployment.schema("v1").validate(&deployment);
    errors.extend(Deployment.validate(&write(old), &deployment));
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn numbers_and_the_strategy_are_filled_in_and_everything_else_is_kept() {
    let settled = settled(deployment());
    let spec = &settled["spec"];
    assert_eq!(spec["replicas"], 1);
    assert_eq!(spec["revisionHistoryLimit"], 10);
    assert_eq!(spec["progressDeadlineSeconds"], 600);
    let rolling =
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}});
    assert_eq!(spec["strategy"], rolling);
    assert_eq!(
        spec["template"]["spec"]["containers"][0]["livenessProbe"],
        json!({"exec": {}})
    );
    assert!(Deployment.schema("v1").unknown_fields(&settled).is_empty());
    assert!(errors(None, &deployment()).is_empty());
}

#[test]
fn what_no_cluster_would_take_is_refused() {
    for (pointer, value, wanted) in [
        (
            "/spec/replicas",
            json!(-1),
            "spec.replicas: Invalid value: -1: must be greater than",
        ),
        ("/spec/selector", json!({}), "spec.selector: Invalid value"),
        (
            "/spec/selector",
            json!({"matchLabels": {"app": "other"}}),
            "spec.template.metadata.labels: Invalid value",
        ),
        (
            "/spec/template/spec/containers",
            json!([]),
            "spec.template.spec.containers: Required value",
        ),
        (
            "/spec/template/spec/containers",
            json!([{"name": "Web", "image": "x"}]),
            "spec.template.spec.containers[0].name: Invalid value",
        ),
        (
            "/spec/template/spec/containers",
            json!([{"name": "web"}]),
            "spec.template.spec.containers[0].image: Required value",
        ),
        (
            "/spec/template/spec/restartPolicy",
            json!("Never"),
            "spec.template.spec.restartPolicy: Unsupported value",
        ),
        (
            "/spec/strategy",
            json!({"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}),
            "spec.strategy.rollingUpdate: Forbidden",
        ),
        (
            "/spec/strategy",
            json!({"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}),
            "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"0%\": may not be 0",
        ),
        (
            "/spec/strategy",
            json!({"rollingUpdate": {"maxSurge": "lots"}}),
            "spec.strategy.rollingUpdate.maxSurge: Invalid value: \"lots\": a valid percent",
        ),
        (
            "/spec/progressDeadlineSeconds",
            json!(0),
            "spec.progressDeadlineSeconds: Invalid value: 0: must be greater than minReadySeconds",
        ),
    ] {
        let mut odd = deployment();
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        odd.pointer_mut(parent).unwrap()[field] = value.clone();
        let found = errors(None, &odd);
        assert_eq!(found.len(), 1, "{pointer} {value}: {found:?}");
        assert!(found[0].starts_with(wanted), "{}", found[0]);
    }
}

#[test]
fn the_selector_stays_as_it_was() {
    let old = settled(deployment());
    let mut new = deployment();
    new["spec"]["selector"] = json!({"matchLabels": {"tier": "front"}});
    let found = errors(Some(&old), &new);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].ends_with("field is immutable"), "{}", found[0]);
}

#[test]
fn the_row_shows_how_many_are_ready_of_how_many() {
    let mut deployment = settled(deployment());
    deployment["spec"]["replicas"] = 3.into();
    deployment["status"] = json!({"readyReplicas": 2, "updatedReplicas": 3, "availableReplicas": 1});
    let row = Deployment.row(&Object::new(&deployment, Revision(1)).unwrap());
    assert_eq!(row[..4], [Cell::from("web"), "2/3".into(), 3.into(), 1.into()]);
    assert_eq!(row[5..], ["web", "web:1", "app=web"].map(Cell::from));
}

#[test]
fn a_selector_reads_as_kubectl_takes_it() {
    let expressions = json!([{"key": "a", "operator": "In", "values": ["x", "y"]}, {"key": "b", "operator": "Exists"},
        {"key": "c", "operator": "DoesNotExist"}, {"key": "d", "operator": "NotIn", "values": ["z"]}]);
    let deployment =
        json!({"spec": {"selector": {"matchLabels": {"app": "web"}, "matchExpressions": expressions}}});
    assert_eq!(
        scale::selector_text(&deployment),
        "app=web,a in (x,y),b,!c,d notin (z)"
    );
}

#[test]
fn a_field_beside_the_spec_that_nobody_knows_is_unknown() {
    let mut deployment = deployment();
    deployment["nope"] = 1.into();
    deployment["spec"]["newer"] = 1.into();
    assert_eq!(Deployment.schema("v1").unknown_fields(&deployment), ["nope"]);
}
