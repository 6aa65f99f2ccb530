//! Many documents, handwritten and generated, parsed by kubectl and by us: to the same values, or refused
//! alike.

#[path = "as_kubectl/corpus.rs"]
mod corpus;
#[path = "as_kubectl/generate.rs"]
mod generate;
#[path = "as_kubectl/intended_differences.rs"]
mod intended_differences;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Deserializer, Number, Value};

/// Objects in one text; empty if it is refused.
type Read = Vec<Value>;

/// `text` after the head of an object, whose name identifies the text in kubectl's output.
fn begun(index: usize, text: &str) -> String {
    format!("apiVersion: v1\nkind: Thing\nmetadata: {{name: t{index}}}\n{text}")
}

/// Objects that kubectl parses from each text, with a local change that needs no server.
fn kubectl(folder: &Path, texts: &[String]) -> Vec<Read> {
    for (index, text) in texts.iter().enumerate() {
        std::fs::write(folder.join(format!("{index}.yaml")), begun(index, text)).expect("a temporary file");
    }
    let output = berth_house::program("kubectl")
        .args(["label", "--local", "--overwrite", "-o", "json", "asked=so", "-f"])
        .arg(folder)
        .env("KUBECONFIG", folder.join("none"))
        .output()
        .expect("kubectl can be started");
    let mut found: BTreeMap<usize, Read> = BTreeMap::new();
    for object in Deserializer::from_slice(&output.stdout).into_iter::<Value>() {
        let object = object.expect("kubectl prints JSON");
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let index = name
            .trim_start_matches('t')
            .parse()
            .expect("the name is one of ours");
        found.entry(index).or_default().push(without_labels(object));
    }
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        told.lines().all(|line| line.contains(".yaml")
            || line.starts_with(' ')
            || line.is_empty()
            || line.contains("json: ")),
        "{told}"
    );
    (0..texts.len())
        .map(|index| found.remove(&index).unwrap_or_default())
        .collect()
}

fn without_labels(mut object: Value) -> Value {
    object["metadata"]
        .as_object_mut()
        .expect("metadata is a map")
        .remove("labels");
    object
}

/// Objects that we parse from a text: like kubectl, up to the first error.
fn ours(index: usize, text: &str) -> Read {
    let documents = berth_yaml::documents(&begun(index, text)).into_iter();
    // Any reader refuses an object without these.
    let is_object = |value: &Value| value["kind"] == "Thing" && value["metadata"].is_object();
    documents
        .map_while(|found| found.ok().map(|found| found.value).filter(is_object))
        .map(without_labels)
        .collect()
}

/// Whether two numbers are equal up to the last digit of a fraction: kubectl's output is less exact.
fn near(one: &Number, other: &Number) -> bool {
    let (Some(one), Some(other)) = (one.as_f64(), other.as_f64()) else {
        return false;
    };
    (one - other).abs() <= one.abs() * 2.0 * f64::EPSILON
}

/// Whether two values are equal; numbers are compared by value.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || near(one, other),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(name, value)| other.get(name).is_some_and(|other| same(value, other)))
        }
        _ => one == other,
    }
}

fn shown(read: &Read) -> String {
    match read.is_empty() {
        true => "refused".to_owned(),
        false => read.iter().map(Value::to_string).collect::<Vec<_>>().join(" "),
    }
}

/// Both results for `text`, if kubectl's and ours differ.
fn differing(index: usize, text: &str, theirs: &Read) -> Option<String> {
    let ours = ours(index, text);
    let alike = ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(one, other)| same(one, other));
    let told = |ours| {
        format!(
            "{text:?}\n  kubectl: {}\n  ours:    {}",
            shown(theirs),
            shown(ours)
        )
    };
    (!alike).then(|| told(&ours))
}

/// Compares `texts`: except for a few intended differences, the results are equal.
fn compare(what: &str, texts: &[String]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let theirs = kubectl(folder.path(), texts);
    let refused = theirs.iter().filter(|read| read.is_empty()).count();
    let (mut differ, mut meant) = (Vec::new(), BTreeMap::<&str, usize>::new());
    for (index, text) in texts.iter().enumerate() {
        let Some(found) = differing(index, text, &theirs[index]) else {
            continue;
        };
        match intended_differences::intended_difference(text) {
            Some(why) => *meant.entry(why).or_default() += 1,
            None => differ.push(found),
        }
    }
    println!(
        "{what}: {} texts, {refused} refused by kubectl, {} differ",
        texts.len(),
        differ.len()
    );
    for (why, count) in &meant {
        println!("  {count} meant: {why}");
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
    assert!(meant.values().sum::<usize>() * 10 <= texts.len(), "{meant:?}");
}

#[test]
fn what_is_written_by_hand_is_read_as_by_kubectl() {
    let texts: Vec<String> = corpus::TEXTS.iter().map(|text| (*text).to_owned()).collect();
    compare("by hand", &texts);
}

#[test]
fn scalars_of_any_letters_are_read_as_by_kubectl() {
    compare("scalars", &generate::scalars(4000));
}

#[test]
fn values_in_any_style_are_read_as_by_kubectl() {
    compare("values", &generate::values(2000));
}

#[test]
fn texts_with_a_letter_changed_are_read_as_by_kubectl() {
    compare("changed", &generate::changed(corpus::TEXTS, 6000));
}
