//! The two state machines (docs/systems/kcp.md, "The placement annotation" and "Controllers"). Pure functions
//! compute the next steps of the placement, the namespace and the resource controller, and tables list the
//! legal changes. Admission checks changes against the tables; a test checks that the functions agree with
//! the tables.
//!
//! 1. The *placement* of a namespace, in its annotation: each entry has a [`State`].
//! 2. The *syncing* of an object (a namespace or a resource in it), in its state label: [`SyncState`].

use std::fmt;

use crate::placement::{Placement, State};

/// The actors of the state machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Actor {
    /// The scheduler, which chooses clusters, requests removals, and cleans up.
    PlacementController,
    /// The controller that adopts the entries of placements, and records that clusters released namespaces.
    NamespaceController,
    /// The controller that copies namespaces' labels to the resources in them.
    ResourceController,
    /// A controller that changes resources before they are synced, and delays their removal.
    CoordinationController,
    /// The syncer of one cluster.
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
    /// The actor that may make the change.
    pub actor: Actor,
    /// The state before the change.
    pub from: Option<State>,
    /// The state after the change.
    pub to: Option<State>,
    /// The condition for the change, in words.
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

/// Every legal change of a placement entry. All other changes are illegal for every actor.
pub const TRANSITIONS: &[Transition] = {
    use Actor::{NamespaceController as Namespaces, PlacementController as Placements};
    use State::{Bound, Pending, Removing, Unbound};
    &[
        transition(Placements, None, Some(Pending), "a workload cluster was chosen"),
        transition(
            Placements,
            Some(Pending),
            None,
            "the workload cluster may no longer be used, and the entry was not adopted",
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
            "the workload cluster has released the namespace",
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

/// The actor that may change the state of an entry in this way; `None` if no actor may.
#[must_use]
pub fn allowed_actor(from: Option<State>, to: Option<State>) -> Option<Actor> {
    let found = TRANSITIONS
        .iter()
        .find(|legal| legal.from == from && legal.to == to);
    found.map(|legal| legal.actor)
}

/// Whether `actor` may change the state of an entry in this way. An unchanged state is always allowed.
#[must_use]
pub fn is_allowed(actor: Actor, from: Option<State>, to: Option<State>) -> bool {
    from == to || allowed_actor(from, to) == Some(actor)
}

/// One entry that differs between two placements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryChange {
    /// The location string of the entry.
    pub entry: String,
    /// The identifier of the entry's workload cluster.
    pub identifier: String,
    /// The state before the change.
    pub from: Option<State>,
    /// The state after the change.
    pub to: Option<State>,
}

impl fmt::Display for EntryChange {
    /// Writes the change in words, such as `entry "root+a+x" from Bound to Removing`.
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

/// The change of every entry that differs between `old` and `new`, in the order of location strings.
#[must_use]
pub fn entry_changes(old: &Placement, new: &Placement) -> Vec<EntryChange> {
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

/// The state of a stored entry after the step of the placement controller, before new clusters are chosen;
/// `None` removes the entry. A Pending or Bound entry stays if it is admissible. Else a Pending entry is
/// removed, and a Bound entry becomes Removing. A removal is never reverted, and an Unbound entry is removed.
#[must_use]
pub const fn placement_step(state: State, admissible: bool) -> Option<State> {
    match (state, admissible) {
        (State::Pending, true) => Some(State::Pending),
        (State::Bound, true) => Some(State::Bound),
        (State::Bound, false) | (State::Removing, _) => Some(State::Removing),
        (State::Pending, false) | (State::Unbound, _) => None,
    }
}

/// The state of a stored entry after the step of the namespace controller, which adopts pending entries, and
/// records that a cluster has released the namespace: the namespace has lost the cluster's state label, or
/// the cluster no longer exists.
#[must_use]
pub const fn namespace_step(state: State, labelled: bool, cluster_exists: bool) -> State {
    match state {
        State::Pending | State::Bound => State::Bound,
        State::Removing if labelled && cluster_exists => State::Removing,
        State::Removing | State::Unbound => State::Unbound,
    }
}

/// The value of a state label: whether a cluster's syncer sees the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SyncState {
    /// `""`: the object is assigned to the cluster, but not yet synced.
    Assigned,
    /// `Sync`: the syncer sees the object.
    Sync,
}

impl SyncState {
    /// The value of the label.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Assigned => "",
            Self::Sync => "Sync",
        }
    }

    /// The state with this exact value; any other value is invalid.
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
    /// The actor that may make the change.
    pub actor: Actor,
    /// Whether the label is on a namespace; else it is on a resource.
    pub namespace: bool,
    /// The value before the change.
    pub from: Option<SyncState>,
    /// The value after the change.
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
        // The namespace is adopted, or an invalid value is corrected.
        sync(NamespaceController, true, None, Some(Sync)),
        sync(NamespaceController, true, Some(Assigned), Some(Sync)),
        // The entry is Unbound, or its cluster no longer exists.
        sync(NamespaceController, true, Some(Sync), None),
        sync(NamespaceController, true, Some(Assigned), None),
        // The downstream namespace is deleted.
        sync(Syncer, true, Some(Sync), None),
        sync(ResourceController, false, None, Some(Assigned)),
        sync(ResourceController, false, None, Some(Sync)),
        sync(ResourceController, false, Some(Assigned), Some(Sync)),
        sync(CoordinationController, false, Some(Assigned), Some(Sync)),
        // No finalizer holds a resource that leaves the cluster, or the cluster no longer exists.
        sync(ResourceController, false, Some(Assigned), None),
        sync(ResourceController, false, Some(Sync), None),
        // The downstream object is deleted.
        sync(Syncer, false, Some(Sync), None),
    ]
};

/// The actors that may change a state label in this way.
pub fn allowed_sync_actors(
    namespace: bool,
    from: Option<SyncState>,
    to: Option<SyncState>,
) -> impl Iterator<Item = Actor> {
    let legal = SYNC_TRANSITIONS
        .iter()
        .filter(move |legal| legal.namespace == namespace && legal.from == from && legal.to == to);
    legal.map(|legal| legal.actor)
}

/// Whether `actor` may change a state label in this way. An unchanged value is always allowed.
#[must_use]
pub fn is_sync_allowed(
    actor: Actor,
    namespace: bool,
    from: Option<SyncState>,
    to: Option<SyncState>,
) -> bool {
    from == to || allowed_sync_actors(namespace, from, to).any(|legal| legal == actor)
}

/// The value of a resource's state label after the step of the resource controller. `label` is the present
/// value, and `namespace` is the value of the namespace's label. `leaving` is whether the resource has to
/// leave the cluster, with its namespace or by itself; `held` is whether the syncer's finalizer or soft
/// finalizers still hold the resource; `coordinated` is whether a coordination controller changes the
/// resource first.
#[must_use]
pub const fn resource_step(
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
        // No syncer has seen the resource, and none will.
        (Some(SyncState::Assigned), Some(SyncState::Sync)) if leaving && !held => None,
        (label, Some(SyncState::Sync)) => label,
        (label, _) if held => label,
        _ => None,
    }
}

#[cfg(test)]
mod tests;
