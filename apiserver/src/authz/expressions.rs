//! Access reviews for CEL expressions: the variable `authorizer` in admission policies and match conditions.

use std::sync::Arc;

use berth_admission::UserInfo;
use berth_cel::{Decision, Review, ReviewSubject};
use berth_policies::{AccessReviewer, PendingReview};

use super::{Masters, Union, scope_of};
use crate::auth::{Access, Attributes, Authorizer};

/// Reviewer that answers the access reviews of expressions with the authorizer of requests.
pub struct Reviewer(Union);

impl Reviewer {
    /// Creates a reviewer that asks `authorizer`, except about members of `system:masters`, who are allowed
    /// everything.
    #[must_use]
    pub fn new(authorizer: &Arc<dyn Authorizer>) -> Self {
        Self(Union::new(vec![Arc::new(Masters), Arc::clone(authorizer)]))
    }
}

impl AccessReviewer for Reviewer {
    fn decide<'a>(&'a self, user: &'a UserInfo, review: &'a Review) -> PendingReview<'a> {
        let attributes = attributes(user, review);
        Box::pin(async move {
            match self.0.authorize(&attributes).await {
                Ok(Access::Allow(reason)) => Decision {
                    allowed: true,
                    reason,
                    error: None,
                },
                Ok(Access::Deny(reason) | Access::NoOpinion(reason)) => Decision {
                    allowed: false,
                    reason,
                    error: None,
                },
                Err(problem) => Decision {
                    allowed: false,
                    reason: String::new(),
                    error: Some(problem.to_string()),
                },
            }
        })
    }
}

/// Returns the attributes of `review`. The user is the service account that the review names, or otherwise
/// `user`.
fn attributes(user: &UserInfo, review: &Review) -> Attributes {
    let user = match &review.account {
        Some((namespace, name)) => UserInfo {
            name: format!("system:serviceaccount:{namespace}:{name}"),
            groups: vec![
                "system:serviceaccounts".to_owned(),
                format!("system:serviceaccounts:{namespace}"),
            ],
            ..UserInfo::default()
        },
        None => user.clone(),
    };
    let verb = review.verb.to_string();
    match &review.subject {
        ReviewSubject::Path(path) => Attributes {
            user,
            verb,
            path: path.to_string(),
            ..Attributes::default()
        },
        ReviewSubject::Resource {
            group,
            resource,
            subresource,
            namespace,
            name,
            fields,
            labels,
        } => Attributes {
            user,
            verb,
            is_resource: true,
            group: group.to_string(),
            version: "*".to_owned(),
            resource: resource.to_string(),
            subresource: subresource.to_string(),
            namespace: namespace.to_string(),
            name: name.to_string(),
            selected: scope_of(Some(&**fields), Some(&**labels)),
            ..Attributes::default()
        },
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use parking_lot::Mutex;

    use super::*;
    use crate::delegation::DelegationError;

    /// Authorizer that allows gets, fails for lists, has no opinion about other verbs, and records the
    /// attributes.
    #[derive(Default)]
    struct FakeAuthorizer(Mutex<Vec<Attributes>>);

    #[async_trait]
    impl Authorizer for FakeAuthorizer {
        async fn authorize(&self, attributes: &Attributes) -> Result<Access, DelegationError> {
            self.0.lock().push(attributes.clone());
            match attributes.verb.as_str() {
                "get" => Ok(Access::Allow("by a role".to_owned())),
                "list" => Err(DelegationError::Other("nobody answers".to_owned())),
                _ => Ok(Access::NoOpinion(String::new())),
            }
        }
    }

    fn review(verb: &str) -> Review {
        let mut subject = ReviewSubject::resource("apps", "deployments");
        if let ReviewSubject::Resource {
            namespace, labels, ..
        } = &mut subject
        {
            (*namespace, *labels) = ("team".into(), "a=b".into());
        }
        Review {
            account: None,
            verb: verb.into(),
            subject,
        }
    }

    #[tokio::test]
    async fn a_review_is_answered_like_a_request_of_the_user() {
        let inner = Arc::new(FakeAuthorizer::default());
        let authorizer = Arc::clone(&inner) as Arc<dyn Authorizer>;
        let reviewer = Reviewer::new(&authorizer);
        let user = UserInfo {
            name: "alice".to_owned(),
            ..UserInfo::default()
        };
        let got = reviewer.decide(&user, &review("get")).await;
        assert!(
            got.allowed && got.reason == "by a role" && got.error.is_none(),
            "{got:?}"
        );
        let listed = reviewer.decide(&user, &review("list")).await;
        assert_eq!(listed.error.as_deref(), Some("nobody answers"));
        assert!(!listed.allowed);
        let account = Review {
            account: Some(("team".into(), "robot".into())),
            ..review("delete")
        };
        assert!(!reviewer.decide(&user, &account).await.allowed);
        let path = Review {
            verb: "get".into(),
            subject: ReviewSubject::Path("/healthz".into()),
            account: None,
        };
        assert!(reviewer.decide(&user, &path).await.allowed);
        let requests = inner.0.lock().clone();
        assert_eq!(requests[0].user.name, "alice");
        assert_eq!(
            (requests[0].namespace.as_str(), requests[0].resource.as_str()),
            ("team", "deployments")
        );
        assert_eq!(requests[0].selected.labels.len(), 1);
        assert_eq!(requests[2].user.name, "system:serviceaccount:team:robot");
        assert_eq!(
            requests[2].user.groups,
            ["system:serviceaccounts", "system:serviceaccounts:team"]
        );
        assert!(!requests[3].is_resource && requests[3].path == "/healthz");
        let master = UserInfo {
            groups: vec!["system:masters".to_owned()],
            ..UserInfo::default()
        };
        assert!(reviewer.decide(&master, &review("delete")).await.allowed);
    }
}
