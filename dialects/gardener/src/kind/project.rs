//! Project: the owner of a namespace, and the tolerations that shoots in the namespace may have.

use std::collections::HashSet;

use berth_apimachinery::name::dns_label;
use berth_apimachinery::{
    Column, Definition, FieldError, Kind, KindInfo, Schema, Scope, Write, described_by,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::kind::common::{UNKNOWN, check_immutable};
use crate::kind::shoot::rules::check_tolerations;
use crate::kind::shoot::spec::Toleration;
use crate::kind::{child, fill, view};
use crate::names::{GARDEN_NAMESPACE, GROUP, PROJECT_PREFIX, PROTECTED_TAINT, VERSION};

/// The fields of a Project beside its metadata.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Project {
    /// Settings of the project.
    pub spec: ProjectSpec,
    /// Status of the project.
    pub status: ProjectStatus,
}

/// Settings of a project.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct ProjectSpec {
    /// The namespace of the project. Cannot be changed once set. The default is garden- followed by the name
    /// of the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The subject that is responsible for the project. Can be changed, but not removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<Subject>,
    /// The subject that created the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_by: Option<Subject>,
    /// The default and the allowed tolerations of the project's shoots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerations: Option<ProjectTolerations>,
}

/// A user, a group or a service account.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true, "x-kubernetes-map-type" = "atomic"))]
pub struct Subject {
    /// The name of the user, the group or the service account.
    pub name: String,
}

/// The default and the allowed tolerations of a project's shoots.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ProjectTolerations {
    /// The tolerations that every shoot gets by default. A default is not added to a shoot
    /// that has a toleration with the same key. Each default must be in the whitelist.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub defaults: Vec<Toleration>,
    /// The tolerations that shoots may have; a toleration without a value allows all values. In a Project, a
    /// change requires the verb modify-spec-tolerations-whitelist on projects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub whitelist: Vec<Toleration>,
}

/// Status of a project.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct ProjectStatus {
    /// The phase of the project: Pending, Ready, Failed or Terminating.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
}

impl Project {
    /// The namespace of the project named `name`.
    #[must_use]
    pub fn namespace(&self, name: &str) -> String {
        let namespace_name = self.spec.namespace.as_deref();
        let namespace_name = namespace_name.filter(|namespace| !namespace.is_empty());
        namespace_name.map_or_else(|| format!("{PROJECT_PREFIX}{name}"), str::to_owned)
    }
}

static DEFINITION: Definition = Definition {
    columns: &[
        Column::NAME,
        Column::text("Namespace", "The project's namespace")
            .at(".spec.namespace")
            .or(UNKNOWN),
        Column::text("Status", "The phase of the project")
            .at(".status.phase")
            .or(UNKNOWN),
        Column::text("Owner", "The owner of the project")
            .at(".spec.owner.name")
            .or(UNKNOWN),
        Column::text("Creator", "The creator of the project")
            .at(".spec.createdBy.name")
            .or(UNKNOWN),
        Column::AGE,
    ],
    ..Definition::new(
        KindInfo {
            singular: "project",
            scope: Scope::Cluster,
            status_subresource: true,
            unconditional_update: true,
            ..KindInfo::new(GROUP, &[VERSION], "Project", "projects")
        },
        Schema::of::<Project>,
    )
};

/// The maximum length of the name of a project, in bytes.
const MAX_NAME_LENGTH: usize = 10;

/// The kind Project.
#[derive(Clone, Copy, Debug)]
pub struct ProjectKind;

impl Kind for ProjectKind {
    described_by!(DEFINITION);

    fn prepare(&self, _write: &Write<'_>, new: &mut Value) {
        let Some(spec) = new.get_mut("spec").and_then(Value::as_object_mut) else {
            return;
        };
        if spec.get("namespace").and_then(Value::as_str) == Some(GARDEN_NAMESPACE) {
            tolerate_protected(spec);
        }
    }

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        let project: Project = match view(self.schema(VERSION), new) {
            Ok(project) => project,
            Err(errors) => return errors,
        };
        let name = new
            .pointer("/metadata/name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let mut errors = Vec::new();
        if name.len() > MAX_NAME_LENGTH {
            let detail = format!("must be no more than {MAX_NAME_LENGTH} characters");
            errors.push(FieldError::invalid("metadata.name", name, detail));
        }
        if let Some(namespace) = project.spec.namespace.as_deref() {
            check_namespace(&mut errors, namespace);
        }
        if let Some(tolerations) = &project.spec.tolerations {
            check_project_tolerations(&mut errors, tolerations);
        }
        let old: Option<Project> = write.old.and_then(|old| view(self.schema(VERSION), old).ok());
        if let Some(old) = old {
            check_immutable(
                &mut errors,
                "spec.namespace",
                old.spec.namespace.as_deref(),
                project.spec.namespace.as_deref(),
            );
            if old.spec.owner.is_some() && project.spec.owner.is_none() {
                errors.push(FieldError::forbidden(
                    "spec.owner",
                    "the owner of a project cannot be removed: keep the owner, or name another",
                ));
            }
        }
        errors
    }
}

fn check_namespace(errors: &mut Vec<FieldError>, namespace: &str) {
    const PATH: &str = "spec.namespace";
    if namespace != GARDEN_NAMESPACE && !namespace.starts_with(PROJECT_PREFIX) {
        let detail = format!("must start with {PROJECT_PREFIX}");
        errors.push(FieldError::invalid(PATH, namespace, detail));
    }
    if let Err(problem) = dns_label(namespace) {
        errors.push(FieldError::invalid(PATH, namespace, problem));
    }
}

fn check_project_tolerations(errors: &mut Vec<FieldError>, project_tolerations: &ProjectTolerations) {
    const DEFAULTS: &str = "spec.tolerations.defaults";
    check_tolerations(errors, DEFAULTS, &project_tolerations.defaults);
    check_tolerations(
        errors,
        "spec.tolerations.whitelist",
        &project_tolerations.whitelist,
    );
    let allowed = project_tolerations.whitelist.iter();
    let allowed: HashSet<(&str, Option<&str>)> = allowed
        .map(|allowed| (allowed.key.as_str(), allowed.value.as_deref()))
        .collect();
    for (index, default) in project_tolerations.defaults.iter().enumerate() {
        // A toleration in the whitelist without a value allows every value.
        let allowing = [None, default.value.as_deref()].map(|value| (default.key.as_str(), value));
        if !allowing.iter().any(|toleration| allowed.contains(toleration)) {
            let detail = "must also be in spec.tolerations.whitelist";
            errors.push(FieldError::forbidden(format!("{DEFAULTS}[{index}]"), detail));
        }
    }
}

/// Adds the toleration of protected seeds to the default and to the allowed tolerations, since Gardener's own
/// shoots tolerate such seeds.
fn tolerate_protected(spec: &mut Map<String, Value>) {
    let Some(tolerations) = child(spec, "tolerations") else {
        return;
    };
    for field in ["defaults", "whitelist"] {
        fill(tolerations, field, json!([]));
        let Some(list) = tolerations.get_mut(field).and_then(Value::as_array_mut) else {
            continue;
        };
        if !list.iter().any(|toleration| toleration["key"] == PROTECTED_TAINT) {
            list.push(json!({"key": PROTECTED_TAINT}));
        }
    }
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::{Timestamp, WriteOperation};

    use super::*;

    fn project(spec: &Value) -> Value {
        json!({"metadata": {"name": "dev"}, "spec": spec})
    }

    fn prepare_and_validate(old: Option<&Value>, new: &Value) -> (Value, Vec<String>) {
        let write = Write {
            operation: if old.is_some() {
                WriteOperation::Update
            } else {
                WriteOperation::Create
            },
            old,
            now: Timestamp::UNIX_EPOCH,
        };
        let kind = ProjectKind;
        let mut new = new.clone();
        kind.prepare(&write, &mut new);
        let mut errors = kind.schema(VERSION).validate(&new);
        errors.extend(kind.validate(&write, &new));
        (new, errors.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_default_toleration_is_one_that_is_allowed() {
        let errors = |defaults: Value, whitelist: Value| {
            let spec = json!({"tolerations": {"defaults": defaults, "whitelist": whitelist}});
            prepare_and_validate(None, &project(&spec)).1
        };
        let gpu = || json!([{"key": "gpu", "value": "a100"}]);
        assert!(errors(gpu(), gpu()).is_empty());
        assert!(errors(gpu(), json!([{"key": "gpu"}])).is_empty(), "every value");
        for whitelist in [
            json!([]),
            json!([{"key": "gpu", "value": "h100"}]),
            json!([{"key": "cpu"}]),
        ] {
            let errors = errors(gpu(), whitelist.clone());
            assert_eq!(errors.len(), 1, "{whitelist}: {errors:?}");
            assert!(
                errors[0].starts_with("spec.tolerations.defaults[0]: Forbidden"),
                "{errors:?}"
            );
        }
        let twice = json!([{"key": "gpu"}, {"key": "gpu"}]);
        assert_eq!(
            errors(json!([]), twice),
            ["spec.tolerations.whitelist[1]: Duplicate value: \"gpu=\""]
        );
    }

    #[test]
    fn the_project_of_garden_tolerates_protected_seeds() {
        let (garden, errors) = prepare_and_validate(None, &project(&json!({"namespace": "garden"})));
        assert_eq!(errors, [""; 0]);
        let protected = json!([{"key": "seed.gardener.cloud/protected"}]);
        assert_eq!(
            garden["spec"]["tolerations"],
            json!({"defaults": protected, "whitelist": protected})
        );
        assert_eq!(prepare_and_validate(None, &garden).0, garden);
        let (other, _) = prepare_and_validate(None, &project(&json!({"namespace": "garden-dev"})));
        assert_eq!(other["spec"], json!({"namespace": "garden-dev"}));
    }

    #[test]
    fn namespace_and_owner_stay() {
        let old = project(&json!({"namespace": "garden-dev", "owner": {"name": "ann"}}));
        assert!(prepare_and_validate(Some(&old), &old).1.is_empty());
        assert_eq!(
            prepare_and_validate(Some(&old), &project(&json!({"namespace": "garden-x"}))).1,
            [
                "spec.namespace: Invalid value: \"garden-x\": field is immutable",
                "spec.owner: Forbidden: the owner of a project cannot be removed: keep the owner, or name another",
            ]
        );
        assert_eq!(
            prepare_and_validate(None, &project(&json!({"namespace": "dev"}))).1,
            ["spec.namespace: Invalid value: \"dev\": must start with garden-"]
        );
        let long = json!({"metadata": {"name": "development"}, "spec": {}});
        assert_eq!(prepare_and_validate(None, &long).1.len(), 1);
    }

    #[test]
    fn a_project_without_a_namespace_has_one_by_its_name() {
        let read = |spec: Value| Project::deserialize(&project(&spec)).unwrap().namespace("dev");
        assert_eq!(read(json!({})), "garden-dev");
        assert_eq!(read(json!({"namespace": "garden-other"})), "garden-other");
    }
}
