//! The policies in force, as the admission chain calls them.

use std::future::Future;
use std::sync::Arc;

use berth_admission::client::{self, PolicyNotes, PolicyObjections, Rounds, Subject};
use berth_apimachinery::Status;
use berth_cel::Decisions;
use futures::future::join_all;
use parking_lot::Mutex;
use serde_json::Value;

use crate::PolicyType;
use crate::constraints::Constraints;
use crate::dispatch::Pass;
use crate::evaluate::{RemainingBudget, WRITE_LIMIT};
use crate::params::ParamRef;
use crate::set::{InForce, PolicyInForce};
use crate::stored_set::StoredSet;
use crate::surroundings::Surroundings;

/// Highest number of evaluations of one write for access reviews. A review costs a third of an expression's
/// budget, so one expression needs few; a policy can need more only in separate variables, one after the
/// other.
const MOST_ROUNDS: usize = 64;

/// Highest cost of an evaluation that may delay the other tasks of the thread. A more expensive evaluation
/// starts again in [`Surroundings::aside`].
const AT_ONCE: u64 = 100_000;

/// Highest number of parameters that the cost estimate of a policy counts.
const MOST_PARAMS: usize = 1_000;

/// API groups whose objects no policy judges, as in kube-apiserver: the group of policies and webhook
/// configurations, so that a wrong configuration can be deleted, and the groups of reviews, which store
/// nothing and on which other components rely.
const EXEMPT: [&str; 3] = [
    "admissionregistration.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
];

/// The policies in force.
pub struct Enforcer {
    surroundings: Arc<dyn Surroundings>,
    in_force: Mutex<Arc<InForce>>,
    /// Lock of compiling, so that the policies are compiled once.
    compiling: Mutex<()>,
    /// Highest cost of all policies together for one write.
    most: u64,
}

impl Enforcer {
    /// Creates an enforcer of the policies of `surroundings`.
    #[must_use]
    pub fn new(surroundings: Arc<dyn Surroundings>) -> Arc<Self> {
        Self::costing(surroundings, WRITE_LIMIT)
    }

    /// Creates an enforcer of the policies of `surroundings`. All policies together may cost at most `most`
    /// for one write.
    pub(crate) fn costing(surroundings: Arc<dyn Surroundings>, most: u64) -> Arc<Self> {
        Arc::new(Self {
            surroundings,
            in_force: Mutex::default(),
            compiling: Mutex::default(),
            most,
        })
    }

    /// Compiles the stored policies, so that their problems are logged now and not only at the next write.
    pub fn look(&self) {
        drop(self.in_force());
    }

    /// Policies in force with expressions that do not compile, and the number of these expressions.
    #[must_use]
    pub fn uncompiled(&self) -> Vec<(PolicyType, String, usize)> {
        let in_force = self.in_force();
        let both = [PolicyType::Validating, PolicyType::Mutating].into_iter();
        both.flat_map(|policy_type| in_force.of(policy_type).iter().map(move |one| (policy_type, one)))
            .filter(|(_, one)| one.uncompiled > 0)
            .map(|(policy_type, one)| (policy_type, one.policy.name.clone(), one.uncompiled))
            .collect()
    }

    /// Returns the policies in force, compiled again if they changed.
    fn in_force(&self) -> Arc<InForce> {
        let stored = self.surroundings.stored();
        let known = Arc::clone(&self.in_force.lock());
        if Arc::ptr_eq(&known.stored, &stored) {
            return known;
        }
        let mut now = known;
        self.surroundings
            .aside(&mut || now = self.compile(Arc::clone(&stored)));
        now
    }

    fn compile(&self, stored: Arc<StoredSet>) -> Arc<InForce> {
        let _alone = self.compiling.lock();
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

    /// Runs `work` as one pass within the budget `left`, and subtracts its cost. Cheap work is done at once;
    /// expensive work is repeated in [`Surroundings::aside`].
    fn pass<'s, T>(
        &'s self,
        subject: &'s Subject<'s>,
        decisions: &Arc<Decisions>,
        left: &mut u64,
        work: impl Fn(&mut Pass<'s, 's>) -> T,
    ) -> (Pass<'s, 's>, T) {
        let run = |most: u64| {
            let left = RemainingBudget::new(most);
            let mut pass = Pass::new(&*self.surroundings, subject, Arc::clone(decisions), left);
            let outcome = work(&mut pass);
            (pass, outcome)
        };
        let little = AT_ONCE.min(*left);
        let (pass, outcome) = run(little);
        if !pass.left.is_out() {
            *left -= little - pass.left.get();
            return (pass, outcome);
        }
        let mut result = (pass, outcome);
        self.surroundings.aside(&mut || result = run(*left));
        *left = result.0.left.get();
        result
    }

    /// Expected cost of evaluating `bound` for a write of `subject`.
    fn expected(&self, bound: &PolicyInForce, subject: &Subject<'_>) -> u64 {
        let policy = &bound.policy;
        let concerns = |constraints: Option<&Constraints>| {
            constraints.is_none_or(|constraints| constraints.may_concern_in(subject, &*self.surroundings))
        };
        if !concerns(policy.constraints.as_ref()) {
            return 0;
        }
        let bindings = bound.bindings.iter();
        let counts = bindings
            .filter(|binding| concerns(binding.constraints.as_ref()))
            .map(|binding| {
                let (kind, by) = (policy.param_kind.as_ref(), binding.params.as_ref());
                let namespace = subject.request.namespace;
                ParamRef::count(kind, by, namespace, &*self.surroundings, MOST_PARAMS) as u64
            });
        policy.expected().saturating_mul(counts.sum())
    }

    /// Makes the requested reviews. Returns whether there were any.
    async fn decide(
        &self,
        subject: &Subject<'_>,
        pass: Pass<'_, '_>,
        decisions: &mut Arc<Decisions>,
    ) -> bool {
        let pending = pass.finish();
        let user = subject.request.user;
        let reviews = pending
            .iter()
            .map(|review| self.surroundings.decide(user, review));
        let answers: Vec<_> = join_all(reviews).await;
        let any = !pending.is_empty();
        Arc::make_mut(decisions).extend(pending.into_iter().zip(answers.into_iter().map(Arc::new)));
        any
    }

    async fn judge(
        &self,
        subject: &Subject<'_>,
        object: Option<&Value>,
        notes: &mut PolicyNotes,
    ) -> Result<(), Status> {
        let in_force = self.in_force();
        let (mut decisions, mut left) = (Arc::default(), self.most);
        for _ in 0..MOST_ROUNDS {
            let (pass, (result, mut pass_notes)) = self.pass(subject, &decisions, &mut left, |pass| {
                let mut pass_notes = PolicyNotes::default();
                (pass.validate(&in_force, object, &mut pass_notes), pass_notes)
            });
            if !self.decide(subject, pass, &mut decisions).await {
                notes.warnings.append(&mut pass_notes.warnings);
                notes.annotations.append(&mut pass_notes.annotations);
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
        let (mut decisions, mut left) = (Arc::default(), self.most);
        for _ in 0..MOST_ROUNDS {
            let (pass, (result, changed, after)) = self.pass(subject, &decisions, &mut left, |pass| {
                let (mut changed, mut after) = (object.clone(), rounds.clone());
                let result = pass.mutate(&in_force, &mut changed, &mut after);
                (result, changed, after)
            });
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
        "admission policies still ask for access reviews after {MOST_ROUNDS} evaluations"
    ))
}

impl client::Policies for Enforcer {
    fn names(&self) -> (&'static str, &'static str) {
        (PolicyType::Mutating.kind(), PolicyType::Validating.kind())
    }

    fn effort(&self, subject: &Subject<'_>) -> usize {
        if EXEMPT.contains(&subject.request.resource.group) {
            return 0;
        }
        let stored = self.surroundings.stored();
        let in_force = Arc::clone(&self.in_force.lock());
        if !Arc::ptr_eq(&in_force.stored, &stored) {
            // The changed policies are compiled first.
            return if stored.is_empty() { 0 } else { usize::MAX };
        }
        let both = in_force.mutating.iter().chain(&in_force.validating);
        let all = both
            .map(|bound| self.expected(bound, subject))
            .fold(0, u64::saturating_add);
        usize::try_from(all).unwrap_or(usize::MAX)
    }

    fn concern(&self, subject: &Subject<'_>) -> bool {
        if EXEMPT.contains(&subject.request.resource.group) {
            return false;
        }
        let in_force = self.in_force();
        if in_force.is_empty() {
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
        _notes: &'a mut PolicyNotes,
    ) -> PolicyObjections<'a> {
        boxed(self.change(subject, object, rounds))
    }

    fn validate<'a>(
        &'a self,
        subject: &'a Subject<'a>,
        object: Option<&'a Value>,
        notes: &'a mut PolicyNotes,
    ) -> PolicyObjections<'a> {
        boxed(self.judge(subject, object, notes))
    }
}

fn boxed<'a>(future: impl Future<Output = Result<(), Status>> + Send + 'a) -> PolicyObjections<'a> {
    Box::pin(future)
}
