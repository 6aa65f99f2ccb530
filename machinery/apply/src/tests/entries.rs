//! Lists from clients, and lists that are too long, too old or too large.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::{VERSION, World};
use crate::{ApplyError, MAX_BYTES, Managers, Reset, Types, Versions, Writer};

fn entry(manager: &str, operation: &str, fields: &Value) -> Value {
    json!({"manager": manager, "operation": operation, "apiVersion": VERSION, "fieldsType": "FieldsV1", "fieldsV1": fields})
}

fn decode(list: &Value) -> Result<Managers, String> {
    let read = Managers::decode_value(list).map_err(|error| error.to_string());
    let bytes = Managers::decode(list.to_string().as_bytes());
    assert_eq!(read.is_ok(), bytes.is_ok(), "{list}");
    read
}

fn image() -> Value {
    json!({"f:spec": {"f:image": {}}})
}

#[test]
fn a_list_is_believed_whole_or_not_at_all() {
    let good = entry("a", "Apply", &image());
    assert!(decode(&json!([good])).is_ok());
    assert!(decode(&json!(null)).unwrap().is_empty());
    for (field, value, problem) in [
        (
            "operation",
            json!("Foo"),
            "entry 1: operation must be `Apply` or `Update`",
        ),
        (
            "operation",
            json!(null),
            "entry 1: operation must be `Apply` or `Update`",
        ),
        ("apiVersion", json!(""), "entry 1: apiVersion must not be empty"),
        ("fieldsType", json!(""), "entry 1: missing fieldsType"),
        (
            "fieldsType",
            json!("FieldsV2"),
            "entry 1: invalid fieldsType \"FieldsV2\"",
        ),
        ("time", json!("yesterday"), "entry 1: \"yesterday\" is not a time"),
        ("fieldsV1", json!([]), "invalid type"),
        ("fieldsV1", json!({"f:a": {"k:{": {}}}), "EOF"),
        ("fieldsV1", json!({"v:1 1": {}}), "trailing"),
        ("manager", json!(7), "invalid type"),
    ] {
        let mut bad = good.clone();
        bad[field] = value;
        let refused = decode(&json!([good, bad])).unwrap_err();
        assert!(refused.contains(problem), "{field}: {refused}");
    }
    assert!(Managers::decode(b"[] []").is_err());
    assert!(Managers::decode(b"").unwrap().is_empty());
}

#[test]
fn entries_are_written_in_order_and_owners_of_nothing_not_at_all() {
    let mut late = entry("z", "Update", &image());
    late["time"] = json!("2026-11-22T10:00:00Z");
    let mut through = entry("a", "Update", &image());
    through["subresource"] = json!("status");
    let mut other = entry("b", "Apply", &image());
    other["time"] = json!("2026-11-22T12:00:01.5+02:00");
    let list = json!([
        late,
        through,
        entry("a", "Update", &image()),
        other,
        entry("c", "Apply", &image()),
        entry("nobody", "Apply", &json!({}))
    ]);
    let written: Value = serde_json::from_str(&decode(&list).unwrap().encode()).unwrap();
    let order: Vec<String> = written
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| format!("{} {} {}", entry["manager"], entry["time"], entry["subresource"]))
        .collect();
    assert_eq!(
        order,
        [
            r#""c" null null"#,
            r#""b" "2026-11-22T10:00:01Z" null"#,
            r#""a" null null"#,
            r#""a" null "status""#,
            r#""z" "2026-11-22T10:00:00Z" null"#
        ]
    );
    assert_eq!(
        decode(&json!([entry("a", "Apply", &json!({}))]))
            .unwrap()
            .encode(),
        ""
    );
    let named: String = decode(&json!([entry("a", "Apply", &image())])).unwrap().encode();
    assert_eq!(
        named,
        r#"[{"manager":"a","operation":"Apply","apiVersion":"example.dev/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:image":{}}}}]"#
    );
}

#[test]
fn of_two_entries_of_one_owner_the_later_is_believed() {
    let mut list = json!([
        entry("a", "Apply", &image()),
        entry("a", "Apply", &json!({"f:spec": {"f:note": {}}}))
    ]);
    list[1]["time"] = json!("1970-01-01T00:00:02Z");
    let managers = decode(&list).unwrap();
    let (_, only) = managers.iter().next().unwrap();
    assert_eq!(only.set.paths(), [".spec.note"]);
    assert_eq!(only.time.map(berth_apimachinery::Timestamp::as_second), Some(2));
}

#[test]
fn a_body_takes_the_list_back_changes_it_or_leaves_it() {
    let live = || decode(&json!([entry("live", "Apply", &image())])).unwrap();
    let from = |body: Value| {
        let managers = Managers::of_request(Some(&body), live());
        let names: Vec<String> = managers.iter().map(|(owner, _)| owner.manager.clone()).collect();
        names.join(" ")
    };
    assert_eq!(Managers::of_request(None, live()), live());
    assert_eq!(from(json!(null)), "live");
    assert_eq!(from(json!([])), "");
    assert_eq!(from(json!([{}])), "");
    assert_eq!(from(json!([{"manager": "", "time": null}])), "");
    assert_eq!(from(json!([entry("mine", "Update", &image())])), "mine");
    assert_eq!(from(json!([entry("mine", "Foo", &image())])), "live");
    assert_eq!(from(json!([{}, {}])), "live");
    assert_eq!(from(json!({"manager": "x"})), "live");
}

#[test]
fn an_object_without_owners_is_not_tracked_until_somebody_applies() {
    let mut world = World::new();
    world.live = json!({"metadata": {"uid": "1"}, "spec": {"image": "i", "note": "n"}});
    let mut new = world.live.clone();
    new["spec"]["note"] = json!("m");
    world.write(("u", ""), new);
    assert!(world.managers.is_empty());
    let refused = world
        .apply_to(("a", ""), &json!({"spec": {"image": "j"}}), false)
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        r#"Apply failed with 1 conflict: conflict with "before-first-apply" using example.dev/v1: .spec.image"#
    );
    assert!(world.managers.is_empty());
    world.force("a", json!({"image": "j"}));
    assert_eq!(world.owned("a"), json!({"f:image": {}}));
    assert_eq!(
        world.owned("before-first-apply"),
        json!({".": {}, "f:note": {}, "f:replicas": {}})
    );
}

#[test]
fn the_oldest_of_more_than_ten_updaters_are_joined() {
    let mut world = World::new();
    world.apply("a", json!({"image": "i"}));
    for index in 0..14 {
        let mut new = world.live.clone();
        new["metadata"]["labels"][format!("l{index}")] = json!("1");
        world.write((&format!("u{index}"), ""), new);
    }
    let list = world.managers.to_value().unwrap();
    let names: Vec<&str> = list
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|entry| entry["manager"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "a",
            "ancient-changes",
            "u5",
            "u6",
            "u7",
            "u8",
            "u9",
            "u10",
            "u11",
            "u12",
            "u13"
        ]
    );
    assert_eq!(
        list[1]["fieldsV1"],
        json!({"f:metadata": {"f:labels": {".": {}, "f:l0": {}, "f:l1": {}, "f:l2": {}, "f:l3": {}, "f:l4": {}}}})
    );
    assert_eq!(list[1]["time"], "1970-01-01T00:00:06Z");
}

#[test]
fn status_and_the_rest_belong_to_writes_of_their_own() {
    let mut world = World::new();
    let whole = |image: &str, phase: &str| json!({"spec": {"image": image}, "status": {"phase": phase}});
    world.apply_all("a", &whole("i", "x"), false).unwrap();
    assert_eq!(world.managers.to_value().unwrap()[0]["fieldsV1"], image());
    world.apply_to(("s", "status"), &whole("j", "R"), false).unwrap();
    assert_eq!(
        world.entries("s")[0].1.set.encode(),
        r#"{"f:status":{"f:phase":{}}}"#
    );
    let refused = world
        .apply_to(("t", "status"), &whole("i", "Q"), false)
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        r#"Apply failed with 1 conflict: conflict with "s" with subresource "status": .status.phase"#
    );
    let mut new = world.live.clone();
    new["status"]["phase"] = json!("F");
    world.write(("u", "status"), new);
    let list = world.managers.to_value().unwrap();
    assert_eq!(
        (&list[1]["manager"], &list[1]["subresource"]),
        (&json!("u"), &json!("status"))
    );
}

#[test]
fn several_conflicts_are_told_by_owner() {
    let mut world = World::new();
    world.apply("p", json!({"replicas": 1})).update(
        "u",
        json!({"replicas": 1, "image": "i", "note": "n", "template": {"a": "x"}}),
    );
    let config = json!({"spec": {"replicas": 2, "image": "j", "note": "m", "template": {"a": "y"}}});
    let refused = world.apply_to(("a", ""), &config, false).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "Apply failed with 4 conflicts: conflicts with \"p\":\n- .spec.replicas\nconflicts with \"u\" using example.dev/v1:\n- .spec.image\n- .spec.note\n- .spec.template.a"
    );
    let causes: Vec<_> = refused.causes().collect();
    assert_eq!(
        causes[0],
        (r#"conflict with "p""#.to_owned(), ".spec.replicas".to_owned())
    );
    assert_eq!(causes.len(), 4);
}

#[test]
fn of_many_conflicts_the_first_thousand_are_told() {
    let data = |value: &str| {
        let all: serde_json::Map<_, _> = (0..3_000).map(|n| (format!("k{n}"), value.into())).collect();
        json!({"data": all})
    };
    let mut world = World::new();
    world.apply("p", data("x"));
    let config = json!({"spec": data("y")});
    let refused = world.apply_to(("a", ""), &config, false).unwrap_err();
    let text = refused.to_string();
    assert!(text.starts_with("Apply failed with 3000 conflicts: conflicts with \"p\":\n- .spec.data.k0"));
    assert!(text.ends_with("\nand 2000 more"), "{}", &text[text.len() - 100..]);
    assert_eq!((refused.causes().count(), text.lines().count()), (1_000, 1_002));
}

#[test]
fn the_texts_of_conflicts_and_mismatches_below_a_long_name_are_short() {
    let open = |value: Value| {
        let fields: serde_json::Map<_, _> = (0..3_000).map(|n| (format!("k{n}"), value.clone())).collect();
        json!({("n".repeat(100_000)): fields})
    };
    let mut world = World::new();
    world.apply("p", json!({"open": open(json!(0))}));
    let config = json!({"spec": {"open": open(json!(1))}});
    let refused = world.apply_to(("a", ""), &config, false).unwrap_err();
    let text = refused.to_string();
    assert!(
        text.len() < 500_000 && text.ends_with("\nand 2000 more"),
        "{}",
        text.len()
    );
    let fields: Vec<String> = refused.causes().map(|(_, field)| field).collect();
    let longest = fields.iter().map(String::len).max();
    assert!(fields.len() == 1_000 && longest < Some(400), "{longest:?}");

    let config = json!({"spec": {"pools": open(json!({"min": "x"}))}});
    let Err(ApplyError::Configuration { problems, .. }) = world.apply_to(("a", ""), &config, false) else {
        panic!("it fits")
    };
    let longest = problems.iter().map(|problem| problem.path.len()).max();
    assert!(
        problems.len() <= 250 && longest < Some(400),
        "{} {longest:?}",
        problems.len()
    );
}

#[test]
fn of_very_many_mismatches_the_first_ones_are_told() {
    let data: serde_json::Map<_, _> = (0..3_000).map(|n| (format!("k{n}"), n.into())).collect();
    let config = json!({"spec": {"data": data}});
    let Err(ApplyError::Configuration { problems, .. }) = World::new().apply_to(("a", ""), &config, false)
    else {
        panic!("it fits")
    };
    assert_eq!(problems.len(), 250);
}

#[test]
fn what_does_not_fit_is_told_with_the_object_it_is_in() {
    let mut world = World::new();
    let config = json!({"apiVersion": VERSION, "kind": "Widget", "metadata": {"name": "w", "namespace": "ns"},
        "spec": {"image": 1, "tags": {}}});
    let refused = world.apply_to(("a", ""), &config, true).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "failed to create typed patch object (ns/w; example.dev/v1, Kind=Widget): errors:\n  .spec.image: expected string, got 1\n  .spec.tags: expected list, got map"
    );
    let unknown = json!({"apiVersion": "v1", "kind": "Node", "spec": {"nope": 1, "also": 1}});
    let refused = world.apply_to(("a", ""), &unknown, true).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "failed to create typed patch object (/; /v1, Kind=Node): .spec.also: field not declared in schema"
    );
    world.live = json!({"spec": {"tags": "none"}});
    let refused = world.apply_to(("a", ""), &json!({}), true).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "failed to create typed live object (/; /, Kind=): .spec.tags: expected list, got \"none\""
    );
}

#[test]
fn unknown_fields_of_stored_objects_are_kept_and_can_be_owned() {
    let mut world = World::new();
    world.update("u", json!({"image": "i", "later": {"x": 1}}));
    world.apply("a", json!({"image": "i"}));
    assert_eq!(world.at("/later"), json!({"x": 1}));
    assert_eq!(world.owned("u")["f:later"], json!({".": {}, "f:x": {}}));
}

#[test]
fn objects_that_are_nested_too_deep_are_refused_and_not_tracked() {
    let mut deep = json!(1);
    for _ in 0..200 {
        deep = json!({"x": deep});
    }
    let mut world = World::new();
    let config = json!({"spec": {"open": deep}});
    let refused = world.apply_to(("a", ""), &config, false).unwrap_err();
    assert!(refused.to_string().contains("nested deeper than"), "{refused}");
    world.write(("u", ""), config);
    assert!(world.managers.is_empty());
}

#[test]
fn lists_of_too_many_bytes_are_refused_unread() {
    let long = vec![b' '; MAX_BYTES + 1];
    let refused = Managers::decode(&long).unwrap_err();
    assert!(refused.to_string().contains("bytes"), "{refused}");
}

#[test]
fn very_many_names_that_are_too_long_are_told_of_some() {
    let names = (0..1_000).map(|index| format!("{index:0>200}"));
    let list: Value = names.map(|name| entry(&name, "Apply", &image())).collect();
    assert_eq!(decode(&list).unwrap().validate().len(), 250);
}

#[test]
fn names_are_short_and_can_be_seen() {
    let of = |name: &str| {
        let managers = decode(&json!([entry(name, "Apply", &image())])).unwrap();
        let errors = managers.validate();
        errors
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("; ")
    };
    assert_eq!(of("kubectl-client-side-apply é 日"), "");
    assert_eq!(
        of(&"x".repeat(129)),
        "metadata.managedFields[0].manager: Too long: may not be more than 128 bytes"
    );
    assert!(of("a\nb").contains("invalid character U+000A (at position 1)"));
    assert!(of("a\u{a0}").contains("U+00A0"));
    let mut through = entry("a", "Apply", &image());
    through["subresource"] = json!("s".repeat(257));
    let errors = decode(&json!([through])).unwrap().validate();
    assert_eq!(errors[0].path, "metadata.managedFields[0].subresource");
}

/// Versions with the same shape: v1 and v1beta1.
struct Two<'a>(&'a Types);

impl Versions for Two<'_> {
    fn types(&self, api_version: &str) -> Option<&Types> {
        ["example.dev/v1", "example.dev/v1beta1"]
            .contains(&api_version)
            .then_some(self.0)
    }

    fn convert<'a>(&self, object: &'a Value, _: &str, _: &str) -> Cow<'a, Value> {
        Cow::Borrowed(object)
    }
}

#[test]
fn an_applier_is_one_in_every_version_and_an_updater_one_in_each() {
    let types = World::new().types;
    let versions = Two(&types);
    let reset = Reset::status();
    let by = |manager, api_version| Writer {
        manager,
        subresource: "",
        api_version,
        now: berth_apimachinery::Timestamp::UNIX_EPOCH,
        reset: &reset,
    };
    let spec = |fields: Value| json!({"spec": fields});
    let old = Managers::default()
        .apply(
            &versions,
            &json!({}),
            &spec(json!({"image": "i", "note": "n"})),
            &by("a", "example.dev/v1beta1"),
            false,
        )
        .unwrap();
    let new = old
        .managers
        .apply(
            &versions,
            &old.object,
            &spec(json!({"image": "i"})),
            &by("a", VERSION),
            false,
        )
        .unwrap();
    assert_eq!(new.object, spec(json!({"image": "i"})));
    let first = spec(json!({"image": "i", "replicas": 1, "size": 1}));
    let second = spec(json!({"image": "i", "replicas": 2, "size": 1}));
    let managers = new
        .managers
        .update(&versions, &new.object, &first, &by("u", "example.dev/v1beta1"))
        .update(&versions, &first, &second, &by("u", VERSION));
    let list = managers.to_value().unwrap();
    let versions: Vec<_> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["manager"].as_str(), entry["apiVersion"].as_str()))
        .collect();
    assert_eq!(
        versions,
        [
            (Some("a"), Some(VERSION)),
            (Some("u"), Some(VERSION)),
            (Some("u"), Some("example.dev/v1beta1"))
        ]
    );
}

#[test]
fn entries_of_versions_that_are_not_served_are_dropped_and_prune_nothing() {
    let mut world = World::new();
    world.apply("a", json!({"image": "i", "note": "n"}));
    let old = world.managers.encode().replace(VERSION, "example.dev/v0");
    world.managers = Managers::decode(old.as_bytes()).unwrap();
    world.apply("a", json!({"image": "j"}));
    assert_eq!(world.at("/note"), json!("n"));
    assert!(!world.managers.encode().contains("v0"));
}

#[test]
fn who_owned_fields_in_what_is_one_leaf_now_owns_the_leaf() {
    let mut world = World::new();
    world.live = json!({"spec": {"selector": {"matchLabels": {"x": "1"}}, "args": ["1"]}});
    let fields = json!({"f:spec": {"f:selector": {"f:matchLabels": {"f:x": {}}}, "f:args": {"v:\"1\"": {}}}});
    world.managers = decode(&json!([entry("a", "Apply", &fields)])).unwrap();
    world.update(
        "u",
        json!({"selector": {"matchLabels": {"x": "1"}}, "args": ["1"], "image": "i"}),
    );
    assert_eq!(world.owned("a"), json!({"f:selector": {}, "f:args": {}}));
}

#[test]
fn paths_the_schema_has_not_are_kept() {
    let mut world = World::new();
    world.live = json!({"spec": {"image": "i"}});
    world.managers = decode(&json!([entry("a", "Apply", &json!({"f:gone": {"f:x": {}}}))])).unwrap();
    world.update("u", json!({"image": "j"}));
    assert!(world.managers.encode().contains("f:gone"));
}

#[test]
fn what_client_side_apply_left_unchanged_may_be_taken_over() {
    let mut world = World::new();
    world.update(
        "kubectl-client-side-apply",
        json!({"image": "i", "note": "n", "replicas": 2}),
    );
    let last = json!({"spec": {"image": "i", "note": "n", "replicas": 2}});
    let mut live = world.live.clone();
    live["spec"]["replicas"] = json!(7);
    let unchanged = world.types.unchanged(&last, &live).unwrap();
    assert_eq!(unchanged.paths(), [".spec.image", ".spec.note"]);
}

#[test]
fn an_entry_by_itself_does_not_make_two_lists_differ() {
    let list = json!([entry("a", "Apply", &image()), entry("b", "Update", &image())]);
    let mut timed = list.clone();
    timed[0]["time"] = json!("2026-11-22T10:00:00Z");
    timed.as_array_mut().unwrap().reverse();
    let (one, other) = (decode(&list).unwrap(), decode(&timed).unwrap());
    assert!(one.same_but_times(&other) && one != other);
    assert!(!one.same_but_times(&Managers::default()));
}

#[test]
fn huge_sets_are_read_written_and_compared_in_well_under_quadratic_time() {
    let many = |value: &str| {
        let labels = (0..20_000).map(|index| (format!("l{index}"), json!(value)));
        json!({"metadata": {"labels": labels.collect::<serde_json::Map<_, _>>()}})
    };
    let mut world = World::new();
    world.write(("u", ""), many("x"));
    for manager in ["a", "b", "c"] {
        world.apply_all(manager, &many("x"), false).unwrap();
    }
    world.apply_all("a", &many("y"), true).unwrap();
    assert_eq!(world.managers.iter().count(), 2);
    assert_eq!(
        decode(&world.managers.to_value().unwrap()).unwrap(),
        world.managers
    );
}
