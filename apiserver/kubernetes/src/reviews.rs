//! Reviews about the own user, the own rights, and the rights of others. They are answered at once,
//! never stored, so that `kubectl auth can-i`, `auth can-i --list` and `auth whoami` work.

pub mod access;
mod kind;
pub mod own;

use std::sync::Arc;

use berth_apimachinery::Scope;
use berth_apiserver::{Backing, Computed, Group, Resource};

use crate::rbac::Rbac;
use kind::Review;

/// `authorization.k8s.io/v1`.
const AUTHORIZATION: &str = "authorization.k8s.io";
/// `authentication.k8s.io/v1`.
const AUTHENTICATION: &str = "authentication.k8s.io";

/// The review groups. Access is judged by the authorizer of each call, so that reviews agree with the
/// server; the list of the user's own rules comes from `rbac`.
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
