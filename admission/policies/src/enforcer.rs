//! The policies in force, as the admission chain calls them.

use std::future::Future;
use std::sync::Arc;

use berth_admission::client::{self, PolicyNotes, PolicyObjections, Rounds, VersionedWrite};
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
use crate::set::{PoliciesInForce, PolicyInForce};
use crate::stored_set::StoredSet;
use crate::surroundings::Surroundings;

/// Highest number of evaluations of the policies for one write. After each evaluation that needs access
/// reviews, the reviews are made and the policies are evaluated again. A review costs a third of the budget
/// of an expression, so only variables that depend on each other need many evaluations.
const MAX_EVALUATIONS: usize = 64;

/// Highest cost of an evaluation on the calling thread, where it delays other tasks. A more expensive
/// evaluation starts again in [`Surroundings::run_blocking`].
const INLINE_LIMIT: u64 = 100_000;

/// Highest number of parameters that the cost estimate of a policy counts.
const MAX_PARAMS: usize = 1_000;

/// API groups that are exempt from policies, as in kube-apiserver: the group of policies and webhook
/// configurations, so that a wrong configuration can be deleted, and the groups of access and token reviews,
/// which store nothing and on which other components rely.
const EXEMPT_GROUPS: [&str; 3] = [
    "admissionregistration.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
];

/// Compiles the stored policies and evaluates them for writes.
pub struct Enforcer {
    surroundings: Arc<dyn Surroundings>,
    in_force: Mutex<Arc<PoliciesInForce>>,
    /// Lock for compilation, so that concurrent writes compile changed policies only once.
    compiling: Mutex<()>,
    /// Highest cost of all policies together for one write.
    limit: u64,
}

impl Enforcer {
    /// Creates an enforcer of the policies of `surroundings`.
    #[must_use]
    pub fn new(surroundings: Arc<dyn Surroundings>) -> Arc<Self> {
        Self::with_limit(surroundings, WRITE_LIMIT)
    }

    /// Creates an enforcer of the policies of `surroundings`. All policies together may cost at most `limit`
    /// for one write.
    pub(crate) fn with_limit(surroundings: Arc<dyn Surroundings>, limit: u64) -> Arc<Self> {
        Arc::new(Self {
            surroundings,
            in_force: Mutex::default(),
            compiling: Mutex::default(),
            limit,
        })
    }

    /// Compiles the stored policies, so that problems of expressions are logged before the next write.
    pub fn compile_stored(&self) {
        drop(self.in_force());
    }

    /// Policies in force that have expressions that do not compile: type, name, and number of these
    /// expressions.
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
    fn in_force(&self) -> Arc<PoliciesInForce> {
        let stored = self.surroundings.stored();
        let known = Arc::clone(&self.in_force.lock());
        if Arc::ptr_eq(&known.stored, &stored) {
            return known;
        }
        let mut now = known;
        self.surroundings
            .run_blocking(&mut || now = self.compile(Arc::clone(&stored)));
        now
    }

    fn compile(&self, stored: Arc<StoredSet>) -> Arc<PoliciesInForce> {
        let _alone = self.compiling.lock();
        let known = Arc::clone(&self.in_force.lock());
        if Arc::ptr_eq(&known.stored, &stored) {
            return known;
        }
        let now = Arc::new(PoliciesInForce::new(stored, &known));
        tracing::info!(
            validating = now.validating.len(),
            mutating = now.mutating.len(),
            "admission policies are loaded"
        );
        *self.in_force.lock() = Arc::clone(&now);
        now
    }

    /// Runs `work` as one pass within the budget `left`, and subtracts the cost of the pass. Cheap work is
    /// done on the calling thread; expensive work is repeated in [`Surroundings::run_blocking`].
    fn pass<'s, T>(
        &'s self,
        write: &'s VersionedWrite<'s>,
        decisions: &Arc<Decisions>,
        left: &mut u64,
        work: impl Fn(&mut Pass<'s, 's>) -> T,
    ) -> (Pass<'s, 's>, T) {
        let run = |budget: u64| {
            let left = RemainingBudget::new(budget);
            let mut pass = Pass::new(&*self.surroundings, write, Arc::clone(decisions), left);
            let outcome = work(&mut pass);
            (pass, outcome)
        };
        let inline_budget = INLINE_LIMIT.min(*left);
        let (pass, outcome) = run(inline_budget);
        if !pass.left.is_used_up() {
            *left -= inline_budget - pass.left.get();
            return (pass, outcome);
        }
        let mut result = (pass, outcome);
        self.surroundings.run_blocking(&mut || result = run(*left));
        *left = result.0.left.get();
        result
    }

    /// Expected cost of evaluating the policy of `bound` for `write`.
    fn expected_cost(&self, bound: &PolicyInForce, write: &VersionedWrite<'_>) -> u64 {
        let policy = &bound.policy;
        let may_match = |constraints: Option<&Constraints>| {
            constraints.is_none_or(|constraints| constraints.may_concern_in(write, &*self.surroundings))
        };
        if !may_match(policy.constraints.as_ref()) {
            return 0;
        }
        let bindings = bound.bindings.iter();
        let counts = bindings
            .filter(|binding| may_match(binding.constraints.as_ref()))
            .map(|binding| {
                let (kind, param_ref) = (policy.param_kind.as_ref(), binding.params.as_ref());
                let namespace = write.request.namespace_attribute();
                ParamRef::count(kind, param_ref, namespace, &*self.surroundings, MAX_PARAMS) as u64
            });
        policy.expected_cost().saturating_mul(counts.sum())
    }

    /// Makes the access reviews that `pass` needs, and adds the results to `decisions`. Returns false if it
    /// needs none.
    async fn make_reviews(
        &self,
        write: &VersionedWrite<'_>,
        pass: Pass<'_, '_>,
        decisions: &mut Arc<Decisions>,
    ) -> bool {
        let pending = pass.finish();
        let user = write.request.user;
        let reviews = pending
            .iter()
            .map(|review| self.surroundings.decide(user, review));
        let answers: Vec<_> = join_all(reviews).await;
        let needs_reviews = !pending.is_empty();
        Arc::make_mut(decisions).extend(pending.into_iter().zip(answers.into_iter().map(Arc::new)));
        needs_reviews
    }

    async fn run_validations(
        &self,
        write: &VersionedWrite<'_>,
        object: Option<&Value>,
        notes: &mut PolicyNotes,
    ) -> Result<(), Status> {
        let in_force = self.in_force();
        let (mut decisions, mut left) = (Arc::default(), self.limit);
        for _ in 0..MAX_EVALUATIONS {
            let (pass, (result, mut pass_notes)) = self.pass(write, &decisions, &mut left, |pass| {
                let mut pass_notes = PolicyNotes::default();
                (pass.validate(&in_force, object, &mut pass_notes), pass_notes)
            });
            if !self.make_reviews(write, pass, &mut decisions).await {
                notes.warnings.append(&mut pass_notes.warnings);
                notes.annotations.append(&mut pass_notes.annotations);
                return result;
            }
        }
        Err(too_many_evaluations())
    }

    async fn run_mutations(
        &self,
        write: &VersionedWrite<'_>,
        object: &mut Value,
        rounds: &mut Rounds,
    ) -> Result<(), Status> {
        let in_force = self.in_force();
        let (mut decisions, mut left) = (Arc::default(), self.limit);
        for _ in 0..MAX_EVALUATIONS {
            let (pass, (result, changed, after)) = self.pass(write, &decisions, &mut left, |pass| {
                let (mut changed, mut after) = (object.clone(), rounds.clone());
                let result = pass.mutate(&in_force, &mut changed, &mut after);
                (result, changed, after)
            });
            if !self.make_reviews(write, pass, &mut decisions).await {
                (*object, *rounds) = (changed, after);
                return result;
            }
        }
        Err(too_many_evaluations())
    }
}

fn too_many_evaluations() -> Status {
    Status::internal(format!(
        "admission policies still need access reviews after {MAX_EVALUATIONS} evaluations: let fewer authorizer checks depend on each other"
    ))
}

impl client::Policies for Enforcer {
    fn names(&self) -> (&'static str, &'static str) {
        (PolicyType::Mutating.kind(), PolicyType::Validating.kind())
    }

    fn effort(&self, write: &VersionedWrite<'_>) -> usize {
        if EXEMPT_GROUPS.contains(&write.request.resource.group) {
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
            .map(|bound| self.expected_cost(bound, write))
            .fold(0, u64::saturating_add);
        usize::try_from(all).unwrap_or(usize::MAX)
    }

    fn concern(&self, write: &VersionedWrite<'_>) -> bool {
        if EXEMPT_GROUPS.contains(&write.request.resource.group) {
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
                    constraints.is_none_or(|constraints| constraints.may_concern(write))
                })
            })
    }

    fn mutate<'a>(
        &'a self,
        write: &'a VersionedWrite<'a>,
        object: &'a mut Value,
        rounds: &'a mut Rounds,
        _notes: &'a mut PolicyNotes,
    ) -> PolicyObjections<'a> {
        boxed(self.run_mutations(write, object, rounds))
    }

    fn validate<'a>(
        &'a self,
        write: &'a VersionedWrite<'a>,
        object: Option<&'a Value>,
        notes: &'a mut PolicyNotes,
    ) -> PolicyObjections<'a> {
        boxed(self.run_validations(write, object, notes))
    }
}

fn boxed<'a>(future: impl Future<Output = Result<(), Status>> + Send + 'a) -> PolicyObjections<'a> {
    Box::pin(future)
}
