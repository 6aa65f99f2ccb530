//! Two managers apply a manifest each, the second without and then with force; prints the object and the
//! owners of its fields.
//!
//! `cargo run -p berth-apply --example owners`

use berth_apply::{ApplyError, Managers, Reset, SingleVersion, Types, Writer};
use serde_json::{Value, json};

const VERSION: &str = "example.dev/v1";

fn main() -> Result<(), ApplyError> {
    let types = Types::of(&berth_apimachinery::Schema::from_value(
        json!({"type": "object", "properties": {"spec": {
        "type": "object", "properties": {
            "image": {"type": "string"},
            "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port"],
                "items": {"type": "object", "properties": {"port": {"type": "integer"}, "name": {"type": "string"}}}},
        }}}}),
    ));
    let versions = SingleVersion {
        api_version: VERSION,
        types: &types,
    };
    let deployer = json!({"spec": {"image": "web:1", "ports": [{"port": 80, "name": "http"}]}});
    let mesh = json!({"metadata": {"labels": {"mesh": "on"}}, "spec": {"image": "web:2", "ports": [{"port": 15001}]}});
    let (mut live, mut managers) = (
        json!({"apiVersion": VERSION, "kind": "Widget"}),
        Managers::default(),
    );
    for (manager, config, force) in [
        ("deployer", &deployer, false),
        ("mesh", &mesh, false),
        ("mesh", &mesh, true),
    ] {
        let writer = Writer {
            manager,
            subresource: "",
            api_version: VERSION,
            now: berth_apimachinery::Timestamp::UNIX_EPOCH,
            reset: &Reset::Nothing,
        };
        match managers.clone().apply(&versions, &live, config, &writer, force) {
            Ok(applied) => (live, managers) = (applied.object, applied.managers),
            Err(conflicts @ ApplyError::Conflicts(_)) => println!("{manager}: {conflicts}"),
            Err(other) => return Err(other),
        }
    }
    print(&live, &managers);
    Ok(())
}

fn print(live: &Value, managers: &Managers) {
    println!("{live:#}");
    for (owner, entry) in managers.iter() {
        println!("{owner} owns {}", entry.set.paths().join(" "));
    }
    println!("managedFields: {}", managers.encode());
}
