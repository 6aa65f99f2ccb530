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
    /// The roles that are made for it.
    pub permissions: Vec<Permissions>,
    /// The roles of the cluster that it gets.
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
    /// The scopes asked for beside the usual ones.
    #[serde(rename = "extraScopes")]
    pub extra_scopes: Vec<String>,
    /// The claim with the groups.
    #[serde(rename = "groupsClaim")]
    #[schemars(extend("x-default" = "groups"))]
    pub groups_claim: String,
    /// The prefix of groups; without it, the name and a colon. Empty is none.
    #[serde(rename = "groupsPrefix")]
    pub groups_prefix: Option<String>,
    /// The issuer's URL.
    #[schemars(length(min = 1), regex(pattern = ISSUER))]
    pub issuer: String,
    /// The name of the provider, which begins the names of its users and groups.
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME))]
    pub name: String,
    /// Subjects, and the roles they get.
    #[serde(rename = "roleBindings")]
    pub role_bindings: Vec<RoleBindings>,
    /// The roles that are made, and bound to nobody.
    pub roles: Vec<Permissions>,
    /// The claim with the user's name.
    #[serde(rename = "usernameClaim")]
    #[schemars(extend("x-default" = "sub"))]
    pub username_claim: String,
    /// The prefix of users; without it, the name and a colon. Empty is none.
    #[serde(rename = "usernamePrefix")]
    pub username_prefix: Option<String>,
}

/// Subjects, and the roles they get.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["roleRefs", "subjects"]))]
pub struct RoleBindings {
    /// The roles of the cluster.
    pub role_refs: Vec<RoleRef>,
    /// Subjects that get them; the provider's prefix comes before their names.
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

/// A role that is to be made.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["rules"]))]
pub struct Permissions {
    /// Whether a namespace that is not there is left so.
    pub disable_automatic_namespace_creation: Option<bool>,
    /// The name of the role; without it, a random one.
    pub name: Option<String>,
    /// The namespace of a Role; without it, a ClusterRole is made.
    pub namespace: Option<String>,
    /// Rules about what it allows.
    pub rules: Vec<PolicyRule>,
}

/// Rule about what a role allows.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["verbs"]))]
pub struct PolicyRule {
    /// The API groups of the resources; * is all.
    #[serde(rename = "apiGroups")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub api_groups: Vec<String>,
    /// URLs that are no resources; a * at the end is allowed.
    #[serde(rename = "nonResourceURLs")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub non_resource_urls: Vec<String>,
    /// The names of the objects; none is all.
    #[serde(rename = "resourceNames")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub resource_names: Vec<String>,
    /// The resources; * is all.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub resources: Vec<String>,
    /// Verbs that are allowed; * is all.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub verbs: Vec<String>,
}
