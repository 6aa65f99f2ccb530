//! One entry of `purposeMappings`.

use std::collections::BTreeMap;

use meta::selector::{Selector, validate_label_key, validate_labels};
use meta::{FieldError, Kind, name};
use serde_json::{Map, Value, json};

use super::fields::Fields;
use super::{Mapping, Template, Tenancy, selectors};
use crate::kind::cluster::ClusterKind;
use crate::names::{DELETE_LABEL, VERSION};
use crate::naming::Naming;

/// Fields of ObjectMeta that new Clusters do not take over.
pub(super) const UNUSED: &[&str] = &[
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Reads the mapping of `purpose`, which stands at `path`; `None` when something is wrong with it. `clusters` is
/// `selectors.clusters`, if it could be read.
pub(super) fn read(
    purpose: &str,
    value: &Value,
    path: &str,
    clusters: Option<&Selector>,
    errors: &mut Vec<FieldError>,
) -> Option<Mapping> {
    let before = errors.len();
    let mut fields = Fields::of(value, path, errors)?;
    let count = fields.integer("tenancyCount", errors).unwrap_or_default();
    let count_at = fields.at("tenancyCount");
    if count < 0 {
        let detail = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(count_at.as_str(), count, detail));
    }
    let template_at = fields.at("template");
    let template = fields.get("template").cloned().unwrap_or_else(|| json!({}));
    let (head, spec) = read_template(purpose, &template, &template_at, errors)?;
    let tenancy = spec
        .get("tenancy")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    if tenancy == "Exclusive" && count != 0 {
        let detail = "must be 0 when template.spec.tenancy is Exclusive";
        errors.push(FieldError::invalid(count_at.as_str(), count, detail));
    }
    let own = match fields.get("selector") {
        Some(value) => selectors::read(value, &fields.at("selector"), errors),
        None => Some(Selector::default()),
    };
    fields.end(errors);

    let labels_at = format!("{template_at}.metadata.labels");
    let mut must_match = |selector: Option<&Selector>, whose: &str| {
        if let Some(selector) = selector.filter(|selector| !selector.matches(&head.labels)) {
            let detail = format!(
                "do not match {whose} ({selector}), so that clusters made from the template would not be found again"
            );
            errors.push(FieldError::invalid(
                labels_at.as_str(),
                json!(head.labels),
                detail,
            ));
        }
    };
    must_match(clusters, "selectors.clusters");
    must_match(own.as_ref(), "the selector of the purpose");
    if errors.len() > before {
        return None;
    }
    let tenancy = match (tenancy.as_str(), count) {
        ("Exclusive", _) => Tenancy::Exclusive,
        (_, 0) => Tenancy::Shared(None),
        (_, count) => Tenancy::Shared(Some(u32::try_from(count).unwrap_or(u32::MAX))),
    };
    let single = tenancy == Tenancy::Shared(None);
    Some(Mapping {
        tenancy,
        selector: selectors::both(clusters?, &own?),
        naming: Naming::of(
            purpose,
            single,
            head.name.as_deref(),
            head.generate_name.as_deref(),
        ),
        template: Template {
            generate_name: head.generate_name,
            namespace: head.namespace.map(Into::into),
            labels: head.labels,
            annotations: head.annotations,
            spec: Value::Object(spec),
        },
    })
}

/// The metadata of a template.
#[derive(Default)]
struct Head {
    name: Option<String>,
    generate_name: Option<String>,
    namespace: Option<String>,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
}

fn read_template(
    purpose: &str,
    value: &Value,
    path: &str,
    errors: &mut Vec<FieldError>,
) -> Option<(Head, Map<String, Value>)> {
    let mut fields = Fields::of(value, path, errors)?;
    let metadata = fields.get("metadata").cloned().unwrap_or_else(|| json!({}));
    let spec = fields.get("spec").cloned().unwrap_or_else(|| json!({}));
    fields.end(errors);
    let spec = read_spec(purpose, spec, &fields.at("spec"), errors);
    let head = read_head(&metadata, &fields.at("metadata"), errors);
    Some((head?, spec?))
}

fn read_head(value: &Value, path: &str, errors: &mut Vec<FieldError>) -> Option<Head> {
    let mut fields = Fields::of(value, path, errors)?;
    fields.skip(UNUSED);
    let mut text = |name, judge: fn(&str) -> Result<(), String>| {
        let text = fields.text(name, errors)?;
        if let Err(problem) = judge(text) {
            errors.push(FieldError::invalid(fields.at(name), text, problem));
        }
        Some(text.to_owned())
    };
    let name = text("name", name::dns_subdomain);
    // A prefix may end where a name may not.
    let generate_name = text("generateName", |prefix| {
        name::dns_subdomain(&format!("{prefix}x"))
    });
    let namespace = text("namespace", name::dns_label);
    let labels = fields.texts("labels", errors);
    errors.extend(validate_labels(
        labels.as_ref().unwrap_or(&BTreeMap::new()),
        &fields.at("labels"),
    ));
    let annotations = fields.texts("annotations", errors);
    for key in annotations.iter().flat_map(BTreeMap::keys) {
        if let Err(problem) = validate_label_key(&key.to_lowercase()) {
            errors.push(FieldError::invalid(
                fields.at("annotations"),
                key.as_str(),
                problem,
            ));
        }
    }
    fields.end(errors);
    let mut labels = labels?;
    labels
        .entry(DELETE_LABEL.to_owned())
        .or_insert_with(|| "true".to_owned());
    Some(Head {
        name,
        generate_name,
        namespace,
        labels,
        annotations: annotations?,
    })
}

/// The spec of the template, judged as that of the Clusters it makes: with its purpose.
fn read_spec(
    purpose: &str,
    value: Value,
    path: &str,
    errors: &mut Vec<FieldError>,
) -> Option<Map<String, Value>> {
    let mut fields = Fields::of(&value, path, errors)?;
    if fields.text("profile", errors).is_none() && !value["profile"].is_number() {
        required(&value, "profile", path, "the name of a ClusterProfile", errors);
    }
    if fields.text("tenancy", errors).is_none() {
        required(&value, "tenancy", path, "Exclusive or Shared", errors);
    }
    let told = errors.len();
    let ours = [format!("{path}.profile"), format!("{path}.tenancy")];
    let given = value["purposes"].clone();
    let value = match value {
        Value::Object(fields) => Value::Object(with_purpose(fields, purpose)),
        other => other,
    };
    let wrapped = json!({ "spec": value });
    for error in ClusterKind.schema(VERSION).validate(&wrapped) {
        let error = FieldError {
            path: format!("{path}{}", error.path.trim_start_matches("spec")),
            ..error
        };
        let known = errors[..told].iter().any(|told| told.path == error.path);
        if !(known && ours.contains(&error.path)) {
            errors.push(error);
        }
    }
    for (index, purpose) in given.as_array().into_iter().flatten().enumerate() {
        if purpose == "" {
            let at = format!("{path}.purposes[{index}]");
            errors.push(FieldError::invalid(at, "", "a purpose may not be empty"));
        }
    }
    match value {
        Value::Object(fields) => Some(fields),
        _ => None,
    }
}

/// Notes that `name` is missing, unless something of another type stands there.
fn required(spec: &Value, name: &str, path: &str, detail: &str, errors: &mut Vec<FieldError>) {
    let value = &spec[name];
    if value.is_null() || value == "" {
        errors.push(FieldError::required(format!("{path}.{name}"), detail));
    }
}

/// The spec with `purpose` at the end of its purposes, unless it is among them.
fn with_purpose(mut spec: Map<String, Value>, purpose: &str) -> Map<String, Value> {
    let slot = spec.entry("purposes").or_insert_with(|| json!([]));
    if slot.is_null() {
        *slot = json!([]);
    }
    if let Some(list) = slot.as_array_mut()
        && !list.iter().any(|known| known == purpose)
    {
        list.push(purpose.into());
    }
    spec
}
