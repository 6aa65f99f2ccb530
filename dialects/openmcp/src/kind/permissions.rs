//! The access that an AccessRequest requests in a cluster: existing roles and new roles, for a token or for
//! subjects of an OIDC provider.

use schemars::JsonSchema;
use serde::Deserialize;

/// The pattern of the name of an OIDC provider.
const NAME: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
/// The pattern of the URL of an issuer.
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
    /// The client ID at the OIDC provider.
    #[serde(rename = "clientID")]
    #[schemars(length(min = 1))]
    pub client_id: String,
    /// Scopes that are requested in addition to the default scopes.
    #[serde(rename = "extraScopes")]
    pub extra_scopes: Vec<String>,
    /// The claim that contains the groups.
    #[serde(rename = "groupsClaim")]
    #[schemars(extend("x-default" = "groups"))]
    pub groups_claim: String,
    /// The prefix of group names; by default the name of the provider and a colon. Empty means no prefix.
    #[serde(rename = "groupsPrefix")]
    pub groups_prefix: Option<String>,
    /// The URL of the issuer.
    #[schemars(length(min = 1), regex(pattern = ISSUER))]
    pub issuer: String,
    /// The name of the provider. With a colon, it is the default prefix of user and group names.
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME))]
    pub name: String,
    /// Bindings of subjects to existing roles.
    #[serde(rename = "roleBindings")]
    pub role_bindings: Vec<RoleBindings>,
    /// The roles to create, without bindings.
    pub roles: Vec<Permissions>,
    /// The claim that contains the name of the user.
    #[serde(rename = "usernameClaim")]
    #[schemars(extend("x-default" = "sub"))]
    pub username_claim: String,
    /// The prefix of user names; by default the name of the provider and a colon. Empty means no prefix.
    #[serde(rename = "usernamePrefix")]
    pub username_prefix: Option<String>,
}

/// A binding of subjects to existing roles.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["roleRefs", "subjects"]))]
pub struct RoleBindings {
    /// The existing roles of the cluster.
    pub role_refs: Vec<RoleRef>,
    /// The subjects that get the roles. The prefix of the provider is put before the names.
    pub subjects: Vec<Subject>,
}

/// A reference to an existing role of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["kind", "name"]))]
pub struct RoleRef {
    /// The kind of the role: Role or ClusterRole.
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
    /// The kind of the subject: User, Group or ServiceAccount.
    pub kind: String,
    /// The name of the subject.
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
    /// The name of the role; by default a random name.
    pub name: Option<String>,
    /// The namespace of a Role. Without a namespace, the role is a ClusterRole.
    pub namespace: Option<String>,
    /// The rules of the role.
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
