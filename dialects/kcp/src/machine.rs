//! The two state machines (docs/systems/kcp.md, "The placement annotation" and "Controllers"): one pure
//! function per actor computes its next step, and tables have the legal changes. Admission judges
//! changes with the tables; a test holds the functions to them.
//!
//! 1. The *placement* of a namespace, in its annotation: the actors that may move an entry from one
//!    [`State`] to another.
//! 2. The *syncing* of an object (a namespace or a resource in it), in its state label: [`SyncState`].

use std::fmt;

use crate::placement::{Placement, State};

/// Actors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Actor {
    /// The scheduler: chooses clusters, asks for removal, cleans up.
    PlacementController,
    /// Adopts namespaces and records that clusters have released them.
    NamespaceController,
    /// Hands the namespaces' labels on to the resources in them.
    ResourceController,
    /// Changes resources before they are synced and holds back their removal.
    CoordinationController,
    /// Syncs one cluster.
    Syncer,
}

impl Actor {
    /// Every actor.
    pub const ALL: [Self; 5] = [
        Self::PlacementController,
        Self::NamespaceController,
        Self::ResourceController,
        Self::CoordinationController,
        Self::Syncer,
    ];
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PlacementController => "the placement controller",
            Self::NamespaceController => "the namespace controller",
            Self::ResourceController => "the resource controller",
            Self::CoordinationController => "a coordination controller",
            Self::Syncer => "the syncer of that cluster",
        })
    }
}

/// One legal change of an entry of the placement annotation; `None` is an absent entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// Actor that may make it.
    pub actor: Actor,
    /// State before.
    pub from: Option<State>,
    /// State after.
    pub to: Option<State>,
    /// Condition for the step.
    pub when: &'static str,
}

const fn transition(actor: Actor, from: Option<State>, to: Option<State>, when: &'static str) -> Transition {
    Transition {
        actor,
        from,
        to,
        when,
    }
}

/// Every legal change of a placement entry. All others are illegal for everyone.
pub const TRANSITIONS: &[Transition] = {
    use Actor::{NamespaceController as Namespaces, PlacementController as Placements};
    use State::{Bound, Pending, Removing, Unbound};
    &[
        transition(Placements, None, Some(Pending), "a workload cluster was chosen"),
        transition(
            Placements,
            Some(Pending),
            None,
            "the workload cluster may no longer be used and nobody adopted the entry",
        ),
        transition(Namespaces, Some(Pending), Some(Bound), "the namespace is adopted"),
        transition(
            Placements,
            Some(Bound),
            Some(Removing),
            "the namespace must leave the workload cluster",
        ),
        transition(
            Namespaces,
            Some(Removing),
            Some(Unbound),
            "the workload cluster has let go of the namespace",
        ),
        transition(Placements, Some(Unbound), None, "the entry is cleaned up"),
        transition(
            Placements,
            Some(Unbound),
            Some(Pending),
            "the same workload cluster was chosen again",
        ),
    ]
};

/// Actor that may make this change of an entry; `None` when no actor may. An unchanged state is no
/// change.
#[must_use]
pub fn who_may(from: Option<State>, to: Option<State>) -> Option<Actor> {
    let found = TRANSITIONS
        .iter()
        .find(|legal| legal.from == from && legal.to == to);
    found.map(|legal| legal.actor)
}

/// Whether `actor` may move an entry so.
#[must_use]
pub fn may(actor: Actor, from: Option<State>, to: Option<State>) -> bool {
    from == to || who_may(from, to) == Some(actor)
}

/// One entry that differs between two placements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryChange {
    /// The entry's location string.
    pub entry: String,
    /// Its identifier.
    pub identifier: String,
    /// The state before.
    pub from: Option<State>,
    /// The state after.
    pub to: Option<State>,
}

impl fmt::Display for EntryChange {
    /// `entry "root+a+x" from Bound to Removing`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |state: Option<State>| state.map_or("absent", State::as_str);
        write!(
            f,
            "entry \"{}\" from {} to {}",
            self.entry,
            word(self.from),
            word(self.to)
        )
    }
}

/// Every entry that differs between `old` and `new`, by location string.
#[must_use]
pub fn moved(old: &Placement, new: &Placement) -> Vec<EntryChange> {
    let mut places: Vec<_> = old.0.keys().chain(new.0.keys()).collect();
    places.sort_unstable();
    places.dedup();
    let entry = |place| {
        let (from, to) = (old.0.get(place).copied(), new.0.get(place).copied());
        (from != to).then(|| EntryChange {
            entry: place.to_string(),
            identifier: place.identifier.to_string(),
            from,
            to,
        })
    };
    places.into_iter().filter_map(entry).collect()
}

/// Step of the placement controller on a stored entry, before it chooses anything new: an admissible
/// entry stays, one that is not adopted is dropped, a bound one becomes Removing. A removal is never
/// taken back.
#[must_use]
pub const fn placement_controller(state: State, admissible: bool) -> Option<State> {
    match (state, admissible) {
        (State::Pending, true) => Some(State::Pending),
        (State::Bound, true) => Some(State::Bound),
        (State::Bound, false) | (State::Removing, _) => Some(State::Removing),
        (State::Pending, false) | (State::Unbound, _) => None,
    }
}

/// Step of the namespace controller on an entry: it adopts pending entries, and reports released ones.
/// The cluster has released the namespace when that has lost its state label, or the cluster is gone.
#[must_use]
pub const fn namespace_controller(state: State, labelled: bool, cluster_exists: bool) -> State {
    match state {
        State::Pending | State::Bound => State::Bound,
        State::Removing if labelled && cluster_exists => State::Removing,
        State::Removing | State::Unbound => State::Unbound,
    }
}

/// The value of a state label: whether a cluster's syncer sees the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SyncState {
    /// `""`: assigned to the cluster, not yet synced.
    Assigned,
    /// `Sync`: the syncer sees it.
    Sync,
}

impl SyncState {
    /// The label's value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Assigned => "",
            Self::Sync => "Sync",
        }
    }

    /// The state of this exact value; any other value is invalid.
    #[must_use]
    pub fn named(value: &str) -> Option<Self> {
        [Self::Assigned, Self::Sync]
            .into_iter()
            .find(|sync| sync.as_str() == value)
    }
}

/// One legal change of a state label; `None` is an absent label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncTransition {
    /// Actor that may make it.
    pub actor: Actor,
    /// Whether on a namespace; else on a resource.
    pub namespace: bool,
    /// Value before.
    pub from: Option<SyncState>,
    /// Value after.
    pub to: Option<SyncState>,
}

const fn sync(
    actor: Actor,
    namespace: bool,
    from: Option<SyncState>,
    to: Option<SyncState>,
) -> SyncTransition {
    SyncTransition {
        actor,
        namespace,
        from,
        to,
    }
}

/// Every legal change of a state label.
pub const SYNC_TRANSITIONS: &[SyncTransition] = {
    use Actor::{CoordinationController, NamespaceController, ResourceController, Syncer};
    use SyncState::{Assigned, Sync};
    &[
        // The namespace is adopted; an invalid value is repaired.
        sync(NamespaceController, true, None, Some(Sync)),
        sync(NamespaceController, true, Some(Assigned), Some(Sync)),
        // The next state of an entry that is Unbound, or whose cluster is gone.
        sync(NamespaceController, true, Some(Sync), None),
        sync(NamespaceController, true, Some(Assigned), None),
        // The downstream namespace is gone.
        sync(Syncer, true, Some(Sync), None),
        sync(ResourceController, false, None, Some(Assigned)),
        sync(ResourceController, false, None, Some(Sync)),
        sync(ResourceController, false, Some(Assigned), Some(Sync)),
        sync(CoordinationController, false, Some(Assigned), Some(Sync)),
        // The namespace left the cluster before anything held the resource.
        sync(ResourceController, false, Some(Assigned), None),
        sync(ResourceController, false, Some(Sync), None),
        // The downstream object is gone.
        sync(Syncer, false, Some(Sync), None),
    ]
};

/// The actors that may change a state label so.
pub fn who_may_sync(
    namespace: bool,
    from: Option<SyncState>,
    to: Option<SyncState>,
) -> impl Iterator<Item = Actor> {
    let legal = SYNC_TRANSITIONS
        .iter()
        .filter(move |legal| legal.namespace == namespace && legal.from == from && legal.to == to);
    legal.map(|legal| legal.actor)
}

/// Whether `actor` may change a state label so.
#[must_use]
pub fn may_sync(actor: Actor, namespace: bool, from: Option<SyncState>, to: Option<SyncState>) -> bool {
    from == to || who_may_sync(namespace, from, to).any(|legal| legal == actor)
}

/// Step of the resource controller on a resource's state label, given that of its namespace. `leaving`
/// is whether the resource has to leave the cluster, with its namespace or by itself; `held` whether
/// the syncer's finalizer or soft finalizers still hold it; `coordinated` whether a coordination
/// controller comes first.
#[must_use]
pub const fn resource_controller(
    label: Option<SyncState>,
    namespace: Option<SyncState>,
    leaving: bool,
    held: bool,
    coordinated: bool,
) -> Option<SyncState> {
    match (label, namespace) {
        (None, Some(SyncState::Sync)) if !leaving => Some(if coordinated {
            SyncState::Assigned
        } else {
            SyncState::Sync
        }),
        (Some(SyncState::Assigned), Some(SyncState::Sync)) if !coordinated && !leaving => {
            Some(SyncState::Sync)
        }
        // No syncer has seen it, and now none will.
        (Some(SyncState::Assigned), Some(SyncState::Sync)) if leaving && !held => None,
        (label, Some(SyncState::Sync)) => label,
        (label, _) if held => label,
        _ => None,
    }
}

#[cfg(test)]
mod tests;
