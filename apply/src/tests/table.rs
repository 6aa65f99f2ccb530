//! What each manager comes to own and what becomes of the object, as data: the steps of a sequence, each with what is to be
//! seen after it.
//!
//! A step has one of `apply`, `force`, `put` and `merge` with the manager's name, and `spec`, or `object` where it is about
//! more. `refused` are the conflicts it meets, `noop` says whether it leaves object and owners as they were, `is` are values by
//! their place in spec, `owns` is what managers own of spec.

use serde_json::{Value, json};

use super::World;

const ROWS: &[(&str, &str)] = &[
    (
        "an applier owns what it wrote, items by themselves, and no default",
        r#"[{"apply": "a", "spec": {"image": "i", "ports": [{"port": 80}], "env": [{"name": "X", "value": "1"}]},
             "is": {"/replicas": 1, "/ports/0/protocol": "TCP"},
             "owns": {"a": {"f:image": {}, "f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}},
                            "f:env": {"k:{\"name\":\"X\"}": {".": {}, "f:name": {}, "f:value": {}}}}}}]"#,
    ),
    (
        "a creator owns defaults and containers, too",
        r#"[{"put": "c", "spec": {"tags": ["b", "a"], "ports": [{"port": 80}]},
             "owns": {"c": {".": {}, "f:replicas": {}, "f:tags": {".": {}, "v:\"a\"": {}, "v:\"b\"": {}},
                            "f:ports": {".": {}, "k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}, "f:protocol": {}}}}}}]"#,
    ),
    (
        "the same applied again is no write",
        r#"[{"apply": "a", "spec": {"image": "i"}}, {"apply": "a", "spec": {"image": "i"}, "noop": true}]"#,
    ),
    (
        "the same by another is shared",
        r#"[{"apply": "a", "spec": {"image": "i"}},
            {"apply": "b", "spec": {"image": "i"}, "noop": false, "owns": {"a": {"f:image": {}}, "b": {"f:image": {}}}}]"#,
    ),
    (
        "another value is a conflict and changes nothing; forced, the field is the other's",
        r#"[{"apply": "a", "spec": {"image": "i"}},
            {"apply": "b", "spec": {"image": "j"}, "refused": ["a .spec.image"], "is": {"/image": "i"}},
            {"force": "b", "spec": {"image": "j"}, "is": {"/image": "j"}, "owns": {"a": null, "b": {"f:image": {}}}}]"#,
    ),
    (
        "who lost a field keeps the others and meets the winner",
        r#"[{"apply": "a", "spec": {"image": "i", "note": "n"}}, {"force": "b", "spec": {"image": "j"}},
            {"apply": "a", "spec": {"image": "i", "note": "n"}, "refused": ["b .spec.image"], "owns": {"a": {"f:note": {}}}}]"#,
    ),
    (
        "what is given up goes, and a default comes back that nobody owns",
        r#"[{"apply": "a", "spec": {"image": "i", "note": "n", "replicas": 3}},
            {"apply": "a", "spec": {"image": "i"}, "is": {"/note": null, "/replicas": 1}, "owns": {"a": {"f:image": {}}}},
            {"apply": "b", "spec": {"replicas": 4}, "is": {"/replicas": 4}}]"#,
    ),
    (
        "what another applier owns stays until it gives it up, too",
        r#"[{"apply": "a", "spec": {"image": "i", "note": "n"}}, {"apply": "b", "spec": {"note": "n"}},
            {"apply": "a", "spec": {"image": "i"}, "is": {"/note": "n"}},
            {"apply": "b", "spec": {}, "is": {"/note": null}, "owns": {"b": {}}}]"#,
    ),
    (
        "what an updater owns is not pruned",
        r#"[{"put": "u", "spec": {"image": "i", "note": "n"}}, {"apply": "a", "spec": {"image": "i"}},
            {"apply": "a", "spec": {}, "is": {"/image": "i", "/note": "n"}}]"#,
    ),
    (
        "force takes a shared field from all who share it",
        r#"[{"apply": "a", "spec": {"image": "i"}}, {"apply": "b", "spec": {"image": "i"}},
            {"force": "c", "spec": {"image": "j"}, "owns": {"a": null, "b": null, "c": {"f:image": {}}}}]"#,
    ),
    (
        "one of two who share cannot change it alone, and can once the other gave it up",
        r#"[{"apply": "a", "spec": {"image": "i"}}, {"apply": "b", "spec": {"image": "i"}},
            {"apply": "a", "spec": {"image": "j"}, "refused": ["b .spec.image"]},
            {"apply": "a", "spec": {"note": "n"}}, {"apply": "b", "spec": {"image": "j"}, "is": {"/image": "j"}}]"#,
    ),
    (
        "an update takes a field away without a conflict, and is one in the next apply",
        r#"[{"apply": "a", "spec": {"image": "i"}}, {"merge": "u", "spec": {"image": "j"}, "owns": {"a": null}},
            {"apply": "a", "spec": {"image": "i"}, "refused": ["u .spec.image"]},
            {"apply": "a", "spec": {"image": "j"}, "owns": {"a": {"f:image": {}}, "u": {"f:image": {}}}}]"#,
    ),
    (
        "one name is two owners by apply and by update",
        r#"[{"apply": "m", "spec": {"image": "i"}}, {"merge": "m", "spec": {"image": "j"}},
            {"apply": "m", "spec": {"image": "i"}, "refused": ["m .spec.image"]}]"#,
    ),
    (
        "an update of the object as it is makes nobody an owner",
        r#"[{"apply": "a", "spec": {"image": "i"}}, {"merge": "u", "spec": {"image": "i"}, "noop": true, "owns": {"u": null}}]"#,
    ),
    (
        "who only takes away owns nothing",
        r#"[{"apply": "a", "spec": {"image": "i", "note": "n"}},
            {"merge": "u", "spec": {"note": null}, "owns": {"a": {"f:image": {}}, "u": null}}]"#,
    ),
    (
        "applied items keep their order and those of others their place",
        r#"[{"put": "u", "spec": {"env": [{"name": "A"}, {"name": "B"}, {"name": "C"}]}},
            {"apply": "a", "spec": {"env": [{"name": "C"}, {"name": "A"}]},
             "is": {"/env": [{"name": "B"}, {"name": "C"}, {"name": "A"}]}},
            {"apply": "a", "spec": {"env": [{"name": "X"}, {"name": "C"}, {"name": "A"}]},
             "is": {"/env": [{"name": "B"}, {"name": "X"}, {"name": "C"}, {"name": "A"}]}},
            {"apply": "a", "spec": {"env": [{"name": "C"}, {"name": "Y"}, {"name": "A"}]},
             "is": {"/env": [{"name": "B"}, {"name": "C"}, {"name": "Y"}, {"name": "A"}]}}]"#,
    ),
    (
        "the last who applies decides the order",
        r#"[{"apply": "a", "spec": {"env": [{"name": "A"}, {"name": "C"}]}}, {"apply": "b", "spec": {"env": [{"name": "B"}]}},
            {"apply": "b", "spec": {"env": [{"name": "B"}, {"name": "A"}]}, "is": {"/env/0/name": "C", "/env/1/name": "B"}},
            {"apply": "b", "spec": {"env": [{"name": "A"}, {"name": "B"}]}, "is": {"/env/0/name": "C", "/env/1/name": "A"}},
            {"apply": "a", "spec": {"env": [{"name": "C"}, {"name": "A"}]}, "noop": true}]"#,
    ),
    (
        "nobody owns the order that an update gives",
        r#"[{"apply": "a", "spec": {"env": [{"name": "A"}, {"name": "B"}]}},
            {"merge": "u", "spec": {"env": [{"name": "B"}, {"name": "A"}]}, "owns": {"u": null}, "is": {"/env/0/name": "B"}},
            {"apply": "a", "spec": {"env": [{"name": "A"}, {"name": "B"}]}, "is": {"/env/0/name": "A"}}]"#,
    ),
    (
        "sets hold what anybody put in",
        r#"[{"apply": "a", "spec": {"tags": ["x", "y"]}},
            {"apply": "b", "spec": {"tags": ["y", "z"]}, "is": {"/tags": ["x", "y", "z"]}},
            {"apply": "a", "spec": {"tags": ["x"]}, "is": {"/tags": ["x", "y", "z"]}},
            {"apply": "b", "spec": {}, "is": {"/tags": ["x"]}}]"#,
    ),
    (
        "an atomic list is one value",
        r#"[{"apply": "a", "spec": {"args": ["1", "2"]}},
            {"apply": "b", "spec": {"args": ["2", "1"]}, "refused": ["a .spec.args"]},
            {"apply": "b", "spec": {"args": ["1", "2"]}, "owns": {"a": {"f:args": {}}}},
            {"force": "b", "spec": {"args": ["3"]}, "is": {"/args": ["3"]}, "owns": {"a": null}}]"#,
    ),
    (
        "a key that is left out has its default, and conflicts name the item by all keys",
        r#"[{"apply": "a", "spec": {"ports": [{"port": 80, "name": "x"}]}},
            {"apply": "b", "spec": {"ports": [{"port": 80, "protocol": "TCP", "name": "y"}]},
             "refused": ["a .spec.ports[port=80,protocol=\"TCP\"].name"]},
            {"apply": "b", "spec": {"ports": [{"port": 80, "protocol": "TCP", "weight": 3}]}},
            {"apply": "a", "spec": {"ports": []}, "is": {"/ports": [{"port": 80, "protocol": "TCP", "weight": 3}]}},
            {"apply": "b", "spec": {"ports": [{"port": 80, "protocol": "UDP"}]}, "is": {"/ports": [{"port": 80, "protocol": "UDP"}]}}]"#,
    ),
    (
        "items that differ in one key are two",
        r#"[{"apply": "a", "spec": {"ports": [{"port": 53, "name": "t"}, {"port": 53, "protocol": "UDP", "name": "u"}]},
             "is": {"/ports/0/protocol": "TCP", "/ports/1/protocol": "UDP"},
             "owns": {"a": {"f:ports": {"k:{\"port\":53,\"protocol\":\"TCP\"}": {".": {}, "f:name": {}, "f:port": {}},
                 "k:{\"port\":53,\"protocol\":\"UDP\"}": {".": {}, "f:name": {}, "f:port": {}, "f:protocol": {}}}}}}]"#,
    ),
    (
        "an item goes with its last owner, whatever others own inside it",
        r#"[{"apply": "a", "spec": {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}},
            {"merge": "u", "spec": {"env": [{"name": "A", "value": "1", "from": {"key": "k"}}, {"name": "B", "value": "2"}]}},
            {"apply": "a", "spec": {"env": [{"name": "B", "value": "2"}]},
             "is": {"/env": [{"name": "B", "value": "2"}]}, "owns": {"u": null}}]"#,
    ),
    (
        "an item that another owns stays without what the first wrote in it",
        r#"[{"apply": "a", "spec": {"env": [{"name": "A", "from": {"key": "k"}}]}},
            {"apply": "b", "spec": {"env": [{"name": "A", "value": "v"}]}},
            {"apply": "a", "spec": {"env": []}, "is": {"/env": [{"name": "A", "value": "v"}]}}]"#,
    ),
    (
        "an update of one field of an item owns that field alone",
        r#"[{"apply": "a", "spec": {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}},
            {"merge": "u", "spec": {"env": [{"name": "B", "value": "3"}]},
             "owns": {"a": {"f:env": {"k:{\"name\":\"B\"}": {".": {}, "f:name": {}}}},
                      "u": {"f:env": {"k:{\"name\":\"B\"}": {"f:value": {}}}}}}]"#,
    ),
    (
        "a struct goes with its defaults once nobody owns anything in it",
        r#"[{"apply": "a", "spec": {"template": {"a": "1"}}, "is": {"/template/b": "bb"}},
            {"apply": "a", "spec": {}, "is": {"/template": null}}]"#,
    ),
    (
        "a struct stays with what another owns in it",
        r#"[{"apply": "a", "spec": {"template": {"a": "1", "inner": {"x": 1}}}},
            {"apply": "b", "spec": {"template": {"inner": {"x": 1}}}},
            {"apply": "a", "spec": {}, "is": {"/template": {"b": "bb", "inner": {"x": 1}}}}]"#,
    ),
    (
        "a struct stays for the default that an updater changed",
        r#"[{"apply": "a", "spec": {"template": {"a": "1"}}}, {"merge": "u", "spec": {"template": {"b": "B"}}},
            {"apply": "a", "spec": {"image": "i"}, "is": {"/template": {"b": "B"}}}]"#,
    ),
    (
        "an update that takes a struct away takes what was owned in it",
        r#"[{"apply": "a", "spec": {"template": {"a": "1", "inner": {"x": 1}}}},
            {"merge": "u", "spec": {"template": null}, "owns": {"a": null}}]"#,
    ),
    (
        "an applied empty struct is owned, and holds it",
        r#"[{"apply": "a", "spec": {"template": {}}, "is": {"/template": {"b": "bb"}}, "owns": {"a": {"f:template": {}}}},
            {"apply": "b", "spec": {"template": {"a": "1"}}},
            {"apply": "a", "spec": {}, "is": {"/template": {"a": "1", "b": "bb"}}},
            {"apply": "b", "spec": {"template": {}}, "is": {"/template": {"b": "bb"}}},
            {"apply": "b", "spec": {}, "is": {"/template": null}}]"#,
    ),
    (
        "an applied empty struct over a filled one is no conflict",
        r#"[{"put": "c", "spec": {"template": {"a": "1"}}}, {"apply": "a", "spec": {"template": {}}, "is": {"/template/a": "1"}}]"#,
    ),
    (
        "maps are owned by their keys",
        r#"[{"apply": "a", "spec": {"data": {"k1": "v"}}}, {"apply": "b", "spec": {"data": {"k2": "v"}}, "is": {"/data": {"k1": "v", "k2": "v"}}},
            {"apply": "a", "spec": {}, "is": {"/data": {"k2": "v"}}},
            {"apply": "b", "spec": {"data": {}}, "owns": {"b": {"f:data": {}}}}]"#,
    ),
    (
        "a map of structs is owned by key and by field",
        r#"[{"apply": "a", "spec": {"pools": {"p": {"min": 1}}}, "owns": {"a": {"f:pools": {"f:p": {".": {}, "f:min": {}}}}}},
            {"apply": "b", "spec": {"pools": {"p": {"max": 2}}}, "is": {"/pools/p": {"min": 1, "max": 2}}},
            {"apply": "a", "spec": {}, "is": {"/pools/p": {"max": 2}}},
            {"apply": "b", "spec": {}, "is": {"/pools": null}}]"#,
    ),
    (
        "what no schema describes is granular but for its lists",
        r#"[{"apply": "a", "spec": {"open": {"x": {"y": 1, "l": [{"name": "q"}]}}}}, {"apply": "b", "spec": {"open": {"x": {"z": 1}}}},
            {"apply": "b", "spec": {"open": {"x": {"l": [{"name": "r"}]}}}, "refused": ["a .spec.open.x.l"]}]"#,
    ),
    (
        "an untyped place may change what it holds",
        r#"[{"apply": "a", "spec": {"any": 5}}, {"force": "b", "spec": {"any": {"x": 1}}, "is": {"/any": {"x": 1}}},
            {"apply": "c", "spec": {"any": {"y": 1}}, "is": {"/any": {"x": 1, "y": 1}}},
            {"force": "c", "spec": {"any": [1]}, "is": {"/any": [1]}, "owns": {"a": null, "b": null, "c": {"f:any": {}}}}]"#,
    ),
    (
        "a text and a number differ, whole and broken numbers of one value do not",
        r#"[{"apply": "a", "spec": {"size": "5"}}, {"apply": "b", "spec": {"size": 5}, "refused": ["a .spec.size"]},
            {"force": "a", "spec": {"size": 5}}, {"apply": "b", "spec": {"size": 5.0}, "owns": {"a": {"f:size": {}}, "b": {"f:size": {}}}}]"#,
    ),
    (
        "null is a value that is owned, where the schema takes it",
        r#"[{"apply": "a", "spec": {"note": null}, "owns": {"a": {"f:note": {}}}},
            {"apply": "a", "spec": {"replicas": null}, "is": {"/replicas": 1}, "owns": {"a": {"f:replicas": {}}}}]"#,
    ),
    (
        "null over a filled struct changes nothing and is owned",
        r#"[{"apply": "a", "spec": {"template": {"a": "1"}}},
            {"apply": "b", "spec": {"template": null}, "is": {"/template/a": "1"}, "owns": {"b": {"f:template": {}}}}]"#,
    ),
    (
        "metadata alone is owned by nobody; a label is, until it is given up",
        r#"[{"apply": "a", "object": {"metadata": {"name": "w"}}, "managers": []},
            {"apply": "a", "object": {"metadata": {"name": "w", "labels": {"q": "1"}}}, "managers": ["a"]},
            {"apply": "a", "object": {"metadata": {"name": "w"}}, "managers": []}]"#,
    ),
    (
        "labels are owned one by one",
        r#"[{"apply": "a", "object": {"metadata": {"labels": {"x": "1", "y": "1"}}}},
            {"apply": "b", "object": {"metadata": {"labels": {"x": "2"}}}, "refused": ["a .metadata.labels.x"]},
            {"apply": "b", "object": {"metadata": {"labels": {"z": "3"}}}, "managers": ["a", "b"]},
            {"apply": "a", "object": {"metadata": {"labels": {"x": "1"}}}, "managers": ["a", "b"]}]"#,
    ),
    (
        "finalizers are a set and owners whole items by uid",
        r#"[{"apply": "a", "object": {"metadata": {"finalizers": ["a/f"], "ownerReferences": [{"uid": "1", "name": "n"}]}}},
            {"apply": "b", "object": {"metadata": {"finalizers": ["b/f"], "ownerReferences": [{"uid": "2", "name": "n"}]}}},
            {"apply": "b", "object": {"metadata": {"ownerReferences": [{"uid": "1", "name": "other"}]}},
             "refused": ["a .metadata.ownerReferences[uid=\"1\"]"]}]"#,
    ),
    (
        "a status in a configuration of the object is neither applied nor owned",
        r#"[{"apply": "a", "object": {"spec": {"image": "i"}, "status": {"phase": "R"}}, "owns": {"a": {"f:image": {}}}},
            {"apply": "b", "object": {"status": {"phase": "Q"}}, "managers": ["a"]}]"#,
    ),
];

#[test]
fn sequences_of_several_managers_end_as_on_kube_apiserver() {
    for (name, steps) in ROWS {
        let steps: Vec<Value> =
            serde_json::from_str(steps).unwrap_or_else(|problem| panic!("{name}: {problem}"));
        let mut world = World::new();
        for (index, step) in steps.iter().enumerate() {
            play(&mut world, step, &format!("{name}, step {index}"));
        }
    }
}

/// Does what `step` says, and looks at what it says is to be seen then.
fn play(world: &mut World, step: &Value, name: &str) {
    let object = match step.get("object") {
        Some(object) => object.clone(),
        None => json!({"spec": step["spec"]}),
    };
    let before = (world.live.clone(), world.managers.clone());
    let by = |verb: &str| step[verb].as_str();
    let outcome = if let Some(manager) = by("apply") {
        world.apply_all(manager, &object, false)
    } else if let Some(manager) = by("force") {
        world.apply_all(manager, &object, true)
    } else if let Some(manager) = by("put") {
        world.write((manager, ""), object);
        Ok(())
    } else {
        let manager = by("merge").unwrap_or_else(|| panic!("{name} does nothing"));
        let mut merged = world.live.clone();
        json_patch::merge(&mut merged, &object);
        world.write((manager, ""), merged);
        Ok(())
    };
    let refused = outcome.err().unwrap_or_default();
    let wanted: Vec<String> = serde_json::from_value(step["refused"].clone()).unwrap_or_default();
    assert_eq!(refused, wanted, "{name}");
    if let Some(noop) = step["noop"].as_bool() {
        let same = world.live == before.0 && world.managers.same_but_times(&before.1);
        assert_eq!(same, noop, "{name}: whether nothing is written");
    }
    for (place, value) in step["is"].as_object().into_iter().flatten() {
        assert_eq!(world.at(place), *value, "{name}: {place}");
    }
    for (manager, fields) in step["owns"].as_object().into_iter().flatten() {
        assert_eq!(world.owned(manager), *fields, "{name}: what {manager} owns");
    }
    if let Some(managers) = step["managers"].as_array() {
        let names: Vec<Value> = world
            .managers
            .iter()
            .map(|(owner, _)| owner.manager.as_str().into())
            .collect();
        assert_eq!(names, *managers, "{name}: who owns anything");
    }
}
