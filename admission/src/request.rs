//! A write as plugins see it, and refusals.

use std::collections::BTreeMap;

use berth_apimachinery::{FieldError, GroupResource, Status};
use serde_json::Value;

/// The authenticated user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserInfo {
    /// The user name.
    pub name: String,
    /// The uid, mostly empty.
    pub uid: String,
    /// The groups.
    pub groups: Vec<String>,
    /// Extra attributes.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl UserInfo {
    /// Whether the user is in `group`.
    #[must_use]
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|name| name == group)
    }
}

/// The admission operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// A create.
    Create,
    /// An update or patch.
    Update,
    /// A delete.
    Delete,
    /// A connect to a subresource.
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

/// One write under review.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// Operation.
    pub operation: Operation,
    /// The resource written to.
    pub resource: GroupResource,
    /// The object's kind.
    pub kind: &'a str,
    /// The subresource, or the empty string.
    pub subresource: &'a str,
    /// The namespace, or the empty string.
    pub namespace: &'a str,
    /// The name (empty on a create with generateName).
    pub name: &'a str,
    /// User that makes the write.
    pub user: &'a UserInfo,
    /// The stored object, on update and delete.
    pub old: Option<&'a Value>,
    /// Whether the write is a dry run, which stores nothing.
    pub dry_run: bool,
}

/// The resource of Namespaces.
pub const NAMESPACES: GroupResource = GroupResource::new("", "namespaces");

impl<'a> Request<'a> {
    /// The Namespace by whose labels namespace selectors judge a write to a Namespace: the new state of a created
    /// or updated Namespace, which is `object`, and otherwise the stored state. `None` for other resources.
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

/// A refusal. The chain turns it into a `Status` that names the plugin's reasons.
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
    /// The refusal of changes to `fields`, which belong to another writer: 403, with each field in the text
    /// and as a cause, so that a client can leave exactly these fields unchanged.
    #[must_use]
    pub fn owned(request: &Request<'_>, fields: &[FieldError]) -> Self {
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
