//! Every transition of the placement state machine, by actor.

use super::*;

const STATES: [Option<State>; 5] = [
    None,
    Some(State::Pending),
    Some(State::Bound),
    Some(State::Removing),
    Some(State::Unbound),
];

/// The transitions in docs/systems/kcp.md, "The placement annotation", written by hand. Rows are the state
/// before, columns the state after, in the order of [`STATES`]. P is the placement controller, N the
/// namespace controller, `=` is no change, and `.` is allowed for no actor.
const MATRIX: [&str; 5] = ["=P...", "P=N..", "..=P.", "...=N", "PP..="];

/// The state label after a coordination controller has finished with the resource.
const fn coordination_controller(label: Option<SyncState>) -> Option<SyncState> {
    match label {
        Some(_) => Some(SyncState::Sync),
        None => None,
    }
}

/// The step of the syncer on the state label of an object in its view. The label is removed once the object
/// has to leave, has no soft finalizers, and its downstream object is deleted.
const fn syncer(
    label: Option<SyncState>,
    deleting: bool,
    has_soft_finalizers: bool,
    downstream_gone: bool,
) -> Option<SyncState> {
    match label {
        Some(SyncState::Sync) if deleting && !has_soft_finalizers && downstream_gone => None,
        label => label,
    }
}

#[test]
fn the_full_matrix_of_transitions_is_as_documented() {
    for (row, &from) in STATES.iter().enumerate() {
        for (column, &to) in STATES.iter().enumerate() {
            let expected = match MATRIX[row].as_bytes()[column] {
                b'P' => vec![Actor::PlacementController],
                b'N' => vec![Actor::NamespaceController],
                b'=' => Actor::ALL.to_vec(),
                _ => Vec::new(),
            };
            let actors = Actor::ALL
                .into_iter()
                .filter(|&actor| is_allowed(actor, from, to));
            assert_eq!(actors.collect::<Vec<_>>(), expected, "{from:?} to {to:?}");
        }
    }
}

#[test]
fn the_controllers_make_legal_changes_only() {
    for state in State::ALL {
        for admissible in [false, true] {
            let to = placement_step(state, admissible);
            assert!(
                is_allowed(Actor::PlacementController, Some(state), to),
                "{state} to {to:?}"
            );
        }
        for (labelled, exists) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut at = state;
            // The namespace controller never makes two transitions in one write.
            let to = namespace_step(at, labelled, exists);
            assert!(
                is_allowed(Actor::NamespaceController, Some(at), Some(to)),
                "{at} to {to}"
            );
            at = to;
            assert!(matches!(at, State::Bound | State::Removing | State::Unbound));
        }
    }
    assert!(is_allowed(Actor::PlacementController, None, Some(State::Pending)));
    assert!(is_allowed(
        Actor::PlacementController,
        Some(State::Unbound),
        Some(State::Pending)
    ));
}

#[test]
fn a_removal_ends_when_the_cluster_has_let_go_or_is_gone() {
    use State::{Removing, Unbound};
    assert_eq!(namespace_step(Removing, true, true), Removing);
    assert_eq!(namespace_step(Removing, false, true), Unbound);
    assert_eq!(namespace_step(Removing, true, false), Unbound);
    assert_eq!(
        placement_step(Removing, true),
        Some(Removing),
        "a removal is never taken back"
    );
}

#[test]
fn the_syncing_functions_make_legal_changes_only() {
    let labels = [None, Some(SyncState::Assigned), Some(SyncState::Sync)];
    for label in labels {
        for namespace in labels {
            for bits in 0..8 {
                let (leaving, held, coordinated) = (bits & 1 == 1, bits & 2 == 2, bits & 4 == 4);
                let to = resource_step(label, namespace, leaving, held, coordinated);
                assert!(
                    is_sync_allowed(Actor::ResourceController, false, label, to),
                    "{label:?} to {to:?}"
                );
            }
        }
        let to = coordination_controller(label);
        assert!(is_sync_allowed(Actor::CoordinationController, false, label, to));
        for bits in 0..8 {
            let to = syncer(label, bits & 1 == 1, bits & 2 == 2, bits & 4 == 4);
            assert!(is_sync_allowed(Actor::Syncer, false, label, to));
            assert!(is_sync_allowed(Actor::Syncer, true, label, to));
        }
    }
}

#[test]
fn resources_follow_their_namespace() {
    let synced = Some(SyncState::Sync);
    assert_eq!(resource_step(None, synced, false, false, false), synced);
    assert_eq!(
        resource_step(None, synced, false, false, true),
        Some(SyncState::Assigned),
        "a coordination controller has the first look"
    );
    assert_eq!(
        resource_step(None, synced, true, false, false),
        None,
        "nothing new goes where the namespace is leaving"
    );
    assert_eq!(resource_step(synced, None, false, true, false), synced, "held");
    assert_eq!(resource_step(synced, None, false, false, false), None);
}

#[test]
fn changes_are_told_entry_by_entry() {
    let old = Placement::parse(r#"{"root+a+x":"Bound","root+a+y":"Pending","root+a+z":"Bound"}"#).unwrap();
    let new = Placement::parse(r#"{"root+a+x":"Removing","root+a+z":"Bound","root+b+w":"Pending"}"#).unwrap();
    let texts: Vec<String> = entry_changes(&old, &new)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        texts,
        [
            "entry \"root+a+x\" from Bound to Removing",
            "entry \"root+a+y\" from Pending to absent",
            "entry \"root+b+w\" from absent to Pending",
        ]
    );
}
