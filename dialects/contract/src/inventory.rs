//! The trait [`Inventory`]: the known objects of a dialect, and its decisions on them.
//!
//! The methods that every system needs are in this trait and its supertraits, [`Targets`] and [`Words`].
//! Larger optional parts are in separate traits, *capabilities*, that do nothing by default: [`Control`],
//! [`Advisor`], [`Guards`].

use std::any::Any;
use std::sync::Arc;

use berth_admission::Denial;
use berth_apimachinery::write::Write;
use berth_apimachinery::{Change, FieldError, GroupResource, Key, Object, Timestamp};
use berth_scheduling::{Ix, Rejection};

use crate::control::{self, Control, Note, Pace};
use crate::decision::{ChoiceRefusal, Decision};
use crate::edit::Edit;
use crate::remedy::Remedy;
use crate::view::{DemandView, TargetView, UnusableObject};
use crate::words::Words;

/// Demands that a change may have made due again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AffectedDemands {
    /// No demand.
    #[default]
    None,
    /// The demands with these keys.
    Some(Vec<Key>),
    /// All demands of the dialect.
    All,
}

/// Consequences of a folded change for demands and targets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Consequences {
    /// The demands to decide again. The dialect's own writes must not make demands due.
    pub decide: AffectedDemands,
    /// The demands whose view ([`Inventory::demand`]) may have changed, whether or not they are decided
    /// again.
    pub demands: AffectedDemands,
    /// The cluster names of the targets whose view may have changed; `None` for all targets.
    pub targets: Option<Vec<Arc<str>>>,
}

impl Consequences {
    /// Consequences of a change that affects no demand and no target.
    #[must_use]
    pub fn nothing() -> Self {
        Self {
            targets: Some(Vec::new()),
            ..Self::default()
        }
    }
}

/// A request for one decision: the demand, and everything beside the inventory on which the decision depends.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The demand to decide.
    pub demand: &'a Key,
    /// The instant of the decision.
    pub now: Timestamp,
    /// The seed of random strategies.
    pub seed: u64,
    /// The names of the clusters that the caller has chosen; `None` if the scheduler picks.
    pub chosen: Option<&'a [String]>,
}

/// The targets of a dialect, which are the candidates of decisions.
pub trait Targets {
    /// Number of targets; candidates are `0..count`, in name order.
    fn count(&self) -> Ix;

    /// The system's own name of the cluster of a candidate.
    fn cluster_name(&self, candidate: Ix) -> Arc<str>;

    /// The candidate with this cluster name; `None` if there is none.
    fn candidate(&self, cluster_name: &str) -> Option<Ix>;

    /// The name of the Target object without its dialect: `<name>`, or `<namespace>.<name>` for a namespaced
    /// source.
    fn target_name(&self, candidate: Ix) -> String {
        self.cluster_name(candidate).replace('/', ".")
    }

    /// The candidate whose Target has the name `name`. In most systems, this is the cluster name, or the
    /// cluster name with a dot in place of the slash. In other systems, the names of all candidates are
    /// compared.
    fn candidate_of_target(&self, name: &str) -> Option<Ix> {
        let likely = self
            .candidate(name)
            .or_else(|| self.candidate(&name.replacen('.', "/", 1)));
        let is_named = |candidate: &Ix| self.target_name(*candidate) == name;
        likely.filter(is_named).or_else(|| match self.has_plain_names() {
            true => None,
            false => (0..self.count()).find(is_named),
        })
    }

    /// Whether [`Targets::target_name`] is the cluster name for every target, so that the order of candidates
    /// is also the order of the names of Targets.
    fn has_plain_names(&self) -> bool {
        false
    }

    /// Returns the view of a target.
    fn target(&self, candidate: Ix, now: Timestamp) -> TargetView;

    /// [`Targets::target_name`] and [`Targets::target`] of the cluster with this name, for callers that
    /// follow single targets. A dialect that numbers candidates only for decisions should implement it
    /// without numbers.
    fn target_of(&self, cluster_name: &str, now: Timestamp) -> Option<(String, TargetView)> {
        let candidate = self.candidate(cluster_name)?;
        Some((self.target_name(candidate), self.target(candidate, now)))
    }
}

/// The known objects of a dialect, and its decisions on them.
///
/// Inventories are shared as `Arc<dyn Inventory>` snapshots and copied on write: [`Inventory::fork`] must be
/// cheap (share columns and records, copy pointers). A dialect's own reconcilers downcast the inventory to
/// its type.
pub trait Inventory: Targets + Words + Any + Send + Sync {
    /// Returns a cheap copy, which can be changed independently.
    fn fork(&self) -> Arc<dyn Inventory>;

    /// Declares that the objects are on a hub on which the system runs in a current release:
    /// [`RulesChoice::Auto`](crate::rules::RulesChoice::Auto) is then `Current`.
    fn set_on_hub(&mut self) {}

    /// Applies one change. An object that does not fit its kind is left out and listed by
    /// [`Inventory::unusable`].
    fn fold(&mut self, change: &Change) -> Consequences;

    /// The objects that could not be read, each with the reason.
    fn unusable(&self) -> Vec<UnusableObject>;

    /// The reason why the object at `key` could not be read; `None` for other objects.
    fn problem(&self, key: &Key) -> Option<String> {
        let unusable = self.unusable().into_iter();
        unusable
            .filter(|unusable| unusable.key == *key)
            .map(|unusable| unusable.problem)
            .next()
    }

    /// The demands, in key order.
    fn demands(&self) -> Vec<Key>;

    /// The stored object of a demand.
    fn object(&self, demand: &Key) -> Option<Arc<Object>>;

    /// Returns the binding of a demand, read from the objects alone (nothing is decided).
    fn demand(&self, demand: &Key, now: Timestamp) -> Option<DemandView>;

    /// The cost of deciding `demand`, as a number of targets that are judged by a comparison of fields (some
    /// 150 ns for each target). A comparison of columns costs less, an expression costs more.
    fn effort(&self, _demand: &Key) -> u32 {
        self.count()
    }

    /// Derives the data for decisions from the targets, as the first decision would do otherwise. Callers use
    /// it before they decide on a fork that they then drop: the derived data stay in this inventory.
    fn derive(&self) {}

    /// Decides a demand. `None` if the demand is not in the inventory.
    ///
    /// # Errors
    /// Only with [`Ask::chosen`]: an error for every chosen target that is unknown or infeasible,
    /// with the reasons, and for too many targets.
    fn decide(&self, ask: &Ask<'_>) -> Option<Result<Decision, ChoiceRefusal>>;

    /// The writes of a binding, in order. Every prefix of the writes leaves a valid state, which a later
    /// decision completes.
    fn writes(&self, decision: &Decision) -> Vec<Write>;

    /// Returns the capability that gives directions to the controller.
    fn control(&self) -> &dyn Control {
        &NoCapability
    }

    /// Returns the capability that proposes changes: remedies for refusals, and the drain of a cluster.
    fn advisor(&self) -> &dyn Advisor {
        &NoCapability
    }

    /// Returns the capability that answers the queries of guards about the resources in
    /// [`Dialect::guarded`](crate::Dialect::guarded).
    fn guarding(&self) -> &dyn Guards {
        &NoCapability
    }
}

impl dyn Inventory + '_ {
    /// Returns the pace of the controller under the configuration in force.
    #[must_use]
    pub fn pace(&self) -> Pace {
        self.control().pace()
    }

    /// Events to report on the demand once `decision` is committed. `wrote` is whether the decision
    /// changed anything. Called also for decisions that change nothing: repeated events become a series.
    #[must_use]
    pub fn notes(&self, decision: &Decision, wrote: bool) -> Vec<Note> {
        let own = self.control().notes(decision, wrote);
        own.unwrap_or_else(|| control::default_notes(self, decision, wrote))
    }
}

/// A capability that does nothing.
struct NoCapability;

impl Control for NoCapability {}
impl Advisor for NoCapability {}
impl Guards for NoCapability {}

/// A capability: proposals of changes. The caller tries each proposal with another decision.
pub trait Advisor {
    /// Ways to lift `refusal` of `candidate` in `decision`, the smallest changes first. Without a `refusal`,
    /// the candidate is feasible and not picked, and the remedies are changes after which it may be picked.
    /// Where no change of an object helps, the result is a remedy without edits, which states the reason, or
    /// empty.
    fn remedies(&self, _decision: &Decision, _candidate: Ix, _refusal: Option<&Rejection>) -> Vec<Remedy> {
        Vec::new()
    }

    /// Changes by which an administrator empties the cluster with this name: no new request comes to it, and
    /// the requests on it are placed elsewhere. Where the system itself never moves a placed request, the
    /// edits remove the place of the request, so that a decision shows where it would go. `None` where there
    /// is no such cluster, or the system has no way to empty one.
    fn drain(&self, _cluster_name: &str, _now: Timestamp) -> Option<Vec<Edit>> {
        None
    }
}

/// The decision that an object stores. Only the scheduler ([`Dialect::actor`](crate::Dialect::actor)) may
/// write such an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservedDecision {
    /// Kind and name of the demand, as `Placement "p"`.
    pub demand: String,
    /// Whether the demand is in the inventory.
    pub is_known: bool,
}

/// A capability: the queries of guards about the resources in [`Dialect::guarded`](crate::Dialect::guarded).
pub trait Guards {
    /// The keys of the objects that use the protected object at `key`: the first `most` in key order, and the
    /// number of all such objects.
    fn users(&self, _key: &Key, _most: usize) -> (Vec<Key>, usize) {
        (Vec::new(), 0)
    }

    /// The decision that `object` contains, an object of a resource in
    /// [`GuardedResources::reserves`](crate::GuardedResources::reserves); `None` for an object
    /// without a decision.
    fn reserved(&self, _resource: GroupResource, _object: &serde_json::Value) -> Option<ReservedDecision> {
        None
    }

    /// The demands whose decisions are in `old` or `new`, an object of `resource` before and after a write.
    /// `old` is absent in a creation, and `new` in a deletion. `None` where objects of this resource contain
    /// no decisions.
    fn decisions_in(
        &self,
        _resource: GroupResource,
        _old: Option<&serde_json::Value>,
        _new: Option<&serde_json::Value>,
    ) -> Option<Vec<Key>> {
        None
    }

    /// Validates a creation of `new`, or an update of `old` to `new`, against other known objects. Both
    /// objects are of `resource`, one of the resources in
    /// [`GuardedResources::judges`](crate::GuardedResources::judges). Called only if the spec changes, and not
    /// for the scheduler's own writes. Errors that the kind finds in the object alone are not repeated.
    fn judge(
        &self,
        _resource: GroupResource,
        _old: Option<&serde_json::Value>,
        _new: &serde_json::Value,
    ) -> Vec<FieldError> {
        Vec::new()
    }

    /// Sets in the new object `new` the fields that the system's own admission sets from other objects. The
    /// object is of `resource`, one of the resources in
    /// [`GuardedResources::completes`](crate::GuardedResources::completes). Returns the errors for which the
    /// creation is refused.
    fn complete(&self, _resource: GroupResource, _new: &mut serde_json::Value) -> Vec<FieldError> {
        Vec::new()
    }

    /// Validates a creation of `new` against other objects, like [`Guards::judge`], but some of these objects
    /// may be missing from the inventory, as in files.
    fn judge_offline(&self, resource: GroupResource, new: &serde_json::Value) -> Vec<FieldError> {
        self.judge(resource, None, new)
    }

    /// Validates a write of `new` over the demand `old` through the system's own binding subresource
    /// (Gardener's `shoots/binding`), and sets the fields that the system sets in such a write. Returns the
    /// fences of the write, as [`Decision::fences`]. Systems without such a subresource do nothing.
    ///
    /// # Errors
    /// The reason why the binding is refused.
    fn own_binding(
        &self,
        _old: &serde_json::Value,
        _new: &mut serde_json::Value,
    ) -> Result<Vec<Arc<str>>, Denial> {
        Ok(Vec::new())
    }
}
