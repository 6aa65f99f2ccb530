//! Requests and answers of the handlers of computed resources and subresources.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use berth_admission::UserInfo;
use berth_apimachinery::selector::{FieldSelector, Selector};
use berth_apimachinery::{Cell, Column, Object, Status, Timestamp};
use serde_json::Value;

use crate::annotations::Annotations;
use crate::auth::{Attributes, Authorizer};
use crate::authz;
use crate::request_info::Query;

/// Highest number of warnings that are sent; further warnings are only counted. Each warning is a header, and
/// some HTTP clients accept only a hundred headers.
const MAX_WARNINGS: usize = 80;

/// Warnings for the client, sent as `Warning: 299` headers: the first eighty, and the number of the rest.
#[derive(Clone, Debug, Default)]
pub struct Warnings(Arc<Mutex<WarningTexts>>);

/// The texts of warnings, and the number of omitted warnings.
#[derive(Debug, Default)]
struct WarningTexts {
    texts: Vec<String>,
    unique: HashSet<String>,
    more: usize,
}

impl Warnings {
    /// Adds a warning. A text that is added several times is sent once.
    pub fn add(&self, text: impl Into<String>) {
        let text = text.into();
        let mut texts = self.texts();
        if texts.unique.contains(&text) {
            return;
        }
        if texts.texts.len() < MAX_WARNINGS {
            texts.unique.insert(text.clone());
            texts.texts.push(text);
        } else {
            texts.more += 1;
        }
    }

    /// Adds `count` to the number of omitted warnings.
    pub fn add_more(&self, count: usize) {
        self.texts().more += count;
    }

    /// Takes the texts of all warnings; the last text is the number of omitted warnings, if there are any.
    #[must_use]
    pub fn take(&self) -> Vec<String> {
        let WarningTexts { mut texts, more, .. } = std::mem::take(&mut *self.texts());
        if more > 0 {
            texts.push(format!("and {more} more warnings"));
        }
        texts
    }

    fn texts(&self) -> MutexGuard<'_, WarningTexts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One authorized request to a computed resource or a subresource.
#[derive(Clone)]
pub struct Call {
    /// User of the request.
    pub user: UserInfo,
    /// Field manager of a create, an update or a patch; empty for other verbs.
    pub manager: String,
    /// The API version in the path.
    pub version: String,
    /// The namespace in the path, or the empty string.
    pub namespace: String,
    /// The name in the path, or the empty string.
    pub name: String,
    /// The instant of the request.
    pub now: Timestamp,
    /// Query of the request, for a handler's own parameters.
    pub query: Query,
    /// Whether the request is a dry run (`dryRun=All`).
    pub dry_run: bool,
    /// Warnings for the client.
    pub warnings: Warnings,
    /// Annotations for the request's audit event.
    pub annotations: Annotations,
    /// Authorizer for additional rights: a review of a stored object, for example, also needs `get` on the
    /// object.
    pub authorizer: Arc<dyn Authorizer>,
}

impl Call {
    /// Checks that the user of the request has another right. The user in `attributes` is ignored.
    ///
    /// # Errors
    /// 403 with the text that a separate request would get. 500 when the right could not be checked; the
    /// server's log has the reason.
    pub async fn require(&self, attributes: Attributes) -> Result<(), Status> {
        let attributes = Attributes {
            user: self.user.clone(),
            ..attributes
        };
        authz::require(&*self.authorizer, &attributes).await.map(drop)
    }
}

/// Parsed selectors of a list of a computed resource. The server applies selectors on labels and on
/// `metadata.name` and `metadata.namespace` to the objects that the handler returns. The handler applies
/// selectors on other fields.
#[derive(Clone, Debug, Default)]
pub struct ListQuery {
    /// The label selector.
    pub labels: Selector,
    /// The field selector.
    pub fields: FieldSelector,
}

/// Table rows of one object that has several rows, such as one for each candidate of a Scheduling.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows, each with one cell for each column.
    pub rows: Vec<Vec<Cell>>,
}

/// An object that a handler computed for one answer. It is serialized once, in the requested form, so that a
/// large object is never built as a tree.
pub trait Document: Send + Sync {
    /// Metadata of the object.
    fn metadata(&self) -> Value;

    /// The whole object as JSON.
    ///
    /// # Errors
    /// The `Status` that the client receives.
    fn json(&self) -> Result<Vec<u8>, Status>;

    /// Table rows of the object.
    fn rows(&self) -> Rows;
}

/// A handler's answer.
#[derive(Clone)]
pub enum Reply {
    /// An object as a JSON value.
    Value(Value),
    /// An object that is serialized when the requested form is known.
    Document(Arc<dyn Document>),
    /// A stored object.
    Object(Arc<Object>),
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => f.debug_tuple("Value").field(value).finish(),
            Self::Document(document) => f.debug_tuple("Document").field(&document.metadata()).finish(),
            Self::Object(object) => f.debug_tuple("Object").field(object).finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Access;
    use crate::testing::{FunctionAuthorizer, now};

    fn call(access: fn() -> Result<Access, String>) -> Call {
        Call {
            user: UserInfo {
                name: "ann".to_owned(),
                ..UserInfo::default()
            },
            manager: String::new(),
            version: "v1".to_owned(),
            namespace: String::new(),
            name: String::new(),
            now: now(),
            query: Query::default(),
            dry_run: false,
            warnings: Warnings::default(),
            annotations: Annotations::default(),
            authorizer: Arc::new(FunctionAuthorizer(move |_: &Attributes| access())),
        }
    }

    #[tokio::test]
    async fn a_missing_right_is_refused_as_a_request_without_it() {
        let right = Attributes {
            verb: "get".to_owned(),
            is_resource: true,
            resource: "foos".to_owned(),
            ..Attributes::default()
        };
        let denied = call(|| Ok(Access::Deny("quarantined".to_owned())));
        assert_eq!(
            denied.require(right.clone()).await.unwrap_err().message,
            "foos is forbidden: User \"ann\" cannot get resource \"foos\" in API group \"\" at the cluster \
             scope: quarantined"
        );
        let unknown = call(|| Err("no route to 192.0.2.1".to_owned()));
        let status = unknown.require(right).await.unwrap_err();
        assert_eq!(status.code, 500);
        assert!(!status.message.contains("192.0.2.1"), "{}", status.message);
    }

    #[test]
    fn eighty_warnings_are_kept_without_duplicates_and_the_rest_is_counted() {
        let warnings = Warnings::default();
        for number in 0..240_000 {
            warnings.add(format!("unknown field \"x{number}\""));
            warnings.add("unknown field \"x0\"");
        }
        assert_eq!(warnings.texts().unique.len(), 80);
        let texts = warnings.take();
        assert_eq!(texts.len(), 81);
        assert_eq!(texts[79], "unknown field \"x79\"");
        assert_eq!(texts[80], "and 239920 more warnings");
        assert!(warnings.take().is_empty());
    }
}
