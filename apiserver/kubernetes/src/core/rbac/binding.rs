//! RoleBinding and ClusterRoleBinding.

use berth_apimachinery::name::NameError;
use berth_apimachinery::{
    Cell, Column, Definition, FieldError, Kind, Object, Schema, Scope, Write, described_by, name,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::core::rbac::GROUP;
use crate::core::value;

/// The fields of a RoleBinding and of a ClusterRoleBinding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BindingFields {
    /// Subjects to which the role is granted.
    #[serde(default)]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub subjects: Option<Vec<Subject>>,
    /// The granted role. Immutable: delete the binding and create another.
    pub role_ref: RoleRef,
}

/// Subject to which a role is granted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct Subject {
    /// User, Group or ServiceAccount.
    pub kind: String,
    /// The API group of the kind: rbac.authorization.k8s.io for User and Group, empty for ServiceAccount;
    /// defaulted if omitted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub api_group: String,
    /// The name of the subject.
    #[serde(default)]
    pub name: String,
    /// The namespace of a ServiceAccount.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}

/// The role that a binding grants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct RoleRef {
    /// The API group, rbac.authorization.k8s.io; defaulted if omitted.
    #[serde(default)]
    pub api_group: String,
    /// Role (in a RoleBinding) or ClusterRole.
    pub kind: String,
    /// The role's name.
    pub name: String,
}

/// The kind RoleBinding, which grants a role in one namespace.
#[derive(Clone, Copy, Debug)]
pub struct RoleBinding;

/// The kind ClusterRoleBinding, which grants a role in all namespaces.
#[derive(Clone, Copy, Debug)]
pub struct ClusterRoleBinding;

static ROLE_BINDING: Definition = Definition {
    columns: COLUMNS,
    ..Definition::new(
        super::info("RoleBinding", "rolebindings", "rolebinding", Scope::Namespaced),
        Schema::of::<BindingFields>,
    )
};

static CLUSTER_ROLE_BINDING: Definition = Definition {
    columns: COLUMNS,
    ..Definition::new(
        super::info(
            "ClusterRoleBinding",
            "clusterrolebindings",
            "clusterrolebinding",
            Scope::Cluster,
        ),
        Schema::of::<BindingFields>,
    )
};

const COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Role", "The granted role").computed(role),
    Column::AGE,
    Column::text("Users", "The users with the role")
        .computed(|binding| subjects(binding, "User"))
        .wide(),
    Column::text("Groups", "The groups with the role")
        .computed(|binding| subjects(binding, "Group"))
        .wide(),
    Column::text("ServiceAccounts", "The service accounts with the role")
        .computed(|binding| subjects(binding, "ServiceAccount"))
        .wide(),
];

impl Kind for RoleBinding {
    described_by!(ROLE_BINDING);

    fn normalize_body(&self, _: Option<&Value>, body: &mut Value) {
        value::drop_empty(body, &["subjects"]);
    }

    fn prepare(&self, write: &Write<'_>, new: &mut Value) {
        self.normalize_body(write.old, new);
        default_api_groups(new);
    }

    fn creates_on_update(&self) -> bool {
        true
    }

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        errors(write, new, &["Role", "ClusterRole"], true)
    }

    fn validate_name(&self, name: &str) -> Result<(), NameError> {
        name::path_segment(name)
    }
}

impl Kind for ClusterRoleBinding {
    described_by!(CLUSTER_ROLE_BINDING);

    fn normalize_body(&self, _: Option<&Value>, body: &mut Value) {
        value::drop_empty(body, &["subjects"]);
    }

    fn prepare(&self, write: &Write<'_>, new: &mut Value) {
        self.normalize_body(write.old, new);
        default_api_groups(new);
    }

    fn creates_on_update(&self) -> bool {
        true
    }

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        errors(write, new, &["ClusterRole"], false)
    }

    fn validate_name(&self, name: &str) -> Result<(), NameError> {
        name::path_segment(name)
    }
}

fn role(binding: &Object) -> Cell {
    let text = |field: &str| value::text(binding.value(), &["roleRef", field]);
    format!("{}/{}", text("kind"), text("name")).into()
}

/// Table cell with the names of the subjects of `kind`.
fn subjects(binding: &Object, kind: &str) -> Cell {
    let subjects = value::list(binding.value(), &["subjects"]).iter();
    let names = subjects.filter(|subject| subject["kind"] == kind).map(|subject| {
        let name = value::text(subject, &["name"]);
        match kind {
            "ServiceAccount" => format!("{}/{name}", value::text(subject, &["namespace"])),
            _ => name.to_owned(),
        }
    });
    names.collect::<Vec<_>>().join(", ").into()
}

/// Sets the API groups of the role and of users and groups where a client omitted them.
fn default_api_groups(new: &mut Value) {
    let fill = |holder: &mut Value| {
        if let Some(fields) = holder.as_object_mut()
            && fields
                .get("apiGroup")
                .is_none_or(|group| group.is_null() || group == "")
        {
            fields.insert("apiGroup".to_owned(), GROUP.into());
        }
    };
    if let Some(role) = new.get_mut("roleRef") {
        fill(role);
    }
    let subjects = new
        .get_mut("subjects")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten();
    for subject in subjects.filter(|subject| subject["kind"] == "User" || subject["kind"] == "Group") {
        fill(subject);
    }
}

fn errors(write: &Write<'_>, new: &Value, role_kinds: &[&str], namespaced: bool) -> Vec<FieldError> {
    // The schema rejects a value that does not parse.
    let Ok(fields) = BindingFields::deserialize(new) else {
        return Vec::new();
    };
    let mut errors = role_errors(&fields.role_ref, role_kinds);
    for (index, subject) in fields.subjects.iter().flatten().enumerate() {
        errors.extend(subject_errors(subject, &format!("subjects[{index}]"), namespaced));
    }
    if let Some(old) = write.old
        && old["roleRef"] != new["roleRef"]
    {
        errors.push(FieldError::invalid(
            "roleRef",
            new["roleRef"].clone(),
            "cannot change roleRef",
        ));
    }
    errors
}

fn role_errors(role: &RoleRef, kinds: &[&str]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if role.api_group != GROUP {
        errors.push(FieldError::not_supported(
            "roleRef.apiGroup",
            role.api_group.as_str(),
            &[GROUP],
        ));
    }
    if !kinds.contains(&role.kind.as_str()) {
        errors.push(FieldError::not_supported(
            "roleRef.kind",
            role.kind.as_str(),
            kinds,
        ));
    }
    if role.name.is_empty() {
        errors.push(FieldError::required("roleRef.name", ""));
    } else if let Err(problem) = name::path_segment(&role.name) {
        errors.push(FieldError::invalid("roleRef.name", role.name.as_str(), problem));
    }
    errors
}

fn subject_errors(subject: &Subject, path: &str, namespaced: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let at = |field: &str| format!("{path}.{field}");
    if subject.name.is_empty() {
        errors.push(FieldError::required(at("name"), ""));
    }
    let mut require_group = |wanted: &str| {
        if subject.api_group != wanted {
            errors.push(FieldError::not_supported(
                at("apiGroup"),
                subject.api_group.as_str(),
                &[wanted],
            ));
        }
    };
    match subject.kind.as_str() {
        "User" | "Group" => require_group(GROUP),
        "ServiceAccount" => {
            require_group("");
            if !subject.name.is_empty()
                && let Err(problem) = name::dns_subdomain(&subject.name)
            {
                errors.push(FieldError::invalid(at("name"), subject.name.as_str(), problem));
            }
            if subject.namespace.is_empty() && !namespaced {
                errors.push(FieldError::required(at("namespace"), ""));
            }
        }
        kind => {
            errors.push(FieldError::not_supported(
                at("kind"),
                kind,
                &["ServiceAccount", "User", "Group"],
            ));
        }
    }
    errors
}
