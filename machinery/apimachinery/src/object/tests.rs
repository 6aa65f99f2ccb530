//! Objects as bytes: encoding, decoding and comparison.

use serde_json::json;

use super::*;

fn sample() -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"b": "2", "a": "1"},
        "metadata": {"name": "x", "namespace": "ns", "uid": "u", "labels": {"app": "web"}, "resourceVersion": "9"},
    })
}

#[test]
fn bytes_are_canonical_with_the_revision_spliced_in() {
    let object = Object::new(&sample(), Revision(42)).unwrap();
    assert_eq!(
        std::str::from_utf8(&object.bytes()).unwrap(),
        r#"{"apiVersion":"v1","data":{"a":"1","b":"2"},"kind":"ConfigMap","metadata":{"labels":{"app":"web"},"name":"x","namespace":"ns","resourceVersion":"42","uid":"u"}}"#
    );
    assert_eq!(object.api_version(), "v1");
    assert_eq!(
        &object.metadata_bytes()[..],
        br#"{"labels":{"app":"web"},"name":"x","namespace":"ns","resourceVersion":"42","uid":"u"}"#
    );
    let mut other = Vec::new();
    object.write_in_version("v2", &mut other);
    assert!(other.starts_with(br#"{"apiVersion":"v2","data""#));
    assert_eq!(other.len(), object.len());
}

#[test]
fn revision_stands_last_when_nothing_sorts_after_it() {
    let value = json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": "x"}});
    let object = Object::new(&value, Revision(7)).unwrap();
    assert_eq!(
        &object.metadata_bytes()[..],
        br#"{"name":"x","resourceVersion":"7"}"#
    );
}

#[test]
fn same_content_is_seen_without_parsing() {
    let object = Object::new(&sample(), Revision(42)).unwrap();
    assert!(Draft::new(&object.parse()).unwrap().same_as(&object));
    assert!(object.draft().same_as(&object));
    let mut other = object.parse();
    other["data"]["a"] = json!("3");
    assert!(!Draft::new(&other).unwrap().same_as(&object));
}

#[test]
fn managed_fields_are_bytes_of_their_own_and_no_part_of_the_tree() {
    let managed = br#"[{"manager":"a"}]"#;
    for metadata in [
        json!({"name": "x"}),
        json!({"annotations": {"a": "b"}, "labels": {}, "managedFields": [{"manager": "z"}], "name": "x", "uid": "u"}),
    ] {
        let value = json!({"apiVersion": "v1", "kind": "A", "metadata": metadata});
        let mut plain = value.clone();
        plain["metadata"].as_object_mut().unwrap().remove("managedFields");
        plain["metadata"]["resourceVersion"] = json!("1000");
        let mut whole = plain.clone();
        whole["metadata"]["managedFields"] = serde_json::from_slice(managed).unwrap();

        let object = Draft::managed(&value, managed).unwrap().at(Revision(1000));
        assert_eq!(
            object.bytes(),
            Object::new(&whole, Revision(1000)).unwrap().bytes()
        );
        assert_eq!(object.managed_fields(), &managed[..]);
        assert_eq!((&**object.value(), object.parse()), (&plain, whole));
        for bytes in [object.bytes(), object.draft().bytes()] {
            let read = Object::restore(&bytes, Revision(1000)).unwrap();
            assert_eq!(read.managed_fields(), &managed[..]);
            assert_eq!(read.parse_unmanaged(), plain);
        }
        let none = Draft::managed(&value, b"").unwrap().at(Revision(1000));
        assert_eq!((none.managed_fields(), none.parse()), (Bytes::new(), plain));
    }
}

/// Two objects with the same field set, which is large enough to be shared, at different times.
fn sharing() -> [(Value, Object); 2] {
    ["1", "2"].map(|time| {
        let fields: serde_json::Map<String, Value> =
            (0..40).map(|number| (format!("f:{number}"), json!({}))).collect();
        let mut value = sample();
        value["metadata"]["managedFields"] = json!([
            {"fieldsV1": {"f:data": fields}, "manager": "a", "time": time},
            {"fieldsV1": {"f:a": {}}, "manager": "b"},
            {"fieldsV1": {"f:data": fields, "f:b": {}}, "manager": "c", "time": time},
        ]);
        value["metadata"]["resourceVersion"] = json!("42");
        let object = Object::new(&value, Revision(42)).unwrap();
        (value, object)
    })
}

#[test]
fn what_many_objects_have_alike_is_kept_once_and_nobody_can_tell() {
    let [(_, one), (_, two)] = sharing();
    assert!(one.text.own().len() * 3 < one.len());
    let set = |object: &Object| object.managed_fields().len() - object.managers().len();
    assert_eq!((set(&one), set(&two)), (one.text.excess(), one.text.excess()));
    for (value, object) in sharing() {
        let bytes = value.to_string();
        assert_eq!(object.bytes(), bytes.as_bytes());
        assert_eq!(object.parse(), value);
        assert_eq!(object.metadata_bytes(), value["metadata"].to_string().as_bytes());
        assert_eq!(
            object.managed_fields(),
            value["metadata"]["managedFields"].to_string().as_bytes()
        );
        assert_eq!(
            (object.len(), object.metadata_len()),
            (bytes.len(), object.metadata_bytes().len())
        );
        let mut written = [Vec::new(), Vec::new(), Vec::new()];
        object.write(&mut written[0]);
        object.write_in_version("other/v1", &mut written[1]);
        object.write_metadata(&mut written[2]);
        let other = bytes.replacen("\"v1\"", "\"other/v1\"", 1);
        assert_eq!(written[..2], [bytes.as_bytes(), other.as_bytes()]);
        assert_eq!(written[2], object.metadata_bytes());
        let mut plain = value.clone();
        plain["metadata"].as_object_mut().unwrap().remove("managedFields");
        assert_eq!(object.parse_unmanaged(), plain);
    }
}

#[test]
fn what_is_kept_elsewhere_is_of_the_object_when_it_is_read_back_and_compared() {
    for (value, object) in sharing() {
        let draft = object.draft();
        assert_eq!(draft.bytes(), Draft::new(&value).unwrap().bytes());
        assert!(draft.same_as(&object) && draft.same_but_managed(&object));
        for bytes in [object.bytes(), draft.bytes()] {
            let read = Object::restore(&bytes, Revision(42)).unwrap();
            assert_eq!((&read, &read.spans), (&object, &object.spans));
        }
        let later = draft.at(Revision(1_000_000));
        assert_eq!(later.parse()["metadata"]["resourceVersion"], "1000000");
        assert!(draft.same_as(&later));
        let mut dry = value.clone();
        dry["metadata"].as_object_mut().unwrap().remove("resourceVersion");
        assert_eq!(draft.unstored().bytes(), dry.to_string().as_bytes());

        let mut other = value.clone();
        other["metadata"]["managedFields"][0]["fieldsV1"]["f:data"]["f:7"] = json!({"f:x": {}});
        let changed = Draft::new(&other).unwrap();
        assert!(!changed.same_as(&object) && changed.same_but_managed(&object));
        assert_ne!(changed.at(Revision(42)), object);
        other["data"]["a"] = json!("3");
        assert!(!Draft::new(&other).unwrap().same_but_managed(&object));
    }
}

#[test]
fn redrafting_moves_only_the_revision() {
    let object = Object::new(&sample(), Revision(42)).unwrap();
    let again = object.draft().at(Revision(1_000_000));
    assert_eq!(again.parse()["metadata"]["resourceVersion"], "1000000");
    assert_eq!(
        again.metadata_bytes(),
        Object::new(&sample(), Revision(1_000_000))
            .unwrap()
            .metadata_bytes()
    );
    assert_eq!(
        again.bytes(),
        Object::new(&sample(), Revision(1_000_000)).unwrap().bytes()
    );
}

#[test]
fn what_was_written_is_read_back_as_it_was() {
    let mut odd = sample();
    odd["metadata"]["annotations"] = json!({"a": "\"}{[,:\\", "b": "ü\u{1F600}"});
    odd["metadata"]["zone"] = json!([{"x": "]}"}, [], {}, 1.5, true, null]);
    odd["data"] = json!({"resourceVersion": "5", "metadata": {"resourceVersion": "6"}, "n": -1});
    odd["zz"] = json!(7);
    let bare = json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": "x"}});
    for value in [sample(), odd, bare] {
        let object = Object::new(&value, Revision(42)).unwrap();
        for bytes in [object.bytes(), object.draft().bytes()] {
            let read = Object::restore(&bytes, Revision(42)).unwrap();
            assert_eq!((read.bytes(), read.meta()), (object.bytes(), object.meta()));
            assert_eq!((read.revision(), &read.spans), (Revision(42), &object.spans));
        }
    }
}

#[test]
fn what_was_not_written_here_is_left_to_others() {
    let object = Object::new(&sample(), Revision(42)).unwrap();
    let bytes = object.bytes();
    let text = std::str::from_utf8(&bytes).unwrap();
    assert!(Object::restore(&object.bytes(), Revision(43)).is_none());
    for (from, to) in [
        (r#""kind":"ConfigMap""#, r#""kind": "ConfigMap""#),
        (r#""kind":"ConfigMap","#, ""),
        (r#""name":"x","#, ""),
        (r#""name":"x","#, r#""name":7,"#),
        (r#""resourceVersion":"42","#, ""),
        (r#""resourceVersion":"42""#, r#""resourceVersion":42"#),
        (
            r#"{"apiVersion":"v1","#,
            r#"{"apiVersion":"v1","apiVersion":"v1","#,
        ),
        (r#""apiVersion":"v1","data":"#, r#""data":"#),
        (r#""a":"1""#, r#""a":"1"#),
        (r#""uid":"u"}}"#, r#""uid":"u"}} "#),
        (r#""uid":"u"}}"#, r#""uid":"u"},"a":1}"#),
    ] {
        assert!(text.contains(from), "{from}");
        let other = Bytes::from(text.replacen(from, to, 1));
        assert!(Object::restore(&other, Revision(42)).is_none(), "{to}");
    }
    for end in 0..text.len() {
        assert!(
            Object::restore(&object.bytes().slice(..end), Revision(42)).is_none(),
            "{end}"
        );
    }
}

#[test]
fn what_is_no_object_says_where() {
    for (value, path) in [
        (json!([]), ""),
        (json!({"kind": "A", "metadata": {"name": "x"}}), "apiVersion"),
        (json!({"apiVersion": "v1", "kind": "A"}), "metadata"),
        (
            json!({"apiVersion": "v1", "kind": "A", "metadata": {}}),
            "metadata.name",
        ),
        (
            json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": "x", "labels": {"a": 1}}}),
            "metadata",
        ),
    ] {
        assert_eq!(Draft::new(&value).unwrap_err().path, path);
    }
}

/// A list as a table with all cells: the parsed trees for the cells would take many times the memory.
#[test]
fn what_is_parsed_for_the_cells_is_not_kept() {
    struct Data;
    impl crate::Kind for Data {
        fn info(&self) -> &crate::KindInfo {
            panic!("no names are asked for")
        }
        fn schema(&self, _version: &str) -> &crate::Schema {
            panic!("no schema is asked for")
        }
        fn row(&self, object: &Object) -> Vec<Cell> {
            vec![object.value()["data"]["a"].as_str().unwrap_or_default().into()]
        }
    }
    let object = Object::new(&sample(), Revision(1)).unwrap();
    assert_eq!(object.cells(&Data), &Cells::of(&["1".into()]));
    assert!(object.parsed_value().is_none());
    assert_eq!(object.row(&Data), ["1".into()]);
    assert!(object.parsed_value().is_none());
    let parsed = Arc::clone(object.value());
    assert_eq!(object.row(&Data), ["1".into()]);
    assert!(Arc::ptr_eq(&parsed, object.value()));
}

#[test]
fn texts_that_are_selected_by_are_kept_and_what_was_parsed_for_them_is_not() {
    use crate::selectable::SelectableField;
    static OWN: [SelectableField; 2] = [SelectableField::at("spec.a"), SelectableField::at("spec.b")];
    static OTHER: [SelectableField; 1] = [SelectableField::at("spec.b")];
    let value =
        json!({"apiVersion": "v1", "kind": "X", "metadata": {"name": "n"}, "spec": {"a": "x", "b": 2}});
    let object = Object::new(&value, Revision(7)).unwrap();
    let texts = |fields: &'static [SelectableField]| -> Vec<String> {
        object.texts(fields).iter().map(|text| text.to_string()).collect()
    };
    for _ in 0..2 {
        assert_eq!(texts(&OWN), ["x", "2"]);
        assert_eq!(texts(&OTHER), ["2"]);
    }
    assert!(object.parsed_value().is_none());
}

#[test]
fn an_item_of_a_list_is_the_object_without_what_the_list_says() {
    let before = json!({"aggregationRule": {}, "apiVersion": "v1", "kind": "A", "metadata": {"name": "x"}});
    let between = json!({"apiVersion": "v1", "kind": "A", "lastTimestamp": null, "message": "", "metadata": {"name": "x"}});
    let plain = [sample(), before, between].map(|value| Object::new(&value, Revision(42)).unwrap());
    let shared = sharing().map(|(_, object)| object);
    for object in plain.into_iter().chain(shared) {
        let read = Object::restore(&object.bytes(), object.revision()).unwrap();
        let mut wanted = object.parse();
        for field in ["apiVersion", "kind"] {
            wanted.as_object_mut().unwrap().remove(field);
        }
        for object in [&object, &read, &object.draft().at(object.revision())] {
            let mut out = Vec::new();
            object.write_untyped(&mut out);
            assert_eq!(String::from_utf8(out.clone()).unwrap(), wanted.to_string());
            assert_eq!(object.untyped_len(), out.len());
        }
    }
}

#[test]
fn another_format_is_written_once() {
    let object = Object::new(&sample(), Revision(42)).unwrap();
    assert!(!object.has_message());
    assert_eq!(object.message(|| b"first".to_vec()), &b"first"[..]);
    assert_eq!(object.message(|| b"second".to_vec()), &b"first"[..]);
    assert!(object.has_message());
}
