//! Sequences of writes by several managers as data (`src/reference.rs`), each with the observed result of
//! kube-apiserver 1.36: replayed with our implementation and with the reference, which must agree.

use berth_apply::reference::expected::{check, compared_parts};
use berth_apply::reference::{is_for, rows, schema};
use serde_json::{Value, json};

use crate::generate::{Sequence, Step};
use crate::play::World;

/// Action of a step, and its manager.
fn verb(step: &Value) -> (&'static str, &str) {
    let of = |name: &'static str| step[name].as_str().map(|manager| (name, manager));
    let verbs = ["A", "A!", "MP", "PUT", "POST", "SEED"];
    verbs.into_iter().find_map(of).expect("a step does something")
}

/// `step` as a write to `live`.
fn write(step: &Value, live: Option<&Value>, time: i64) -> Step {
    let (verb, manager) = verb(step);
    let version = match step["version"].as_str() {
        Some("v1beta1") => "example.dev/v1beta1",
        _ => "example.dev/v1",
    };
    let mut body = json!({"apiVersion": version, "kind": "Widget", "metadata": {"name": "w"}});
    for part in ["spec", "status"] {
        if let Some(value) = step.get(part) {
            body[part] = value.clone();
        }
    }
    for (name, value) in step["metadata"].as_object().into_iter().flatten() {
        body["metadata"][name] = value.clone();
    }
    let mut object = match (verb, live) {
        ("MP", Some(live)) => {
            let mut merged = live.clone();
            json_patch::merge(&mut merged, &body);
            merged
        }
        ("PUT", Some(live)) => {
            let mut put = live.clone();
            for (name, value) in body["metadata"].as_object().into_iter().flatten() {
                put["metadata"][name] = value.clone();
            }
            for part in ["spec", "status"] {
                if let Some(value) = body.get(part) {
                    put[part] = value.clone();
                }
            }
            put
        }
        ("SEED", _) => {
            body["metadata"]["uid"] = "u1".into();
            body
        }
        _ => body,
    };
    if !matches!(verb, "A" | "A!") {
        // A body is defaulted when it is parsed, and invalid nulls are removed; a configuration is used
        // unchanged.
        berth_apimachinery::Schema::from_value(schema()).default(&mut object);
    }
    if let Some(entries) = step.get("managedFields") {
        object["metadata"]["managedFields"] = entries.clone();
    }
    Step {
        operation: match verb {
            "A" | "A!" => "apply",
            "SEED" => "seed",
            _ => "update",
        },
        manager: manager.to_owned(),
        subresource: if step["to"] == "status" { "status" } else { "" },
        version,
        force: verb == "A!",
        object,
        time,
    }
}

fn name(row: &Value, index: usize) -> String {
    format!("row {}, step {index} ({})", row["row"], row["steps"][index])
}

/// Replays `row` with our implementation: the writes, and the object and the refusal after each.
fn here(row: &Value) -> (Sequence, Vec<(Value, Option<String>)>) {
    let schema = schema();
    let mut world = World::new(&schema);
    let mut sequence = Sequence {
        schema,
        steps: Vec::new(),
    };
    let mut outcomes = Vec::new();
    for (step, time) in row["steps"].as_array().expect("steps are a list").iter().zip(1..) {
        let write = write(step, world.live.as_ref(), time);
        let mut outcome = world.step(&write);
        if let Some(others) = step.get("admission") {
            json_patch::merge(&mut outcome.object, others);
            world
                .live
                .iter_mut()
                .for_each(|live| json_patch::merge(live, others));
        }
        sequence.steps.push(write);
        outcomes.push((outcome.object, outcome.error));
    }
    (sequence, outcomes)
}

#[test]
fn the_rows_end_as_on_kube_apiserver() {
    let rows = rows("crate");
    assert!(rows.len() > 75, "rows are missing");
    for row in rows {
        let mut before = Value::Null;
        for (index, (object, error)) in here(&row).1.into_iter().enumerate() {
            let step = &row["steps"][index];
            check(&name(&row, index), step, &before, &object, error.as_deref());
            before = object;
        }
    }
}

#[test]
#[ignore = "builds a Go program"]
fn the_rows_end_on_the_reference_as_they_say() {
    let rows = rows("reference");
    let played: Vec<_> = rows.iter().map(here).collect();
    let wires = played.iter().map(|(sequence, _)| {
        let mut wire = sequence.wire();
        // kube-apiserver publishes the fields of an embedded object beside the object's schema.
        let pod = &mut wire["schema"]["properties"]["spec"]["properties"]["pod"];
        pod["properties"] = json!({"apiVersion": {"type": "string"}, "kind": {"type": "string"},
            "metadata": {"$ref": berth_apimachinery::object_meta::REFERENCE}});
        wire.to_string()
    });
    let theirs = crate::reference(wires.collect());
    for ((row, (_, ours)), theirs) in rows.iter().zip(&played).zip(&theirs) {
        let mut before = Value::Null;
        for (index, ((object, error), theirs)) in
            ours.iter().zip(theirs.as_array().expect("a list")).enumerate()
        {
            let at = format!("the reference, {}", name(row, index));
            let theirs_error = theirs["error"].as_str();
            check(
                &at,
                &row["steps"][index],
                &before,
                &theirs["object"],
                theirs_error,
            );
            before = theirs["object"].clone();
            // Beyond the row's expectations, everything else is equal too, including times and the order of
            // entries.
            if is_for(row, "crate") {
                assert_eq!(
                    compared_parts(object),
                    compared_parts(&theirs["object"]),
                    "{at}: ours and theirs"
                );
                assert_eq!(error.as_deref(), theirs_error, "{at}: ours and theirs");
                let entries = |object: &Value| object["metadata"]["managedFields"].clone();
                assert_eq!(
                    entries(object),
                    entries(&theirs["object"]),
                    "{at}: ours and theirs"
                );
            }
        }
    }
}
