//! The states of all decisions, and their observed changes that are not recorded yet. Changes in a short time
//! are merged into one, without losing a cluster.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::Timestamp;
use berth_storage::Name;

use super::state::{self, DecisionState, DecisionSubject, differ};

/// Factor on the wait after a change to a state without a decision, or without a comparison.
const PENDING_FACTOR: u32 = 8;

/// A change of the state of one decision.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StateChange {
    /// Subject of the decision.
    pub(crate) subject: DecisionSubject,
    /// State before; `None` where the decision did not exist.
    pub(crate) from: Option<Arc<DecisionState>>,
    /// State after; `None` where the decision does not exist any more.
    pub(crate) to: Option<Arc<DecisionState>>,
    /// Time of the last merged change.
    pub(crate) at: Timestamp,
    /// Whether the change is only known from the difference of two states, so that its cause is unknown.
    pub(crate) unseen: bool,
}

/// The changes of one decision that are to be recorded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PendingChanges {
    /// Time of the first change.
    pub(crate) since: Timestamp,
    /// The changes, oldest first.
    pub(crate) changes: Vec<StateChange>,
}

/// States of all decisions, and changes to be recorded.
#[derive(Default)]
pub(crate) struct DecisionStates {
    states: HashMap<Name, (DecisionSubject, Arc<DecisionState>)>,
    pending: BTreeMap<Name, PendingChanges>,
}

impl DecisionStates {
    /// Sets the state of the decision at `place` to `to`, without a change to be recorded.
    pub(crate) fn set_state(&mut self, place: Name, subject: DecisionSubject, to: Arc<DecisionState>) {
        self.states.insert(place, (subject, to));
    }

    /// State of the decision at `place`.
    pub(crate) fn state(&self, place: &Name) -> Option<&Arc<DecisionState>> {
        self.states.get(place).map(|(_, state)| state)
    }

    /// Subject and state of the decision at `place`.
    pub(crate) fn subject_and_state(&self, place: &Name) -> Option<&(DecisionSubject, Arc<DecisionState>)> {
        self.states.get(place)
    }

    /// Whether changes of the decision at `place` are to be recorded.
    pub(crate) fn has_pending(&self, place: &Name) -> bool {
        self.pending.contains_key(place)
    }

    /// The places of all decisions that exist.
    pub(crate) fn places(&self) -> impl Iterator<Item = &Name> {
        self.states.keys()
    }

    /// Sets the state of the decision at `place` to `to` (`None` where the decision does not exist any more),
    /// and adds the change from the former state.
    ///
    /// A decision about another object of the same name is another decision, even if no gap between the
    /// two was observed.
    pub(crate) fn observe(
        &mut self,
        place: &Name,
        to: Option<(DecisionSubject, DecisionState)>,
        at: Timestamp,
    ) {
        if let (Some((former, _)), Some((present, _))) = (self.states.get(place), &to)
            && former.is_other_object(present)
        {
            self.change_state(place, None, at);
        }
        self.change_state(place, to, at);
    }

    fn change_state(&mut self, place: &Name, to: Option<(DecisionSubject, DecisionState)>, at: Timestamp) {
        let before = self.states.remove(place);
        let known = before.as_ref().map(|(_, state)| state);
        let to = to.map(|(subject, to)| (subject, state::shared(to, known)));
        let Some(subject) = to
            .as_ref()
            .or(before.as_ref())
            .map(|(subject, _)| subject.clone())
        else {
            return;
        };
        let from = before.map(|(_, state)| state);
        if let Some(present) = &to {
            self.states.insert(place.clone(), present.clone());
        }
        let change = StateChange {
            subject,
            from,
            to: to.map(|(_, state)| state),
            at,
            unseen: false,
        };
        if differ(change.from.as_deref(), change.to.as_deref()) {
            self.add_change(place, change);
        } else {
            self.update_last_change(place, change.to);
        }
    }

    /// Replaces the end state of the last pending change at `place` by `to`, if the two do not differ in a
    /// way that is worth a record: the agreement, for example, may be newer.
    fn update_last_change(&mut self, place: &Name, to: Option<Arc<DecisionState>>) {
        let pending = self.pending.get_mut(place);
        let last = pending.and_then(|pending| pending.changes.last_mut());
        if let (Some(last), Some(to)) = (last, to)
            && last.to.as_ref().is_some_and(|end| !end.differs(&to))
        {
            last.to = Some(to);
        }
    }

    /// Adds a change of the decision at `place`, which is merged into the last pending one where possible.
    pub(crate) fn add_change(&mut self, place: &Name, change: StateChange) {
        let pending = self
            .pending
            .entry(place.clone())
            .or_insert_with(|| PendingChanges {
                since: change.at,
                changes: Vec::new(),
            });
        match pending.changes.last_mut() {
            Some(last) if can_merge(last, &change) => {
                last.to = change.to;
                last.subject = change.subject;
                last.at = change.at;
                if !differ(last.from.as_deref(), last.to.as_deref()) {
                    pending.changes.pop();
                }
            }
            _ => pending.changes.push(change),
        }
        if pending.changes.is_empty() {
            self.pending.remove(place);
        }
    }

    /// Time of the oldest pending change.
    pub(crate) fn oldest(&self) -> Option<Timestamp> {
        self.pending.values().map(|pending| pending.since).min()
    }

    /// Takes the changes that have waited for `delay` at `now`.
    ///
    /// Changes wait longer where the decision is not made or not compared yet, since both mostly happen soon.
    pub(crate) fn take(&mut self, now: Timestamp, delay: Duration) -> Vec<(Name, PendingChanges)> {
        let is_due = |pending: &PendingChanges| {
            let last = pending.changes.last().and_then(|change| change.to.as_ref());
            let delay = match last {
                Some(to) if to.is_transient() => delay * PENDING_FACTOR,
                _ => delay,
            };
            // A clock that was set back does not extend the wait.
            Duration::try_from(now.duration_since(pending.since)).map_or(true, |waited| waited >= delay)
        };
        let due: Vec<Name> = self
            .pending
            .iter()
            .filter(|(_, pending)| is_due(pending))
            .map(|(place, _)| place.clone())
            .collect();
        due.into_iter()
            .filter_map(|place| self.pending.remove_entry(&place))
            .collect()
    }

    /// Puts changes back that cannot be recorded yet. The caller has observed no newer state of the decision
    /// since it took the changes.
    pub(crate) fn put_back(&mut self, place: Name, pending: PendingChanges) {
        self.pending.insert(place, pending);
    }
}

/// Whether `change` can be merged into `last`: every cluster after `last` stays, the decision exists after
/// both, and both were observed, or neither.
fn can_merge(last: &StateChange, change: &StateChange) -> bool {
    let (Some(former), Some(present)) = (&last.to, &change.to) else {
        return false;
    };
    if last.unseen != change.unseen {
        return false;
    }
    let names: std::collections::BTreeSet<&str> = present.names().collect();
    former.names().all(|name| names.contains(name))
}

#[cfg(test)]
mod tests {
    use berth_scheduling_api::shared::SourceRef;

    use super::super::state::state;
    use super::*;

    const DELAY: Duration = Duration::from_millis(250);

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millisecond(millis).unwrap()
    }

    /// The recorded changes of one decision with these successive states, each a phase and clusters.
    fn changes(states: &[Option<(&str, &[&str])>]) -> Vec<String> {
        let mut observed = DecisionStates::default();
        let place = Name::new("ns", "p.ocm");
        for (millis, side) in (0..).zip(states) {
            let to = side.map(|(phase, clusters)| (DecisionSubject::default(), state(phase, clusters)));
            observed.observe(&place, to, at(millis));
        }
        let text = |side: &Option<Arc<DecisionState>>| match side {
            None => "-".to_owned(),
            Some(state) => format!("{} {}", state.phase, state.names().collect::<String>()),
        };
        let taken = observed.take(at(9000), DELAY);
        taken
            .iter()
            .flat_map(|(_, pending)| &pending.changes)
            .map(|change| format!("{} > {}", text(&change.from), text(&change.to)))
            .collect()
    }

    #[test]
    fn what_falls_into_a_moment_is_one_change_unless_a_cluster_is_left() {
        let (pending, a, b, ab): (_, _, _, _) = (
            Some(("Pending", &[][..])),
            Some(("Bound", &["a"][..])),
            Some(("Bound", &["b"][..])),
            Some(("Bound", &["a", "b"][..])),
        );
        assert_eq!(changes(&[pending, a]), ["- > Bound a"]);
        assert_eq!(changes(&[pending, a, ab]), ["- > Bound ab"]);
        assert_eq!(changes(&[pending, a, b]), ["- > Bound a", "Bound a > Bound b"]);
        assert_eq!(changes(&[a, ab, b]), ["- > Bound ab", "Bound ab > Bound b"]);
        assert_eq!(changes(&[a, None]), ["- > Bound a", "Bound a > -"]);
        assert_eq!(
            changes(&[a, None, b]),
            ["- > Bound a", "Bound a > -", "- > Bound b"]
        );
        assert_eq!(changes(&[a, a]), ["- > Bound a"]);
        assert_eq!(changes(&[None]), Vec::<String>::new());
    }

    #[test]
    fn another_object_of_the_same_name_is_another_decision() {
        let subject = |uid: &str| DecisionSubject {
            source_ref: Arc::new(SourceRef {
                uid: uid.into(),
                ..SourceRef::default()
            }),
            ..DecisionSubject::default()
        };
        let mut states = DecisionStates::default();
        let place = Name::new("ns", "p.ocm");
        for uid in ["one", "one", "two"] {
            states.observe(&place, Some((subject(uid), state("Bound", &["a"]))), at(1));
        }
        let taken = states.take(at(9000), DELAY);
        let changes = taken.iter().flat_map(|(_, pending)| &pending.changes);
        let ends: Vec<_> = changes
            .map(|change| {
                (
                    &*change.subject.source_ref.uid,
                    change.from.is_some(),
                    change.to.is_some(),
                )
            })
            .collect();
        assert_eq!(
            ends,
            [("one", false, true), ("one", true, false), ("two", false, true)]
        );
    }

    #[test]
    fn there_and_back_in_a_moment_is_nothing() {
        let mut states = DecisionStates::default();
        let place = Name::new("ns", "p.ocm");
        states.set_state(
            place.clone(),
            DecisionSubject::default(),
            state("Unschedulable", &[]).into(),
        );
        for phase in ["Pending", "Unschedulable"] {
            states.observe(
                &place,
                Some((DecisionSubject::default(), state(phase, &[]))),
                at(1),
            );
        }
        assert_eq!(states.oldest(), None);
    }

    #[test]
    fn changes_are_taken_when_they_have_waited() {
        let mut states = DecisionStates::default();
        let place = Name::new("ns", "p.ocm");
        states.observe(
            &place,
            Some((DecisionSubject::default(), state("Bound", &["a"]))),
            at(1000),
        );
        assert_eq!(states.oldest(), Some(at(1000)));
        assert!(states.take(at(1249), DELAY).is_empty());
        assert_eq!(states.take(at(1250), DELAY).len(), 1);
        assert_eq!(states.oldest(), None);
        states.observe(
            &place,
            Some((DecisionSubject::default(), state("Pending", &[]))),
            at(2000),
        );
        let taken = |states: &mut DecisionStates, millis| states.take(at(millis), DELAY).len();
        assert_eq!(
            (taken(&mut states, 3999), taken(&mut states, 4000)),
            (0, 1),
            "not decided yet"
        );
        states.observe(
            &place,
            Some((DecisionSubject::default(), state("Bound", &["a"]))),
            at(5000),
        );
        assert_eq!(states.state(&place).unwrap().phase, "Bound");
    }

    #[test]
    fn a_record_that_waits_hears_whether_berth_agrees_and_agreement_alone_makes_none() {
        let agreed = |status: &str, awaited| {
            let agreement = state::Agreement {
                status: status.to_owned(),
                awaited,
                ..state::Agreement::default()
            };
            let state = DecisionState {
                agreement: Some(agreement),
                ..state("Bound", &["a"])
            };
            Some((DecisionSubject::default(), state))
        };
        let mut states = DecisionStates::default();
        let place = Name::new("ns", "p.ocm");
        states.observe(&place, agreed("Unknown", true), at(0));
        assert!(
            states.take(at(300), DELAY).is_empty(),
            "it is about to be compared"
        );
        states.observe(&place, agreed("False", false), at(310));
        let taken = states.take(at(320), DELAY);
        let [(_, PendingChanges { changes, .. })] = taken.as_slice() else {
            panic!("{taken:?}")
        };
        let end = changes[0].to.as_ref().unwrap();
        assert_eq!(end.agreement.as_ref().unwrap().status, "False");
        states.observe(&place, agreed("True", false), at(400));
        assert_eq!(states.oldest(), None);
    }
}
