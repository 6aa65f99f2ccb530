//! Parser of the spec of a Publication, which reports all errors at once.

use std::collections::{BTreeMap, BTreeSet};

use berth_apimachinery::selector::{LabelSelector, Selector, validate_label_value, validate_labels};
use berth_apimachinery::{FieldError, Labels, name};
use berth_multicluster::name::LONGEST_NAMESPACE;
use berth_multicluster::{NameRule, SYSTEM_LABEL, Settings};
use berth_scheduling_api::publication::{PublicationSpec, Shape};
use serde::Deserialize;
use serde_json::Value;

/// Default of `spec.clusterManager`.
const MANAGER: &str = "berth";

/// Default of `spec.shapes`.
const DEFAULT_SHAPES: [Shape; 2] = [Shape::ClusterProfile, Shape::PlacementDecision];

/// The parsed spec of a Publication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rules {
    /// Namespace, names and labels of the published objects.
    pub(super) settings: Settings,
    /// The selected systems.
    systems: BTreeSet<String>,
    targets: Selector,
    decisions: Selector,
    shapes: Vec<Shape>,
}

impl Rules {
    /// Whether a target of `system` with `labels` is published as a ClusterProfile.
    pub(super) fn shows_target(&self, system: &str, labels: &Labels) -> bool {
        self.shapes.contains(&Shape::ClusterProfile) && self.selects_target(system, labels)
    }

    /// Whether a target of `system` with `labels` is selected, for any shape.
    pub(super) fn selects_target(&self, system: &str, labels: &Labels) -> bool {
        self.has_system(system) && self.targets.matches(labels)
    }

    /// Whether `system` is selected.
    pub(super) fn has_system(&self, system: &str) -> bool {
        self.systems.contains(system)
    }

    /// Whether there are objects that are written: ClusterProfiles or PlacementDecisions.
    pub(super) fn is_written(&self) -> bool {
        self.shapes.iter().any(|shape| *shape != Shape::PublishedDecision)
    }

    /// Whether decisions are shown as PublishedDecisions.
    pub(super) fn is_flat(&self) -> bool {
        self.shapes.contains(&Shape::PublishedDecision)
    }

    /// Whether the decision about an object of `system` with `labels` is shown as a PublishedDecision.
    pub(super) fn shows_flat(&self, system: &str, labels: &Labels) -> bool {
        self.is_flat() && self.selects_decision(system, labels)
    }

    fn selects_decision(&self, system: &str, labels: &Labels) -> bool {
        self.has_system(system) && self.decisions.matches(labels)
    }

    /// Whether the decision about an object of `system` with `labels` is published as PlacementDecisions.
    pub(super) fn shows_decision(&self, system: &str, labels: &Labels) -> bool {
        self.shapes.contains(&Shape::PlacementDecision) && self.selects_decision(system, labels)
    }
}

/// Parses the spec of a Publication. `systems` are the systems that the server serves.
///
/// # Errors
/// All errors of the spec, or one error if the spec cannot be deserialized.
pub(super) fn read(publication: &Value, systems: &[&'static str]) -> Result<Rules, Vec<FieldError>> {
    let spec = match PublicationSpec::deserialize(&publication["spec"]) {
        Ok(spec) => spec,
        Err(error) => return Err(vec![FieldError::invalid("spec", Value::Null, error.to_string())]),
    };
    let mut errors = Vec::new();
    check_namespace(&spec.namespace, &mut errors);
    let selected_systems = selected_systems(&spec.systems, systems, &mut errors);
    let targets = compile_selector(&spec.target_selector, "spec.targetSelector", &mut errors);
    let decisions = compile_selector(&spec.decision_selector, "spec.decisionSelector", &mut errors);
    let names = match spec.names.as_str() {
        "Bare" => NameRule::Bare,
        _ => NameRule::Qualified,
    };
    if names == NameRule::Bare && selected_systems.len() != 1 {
        let detail = "clusters of several systems may share a name: name exactly one in spec.systems, or use Qualified";
        errors.push(FieldError::invalid("spec.names", "Bare", detail));
    }
    let manager = match spec.cluster_manager.as_str() {
        "" => MANAGER.to_owned(),
        given => given.to_owned(),
    };
    for (path, value) in [
        ("spec.clusterManager", &manager),
        ("spec.clusterSet", &spec.cluster_set),
    ] {
        if let Err(problem) = validate_label_value(value) {
            errors.push(FieldError::invalid(path, value.as_str(), problem));
        }
    }
    check_labels(&spec.labels, &mut errors);
    check_shapes(&spec.shapes, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(Rules {
        settings: Settings {
            publication: publication["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            namespace: spec.namespace,
            manager,
            names,
            cluster_set: spec.cluster_set,
            labels: spec.labels,
        },
        systems: selected_systems,
        targets,
        decisions,
        shapes: match spec.shapes.is_empty() {
            true => DEFAULT_SHAPES.to_vec(),
            false => spec.shapes,
        },
    })
}

/// One error for each changed field that is immutable: after its change, all published objects would have
/// another namespace, name or manager, and consumers would undeploy.
pub(super) fn immutable(old: &Value, new: &Value) -> Vec<FieldError> {
    let fields = [
        ("namespace", ""),
        ("names", "Qualified"),
        ("clusterManager", MANAGER),
    ];
    let changed = fields.into_iter().filter(|(field, default)| {
        let read = |value: &Value| match value["spec"][field].as_str() {
            None | Some("") => (*default).to_owned(),
            Some(text) => text.to_owned(),
        };
        read(old) != read(new)
    });
    changed
        .map(|(field, _)| {
            let detail = "field is immutable: delete the Publication and create another one";
            FieldError::invalid(format!("spec.{field}"), new["spec"][field].clone(), detail)
        })
        .collect()
}

fn check_namespace(namespace: &str, errors: &mut Vec<FieldError>) {
    const PATH: &str = "spec.namespace";
    if namespace.is_empty() {
        errors.push(FieldError::required(
            PATH,
            "name the namespace of the published objects",
        ));
    } else if let Err(problem) = name::dns_label(namespace) {
        errors.push(FieldError::invalid(PATH, namespace, problem));
    } else if namespace.len() > LONGEST_NAMESPACE {
        let detail = format!(
            "must be no more than {LONGEST_NAMESPACE} characters: consumers put the namespace and the profile's name into one label value"
        );
        errors.push(FieldError::invalid(PATH, namespace, detail));
    }
}

fn selected_systems(
    names: &[String],
    systems: &[&'static str],
    errors: &mut Vec<FieldError>,
) -> BTreeSet<String> {
    for (index, system) in names.iter().enumerate() {
        let path = format!("spec.systems[{index}]");
        if !systems.contains(&system.as_str()) {
            errors.push(FieldError::not_supported(path, system.as_str(), systems));
        } else if names[..index].contains(system) {
            errors.push(FieldError::duplicate(path, system.as_str()));
        }
    }
    if names.is_empty() {
        return systems.iter().map(|system| (*system).to_owned()).collect();
    }
    names.iter().cloned().collect()
}

fn compile_selector(selector: &LabelSelector, path: &str, errors: &mut Vec<FieldError>) -> Selector {
    Selector::compile(selector, path).unwrap_or_else(|problems| {
        errors.extend(problems);
        Selector::default()
    })
}

/// Checks `spec.labels`, which must not set labels that identify an object.
fn check_labels(labels: &BTreeMap<String, String>, errors: &mut Vec<FieldError>) {
    errors.extend(validate_labels(labels, "spec.labels"));
    for key in labels.keys() {
        let prefix = key.split_once('/').map_or("", |(prefix, _)| prefix);
        if key == SYSTEM_LABEL || matches!(prefix, "multicluster.x-k8s.io" | "x-k8s.io") {
            let detail = "is reserved for labels that Berth sets on published objects";
            errors.push(FieldError::forbidden(format!("spec.labels[{key}]"), detail));
        }
    }
}

fn check_shapes(shapes: &[Shape], errors: &mut Vec<FieldError>) {
    for (index, shape) in shapes.iter().enumerate() {
        if shapes[..index].contains(shape) {
            errors.push(FieldError::duplicate(
                format!("spec.shapes[{index}]"),
                shape.as_str(),
            ));
        }
    }
    if shapes.contains(&Shape::PlacementDecision) && !shapes.contains(&Shape::ClusterProfile) {
        let detail = "must include ClusterProfile, which the clusters of a PlacementDecision refer to";
        errors.push(FieldError::required("spec.shapes", detail));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SYSTEMS: [&str; 2] = ["gardener", "ocm"];

    fn problems(spec: Value) -> Vec<String> {
        let read = read(&json!({"spec": spec}), &SYSTEMS);
        let errors = read.err().unwrap_or_default();
        errors.into_iter().map(|error| error.path).collect()
    }

    #[test]
    fn all_errors_are_reported_at_once() {
        let errors = problems(json!({
            "systems": ["ocm", "ocm", "elsewhere"],
            "names": "Bare",
            "clusterManager": "not a label",
            "clusterSet": "-",
            "targetSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]},
            "labels": {"x-k8s.io/cluster-manager": "other", "bad key": "x"},
            "shapes": ["PlacementDecision", "PlacementDecision"],
        }));
        for path in [
            "spec.namespace",
            "spec.systems[1]",
            "spec.systems[2]",
            "spec.names",
            "spec.clusterManager",
            "spec.clusterSet",
            "spec.targetSelector.matchExpressions[0].operator",
            "spec.labels[x-k8s.io/cluster-manager]",
            "spec.shapes[1]",
            "spec.shapes",
        ] {
            assert!(
                errors.iter().any(|error| error == path),
                "{path} is not in {errors:?}"
            );
        }
    }

    #[test]
    fn a_namespace_alone_publishes_everything() {
        let rules = read(&json!({"spec": {"namespace": "argocd"}}), &SYSTEMS).unwrap();
        assert!(rules.shows_target("gardener", &Labels::default()));
        assert!(rules.shows_decision("ocm", &Labels::default()));
        assert!(!rules.shows_target("kcp", &Labels::default()));
        assert_eq!(rules.settings.manager, "berth");
    }

    #[test]
    fn published_decisions_are_shown_on_request_and_need_no_other_shape() {
        let rules = read(
            &json!({"spec": {"namespace": "argocd", "shapes": ["PublishedDecision"], "systems": ["ocm"]}}),
            &SYSTEMS,
        )
        .unwrap();
        let none = Labels::default();
        assert!(rules.shows_flat("ocm", &none) && !rules.shows_flat("gardener", &none));
        assert!(rules.selects_target("ocm", &none) && !rules.is_written());
        assert!(!rules.shows_target("ocm", &none) && !rules.shows_decision("ocm", &none));
        let usual = read(&json!({"spec": {"namespace": "argocd"}}), &SYSTEMS).unwrap();
        assert!(usual.is_written() && !usual.shows_flat("ocm", &none));
    }

    #[test]
    fn bare_names_are_for_one_system_and_long_namespaces_for_none() {
        assert!(problems(json!({"namespace": "n", "systems": ["ocm"], "names": "Bare"})).is_empty());
        assert_eq!(
            problems(json!({"namespace": "n", "names": "Bare"})),
            ["spec.names"]
        );
        assert_eq!(problems(json!({"namespace": "n".repeat(41)})), ["spec.namespace"]);
    }

    #[test]
    fn fields_that_name_objects_are_immutable() {
        let old = json!({"spec": {"namespace": "a"}});
        let same = json!({"spec": {"namespace": "a", "names": "Qualified", "clusterManager": "berth"}});
        assert!(immutable(&old, &same).is_empty());
        let other = json!({"spec": {"namespace": "b", "names": "Bare", "clusterManager": "x"}});
        assert_eq!(immutable(&old, &other).len(), 3);
    }
}
