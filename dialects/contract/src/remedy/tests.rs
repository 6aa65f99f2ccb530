//! Remedies: labels to change, weaker selectors, edits as patches.

use std::collections::BTreeMap;

use berth_apimachinery::selector::Selector;
use berth_apimachinery::{GroupResource, Key, Object, Revision};
use serde_json::json;

use super::*;

fn labels(list: &[(&str, &str)]) -> BTreeMap<String, String> {
    let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    list.iter().map(pair).collect()
}

#[test]
fn the_labels_that_must_change_are_named_and_no_others() {
    let have = labels(&[("zone", "a"), ("tier", "gold"), ("old", "x")]);
    for (selector, words) in [
        ("zone in (b,c),tier=gold", Some("label the cluster zone=b")),
        ("gpu", Some("label the cluster gpu=true")),
        ("!old", Some("take the label old of the cluster away")),
        (
            "gpu=yes,old notin (x)",
            Some("label the cluster gpu=yes and take its label old away"),
        ),
        ("zone in (b,c),zone!=b", Some("label the cluster zone=c")),
        ("zone,zone!=a", Some("label the cluster zone=true")),
        ("zone,!zone", None),
    ] {
        let selector = Selector::parse(selector).unwrap();
        let changes = labels::to_match(&selector, &have);
        if let Some(changes) = &changes {
            let mut after = have.clone();
            for (key, value) in changes {
                match value {
                    Some(value) => after.insert(key.clone(), value.clone()),
                    None => after.remove(key),
                };
            }
            assert!(selector.matches(&after), "{selector}: {changes:?}");
        }
        let said = changes.map(|changes| labels::words("the cluster", &changes));
        assert_eq!(said.as_deref(), words, "{selector}");
    }
}

#[test]
fn a_relaxed_selector_asks_only_for_what_is_there() {
    let have = labels(&[("zone", "a")]);
    let mut selector = json!({
        "matchLabels": {"zone": "a", "gpu": "yes"},
        "matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}],
        "providerTypes": ["aws"],
    });
    let gone = labels::relax(&mut selector, &have);
    assert_eq!(gone, ["gpu=yes", "zone=b"]);
    assert_eq!(
        selector,
        json!({"matchLabels": {"zone": "a"}, "providerTypes": ["aws"]})
    );
    assert_eq!(labels::relax(&mut selector, &have), [""; 0]);
}

#[test]
fn an_edit_is_the_merge_patch_of_what_changed() {
    let key = Key::new(GroupResource::new("g", "foos"), "", "f");
    let object = json!({"apiVersion": "g/v1", "kind": "Foo", "metadata": {"name": "f"},
        "spec": {"a": {"b": 1, "c": 2}, "list": [1]}});
    let object = Object::new(&object, Revision::default()).unwrap();
    let edit = Edit::of(key.clone(), &object, |value| {
        value["spec"]["a"].as_object_mut().unwrap().remove("b");
        push(&mut value["spec"]["list"], 2.into());
        push(&mut value["spec"]["new"], 3.into());
    });
    let patch = json!({"spec": {"a": {"b": null}, "list": [1, 2], "new": [3]}});
    assert_eq!(edit, Edit::Merge { key, patch });
}
