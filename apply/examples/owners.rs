//! Two managers apply a manifest each; prints the object and who owns what.
//!
//! `cargo run -p berth-apply --example owners`

use berth_apply::{Mismatch, Set, Types};
use serde_json::{Value, json};

fn main() -> Result<(), Vec<Mismatch>> {
    let types = Types::of(&meta::Schema::from_value(
        json!({"type": "object", "properties": {"spec": {
        "type": "object", "properties": {
            "image": {"type": "string"},
            "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port"],
                "items": {"type": "object", "properties": {"port": {"type": "integer"}, "name": {"type": "string"}}}},
        }}}}),
    ));
    let manifests = [
        (
            "deployer",
            json!({"spec": {"image": "web:1", "ports": [{"port": 80, "name": "http"}]}}),
        ),
        (
            "mesh",
            json!({"metadata": {"labels": {"mesh": "on"}}, "spec": {"ports": [{"port": 15001}]}}),
        ),
    ];
    let (mut live, mut owners) = (json!({}), Vec::<(&str, Set)>::new());
    for (manager, config) in &manifests {
        let merged = types.merge(&live, config);
        let difference = types.compare(&live, &merged);
        let changed = difference.modified.union(&difference.added);
        for (other, set) in &owners {
            for path in set.intersection(&changed).paths() {
                println!("{manager} conflicts with {other}: {path}");
            }
        }
        owners.push((manager, types.paths(config)?));
        live = merged;
    }
    print(&live, &owners);
    Ok(())
}

fn print(live: &Value, owners: &[(&str, Set)]) {
    println!("{live:#}");
    for (manager, set) in owners {
        println!("{manager} owns {}", set.paths().join(" "));
        println!("  {}", set.encode());
    }
}
