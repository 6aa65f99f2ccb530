//! The policies in force, as the admission chain asks them.

use std::future::Future;
use std::sync::Arc;

use admission::client::{self, Consulted, Recorded, Rounds, Subject};
use cel::Decisions;
use futures::future::join_all;
use meta::Status;
use parking_lot::Mutex;
use serde_json::Value;

use crate::PolicyType;
use crate::dispatch::Pass;
use crate::set::InForce;
use crate::surroundings::Surroundings;

/// How often a write is evaluated again for access reviews. Each costs an expression a third of what it may, so few are
/// met; who needs more makes them one by one in variables.
const MOST_ROUNDS: usize = 64;

/// The groups about which no policy has a say, as in kube-apiserver: that of policies and webhook configurations, so that
/// whoever sets one up wrong can take it away, and those of reviews, which store nothing and which others rely on.
const EXEMPT: [&str; 3] = [
    "admissionregistration.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
];

/// The policies in force.
pub struct Enforcer {
    surroundings: Arc<dyn Surroundings>,
    in_force: Mutex<Arc<InForce>>,
}

impl Enforcer {
    /// Those of `surroundings`.
    #[must_use]
    pub fn new(surroundings: Arc<dyn Surroundings>) -> Arc<Self> {
        Arc::new(Self {
            surroundings,
            in_force: Mutex::default(),
        })
    }

    /// Puts in force what is stored now, so that the log says at once what of it cannot be evaluated, and not only when the
    /// next write meets it.
    pub fn look(&self) {
        drop(self.in_force());
    }

    /// The policies in force with expressions that do not compile, and how many each has.
    #[must_use]
    pub fn uncompiled(&self) -> Vec<(PolicyType, String, usize)> {
        let in_force = self.in_force();
        let both = [PolicyType::Validating, PolicyType::Mutating].into_iter();
        both.flat_map(|policy_type| in_force.of(policy_type).iter().map(move |one| (policy_type, one)))
            .filter(|(_, one)| one.uncompiled > 0)
            .map(|(policy_type, one)| (policy_type, one.policy.name.clone(), one.uncompiled))
            .collect()
    }

    /// What is in force now; compiled when it changed.
    fn in_force(&self) -> Arc<InForce> {
        let stored = self.surroundings.stored();
        let known = Arc::clone(&self.in_force.lock());
        if Arc::ptr_eq(&known.stored, &stored) {
            return known;
        }
        let now = Arc::new(InForce::new(stored, &known));
        tracing::info!(
            validating = now.validating.len(),
            mutating = now.mutating.len(),
            "admission policies are loaded"
        );
        *self.in_force.lock() = Arc::clone(&now);
        now
    }

    /// Makes the reviews that were asked for; whether there were any.
    async fn decide(
        &self,
        subject: &Subject<'_>,
        pass: Pass<'_, '_>,
        decisions: &mut Arc<Decisions>,
    ) -> bool {
        let unasked = pass.finish();
        let user = subject.request.user;
        let asked = unasked
            .iter()
            .map(|review| self.surroundings.decide(user, review));
        let answers: Vec<_> = join_all(asked).await;
        let any = !unasked.is_empty();
        Arc::make_mut(decisions).extend(unasked.into_iter().zip(answers.into_iter().map(Arc::new)));
        any
    }

    async fn judge(
        &self,
        subject: &Subject<'_>,
        object: Option<&Value>,
        recorded: &mut Recorded,
    ) -> Result<(), Status> {
        let in_force = self.in_force();
        let mut decisions = Arc::default();
        for _ in 0..MOST_ROUNDS {
            let mut said = Recorded::default();
            let mut pass = Pass::new(&*self.surroundings, subject, Arc::clone(&decisions));
            let result = pass.validate(&in_force, object, &mut said);
            if !self.decide(subject, pass, &mut decisions).await {
                recorded.warnings.append(&mut said.warnings);
                recorded.annotations.append(&mut said.annotations);
                return result;
            }
        }
        Err(too_many())
    }

    async fn change(
        &self,
        subject: &Subject<'_>,
        object: &mut Value,
        rounds: &mut Rounds,
    ) -> Result<(), Status> {
        let in_force = self.in_force();
        let mut decisions = Arc::default();
        for _ in 0..MOST_ROUNDS {
            let (mut changed, mut after) = (object.clone(), rounds.clone());
            let mut pass = Pass::new(&*self.surroundings, subject, Arc::clone(&decisions));
            let result = pass.mutate(&in_force, &mut changed, &mut after);
            if !self.decide(subject, pass, &mut decisions).await {
                (*object, *rounds) = (changed, after);
                return result;
            }
        }
        Err(too_many())
    }
}

fn too_many() -> Status {
    Status::internal(format!(
        "admission policies ask for access reviews more than {MOST_ROUNDS} times one after the other"
    ))
}

impl client::Policies for Enforcer {
    fn names(&self) -> (&'static str, &'static str) {
        (PolicyType::Mutating.kind(), PolicyType::Validating.kind())
    }

    fn concern(&self, subject: &Subject<'_>) -> bool {
        let in_force = self.in_force();
        if in_force.is_empty() || EXEMPT.contains(&subject.request.resource.group) {
            return false;
        }
        [PolicyType::Mutating, PolicyType::Validating]
            .into_iter()
            .any(|policy_type| {
                in_force.of(policy_type).iter().any(|bound| {
                    let constraints = bound.policy.constraints.as_ref();
                    constraints.is_none_or(|constraints| constraints.may_concern(subject))
                })
            })
    }

    fn mutate<'a>(
        &'a self,
        subject: &'a Subject<'a>,
        object: &'a mut Value,
        rounds: &'a mut Rounds,
        _heard: &'a mut Recorded,
    ) -> Consulted<'a> {
        boxed(self.change(subject, object, rounds))
    }

    fn validate<'a>(
        &'a self,
        subject: &'a Subject<'a>,
        object: Option<&'a Value>,
        recorded: &'a mut Recorded,
    ) -> Consulted<'a> {
        boxed(self.judge(subject, object, recorded))
    }
}

fn boxed<'a>(future: impl Future<Output = Result<(), Status>> + Send + 'a) -> Consulted<'a> {
    Box::pin(future)
}
