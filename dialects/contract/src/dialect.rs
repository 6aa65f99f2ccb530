//! The traits [`Dialect`] and [`Inventory`].

use std::any::Any;
use std::sync::Arc;

use admission::{Denied, Plugin};
use meta::{Change, FieldError, GroupResource, Key, Kind, Object, Schema, Timestamp};
use scheduling::{Ix, Reason, Rejection};

use crate::control::{self, Note, Pace};
use crate::decision::{Decision, Refused, Write};
use crate::edit::Edit;
use crate::facts::{Facts, Producer};
use crate::follower::Follower;
use crate::form;
use crate::hold::Hold;
use crate::hub_rule::HubRule;
use crate::remedy::Remedy;
use crate::view::{DemandView, TargetView, Unusable};

/// A kind of object that wants a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DemandKind {
    /// The resource of the placeable object.
    pub resource: GroupResource,
    /// Its kind.
    pub kind: &'static str,
    /// The version it is written in.
    pub version: &'static str,
    /// Whether it is namespaced (`decisions`) or not (`clusterdecisions`).
    pub namespaced: bool,
}

/// Whose decision an object holds, which only the scheduler ([`Dialect::actor`]) may write then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reserved {
    /// The demand, as `Placement "p"`.
    pub whose: String,
    /// Whether the demand is there. It may be yet to come, or gone.
    pub is_known: bool,
}

/// A resource whose objects are not deleted while objects of another one use them (docs/api.md, "Guards").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protected {
    /// What is used.
    pub resource: GroupResource,
    /// By objects of which resource.
    pub by: GroupResource,
}

/// Whether an object is a dialect's business, by what is on it.
pub type Concern = fn(&serde_json::Value) -> bool;

/// One multi-cluster system: its kinds, its rules, its way to decide.
pub trait Dialect: Send + Sync + 'static {
    /// `ocm`, `gardener`, …: the last part of every virtual name.
    fn name(&self) -> &'static str;

    /// The kinds served when the dialect is owned.
    fn kinds(&self) -> Vec<Arc<dyn Kind>>;

    /// Every resource [`Inventory::fold`] wants to see, those of [`Dialect::kinds`] included where it reads them, and
    /// [`crate::config::RESOURCE`] for its configuration.
    fn reads(&self) -> Vec<GroupResource>;

    /// The kinds that want a place.
    fn demands(&self) -> &'static [DemandKind];

    /// What else of its kinds the system shows to ordinary users, to read.
    fn readable(&self) -> &'static [GroupResource] {
        &[]
    }

    /// The resource of the cluster-like objects.
    fn target(&self) -> GroupResource;

    /// What `target`, a cluster-like object, says of its cluster beyond scheduling.
    fn facts(&self, _target: &serde_json::Value) -> Facts {
        Facts::default()
    }

    /// Who publishes the system's clusters as ClusterProfiles, where the system does so itself.
    fn producer(&self) -> Option<Producer> {
        None
    }

    /// The user name bindings are written as (docs/api.md, "Actors").
    fn actor(&self) -> &'static str {
        "berth:scheduler"
    }

    /// The name of the controller that decides, among all controllers: the dialect's own, unless it has followers that
    /// it must be told from.
    fn decider(&self) -> &'static str {
        self.name()
    }

    /// The controllers beside the one that decides, with `spec` as the dialect's part of the SchedulerConfiguration in
    /// force, if there is one. How many there are, and their names, do not depend on it.
    fn followers(&self, _spec: Option<&serde_json::Value>) -> Vec<Arc<dyn Follower>> {
        Vec::new()
    }

    /// An empty inventory, with default configuration.
    fn inventory(&self) -> Arc<dyn Inventory>;

    /// The admission rules beyond the kinds' own validation.
    fn admission(&self) -> Vec<Arc<dyn Plugin>> {
        Vec::new()
    }

    /// The same rules, by number and order, as the dialect's part of the SchedulerConfiguration in force changes them.
    /// Asked only with what [`Dialect::validate_config`] finds no error in.
    fn admission_under(&self, _spec: &serde_json::Value) -> Vec<Arc<dyn Plugin>> {
        self.admission()
    }

    /// The resources beside [`Dialect::kinds`] that the admission rules guard, with `spec` as the dialect's part of the
    /// SchedulerConfiguration in force, if there is one.
    fn guards(&self, _spec: Option<&serde_json::Value>) -> Vec<GroupResource> {
        Vec::new()
    }

    /// The dialect's part of a SchedulerConfiguration in `file`, if that is a configuration file of the system itself,
    /// which `--config` takes unmodified. Only looks at what the file is; [`Dialect::validate_config`] judges it.
    fn own_configuration(&self, _file: &serde_json::Value) -> Option<serde_json::Value> {
        None
    }

    /// The form of the dialect's part of a SchedulerConfiguration. Its defaults apply on read; nothing of them is stored.
    fn config_schema(&self) -> &'static Schema {
        &form::NO_SETTINGS
    }

    /// Judges the dialect's part of a SchedulerConfiguration (`spec.<dialect>`, given with `path`), all errors at once:
    /// those of [`Dialect::config_schema`], unknown fields, and what no schema can say.
    fn validate_config(&self, spec: &serde_json::Value, path: &str) -> Vec<FieldError> {
        let reading = self.config_schema().read::<form::Anything>(spec, path);
        reading.into_errors()
    }

    /// What is legal in the dialect's part of a SchedulerConfiguration but surely not meant, as sentences that name the
    /// field (below `path`). Asked only of what [`Dialect::validate_config`] finds no error in.
    fn config_warnings(&self, _spec: &serde_json::Value, _path: &str) -> Vec<String> {
        Vec::new()
    }

    /// What is not deleted while it is used.
    fn protects(&self) -> &'static [Protected] {
        &[]
    }

    /// The protected objects that `object`, which is of `resource`, uses. Reads the object alone.
    fn uses(&self, _resource: GroupResource, _object: &serde_json::Value) -> Vec<Key> {
        Vec::new()
    }

    /// The name of the fence that every write passes which begins a use of the protected object at `key`, and its
    /// deletion too. Where decisions count capacity on it, this is the fence they name ([`Decision::fences`]), so that
    /// a binding and a deletion never miss each other.
    fn fence(&self, key: &Key) -> Arc<str> {
        let resource = key.resource.resource;
        if key.namespace.is_empty() {
            format!("{}/{resource}/{}", self.name(), key.name).into()
        } else {
            format!("{}/{resource}/{}/{}", self.name(), key.namespace, key.name).into()
        }
    }

    /// The resources whose objects must agree with other objects: those that [`Inventory::judge`] judges.
    fn judges(&self) -> &'static [GroupResource] {
        &[]
    }

    /// What a hub that stores the objects itself must ask about for [`Dialect::admission`] to work there. What follows
    /// from the other parts of this contract ([`Dialect::protects`], [`Dialect::reserves`], [`Dialect::judges`]) is
    /// asked anyway.
    fn hub_rules(&self) -> Vec<HubRule> {
        Vec::new()
    }

    /// The finalizers that this dialect's controllers put on objects and nobody else takes off.
    fn holds(&self) -> Vec<Hold> {
        Vec::new()
    }

    /// What the scheduler creates, writes over and deletes beside what it places ([`Dialect::demands`]): what it must
    /// have rights on where a hub stores it.
    fn records(&self) -> &'static [GroupResource] {
        self.reserves()
    }

    /// What makes the objects of a `resource` that a hub stores the business of this dialect, where not all of them are:
    /// those that pass, and those in a namespace that does. No other is copied. `None`: all of them.
    fn concern(&self, _resource: GroupResource) -> Option<Concern> {
        None
    }

    /// The resources of which [`Inventory::reserved`] may reserve objects for the scheduler.
    fn reserves(&self) -> &'static [GroupResource] {
        &[]
    }
}

/// Which demands a change may have made due again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Affected {
    /// None.
    #[default]
    None,
    /// These.
    Some(Vec<Key>),
    /// All of the dialect.
    All,
}

/// What a folded change means for others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// The demands to decide again. Changes the dialect's own writes make must not appear here.
    pub decide: Affected,
    /// The demands whose *view* ([`Inventory::demand`]) may have changed, decided again or not.
    pub demands: Affected,
    /// The targets (by cluster name) whose view may have changed; `None` is all of them.
    pub targets: Option<Vec<Arc<str>>>,
}

impl Due {
    /// Nothing to do.
    #[must_use]
    pub fn nothing() -> Self {
        Self {
            targets: Some(Vec::new()),
            ..Self::default()
        }
    }
}

/// The circumstances of one decision.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The demand to decide; it must be in the inventory.
    pub demand: &'a Key,
    /// The instant of the decision.
    pub now: Timestamp,
    /// The seed of random strategies.
    pub seed: u64,
    /// The cluster names the caller wants; `None` lets the scheduler pick.
    pub chosen: Option<&'a [String]>,
}

/// Everything a dialect knows of the world, and its decisions on it.
///
/// Inventories are shared as `Arc<dyn Inventory>` snapshots and copied on write: [`Inventory::fork`] must be cheap
/// (share columns and records, copy pointers). A dialect's own followers get theirs back by its type.
pub trait Inventory: Any + Send + Sync {
    /// A cheap copy that can change on its own.
    fn fork(&self) -> Arc<dyn Inventory>;

    /// Takes in one change. An object that does not fit its kind is left out and listed by [`Inventory::unusable`].
    fn fold(&mut self, change: &Change) -> Due;

    /// The objects that could not be read, with the reason.
    fn unusable(&self) -> Vec<Unusable>;

    /// Why the object at `key` could not be read.
    fn problem(&self, key: &Key) -> Option<String> {
        let unusable = self.unusable().into_iter();
        unusable
            .filter(|unusable| unusable.key == *key)
            .map(|unusable| unusable.problem)
            .next()
    }

    /// How much work deciding `demand` is, as a number of targets that are judged by comparing fields: more where
    /// expressions run.
    fn effort(&self, _demand: &Key) -> u32 {
        self.count()
    }

    /// How many targets there are; candidates are `0..count`, in name order.
    fn count(&self) -> Ix;

    /// The cluster name of a candidate, as the system itself names it.
    fn cluster_name(&self, candidate: Ix) -> Arc<str>;

    /// The candidate with this cluster name.
    fn candidate(&self, cluster_name: &str) -> Option<Ix>;

    /// The name of the Target object without its dialect: `<name>`, or `<namespace>.<name>` of namespaced ones.
    fn target_name(&self, candidate: Ix) -> String {
        self.cluster_name(candidate).replace('/', ".")
    }

    /// What there is to say of a target.
    fn target(&self, candidate: Ix, now: Timestamp) -> TargetView;

    /// [`Inventory::target_name`] and [`Inventory::target`] of the cluster with this name. Whoever follows single targets
    /// asks here: where candidates are numbered only for decisions, this does not number them.
    fn target_of(&self, cluster_name: &str, now: Timestamp) -> Option<(String, TargetView)> {
        let candidate = self.candidate(cluster_name)?;
        Some((self.target_name(candidate), self.target(candidate, now)))
    }

    /// The demands, in key order.
    fn demands(&self) -> Vec<Key>;

    /// The stored object of a demand.
    fn object(&self, demand: &Key) -> Option<Arc<Object>>;

    /// Where a demand is bound now, read from the objects alone (nothing is decided).
    fn demand(&self, demand: &Key, now: Timestamp) -> Option<DemandView>;

    /// Decides. `None` when the demand is not in the inventory.
    ///
    /// # Errors
    /// Only with [`Ask::chosen`]: the targets that are unknown, infeasible or too many, each with its reasons.
    fn decide(&self, ask: &Ask<'_>) -> Option<Result<Decision, Refused>>;

    /// The names of the filters, by [`scheduling::Rejection::plugin`].
    fn filters(&self) -> &'static [&'static str];

    /// The token of a refusal.
    fn token(&self, plugin: u16, reason: Reason) -> &'static str;

    /// The sentence of a refusal in `decision`.
    fn sentence(&self, decision: &Decision, candidate: Ix, plugin: u16, reason: Reason) -> String;

    /// The token and sentence for a candidate that is feasible, has this `rank` (from 1) and is not picked.
    fn not_picked(&self, decision: &Decision, candidate: Ix, rank: Option<usize>) -> (&'static str, String);

    /// The one-line summary of a decision: `2 of 5 seeds feasible; picked eu-1`.
    fn message(&self, decision: &Decision) -> String;

    /// The conditions as the system itself would report them, as JSON condition objects.
    fn conditions(&self, decision: &Decision) -> Vec<serde_json::Value>;

    /// How the controller works, by the configuration in force.
    fn pace(&self) -> Pace {
        Pace::default()
    }

    /// What is reported as events on the demand once `decision` is committed; `wrote` says whether anything changed by
    /// it. Asked also of decisions that change nothing: what is repeated here becomes a series.
    fn notes(&self, decision: &Decision, wrote: bool) -> Vec<Note> {
        control::default_notes(self, decision, wrote)
    }

    /// The users of the protected object at `key`: at most `most` of them, in key order, and how many there are.
    fn users(&self, _key: &Key, _most: usize) -> (Vec<Key>, usize) {
        (Vec::new(), 0)
    }

    /// Whether `object`, which is of one of [`Dialect::reserves`], holds a decision: then whose, as `Placement "p"`.
    fn reserved(&self, _resource: GroupResource, _object: &serde_json::Value) -> Option<Reserved> {
        None
    }

    /// What speaks against an update of `old` to `new`, or against making `new`, in the light of the other objects that
    /// are known here. Both are of `resource`, which is one of [`Dialect::judges`]. Asked only when the spec changes, and
    /// not about the scheduler's own writes. What a kind can tell from the object alone is not told again.
    fn judge(
        &self,
        _resource: GroupResource,
        _old: Option<&serde_json::Value>,
        _new: &serde_json::Value,
    ) -> Vec<FieldError> {
        Vec::new()
    }

    /// What an administrator changes to empty the cluster with this name: nothing new comes to it, and what is there looks
    /// for another place. Where the system itself never moves what is placed, the edits show where it would go if
    /// its place were taken away. `None` where there is no such cluster, or the system has no way to empty one.
    fn drain(&self, _cluster_name: &str, _now: Timestamp) -> Option<Vec<Edit>> {
        None
    }

    /// What may lift `refusal` of `candidate` in `decision`, the ways that change least first; with no `refusal`, what may
    /// have the candidate picked, which is feasible and is not. Where no change of an object helps, a remedy without
    /// edits says why. Proposals only: whoever advises decides again with each.
    fn remedies(&self, _decision: &Decision, _candidate: Ix, _refusal: Option<&Rejection>) -> Vec<Remedy> {
        Vec::new()
    }

    /// Exactly what binding would write, in order: every prefix is a valid state, and deciding again finishes it.
    fn writes(&self, decision: &Decision) -> Vec<Write>;

    /// Judges `new`, which somebody wants to store over the demand `old` through a binding subresource of the system's
    /// own (Gardener's `shoots/binding`), and fills in what the system fills in there. Gives the fences the write must
    /// pass, as [`Decision::fences`]. Systems without such a subresource have nothing to say.
    ///
    /// # Errors
    /// What speaks against the binding.
    fn own_binding(
        &self,
        _old: &serde_json::Value,
        _new: &mut serde_json::Value,
    ) -> Result<Vec<Arc<str>>, Denied> {
        Ok(Vec::new())
    }
}
