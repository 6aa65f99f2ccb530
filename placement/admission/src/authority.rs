//! Authorization for plugins, by the authorizer of API requests: the RBAC objects that are served here, or
//! SubjectAccessReviews on the hub.

use std::sync::Arc;

use berth_admission::UserInfo;
use berth_admission::rights::{Right, RightCheck, RightCheckError, RightChecker};
use berth_apiserver::authz::{Masters, Union};
use berth_apiserver::{Attributes, Authorizer};

/// The authorizer of API requests, in the form that plugins use. Members of `system:masters` have every
/// right.
pub(super) struct PluginAuthorizer(Union);

impl PluginAuthorizer {
    pub(super) fn of(authorizer: &Arc<dyn Authorizer>) -> Self {
        Self(Union::new(vec![Arc::new(Masters), Arc::clone(authorizer)]))
    }
}

impl RightChecker for PluginAuthorizer {
    fn has<'a>(&'a self, user: &'a UserInfo, right: &'a Right) -> RightCheck<'a> {
        let attributes = attributes(user, right);
        Box::pin(async move {
            let access = self.0.authorize(&attributes).await;
            access
                .map(|access| access.is_allowed())
                .map_err(|problem| RightCheckError(problem.to_string()))
        })
    }
}

fn attributes(user: &UserInfo, right: &Right) -> Attributes {
    let Right {
        verb,
        group,
        resource,
        subresource,
        namespace,
        name,
    } = right.clone();
    Attributes {
        user: user.clone(),
        verb,
        is_resource: true,
        group,
        resource,
        subresource,
        namespace,
        name,
        ..Attributes::default()
    }
}
