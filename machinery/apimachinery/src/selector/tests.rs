//! Tables of cases and properties for both forms of selectors.

use proptest::prelude::*;

use super::*;

fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

#[test]
fn selectors_are_written_back_sorted_by_key() {
    let cases = [
        ("", ""),
        ("a=b", "a=b"),
        ("a==b", "a=b"),
        ("a = b , c != d", "a=b,c!=d"),
        ("x in (b,a,b)", "x in (a,b)"),
        ("x in (a)", "x=a"),
        ("x notin (a, b),a", "a,x notin (a,b)"),
        ("!x", "!x"),
        ("x=", "x="),
        ("x=,y", "x=,y"),
        ("x in (,a)", "x in (,a)"),
        ("x in (a,)", "x in (,a)"),
        ("x>1,y<2", "x>1,y<2"),
        ("in=notin", "in=notin"),
        ("in in (in,notin)", "in in (in,notin)"),
        ("example.com/a=b", "example.com/a=b"),
    ];
    for (text, written) in cases {
        assert_eq!(Selector::parse(text).unwrap().to_string(), written, "{text}");
    }
}

#[test]
fn malformed_selectors_are_refused_in_known_words() {
    let cases = [
        ("a=b,", "found '', expected: identifier after ','"),
        (",a", "found ',', expected: !, identifier, or 'end of string'"),
        (
            "a b",
            "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
        ),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        (
            "a in (b",
            "unable to parse requirement: found '', expected: ',' or ')'",
        ),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        (
            "a=(",
            "unable to parse requirement: found '(', expected: identifier",
        ),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        (
            "a>x",
            "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
        ),
    ];
    for (text, words) in cases {
        assert_eq!(Selector::parse(text).unwrap_err().to_string(), words, "{text}");
    }
    assert!(Selector::parse("a@=b").unwrap_err().to_string().starts_with(
        "unable to parse requirement: <nil>: Invalid value: \"a@\": name part must consist of alphanumeric"
    ));
    assert!(Selector::parse("a=b@").unwrap_err().to_string().starts_with(
        "unable to parse requirement: values[0][a]: Invalid value: \"b@\": a valid label must be an empty string"
    ));
}

#[test]
fn requirements_match_labels() {
    let have = labels(&[("app", "web"), ("tier", "2"), ("empty", "")]);
    let cases = [
        ("", true),
        ("app=web", true),
        ("app!=web", false),
        ("nope!=web", true),
        ("nope notin (a,b)", true),
        ("app in (db,web)", true),
        ("app notin (db,web)", false),
        ("app", true),
        ("!app", false),
        ("!nope", true),
        ("tier>1", true),
        ("tier>2", false),
        ("tier<3", true),
        ("app>1", false),
        ("nope<1", false),
        ("empty=", true),
        ("app=web,tier=3", false),
    ];
    for (text, matches) in cases {
        assert_eq!(Selector::parse(text).unwrap().matches(&have), matches, "{text}");
    }
}

fn expression(key: &str, operator: &str, values: &[&str]) -> LabelSelectorRequirement {
    LabelSelectorRequirement {
        key: key.to_owned(),
        operator: operator.to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    }
}

#[test]
fn the_object_form_compiles_to_the_same_requirements() {
    let selector = LabelSelector {
        match_labels: [("z", "1")].into_iter().collect(),
        match_expressions: vec![
            expression("b", "In", &["y", "x"]),
            expression("a", "DoesNotExist", &[]),
        ],
    };
    let compiled = Selector::compile(&selector, "spec.selector").unwrap();
    assert_eq!(compiled.to_string(), "!a,b in (x,y),z=1");
    assert!(
        Selector::compile(&LabelSelector::default(), "s")
            .unwrap()
            .is_everything()
    );
}

#[test]
fn the_object_form_reports_every_error_with_its_path() {
    let selector = LabelSelector {
        match_labels: [("a b", "1")].into_iter().collect(),
        match_expressions: vec![
            expression("k", "In", &[]),
            expression("k", "Exists", &["v"]),
            expression("k", "Near", &[]),
            expression("", "In", &["v v"]),
        ],
    };
    let errors = Selector::compile(&selector, "spec.s").unwrap_err();
    let lines: Vec<String> = errors
        .iter()
        .map(|error| format!("{} {}", error.path, error.kind.reason()))
        .collect();
    assert_eq!(
        lines,
        [
            "spec.s.matchLabels FieldValueInvalid",
            "spec.s.matchExpressions[0].values FieldValueRequired",
            "spec.s.matchExpressions[1].values FieldValueForbidden",
            "spec.s.matchExpressions[2].operator FieldValueInvalid",
            "spec.s.matchExpressions[3].key FieldValueInvalid",
            "spec.s.matchExpressions[3].values[0] FieldValueInvalid",
        ]
    );
}

#[test]
fn field_selectors_understand_escapes() {
    let parse = |text| FieldSelector::parse(text).unwrap().terms;
    let term = |path: &str, equal, value: &str| (path.to_owned(), equal, value.to_owned());
    assert_eq!(parse(""), []);
    assert_eq!(parse("metadata.name=x"), [term("metadata.name", true, "x")]);
    assert_eq!(parse("a==x,b!=y,"), [term("a", true, "x"), term("b", false, "y")]);
    assert_eq!(parse(r"a=x\,y\=z\\"), [term("a", true, r"x,y=z\")]);
    assert_eq!(parse("a="), [term("a", true, "")]);
    assert_eq!(parse("a!b=c"), [term("a!b", true, "c")]);
}

#[test]
fn a_selector_with_very_many_errors_is_told_of_some() {
    let of_labels = LabelSelector {
        match_labels: (0..1_000)
            .map(|index| (format!("-{index}"), "-".to_owned()))
            .collect(),
        ..LabelSelector::default()
    };
    let requirement = |values| LabelSelectorRequirement {
        key: "a".to_owned(),
        operator: "Some".to_owned(),
        values,
    };
    let of_requirements = LabelSelector {
        match_expressions: vec![requirement(Vec::new()); 1_000],
        ..LabelSelector::default()
    };
    let of_values = LabelSelector {
        match_expressions: vec![requirement(vec!["-".to_owned(); 1_000])],
        ..LabelSelector::default()
    };
    for selector in [of_labels, of_requirements, of_values] {
        let errors = Selector::compile(&selector, "spec.s").unwrap_err();
        assert_eq!(errors.len(), 250, "{:?}", errors[0]);
    }
}

#[test]
fn a_field_selector_of_very_many_exclamation_marks_is_parsed() {
    let marks = "!".repeat(1_000_000);
    assert!(FieldSelector::parse(&marks).is_err());
    let terms = FieldSelector::parse(&format!("{marks}=x")).unwrap().terms;
    assert_eq!(terms, [(marks[1..].to_owned(), false, "x".to_owned())]);
}

#[test]
fn malformed_field_selectors_say_what_is_wrong() {
    let cases = [
        ("a", "invalid selector: 'a'; can't understand 'a'"),
        ("a=b,c", "invalid selector: 'a=b,c'; can't understand 'c'"),
        (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
        (r"a=\", r"invalid field selector: invalid escape sequence: \"),
        ("a=b=c", "invalid field selector: unescaped character in value: ="),
    ];
    for (text, words) in cases {
        assert_eq!(
            FieldSelector::parse(text).unwrap_err().to_string(),
            words,
            "{text}"
        );
    }
}

#[test]
fn field_terms_hold_or_fail() {
    let selector = FieldSelector::parse("a=1,b!=2").unwrap();
    let with =
        |b: &'static str| selector.matches_with(|path| if path == "a" { "1".into() } else { b.into() });
    assert!(with("3"));
    assert!(!with("2"));
}

fn any_requirement() -> impl Strategy<Value = Requirement> {
    let key = "([a-z]{1,5}\\.io/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,6}[A-Za-z0-9])?";
    let value = "([A-Za-z0-9]([-A-Za-z0-9_.]{0,6}[A-Za-z0-9])?)?";
    let operator = prop_oneof![
        Just(Operator::In),
        Just(Operator::NotIn),
        Just(Operator::Exists),
        Just(Operator::DoesNotExist),
        Just(Operator::GreaterThan),
        Just(Operator::LessThan)
    ];
    (
        key,
        operator,
        proptest::collection::btree_set(value, 1..4),
        0..1000i64,
    )
        .prop_map(|(key, operator, values, number)| {
            let values = match operator {
                Operator::In | Operator::NotIn => values.into_iter().collect(),
                Operator::Exists | Operator::DoesNotExist => Vec::new(),
                Operator::GreaterThan | Operator::LessThan => vec![number.to_string()],
            };
            Requirement {
                key,
                operator,
                values,
            }
        })
}

proptest! {
    #[test]
    fn what_is_written_parses_to_the_same(mut requirements in proptest::collection::vec(any_requirement(), 0..4)) {
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        let selector = Selector { requirements };
        prop_assert_eq!(Selector::parse(&selector.to_string()), Ok(selector));
    }

    #[test]
    fn random_text_never_panics(text in "\\PC{0,40}") {
        drop(Selector::parse(&text).map(|selector| selector.to_string()));
        drop(FieldSelector::parse(&text));
    }

    #[test]
    fn text_of_selector_characters_never_panics(text in "[a=!<>(), \\\\in]{0,20}") {
        if let Ok(selector) = Selector::parse(&text) {
            prop_assert_eq!(Selector::parse(&selector.to_string()), Ok(selector));
        }
        drop(FieldSelector::parse(&text));
    }
}
