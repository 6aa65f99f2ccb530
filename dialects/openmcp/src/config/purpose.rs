//! Compilation of one entry of `purposeMappings`, with the rules that the schema cannot express.

use berth_apimachinery::name::NameError;
use berth_apimachinery::selector::{Selector, validate_label_key, validate_labels};
use berth_apimachinery::{FieldError, ReadValue, name};
use serde_json::{Map, Value, json};

use super::form::{Form, Metadata, PurposeMapping};
use super::{Mapping, Template, Tenancy, compile_selector};
use crate::names::DELETE_LABEL;
use crate::naming::Naming;

/// Compiles the mapping of `purpose`, which is at `path`. `clusters` is `selectors.clusters`, if it could be
/// compiled.
pub(super) fn read(
    form: &mut ReadValue<Form>,
    purpose: &str,
    mapping: PurposeMapping,
    path: &str,
    clusters: Option<&Selector>,
) -> Option<Mapping> {
    let metadata_path = format!("{path}.template.metadata");
    let spec = mapping.template.spec;
    check_spec(form, &spec, &format!("{path}.template.spec"));
    let count = mapping.tenancy_count;
    let is_exclusive = spec.get("tenancy").is_some_and(|tenancy| tenancy == "Exclusive");
    if is_exclusive && count != 0 {
        let detail = "must be 0 when template.spec.tenancy is Exclusive";
        form.refuse(FieldError::invalid(format!("{path}.tenancyCount"), count, detail));
    }
    let mut metadata = mapping.template.metadata;
    check_metadata(form, &metadata, &metadata_path);
    metadata
        .labels
        .entry(DELETE_LABEL.to_owned())
        .or_insert_with(|| "true".to_owned());
    let own = compile_selector(form, &mapping.selector, &format!("{path}.selector"));
    check_selectors(form, &metadata, &metadata_path, clusters, own.as_ref());
    let tenancy = match count {
        _ if is_exclusive => Tenancy::Exclusive,
        0 => Tenancy::Shared(None),
        count => Tenancy::Shared(Some(u32::try_from(count).unwrap_or(u32::MAX))),
    };
    let is_unlimited = tenancy == Tenancy::Shared(None);
    let text = |text: &String| (!text.is_empty()).then(|| text.clone());
    let (name, prefix) = (text(&metadata.name), text(&metadata.generate_name));
    Some(Mapping {
        tenancy,
        selector: combine(clusters?, &own?),
        naming: Naming::of(purpose, is_unlimited, name.as_deref(), prefix.as_deref()),
        template: Template {
            namespace: text(&metadata.namespace).map(Into::into),
            labels: metadata.labels,
            annotations: metadata.annotations,
            spec: Value::Object(with_purpose(spec, purpose)),
        },
    })
}

/// Adds an error for each selector that Clusters created from the template do not match. With such a
/// template, each request would create another Cluster.
fn check_selectors(
    form: &mut ReadValue<Form>,
    metadata: &Metadata,
    path: &str,
    clusters: Option<&Selector>,
    own: Option<&Selector>,
) {
    let path = format!("{path}.labels");
    if !form.is_valid_at(&path) {
        return;
    }
    let selectors = [
        (clusters, "selectors.clusters"),
        (own, "the selector of the purpose"),
    ];
    for (selector, name) in selectors {
        if let Some(selector) = selector.filter(|selector| !selector.matches(&metadata.labels)) {
            let detail = format!(
                "do not match {name} ({selector}), so that requests would not find the clusters that are created from the \
                 template: set matching labels"
            );
            form.refuse(FieldError::invalid(path.as_str(), json!(metadata.labels), detail));
        }
    }
}

/// Adds the errors of names, labels and annotations in the metadata of the template.
fn check_metadata(form: &mut ReadValue<Form>, metadata: &Metadata, path: &str) {
    let mut check = |field: &str, text: &str, rule: &dyn Fn(&str) -> Result<(), NameError>| {
        if !text.is_empty()
            && let Err(problem) = rule(text)
        {
            form.refuse(FieldError::invalid(format!("{path}.{field}"), text, problem));
        }
    };
    check("name", &metadata.name, &name::dns_subdomain);
    // A prefix may end with a character that is not allowed at the end of a name.
    check("generateName", &metadata.generate_name, &|prefix| {
        name::dns_subdomain(&format!("{prefix}x"))
    });
    check("namespace", &metadata.namespace, &name::dns_label);
    for error in validate_labels(&metadata.labels, &format!("{path}.labels")) {
        form.refuse(error);
    }
    for key in metadata.annotations.keys() {
        if let Err(problem) = validate_label_key(&key.to_lowercase()) {
            let field_path = format!("{path}.annotations");
            form.refuse(FieldError::invalid(field_path, key.as_str(), problem));
        }
    }
}

/// Adds errors of fields that the spec of every Cluster needs, and of empty purposes. The schema requires
/// these fields only if the template has a spec, and accepts empty texts.
fn check_spec(form: &mut ReadValue<Form>, spec: &Map<String, Value>, path: &str) {
    let needed = [
        ("profile", "the name of a ClusterProfile"),
        ("tenancy", "Exclusive or Shared"),
    ];
    for (field, detail) in needed {
        if spec.get(field).is_none_or(|value| value == "") {
            form.refuse(FieldError::required(format!("{path}.{field}"), detail));
        }
    }
    let purposes = spec.get("purposes").and_then(Value::as_array);
    for (index, purpose) in purposes.into_iter().flatten().enumerate() {
        if purpose == "" {
            let field_path = format!("{path}.purposes[{index}]");
            form.refuse(FieldError::invalid(field_path, "", "a purpose may not be empty"));
        }
    }
}

/// Adds `purpose` to the purposes in `spec`, unless it is among them.
fn with_purpose(mut spec: Map<String, Value>, purpose: &str) -> Map<String, Value> {
    let slot = spec.entry("purposes").or_insert_with(|| json!([]));
    if let Some(list) = slot.as_array_mut()
        && !list.iter().any(|known| known == purpose)
    {
        list.push(purpose.into());
    }
    spec
}

/// Combines two selectors: the result matches labels if both selectors match them.
fn combine(a: &Selector, b: &Selector) -> Selector {
    let mut requirements = a.requirements.clone();
    requirements.extend(
        b.requirements
            .iter()
            .filter(|requirement| !a.requirements.contains(requirement))
            .cloned(),
    );
    requirements.sort_by(|one, two| one.key.cmp(&two.key));
    Selector { requirements }
}
