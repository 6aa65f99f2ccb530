//! Validation rules of `metadata` for every kind.

use std::borrow::Cow;
use std::collections::HashSet;

use berth_apimachinery::field::MAX_ERRORS;
use berth_apimachinery::{FieldError, name};
use serde_json::{Map, Value};

use crate::served::ServedVersion;

/// Size limit of all annotations together, keys and values, in bytes.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

type Fields = Map<String, Value>;

/// Returns the errors in the metadata of `value`, which is created, or replaces `old`. Each list and map is
/// checked until there are [`MAX_ERRORS`] errors.
pub(crate) fn metadata(value: &Value, served: &ServedVersion, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let empty = Fields::new();
    let fields = value["metadata"].as_object().unwrap_or(&empty);
    names(fields, served, &mut errors);
    labels(fields, &mut errors);
    annotations(fields, &mut errors);
    finalizers(fields, served.info().strategic_merge_patch, &mut errors);
    owners(fields, &mut errors);
    if let Some(generation) = fields
        .get("generation")
        .and_then(Value::as_i64)
        .filter(|number| *number < 0)
    {
        let detail = "must be greater than or equal to 0";
        errors.push(FieldError::invalid("metadata.generation", generation, detail));
    }
    if let Some(old) = old {
        added_finalizers(fields, old, &mut errors);
    }
    errors
}

/// Returns the errors in the labels and annotations of `value`: for objects that need no name, such as
/// reviews.
pub(crate) fn labels_and_annotations(value: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(fields) = value["metadata"].as_object() {
        labels(fields, &mut errors);
        annotations(fields, &mut errors);
    }
    errors
}

fn text<'a>(fields: &'a Fields, field: &str) -> &'a str {
    fields.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn names(fields: &Fields, served: &ServedVersion, errors: &mut Vec<FieldError>) {
    let object_name = text(fields, "name");
    if object_name.is_empty() {
        errors.push(FieldError::required(
            "metadata.name",
            "name or generateName is required",
        ));
    } else {
        let verdict = name::path_segment(object_name).and_then(|()| served.kind().validate_name(object_name));
        if let Err(problem) = verdict {
            errors.push(FieldError::invalid("metadata.name", object_name, problem));
        }
    }
    let prefix = text(fields, "generateName");
    if !prefix.is_empty()
        && let Err(problem) = served.kind().validate_name(&as_name(prefix))
    {
        errors.push(FieldError::invalid("metadata.generateName", prefix, problem));
    }
    let namespace = text(fields, "namespace");
    if served.info().namespaced() {
        if namespace.is_empty() {
            errors.push(FieldError::required("metadata.namespace", ""));
        } else if let Err(problem) = name::dns_label(namespace) {
            errors.push(FieldError::invalid("metadata.namespace", namespace, problem));
        }
    }
}

/// Converts a prefix of names to a name for validation, as kube-apiserver does: a letter replaces the last
/// two characters of a prefix that ends with a dash. So such a prefix may be one character longer than a
/// name.
fn as_name(prefix: &str) -> Cow<'_, str> {
    let masked = || prefix.strip_suffix('-')?.get(..prefix.len().checked_sub(2)?);
    match masked() {
        Some(rest) => Cow::Owned(format!("{rest}a")),
        None => Cow::Borrowed(prefix),
    }
}

fn labels(fields: &Fields, errors: &mut Vec<FieldError>) {
    let Some(labels) = fields.get("labels").and_then(Value::as_object) else {
        return;
    };
    for (key, value) in labels {
        if errors.len() >= MAX_ERRORS {
            break;
        }
        if let Err(problem) = qualified_name(key) {
            errors.push(FieldError::invalid("metadata.labels", key.as_str(), problem));
        }
        let value = value.as_str().unwrap_or_default();
        if let Err(problem) = label_value(value) {
            errors.push(FieldError::invalid("metadata.labels", value, problem));
        }
    }
}

fn annotations(fields: &Fields, errors: &mut Vec<FieldError>) {
    let Some(annotations) = fields.get("annotations").and_then(Value::as_object) else {
        return;
    };
    let mut size = 0;
    for (key, value) in annotations {
        // Unlike label keys, annotation keys may have capital letters in the prefix.
        if errors.len() < MAX_ERRORS
            && let Err(problem) = qualified_name(&key.to_lowercase())
        {
            errors.push(FieldError::invalid("metadata.annotations", key.as_str(), problem));
        }
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > ANNOTATIONS_LIMIT {
        errors.push(FieldError::too_long("metadata.annotations", ANNOTATIONS_LIMIT));
    }
}

/// Adds the errors in finalizers. Finalizers of objects of Kubernetes' own kinds (`is_own_kind`) must have a
/// domain or be a finalizer of Kubernetes itself; for other kinds, a missing domain is only a warning.
fn finalizers(fields: &Fields, is_own_kind: bool, errors: &mut Vec<FieldError>) {
    let list = strings(fields.get("finalizers"));
    for (index, finalizer) in list.iter().enumerate() {
        if errors.len() >= MAX_ERRORS {
            break;
        }
        let verdict =
            qualified_name(finalizer).and_then(|()| match is_own_kind && !is_domain_qualified(finalizer) {
                true => Err("name is neither a standard finalizer name nor is it fully qualified".to_owned()),
                false => Ok(()),
            });
        if let Err(problem) = verdict {
            errors.push(FieldError::invalid(
                format!("metadata.finalizers[{index}]"),
                *finalizer,
                problem,
            ));
        }
    }
    if list.contains(&"orphan") && list.contains(&"foregroundDeletion") {
        let problem = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.push(FieldError::invalid(
            "metadata.finalizers",
            Value::from(list),
            problem,
        ));
    }
}

/// Whether a finalizer has a domain, or is a finalizer of Kubernetes itself.
fn is_domain_qualified(finalizer: &str) -> bool {
    finalizer.contains('/') || ["foregroundDeletion", "kubernetes", "orphan"].contains(&finalizer)
}

/// Returns the finalizers of `object` as a set, since a client may send a list as long as a body can be.
fn finalizers_of(object: &Value) -> HashSet<&str> {
    let list = strings(object["metadata"].get("finalizers"));
    list.into_iter().collect()
}

/// Returns warnings about new finalizers without a domain: another controller might choose the same name. An
/// answer has room for some only.
pub(crate) fn finalizer_warnings(value: &Value, served: &ServedVersion, old: Option<&Value>) -> Vec<String> {
    if served.info().strategic_merge_patch {
        return Vec::new();
    }
    let before = old.map_or_else(HashSet::new, finalizers_of);
    let list = strings(value["metadata"].get("finalizers")).into_iter();
    list.filter(|finalizer| !is_domain_qualified(finalizer) && !before.contains(finalizer))
        .map(|finalizer| {
            format!(
                "metadata.finalizers: {finalizer:?}: prefer a domain-qualified finalizer name including a path (/) to avoid \
                 accidental conflicts with other finalizer writers"
            )
        })
        .take(MAX_ERRORS)
        .collect()
}

/// Adds an error if finalizers are added to an object that is being deleted.
fn added_finalizers(fields: &Fields, old: &Value, errors: &mut Vec<FieldError>) {
    if old["metadata"]["deletionTimestamp"].is_null() {
        return;
    }
    let before = finalizers_of(old);
    let added: Vec<&str> = strings(fields.get("finalizers"))
        .into_iter()
        .filter(|finalizer| !before.contains(finalizer))
        .collect();
    if !added.is_empty() {
        let detail = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers {added:?}"
        );
        errors.push(FieldError::forbidden("metadata.finalizers", detail));
    }
}

fn owners(fields: &Fields, errors: &mut Vec<FieldError>) {
    let Some(owners) = fields.get("ownerReferences").and_then(Value::as_array) else {
        return;
    };
    let mut controllers = 0;
    for (index, owner) in owners.iter().enumerate() {
        if errors.len() >= MAX_ERRORS {
            break;
        }
        let path = format!("metadata.ownerReferences[{index}]");
        let value_of = |field: &str| owner[field].as_str().unwrap_or_default();
        let version = value_of("apiVersion");
        if let Err(problem) = group_version(version) {
            errors.push(FieldError::invalid(
                format!("{path}.apiVersion"),
                version,
                problem,
            ));
        }
        for field in ["kind", "name", "uid"] {
            if value_of(field).is_empty() {
                let problem = "must not be empty";
                errors.push(FieldError::invalid(format!("{path}.{field}"), "", problem));
            }
        }
        // Events expire, and would take what they own with them.
        if matches!(version, "v1" | "/v1") && value_of("kind") == "Event" {
            let problem = "/v1, Kind=Event is disallowed from being an owner";
            errors.push(FieldError::invalid(path, owner.clone(), problem));
        }
        controllers += usize::from(owner["controller"].as_bool() == Some(true));
    }
    if controllers > 1 {
        let problem = "only one reference can have controller set to true";
        errors.push(FieldError::invalid(
            "metadata.ownerReferences",
            controllers,
            problem,
        ));
    }
}

/// Checks the form of `text` as an `apiVersion`.
fn group_version(text: &str) -> Result<(), String> {
    match text.split('/').collect::<Vec<_>>()[..] {
        [""] | [_, ""] => Err("version must not be empty".to_owned()),
        [_] | [_, _] => Ok(()),
        _ => Err(format!("unexpected GroupVersion string: {text}")),
    }
}

fn strings(value: Option<&Value>) -> Vec<&str> {
    value
        .and_then(Value::as_array)
        .map_or_else(Vec::new, |list| list.iter().filter_map(Value::as_str).collect())
}

/// Checks the form `name` or `prefix/name` of label keys, annotation keys and finalizers.
pub(crate) fn qualified_name(text: &str) -> Result<(), String> {
    let (prefix, local_name) = match text.split_once('/') {
        Some((prefix, local_name)) => (Some(prefix), local_name),
        None => (None, text),
    };
    if local_name.contains('/') {
        return Err(
            "a qualified name must consist of a name and at most one prefix (e.g. 'example.com/MyName')"
                .to_owned(),
        );
    }
    if let Some(prefix) = prefix {
        if prefix.is_empty() {
            return Err("prefix part must be non-empty".to_owned());
        }
        name::dns_subdomain(prefix).map_err(|problem| format!("prefix part {problem}"))?;
    }
    if local_name.is_empty() {
        return Err("name part must be non-empty".to_owned());
    }
    name_part(local_name).map_err(|problem| format!("name part {problem}"))
}

fn label_value(text: &str) -> Result<(), String> {
    if text.is_empty() {
        Ok(())
    } else {
        name_part(text).map_err(|problem| format!("a valid label {problem}"))
    }
}

/// Checks a part of a name: at most 63 characters of `A-Za-z0-9-_.`, alphanumeric at both ends.
fn name_part(text: &str) -> Result<(), String> {
    if text.len() > 63 {
        return Err("must be no more than 63 characters".to_owned());
    }
    let bytes = text.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    let fits = ends
        .iter()
        .all(|byte| byte.is_some_and(u8::is_ascii_alphanumeric))
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte));
    if fits {
        return Ok(());
    }
    Err("must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
         character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
         '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
        .to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn qualified_names_are_judged_as_kubernetes_does() {
        for good in [
            "a",
            "A.b_c-1",
            "example.com/MyName",
            "kubernetes.io/metadata.name",
        ] {
            assert!(qualified_name(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "/a",
            "a/",
            "a/b/c",
            "-a",
            "a b",
            "EXAMPLE.com/a",
            &"a".repeat(64),
        ] {
            assert!(qualified_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_prefix_may_be_one_longer_than_a_name() {
        let name = "a".repeat(252);
        assert_eq!(as_name(&format!("{name}x-")).len(), 253);
        for (prefix, judged) in [
            ("a-", "a"),
            ("ab-", "aa"),
            ("a.-", "aa"),
            ("-", "-"),
            ("ab", "ab"),
            ("\u{e4}-", "\u{e4}-"),
        ] {
            assert_eq!(as_name(prefix), judged);
        }
    }

    #[test]
    fn label_values_may_be_empty_but_not_odd() {
        assert!(label_value("").is_ok());
        assert!(label_value("eu-1").is_ok());
        assert!(label_value("a b").is_err());
    }

    #[test]
    fn an_owner_is_named_completely_and_is_no_event() {
        let problems = |owner: Value| {
            let fields = json!({"ownerReferences": [owner]});
            let mut errors = Vec::new();
            owners(fields.as_object().unwrap(), &mut errors);
            errors.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let owner = |version: &str| json!({"apiVersion": version, "kind": "Event", "name": "a", "uid": "1"});
        assert_eq!(problems(owner("events.k8s.io/v1")), Vec::<String>::new());
        for version in ["v1", "/v1"] {
            let found = problems(owner(version)).join("\n");
            assert!(
                found.starts_with("metadata.ownerReferences[0]: Invalid value: {")
                    && found.ends_with("}: /v1, Kind=Event is disallowed from being an owner"),
                "{found}"
            );
        }
        assert_eq!(
            problems(json!({})),
            [
                "metadata.ownerReferences[0].apiVersion: Invalid value: \"\": version must not be empty",
                "metadata.ownerReferences[0].kind: Invalid value: \"\": must not be empty",
                "metadata.ownerReferences[0].name: Invalid value: \"\": must not be empty",
                "metadata.ownerReferences[0].uid: Invalid value: \"\": must not be empty",
            ]
        );
    }

    #[test]
    fn metadata_with_very_many_errors_is_told_of_some() {
        let names = || (0..100_000).map(|index| format!("-{index}"));
        let map: Fields = names().map(|name| (name, "-".into())).collect();
        let fields = json!({
            "labels": map, "annotations": map, "finalizers": names().collect::<Vec<_>>(),
            "ownerReferences": vec![json!({}); 100_000],
        });
        let fields = fields.as_object().unwrap();
        let checks: [fn(&Fields, &mut Vec<FieldError>); 4] = [
            labels,
            annotations,
            |fields, errors| finalizers(fields, true, errors),
            owners,
        ];
        for check in checks {
            let mut errors = Vec::new();
            check(fields, &mut errors);
            assert!((250..260).contains(&errors.len()), "{}", errors.len());
        }
    }

    #[test]
    fn many_finalizers_are_compared_in_well_under_quadratic_time() {
        let many: Vec<String> = (0..100_000).map(|index| format!("a.b/{index:06}")).collect();
        let deleted = json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": many});
        let old = json!({"metadata": deleted});
        let mut errors = Vec::new();
        added_finalizers(deleted.as_object().unwrap(), &old, &mut errors);
        assert!(errors.is_empty(), "{errors:?}");
    }
}
