//! Authorization: the authorizers that every server has (`system:masters`, always-allowed paths), sequences
//! of authorizers, and the refusal that a client reads.

#[cfg(feature = "policies")]
pub mod expressions;
pub mod subject_access_review;

use std::sync::Arc;

use async_trait::async_trait;
use berth_admission::UserInfo;
use berth_apimachinery::selector::{FieldSelector, Operator, Requirement, Selector};
use berth_apimachinery::{Details, Status};

use crate::auth::{Access, Attributes, Authorizer, SelectorScope};
use crate::delegation::DelegationError;
use crate::request_info::RequestInfo;

/// Group whose members are allowed everything.
pub const MASTERS: &str = "system:masters";

/// Paths that need no rights by default: probes have no credentials.
pub const ALWAYS_ALLOWED: [&str; 6] = [
    "/healthz",
    "/livez",
    "/readyz",
    "/healthz/*",
    "/livez/*",
    "/readyz/*",
];

/// Authorizer that allows everything to every user, like kube-apiserver's AlwaysAllow: for servers without
/// confidential data, and for tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct AlwaysAllow;

#[async_trait]
impl Authorizer for AlwaysAllow {
    async fn authorize(&self, _attributes: &Attributes) -> Result<Access, DelegationError> {
        Ok(Access::Allow(String::new()))
    }

    fn is_local(&self) -> bool {
        true
    }
}

/// Sequence of authorizers: the answer is that of the first authorizer that allows or denies.
pub struct Union {
    members: Vec<Arc<dyn Authorizer>>,
}

impl Union {
    /// Creates a union of `members`, in their order.
    #[must_use]
    pub fn new(members: Vec<Arc<dyn Authorizer>>) -> Self {
        Self { members }
    }
}

#[async_trait]
impl Authorizer for Union {
    async fn authorize(&self, attributes: &Attributes) -> Result<Access, DelegationError> {
        let mut reasons = Vec::new();
        let mut problems = Vec::new();
        for member in &self.members {
            match member.authorize(attributes).await {
                Ok(Access::NoOpinion(reason)) if reason.is_empty() => {}
                Ok(Access::NoOpinion(reason)) => reasons.push(reason),
                Ok(access) => return Ok(access),
                Err(problem) => problems.push(problem),
            }
        }
        // No authorizer allowed or denied the request. If one could not answer, the result is 500, not 403:
        // it might have allowed the request.
        if problems.is_empty() {
            Ok(Access::NoOpinion(reasons.join("; ")))
        } else {
            Err(DelegationError::Several(problems))
        }
    }

    fn is_local(&self) -> bool {
        self.members.iter().all(|member| member.is_local())
    }
}

/// Authorizer that allows everything to members of `system:masters`.
pub struct Masters;

#[async_trait]
impl Authorizer for Masters {
    async fn authorize(&self, attributes: &Attributes) -> Result<Access, DelegationError> {
        Ok(if attributes.user.is_in(MASTERS) {
            Access::Allow(format!("in group {MASTERS}"))
        } else {
            Access::NoOpinion(String::new())
        })
    }

    fn is_local(&self) -> bool {
        true
    }
}

/// Authorizer that allows every user to reach certain paths.
pub struct AlwaysAllowPaths {
    exact: Vec<String>,
    prefixes: Vec<String>,
}

impl AlwaysAllowPaths {
    /// Creates an authorizer that allows `paths`; a trailing `*` matches any rest.
    pub fn new<S: AsRef<str>>(paths: &[S]) -> Self {
        let mut rules = Self {
            exact: Vec::new(),
            prefixes: Vec::new(),
        };
        for path in paths {
            match path.as_ref().strip_suffix('*') {
                Some(prefix) => rules.prefixes.push(prefix.to_owned()),
                None => rules.exact.push(path.as_ref().to_owned()),
            }
        }
        rules
    }
}

#[async_trait]
impl Authorizer for AlwaysAllowPaths {
    async fn authorize(&self, attributes: &Attributes) -> Result<Access, DelegationError> {
        let path = attributes.path.as_str();
        let allowed = !attributes.is_resource
            && (self.exact.iter().any(|exact| exact == path)
                || self
                    .prefixes
                    .iter()
                    .any(|prefix| path.starts_with(prefix.as_str())));
        Ok(if allowed {
            Access::Allow("path is always allowed".to_owned())
        } else {
            Access::NoOpinion(String::new())
        })
    }

    fn is_local(&self) -> bool {
        true
    }
}

/// Returns the attributes of a request for authorizers.
#[must_use]
pub fn attributes(info: &RequestInfo, user: &UserInfo) -> Attributes {
    Attributes {
        user: user.clone(),
        verb: info.verb.to_owned(),
        is_resource: info.is_resource,
        group: info.group.clone(),
        version: info.version.clone(),
        resource: info.resource.clone(),
        subresource: info.subresource.clone(),
        namespace: info.namespace.clone(),
        name: info.name.clone(),
        path: info.path.clone(),
        selected: request_scope(info),
    }
}

/// Returns the scope of the request's selectors. An invalid selector is ignored here; the handler answers it
/// with 400.
fn request_scope(info: &RequestInfo) -> SelectorScope {
    if !info.is_resource || !matches!(info.verb, "list" | "watch" | "deletecollection") {
        return SelectorScope::default();
    }
    scope_of(
        info.query.first("fieldSelector"),
        info.query.first("labelSelector"),
    )
}

/// Returns the scope of two selectors; an invalid selector is ignored.
fn scope_of(fields: Option<&str>, labels: Option<&str>) -> SelectorScope {
    let fields = fields.and_then(|text| FieldSelector::parse(text).ok());
    let labels = labels.and_then(|text| Selector::parse(text).ok());
    let requirement = |(path, equal, value): (String, bool, String)| Requirement {
        key: path,
        operator: if equal { Operator::In } else { Operator::NotIn },
        values: vec![value],
    };
    SelectorScope {
        fields: fields.map_or_else(Vec::new, |selector| {
            selector.terms.into_iter().map(requirement).collect()
        }),
        labels: labels.map_or_else(Vec::new, |selector| selector.requirements),
    }
}

/// Checks one right, and returns the reason why it is allowed.
///
/// # Errors
/// 403 when the right is denied or no authorizer allows it. 500 when the authorizer could not answer:
/// authorization never fails open, and the server's log has the reason.
pub async fn require(authorizer: &dyn Authorizer, attributes: &Attributes) -> Result<String, Status> {
    match authorizer.authorize(attributes).await {
        Ok(Access::Allow(reason)) => Ok(reason),
        Ok(Access::Deny(reason) | Access::NoOpinion(reason)) => Err(forbidden(attributes, &reason)),
        Err(problem) => {
            tracing::error!(
                %problem,
                user = attributes.user.name,
                verb = attributes.verb,
                "authorization failed, so the request is refused with 500; check the server or authorizer that is asked"
            );
            Err(Status::internal(
                "authorization failed; the server's log has the reason",
            ))
        }
    }
}

/// Returns 403 in kube-apiserver's words. The names come from the client, so they are not interned as
/// [`berth_apimachinery::GroupResource`].
fn forbidden(attributes: &Attributes, reason: &str) -> Status {
    let mut text = attributes.refusal();
    if !reason.is_empty() {
        text = format!("{text}: {reason}");
    }
    // Paths and names come from the client; a browser must not interpret them as markup.
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    if !attributes.is_resource {
        let mut status = Status::failure(403, "Forbidden", format!("forbidden: {text}"));
        status.details = Some(Details::default());
        return status;
    }
    let Attributes {
        group,
        resource,
        name,
        ..
    } = attributes;
    Status::forbidden_named(group, resource, name, &text)
}

#[cfg(test)]
mod tests;
