//! Parsing and writing the placement annotation.

use super::*;

fn problems(text: &str) -> Vec<String> {
    let problems = Placement::parse(text).unwrap_err();
    problems.iter().map(ToString::to_string).collect()
}

#[test]
fn the_seeds_annotation_is_read_and_written_canonically() {
    let text = r#"{"root:compute+us-east1-gcp+a7fcajg8a-a9sf-a738":"Bound"}"#;
    let placement = Placement::parse(text).unwrap();
    let (place, state) = placement.of("a7fcajg8a-a9sf-a738").unwrap();
    assert_eq!((&*place.location, state), ("us-east1-gcp", State::Bound));
    assert_eq!(placement.to_text(), text);
    let spaced = "{ \"root+b+y\" : \"Pending\",\n \"root+a+x\":\"Bound\" }";
    assert_eq!(
        Placement::parse(spaced).unwrap().to_text(),
        r#"{"root+a+x":"Bound","root+b+y":"Pending"}"#
    );
    assert_eq!(Placement::default().to_text(), "{}");
    assert_eq!(Placement::parse("{}").unwrap(), Placement::default());
}

#[test]
fn every_malformed_value_is_named() {
    for (text, part) in [
        ("", "is not JSON (EOF"),
        ("{", "is not JSON (EOF"),
        ("null", "is null; it must be a JSON object"),
        ("[]", "is an array;"),
        ("\"x\"", "is a string;"),
        ("1", "is a number;"),
        ("true", "is a boolean;"),
        (
            r#"{"root+a+x":1}"#,
            "entry \"root+a+x\" is 1; every state must be a string",
        ),
        (r#"{"root+a+x":null}"#, "entry \"root+a+x\" is null;"),
        (r#"{"root+a":"Bound"}"#, "entry \"root+a\": has 2 segments"),
        (
            r#"{"root+a+x":"bound"}"#,
            "entry \"root+a+x\": has the unknown state \"bound\"; states are Pending, Bound",
        ),
        (r#"{"root+a+x":""}"#, "unknown state \"\""),
        (
            r#"{"root+a+x":"Bound","root+a+x":"Bound"}"#,
            "entry \"root+a+x\": is repeated",
        ),
        (
            r#"{"root+a+x":"Bound","root+b+x":"Removing"}"#,
            "entry \"root+b+x\": workload cluster \"x\" already has the entry \"root+a+x\"",
        ),
    ] {
        let problems = problems(text);
        assert_eq!(problems.len(), 1, "{text}: {problems:?}");
        assert!(problems[0].contains(part), "{text}: {problems:?}");
    }
    assert_eq!(problems(r#"{"a":"Bound","b":"Bound","root+c+d":"Odd"}"#).len(), 3);
}

#[test]
fn controllers_go_on_with_what_they_understand() {
    assert_eq!(StoredPlacement::of(None).form, Form::Absent);
    assert_eq!(StoredPlacement::of(Some("")).form, Form::Absent);
    assert_eq!(StoredPlacement::of(Some("null")).form, Form::Null);
    assert!(matches!(StoredPlacement::of(Some("{]")).form, Form::Malformed(_)));
    assert!(matches!(
        StoredPlacement::of(Some(r#"{"root+a+x":{}}"#)).form,
        Form::Malformed(_)
    ));
    let reading = StoredPlacement::of(Some(
        r#"{"root+a+x":"Pending","root+b+x":"Bound","root+c+y":"Odd","z":"Bound","root+d+w":"Bound","root+d+w":"Removing"}"#,
    ));
    assert_eq!(reading.form, Form::Map);
    assert_eq!(
        reading.placement.to_text(),
        r#"{"root+b+x":"Bound","root+d+w":"Removing"}"#
    );
    let dropped: Vec<&str> = reading
        .dropped
        .iter()
        .filter_map(|problem| problem.entry.as_deref())
        .collect();
    assert_eq!(dropped, ["root+a+x", "root+c+y", "z"]);
}
