//! Reviews of the caller's identity, of the caller's rights, and of the rights of other users. They are
//! answered at once and never stored; `kubectl auth can-i`, `auth can-i --list` and `auth whoami` use them.

pub mod access;
mod kind;
pub mod own;

use std::sync::Arc;

use berth_apimachinery::Scope;
use berth_apiserver::{Backing, Computed, Group, Resource};

use crate::rbac::Rbac;
use kind::Review;

/// API group of access reviews.
const AUTHORIZATION: &str = "authorization.k8s.io";
/// API group of reviews of identities.
const AUTHENTICATION: &str = "authentication.k8s.io";

/// API groups of the reviews. The authorizer of each call judges access, so that reviews agree with the
/// server; `rbac` lists the user's own rules.
#[must_use]
pub fn groups(rbac: &Arc<Rbac>) -> Vec<Group> {
    let rules = Arc::new(own::Rules::new(Arc::clone(rbac)));
    vec![
        Group {
            name: AUTHENTICATION,
            resources: vec![resource(
                Review::new::<own::SelfSubjectReviewFields>(
                    AUTHENTICATION,
                    "SelfSubjectReview",
                    Scope::Cluster,
                ),
                Arc::new(own::WhoAmI),
            )],
        },
        Group {
            name: AUTHORIZATION,
            resources: vec![
                resource(
                    Review::new::<access::SubjectAccessReviewFields>(
                        AUTHORIZATION,
                        "LocalSubjectAccessReview",
                        Scope::Namespaced,
                    ),
                    Arc::new(access::Local),
                ),
                resource(
                    Review::new::<access::SelfSubjectAccessReviewFields>(
                        AUTHORIZATION,
                        "SelfSubjectAccessReview",
                        Scope::Cluster,
                    ),
                    Arc::new(access::SelfReview),
                ),
                resource(
                    Review::new::<own::SelfSubjectRulesReviewFields>(
                        AUTHORIZATION,
                        "SelfSubjectRulesReview",
                        Scope::Cluster,
                    ),
                    rules,
                ),
                resource(
                    Review::new::<access::SubjectAccessReviewFields>(
                        AUTHORIZATION,
                        "SubjectAccessReview",
                        Scope::Cluster,
                    ),
                    Arc::new(access::Any),
                ),
            ],
        },
    ]
}

fn resource(kind: Review, answer: Arc<dyn Computed>) -> Resource {
    Resource::new(Arc::new(kind), Backing::Computed(answer))
}

#[cfg(test)]
mod tests;
