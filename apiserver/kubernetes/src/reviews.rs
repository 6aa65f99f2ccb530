//! Reviews of the caller's identity, of the caller's rights, and of the rights of other users. The response
//! to the create has the answer, and the review is never stored. `kubectl auth can-i`, `auth can-i --list`
//! and `auth whoami` use reviews.

pub mod access;
mod kind;
pub mod own;

use std::sync::Arc;

use berth_apimachinery::Scope;
use berth_apiserver::{Backing, Computed, Group, Resource};

use crate::rbac::Rbac;
use kind::ReviewKind;

/// API group of access reviews.
const AUTHORIZATION: &str = "authorization.k8s.io";
/// API group of reviews of identities.
const AUTHENTICATION: &str = "authentication.k8s.io";

/// Returns the API groups of the reviews. The authorizer that also authorizes requests answers access
/// reviews, so that the answers agree with its decisions; `rbac` lists the rules of the caller.
#[must_use]
pub fn groups(rbac: &Arc<Rbac>) -> Vec<Group> {
    let rules = Arc::new(own::SelfSubjectRulesReview::new(Arc::clone(rbac)));
    vec![
        Group {
            name: AUTHENTICATION,
            resources: vec![resource(
                ReviewKind::new::<own::SelfSubjectReviewFields>(
                    AUTHENTICATION,
                    "SelfSubjectReview",
                    Scope::Cluster,
                ),
                Arc::new(own::SelfSubjectReview),
            )],
        },
        Group {
            name: AUTHORIZATION,
            resources: vec![
                resource(
                    ReviewKind::new::<access::SubjectAccessReviewFields>(
                        AUTHORIZATION,
                        "LocalSubjectAccessReview",
                        Scope::Namespaced,
                    ),
                    Arc::new(access::LocalSubjectAccessReview),
                ),
                resource(
                    ReviewKind::new::<access::SelfSubjectAccessReviewFields>(
                        AUTHORIZATION,
                        "SelfSubjectAccessReview",
                        Scope::Cluster,
                    ),
                    Arc::new(access::SelfSubjectAccessReview),
                ),
                resource(
                    ReviewKind::new::<own::SelfSubjectRulesReviewFields>(
                        AUTHORIZATION,
                        "SelfSubjectRulesReview",
                        Scope::Cluster,
                    ),
                    rules,
                ),
                resource(
                    ReviewKind::new::<access::SubjectAccessReviewFields>(
                        AUTHORIZATION,
                        "SubjectAccessReview",
                        Scope::Cluster,
                    ),
                    Arc::new(access::SubjectAccessReview),
                ),
            ],
        },
    ]
}

fn resource(kind: ReviewKind, answer: Arc<dyn Computed>) -> Resource {
    Resource::new(Arc::new(kind), Backing::Computed(answer))
}

#[cfg(test)]
mod tests;
