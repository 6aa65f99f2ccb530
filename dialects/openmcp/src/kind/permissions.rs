//! Permissions that an AccessRequest requests in the cluster: existing roles, roles to be created, and their
//! subjects.

use schemars::JsonSchema;
use serde::Deserialize;

/// The pattern of the name of an OIDC provider.
const NAME: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
/// The pattern of an issuer's URL.
const ISSUER: &str = r"^https?://[^\s/$.?#].[^\s]*$";

/// Access by the token of a service account.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Token {
    /// The roles to create for the token.
    pub permissions: Vec<Permissions>,
    /// The existing roles of the cluster for the token.
    pub role_refs: Vec<RoleRef>,
}

/// Access by an OIDC provider.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["clientID", "issuer", "name", "roleBindings"]))]
pub struct Oidc {
    /// The client ID.
    #[serde(rename = "clientID")]
    #[schemars(length(min = 1))]
    pub client_id: String,
    /// Requested scopes in addition to the usual ones.
    #[serde(rename = "extraScopes")]
    pub extra_scopes: Vec<String>,
    /// The claim that contains the groups.
    #[serde(rename = "groupsClaim")]
    #[schemars(extend("x-default" = "groups"))]
    pub groups_claim: String,
    /// The prefix of groups; by default the name and a colon. An empty prefix is none.
    #[serde(rename = "groupsPrefix")]
    pub groups_prefix: Option<String>,
    /// The issuer's URL.
    #[schemars(length(min = 1), regex(pattern = ISSUER))]
    pub issuer: String,
    /// The name of the provider, which is the default prefix of its users and groups.
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME))]
    pub name: String,
    /// Subjects and their roles.
    #[serde(rename = "roleBindings")]
    pub role_bindings: Vec<RoleBindings>,
    /// The roles to create, without a binding.
    pub roles: Vec<Permissions>,
    /// The claim that contains the user's name.
    #[serde(rename = "usernameClaim")]
    #[schemars(extend("x-default" = "sub"))]
    pub username_claim: String,
    /// The prefix of users; by default the name and a colon. An empty prefix is none.
    #[serde(rename = "usernamePrefix")]
    pub username_prefix: Option<String>,
}

/// Subjects and their roles.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["roleRefs", "subjects"]))]
pub struct RoleBindings {
    /// The roles of the cluster.
    pub role_refs: Vec<RoleRef>,
    /// Subjects of the roles; the provider's prefix is put before their names.
    pub subjects: Vec<Subject>,
}

/// A role of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["kind", "name"]))]
pub struct RoleRef {
    /// Role or ClusterRole.
    #[schemars(extend("enum" = ["Role", "ClusterRole"]))]
    pub kind: String,
    /// The name of the role.
    #[schemars(length(min = 1))]
    pub name: String,
    /// The namespace of a Role; a ClusterRole has none.
    pub namespace: Option<String>,
}

/// A user, a group or a service account.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["kind", "name"], "x-kubernetes-map-type" = "atomic"))]
pub struct Subject {
    /// The API group of the subject.
    pub api_group: Option<String>,
    /// User, Group or ServiceAccount.
    pub kind: String,
    /// The name.
    pub name: String,
    /// The namespace of a ServiceAccount.
    pub namespace: Option<String>,
}

/// A role to create.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["rules"]))]
pub struct Permissions {
    /// Whether missing namespaces are not created.
    pub disable_automatic_namespace_creation: Option<bool>,
    /// The name of the role; random by default.
    pub name: Option<String>,
    /// The namespace of a Role; without it, the role is a ClusterRole.
    pub namespace: Option<String>,
    /// Rules of the role.
    pub rules: Vec<PolicyRule>,
}

/// One rule of a role.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["verbs"]))]
pub struct PolicyRule {
    /// The API groups of the resources; * means all.
    #[serde(rename = "apiGroups")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub api_groups: Vec<String>,
    /// URLs that are not resources; a * at the end is allowed.
    #[serde(rename = "nonResourceURLs")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub non_resource_urls: Vec<String>,
    /// The names of the objects; empty means all.
    #[serde(rename = "resourceNames")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub resource_names: Vec<String>,
    /// The resources; * means all.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub resources: Vec<String>,
    /// The allowed verbs; * means all.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub verbs: Vec<String>,
}
