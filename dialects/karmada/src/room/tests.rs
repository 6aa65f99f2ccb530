//! Figures of the general estimator.

use serde_json::{Value, json};

use super::*;
use crate::testing::{cluster, cluster_value};

fn request(resources: &Value) -> Request {
    let requirements = serde_json::from_value(json!({"resourceRequest": resources})).expect("requirements");
    Request::read(&requirements).expect("quantities")
}

fn free_resources(change: impl FnOnce(&mut Value)) -> FreeResources {
    let mut value = cluster_value("a", 1000);
    value["status"]["resourceSummary"]["allocatable"] =
        json!({"cpu": "16", "memory": "64Gi", "pods": "1000"});
    change(&mut value);
    cluster(&value).free_resources.clone()
}

/// The room of `free_resources` for replicas with these requests.
fn room(free_resources: &FreeResources, request: Option<&Request>) -> Room {
    free_resources.room(request, &free_resources.shape().measure(request))
}

fn models(value: &mut Value) {
    let grades = [(0, "0"), (1, "4Gi"), (2, "16Gi")];
    let models = grades.iter().enumerate().map(|(grade, (cpu, memory))| {
        json!({"grade": grade, "ranges": [
            {"name": "cpu", "min": cpu.to_string(), "max": "128"},
            {"name": "memory", "min": memory, "max": "1024Gi"},
        ]})
    });
    value["spec"]["resourceModels"] = models.collect::<Vec<_>>().into();
    value["status"]["resourceSummary"]["allocatableModelings"] =
        json!([{"grade": 0, "count": 7}, {"grade": 1, "count": 0}, {"grade": 2, "count": 4}]);
}

#[test]
fn the_scarcest_resource_binds() {
    let plain = free_resources(|_| {});
    for (resources, replicas, limit) in [
        (json!({"cpu": "500m"}), 32, RoomLimit::Resource("cpu".into())),
        (json!({"memory": "1Gi"}), 64, RoomLimit::Resource("memory".into())),
        (
            json!({"memory": "1500M"}),
            45,
            RoomLimit::Resource("memory".into()),
        ),
        (json!({"cpu": "1m"}), 1000, RoomLimit::Pods),
        (json!({"cpu": "0"}), 1000, RoomLimit::Pods),
        (
            json!({"nvidia.com/gpu": "1"}),
            0,
            RoomLimit::Missing("nvidia.com/gpu".into()),
        ),
    ] {
        let told = room(&plain, Some(&request(&resources)));
        assert_eq!(told, Room { replicas, limit }, "{resources}");
    }
    assert_eq!(room(&plain, None).replicas, 1000);
}

#[test]
fn what_is_in_use_is_taken_off_and_what_is_not_reported_is_nothing() {
    let used = free_resources(|value| {
        value["status"]["resourceSummary"]["allocated"] = json!({"cpu": "15", "pods": "3"});
        value["status"]["resourceSummary"]["allocating"] = json!({"cpu": "900m", "pods": "7"});
    });
    assert_eq!(room(&used, None).replicas, 990);
    assert_eq!(room(&used, Some(&request(&json!({"cpu": "50m"})))).replicas, 2);
    let full =
        free_resources(|value| value["status"]["resourceSummary"]["allocated"] = json!({"pods": "2000"}));
    assert_eq!(
        room(&full, None),
        Room {
            replicas: 0,
            limit: RoomLimit::Pods
        }
    );
    let silent = free_resources(|value| value["status"] = json!({}));
    assert_eq!(
        room(&silent, None),
        Room {
            replicas: 0,
            limit: RoomLimit::NoSummary
        }
    );
}

#[test]
fn with_models_nodes_are_counted_by_the_least_of_their_size() {
    let modelled = free_resources(models);
    for (resources, replicas, limit) in [
        (json!({"cpu": "500m"}), 16, RoomLimit::Models),
        (json!({"cpu": "3"}), 0, RoomLimit::Models),
        (
            json!({"nvidia.com/gpu": "1"}),
            0,
            RoomLimit::NotModelled("nvidia.com/gpu".into()),
        ),
        (json!({}), 1000, RoomLimit::Pods),
    ] {
        let told = room(&modelled, Some(&request(&resources)));
        assert_eq!(told, Room { replicas, limit }, "{resources}");
    }
}

#[test]
fn a_grade_is_as_wide_as_karmadas() {
    let wide = free_resources(|value| {
        models(value);
        value["spec"]["resourceModels"][2]["grade"] = json!(1_u64 << 40);
        value["status"]["resourceSummary"]["allocatableModelings"][2]["grade"] = json!(1_u64 << 40);
    });
    assert_eq!(room(&wide, Some(&request(&json!({"cpu": "500m"})))).replicas, 16);
}

#[test]
fn an_estimators_answer_counts_where_it_is_smaller_and_about_the_same_request() {
    let answers = json!([
        {"resourceRequest": {"cpu": "0.5"}, "replicas": 5, "at": "2026-01-01T00:00:00Z"},
        {"resourceRequest": {"cpu": "1"}, "replicas": -1},
    ]);
    let answered = free_resources(|value| {
        value["metadata"]["annotations"] = json!({"karmada.berth.dev/estimates": answers.to_string()});
    });
    let told = room(&answered, Some(&request(&json!({"cpu": "500m"}))));
    assert_eq!(told.replicas, 5);
    assert!(matches!(told.limit, RoomLimit::Estimator(_)), "{told:?}");
    assert_eq!(room(&answered, Some(&request(&json!({"cpu": "1"})))).replicas, 16);
}

#[test]
fn answers_that_cannot_be_read_do_not_count_and_leave_the_cluster_in() {
    let request = request(&json!({"cpu": "500m"}));
    for text in [
        "5",
        "[{\"replicas\": \"five\"}]",
        "[{\"resourceRequest\": {\"cpu\": \"much\"}, \"replicas\": 5}]",
    ] {
        let answered = free_resources(|value| {
            value["metadata"]["annotations"] = json!({"karmada.berth.dev/estimates": text});
        });
        assert_eq!(room(&answered, Some(&request)).replicas, 32, "{text}");
        let problem = answered.estimates_problem().expect("the problem is known");
        assert!(
            problem.starts_with("metadata.annotations[karmada.berth.dev/estimates]: "),
            "{problem}"
        );
    }
    assert_eq!(free_resources(|_| {}).estimates_problem(), None);
}

#[test]
fn a_figure_that_is_no_quantity_leaves_the_cluster_out() {
    let mut value = cluster_value("a", 1);
    value["status"]["resourceSummary"]["allocated"] = json!({"pods": "many"});
    let view: Cluster = serde_json::from_value(value.clone()).expect("a cluster");
    let error = FreeResources::read(&view, &crate::testing::object(&value)).expect_err("it is none");
    assert!(
        error.contains("status.resourceSummary.allocated[pods]"),
        "{error}"
    );
}
