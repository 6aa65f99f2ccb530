//! *Reconcilers*: controllers beside the controller that decides. They carry out decisions, and report
//! states, like kcp's namespace and resource controllers.
//!
//! A reconciler is pure, like the rest of this crate: it computes the keys that a change makes due, and the
//! writes for one key. The engine runs it: with one queue of due keys, back-off and limited parallelism, and
//! with writes that are guarded by the revisions on which they are based.

use std::sync::Arc;

use berth_apimachinery::write::Write;
use berth_apimachinery::{Change, GroupResource, Key, Object, Timestamp};

use crate::inventory::Inventory;

/// The cached objects of the resources that a reconciler watches.
pub trait Objects: Sync {
    /// The object at `key`; `None` if there is none.
    fn get(&self, key: &Key) -> Option<&Arc<Object>>;

    /// The objects of `resource` in `namespace` (in all namespaces with `None`), by namespace and name. The
    /// cost of the list of one namespace depends only on the objects in this namespace.
    fn list<'a>(
        &'a self,
        resource: GroupResource,
        namespace: Option<&'a str>,
    ) -> Box<dyn Iterator<Item = &'a Arc<Object>> + 'a>;
}

/// The input of a reconciler's step.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The objects of the watched resources.
    pub objects: &'a dyn Objects,
    /// Inventory of the reconciler's dialect, at least as new as the objects.
    pub inventory: &'a dyn Inventory,
    /// The instant of the step.
    pub now: Timestamp,
}

/// The result of a reconciler's step on one key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// The writes, in order; empty if nothing has to be written. Every prefix of the writes leaves a valid
    /// state.
    pub writes: Vec<Write>,
    /// Time at which the key is due again without a change.
    pub due_at: Option<Timestamp>,
}

/// A controller of a dialect beside the controller that decides.
pub trait Reconciler: Send + Sync + 'static {
    /// The name of the controller, `<dialect>-<task>`, as in flags and metrics.
    fn name(&self) -> &'static str;

    /// The user name under which the reconciler writes (docs/concepts.md, "Actors").
    fn actor(&self) -> &'static str;

    /// The resources that the reconciler watches and reads.
    fn watches(&self) -> Vec<GroupResource>;

    /// Resources that the reconciler no longer handles: it removes its own labels, annotations and finalizers
    /// from their objects. The server need not have these resources.
    fn former_resources(&self) -> Vec<GroupResource> {
        Vec::new()
    }

    /// Resources among the [watched](Reconciler::watches) ones that the reconciler writes: its user needs
    /// permission to update them and their status.
    fn writes(&self) -> Vec<GroupResource>;

    /// Whether a program on the hub does the work of this reconciler. Such a reconciler runs only where Berth
    /// stores the objects.
    fn is_left_to_hub(&self) -> bool {
        false
    }

    /// The keys that `change` makes due. Only keys that need a write are returned, so that the reconciler's
    /// own writes make no key due. `context` has the objects after the change, possibly with later changes.
    fn due(&self, change: &Change, context: &Context<'_>) -> Vec<Key>;

    /// All keys that may be due, for a reconciler that starts or has missed changes, including keys that
    /// become due at a later time.
    fn all(&self, context: &Context<'_>) -> Vec<Key>;

    /// Computes the step on `key`, whose object may have been deleted.
    fn step(&self, key: &Key, context: &Context<'_>) -> Step;
}

/// A capability: controllers in addition to the scheduler.
pub trait Controllers {
    /// The name of the controller that decides; `None` where it has the dialect's name.
    fn decider(&self) -> Option<&'static str> {
        None
    }

    /// Returns the system's own name for the controller that decides, which `--controllers` accepts as well.
    fn alias(&self) -> Option<&'static str> {
        None
    }

    /// The reconcilers, under `spec`, the dialect's part of the SchedulerConfiguration in force, if there is
    /// one. The number and the names of the reconcilers do not depend on `spec`.
    fn reconcilers(&self, _spec: Option<&serde_json::Value>) -> Vec<Arc<dyn Reconciler>> {
        Vec::new()
    }

    /// The reconcilers that create demands: plans and simulations run the steps of these reconcilers before
    /// decisions.
    fn preceding(&self) -> Vec<Arc<dyn Reconciler>> {
        Vec::new()
    }

    /// The reconcilers that also run where a hub stores the system's objects.
    fn hub_reconcilers(&self) -> Vec<Arc<dyn Reconciler>> {
        let mut all = self.reconcilers(None);
        all.retain(|reconciler| !reconciler.is_left_to_hub());
        all
    }
}

/// The controllers of a dialect that has no reconcilers.
pub(crate) struct NoReconcilers;

impl Controllers for NoReconcilers {}
