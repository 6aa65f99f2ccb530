//! Writes as plugins see them, and refusals of writes.

use std::collections::BTreeMap;

use berth_apimachinery::{FieldError, GroupResource, Status};
use serde_json::Value;

/// An authenticated user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserInfo {
    /// Name of the user.
    pub name: String,
    /// UID of the user, mostly empty.
    pub uid: String,
    /// Groups of the user.
    pub groups: Vec<String>,
    /// Extra attributes of the user, as values by key.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl UserInfo {
    /// Whether the user is in `group`.
    #[must_use]
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|name| name == group)
    }
}

/// Operation of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Creation of an object.
    Create,
    /// Update or patch of an object.
    Update,
    /// Deletion of an object.
    Delete,
    /// Connection to a subresource, such as `pods/exec`.
    Connect,
}

impl Operation {
    /// All operations.
    pub const ALL: [Self; 4] = [Self::Create, Self::Update, Self::Delete, Self::Connect];

    /// The operation's name in the AdmissionReview API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

/// A write for admission.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// Operation of the write.
    pub operation: Operation,
    /// Resource of the written object.
    pub resource: GroupResource,
    /// Kind of the written object.
    pub kind: &'a str,
    /// Subresource, or the empty string.
    pub subresource: &'a str,
    /// Namespace of the object; empty for a cluster-scoped object.
    pub namespace: &'a str,
    /// Name of the object; empty on a create with `generateName`.
    pub name: &'a str,
    /// User that sent the write.
    pub user: &'a UserInfo,
    /// Stored object; `None` on create and connect.
    pub old: Option<&'a Value>,
    /// Whether the write is a dry run, which stores nothing.
    pub dry_run: bool,
}

/// The resource of Namespaces.
pub const NAMESPACES: GroupResource = GroupResource::new("", "namespaces");

impl<'a> Request<'a> {
    /// Attribute `namespace` of the request for policies and webhooks. As in kube-apiserver, the attribute of
    /// a Namespace is its own name.
    #[must_use]
    pub fn namespace_attribute(&self) -> &'a str {
        match self.resource == NAMESPACES {
            true => self.name,
            false => self.namespace,
        }
    }

    /// Returns the written Namespace, because namespace selectors match a Namespace by its own labels:
    /// `object` on create and update of the Namespace, otherwise the stored Namespace. `None` for other
    /// resources.
    #[must_use]
    pub fn own_namespace(&self, object: Option<&'a Value>) -> Option<&'a Value> {
        if self.resource != NAMESPACES {
            return None;
        }
        let is_written = matches!(self.operation, Operation::Create | Operation::Update);
        match is_written && self.subresource.is_empty() {
            true => object,
            false => self.old,
        }
    }
}

/// Refusal of a write by a plugin. The chain converts it to a `Status` for the client.
#[derive(Clone, Debug, PartialEq)]
pub enum Denial {
    /// Some fields are invalid: 422 with these causes.
    Invalid(Vec<FieldError>),
    /// The write is not allowed: 403 with this message.
    Forbidden(String),
    /// Any other response, as a complete `Status`.
    Status(Box<Status>),
}

impl Denial {
    /// Returns the refusal of a write that changes `fields` of another owner: 403, with every field in the
    /// message and as a cause, so that a client can leave exactly these fields unchanged.
    #[must_use]
    pub fn owned_fields(request: &Request<'_>, fields: &[FieldError]) -> Self {
        let texts: Vec<String> = fields.iter().map(ToString::to_string).collect();
        let status = Status::forbidden(request.resource, request.name, &texts.join("; "));
        Self::Status(Box::new(fields.iter().fold(status, |status, field| {
            status.with_cause(field.kind.reason(), field.message(), &field.path)
        })))
    }

    /// Converts the refusal to the `Status` that the client receives.
    #[must_use]
    pub fn into_status(self, request: &Request<'_>) -> Status {
        match self {
            Self::Invalid(errors) => {
                Status::invalid(request.resource.group, request.kind, request.name, &errors)
            }
            Self::Forbidden(text) => Status::forbidden(request.resource, request.name, &text),
            Self::Status(status) => *status,
        }
    }
}
