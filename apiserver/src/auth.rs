//! Authorization: the request to judge ([`Attributes`]) and the three-valued answer ([`Access`]).

use async_trait::async_trait;
use berth_admission::UserInfo;
use berth_apimachinery::selector::Requirement;

use crate::delegation::DelegationError;

/// Attributes of a request to be authorized: the attributes of a SubjectAccessReview.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// User of the request.
    pub user: UserInfo,
    /// The verb: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`, or a
    /// special one such as `impersonate`; for paths the HTTP method in lower case.
    pub verb: String,
    /// Whether the request is for a resource; otherwise it is for `path`, and the fields about a resource are
    /// not used.
    pub is_resource: bool,
    /// The API group.
    pub group: String,
    /// The API version.
    pub version: String,
    /// The plural resource.
    pub resource: String,
    /// The subresource, or the empty string.
    pub subresource: String,
    /// The namespace, or the empty string.
    pub namespace: String,
    /// The object's name, or the empty string.
    pub name: String,
    /// The URL path.
    pub path: String,
    /// Selectors that limit a collection request.
    pub selected: SelectorScope,
}

/// Selectors of a list, watch or deletecollection: an authorizer may allow only the selected objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelectorScope {
    /// Requirements on fields, by path.
    pub fields: Vec<Requirement>,
    /// Requirements on labels.
    pub labels: Vec<Requirement>,
}

impl Attributes {
    /// Returns the text of a refusal, which kube-apiserver puts after "is forbidden: ".
    #[must_use]
    pub fn refusal(&self) -> String {
        let user = &self.user.name;
        if !self.is_resource {
            return format!("User \"{user}\" cannot {} path \"{}\"", self.verb, self.path);
        }
        let resource = if self.subresource.is_empty() {
            self.resource.clone()
        } else {
            format!("{}/{}", self.resource, self.subresource)
        };
        let place = if self.namespace.is_empty() {
            "at the cluster scope".to_owned()
        } else {
            format!("in the namespace \"{}\"", self.namespace)
        };
        let group = &self.group;
        format!(
            "User \"{user}\" cannot {} resource \"{resource}\" in API group \"{group}\" {place}",
            self.verb
        )
    }
}

/// An authorizer's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Allowed, with the reason.
    Allow(String),
    /// Refused, with the reason, even if other authorizers allow the request.
    Deny(String),
    /// No opinion, with the reason.
    NoOpinion(String),
}

impl Access {
    /// Whether the answer is [`Access::Allow`].
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        matches!(self, Self::Allow(_))
    }
}

/// Authorizer of requests.
#[async_trait]
pub trait Authorizer: Send + Sync + 'static {
    /// Judges one request.
    ///
    /// # Errors
    /// When the request could not be judged: it then fails with 500.
    async fn authorize(&self, attributes: &Attributes) -> Result<Access, DelegationError>;

    /// Whether the authorizer answers from memory, without a request to another server.
    fn is_local(&self) -> bool {
        false
    }
}
