//! What a handler of a computed resource or a subresource sees of a request, and what it answers.

use std::sync::{Arc, Mutex, PoisonError};

use admission::UserInfo;
use meta::selector::{FieldSelector, Selector};
use meta::{Cell, Column, Object, Status, Timestamp};
use serde_json::Value;

use crate::auth::{Attributes, Authorizer};

/// Texts for the client, sent as `Warning: 299` headers.
#[derive(Clone, Debug, Default)]
pub struct Warnings(Arc<Mutex<Vec<String>>>);

impl Warnings {
    /// Adds a text; the same text is sent once.
    pub fn add(&self, text: impl Into<String>) {
        let text = text.into();
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !list.contains(&text) {
            list.push(text);
        }
    }

    /// Takes all texts out.
    #[must_use]
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// One authorized request to a computed resource or a subresource.
#[derive(Clone)]
pub struct Call {
    /// Who asks.
    pub user: UserInfo,
    /// The API version in the path.
    pub version: String,
    /// The namespace in the path, or the empty string.
    pub namespace: String,
    /// The name in the path, or the empty string.
    pub name: String,
    /// The instant of the request.
    pub now: Timestamp,
    /// Whether `dryRun=All` was asked for.
    pub dry_run: bool,
    /// Texts for the client.
    pub warnings: Warnings,
    /// For rights beyond the one already checked (a review by reference needs `get` on its source).
    pub authorizer: Arc<dyn Authorizer>,
}

impl Call {
    /// Checks another right of the same user.
    ///
    /// # Errors
    /// 403 worded as for a request of its own; 500 when the question could not be answered.
    pub async fn require(&self, attributes: Attributes) -> Result<(), Status> {
        let attributes = Attributes {
            user: self.user.clone(),
            ..attributes
        };
        match self.authorizer.authorize(&attributes).await {
            Ok(access) if access.is_allowed() => Ok(()),
            Ok(_) => {
                let resource = meta::GroupResource::intern(&attributes.group, &attributes.resource);
                Err(Status::forbidden(
                    resource,
                    &attributes.name,
                    &attributes.refusal(),
                ))
            }
            Err(problem) => Err(Status::internal(problem)),
        }
    }
}

/// What a list of a computed resource asks for. The server has parsed and checked it; selectors on labels and on
/// `metadata.name` and `metadata.namespace` are applied by the server afterwards, other fields by the handler.
#[derive(Clone, Debug, Default)]
pub struct ListQuery {
    /// The label selector.
    pub labels: Selector,
    /// The field selector.
    pub fields: FieldSelector,
    /// The page size; 0 is unlimited.
    pub limit: usize,
}

/// Table rows that are not one per object (a Scheduling shows one row per candidate).
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows, each as long as the columns.
    pub rows: Vec<Vec<Cell>>,
}

/// A handler's answer.
#[derive(Clone, Debug)]
pub enum Reply {
    /// An object of the handler's own making.
    Value(Value),
    /// An object with its own table form.
    Table(Value, Rows),
    /// A stored object.
    Object(Arc<Object>),
}
