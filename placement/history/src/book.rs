//! The observed changes that are not recorded yet. Changes in a short time are merged, without losing a
//! cluster.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::Timestamp;
use berth_storage::Name;

use super::standing::{self, About, DecisionState, differ};

/// Factor on the wait after a step that ends in a state without a decision, or without a comparison.
const PENDING_FACTOR: u32 = 8;

/// A change of one decision.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    /// Subject of the decision.
    pub(crate) about: About,
    /// State before; `None` where the decision did not exist.
    pub(crate) from: Option<Arc<DecisionState>>,
    /// State after; `None` where the decision does not exist any more.
    pub(crate) to: Option<Arc<DecisionState>>,
    /// Time of the last merged change.
    pub(crate) at: Timestamp,
    /// Whether the change was not observed.
    pub(crate) unseen: bool,
}

/// The steps of one decision that are to be recorded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PendingSteps {
    /// Time of the first step.
    pub(crate) since: Timestamp,
    /// The steps, oldest first.
    pub(crate) steps: Vec<Step>,
}

/// States of all decisions, and changes to be recorded.
#[derive(Default)]
pub(crate) struct Book {
    known: HashMap<Name, (About, Arc<DecisionState>)>,
    pending_steps: BTreeMap<Name, PendingSteps>,
}

impl Book {
    /// Records `to` as the state of the decision at `place`, without a record of a change.
    pub(crate) fn know(&mut self, place: Name, about: About, to: Arc<DecisionState>) {
        self.known.insert(place, (about, to));
    }

    /// State of the decision at `place`.
    pub(crate) fn standing(&self, place: &Name) -> Option<&Arc<DecisionState>> {
        self.known.get(place).map(|(_, standing)| standing)
    }

    /// Subject and state of the decision at `place`.
    pub(crate) fn known(&self, place: &Name) -> Option<&(About, Arc<DecisionState>)> {
        self.known.get(place)
    }

    /// Whether steps of the decision at `place` are to be recorded.
    pub(crate) fn waits(&self, place: &Name) -> bool {
        self.pending_steps.contains_key(place)
    }

    /// The known decisions.
    pub(crate) fn places(&self) -> impl Iterator<Item = &Name> {
        self.known.keys()
    }

    /// Records `to` as the present state of the decision at `place` (`None` where the decision does not exist
    /// any more), and adds the step from the former state.
    ///
    /// A decision about another object of the same name is another decision, even if no gap between the
    /// two was observed.
    pub(crate) fn note(&mut self, place: &Name, to: Option<(About, DecisionState)>, at: Timestamp) {
        if let (Some((former, _)), Some((present, _))) = (self.known.get(place), &to)
            && former.is_of_another(present)
        {
            self.step(place, None, at);
        }
        self.step(place, to, at);
    }

    fn step(&mut self, place: &Name, to: Option<(About, DecisionState)>, at: Timestamp) {
        let before = self.known.remove(place);
        let known = before.as_ref().map(|(_, standing)| standing);
        let to = to.map(|(about, to)| (about, standing::shared(to, known)));
        let Some(about) = to.as_ref().or(before.as_ref()).map(|(about, _)| about.clone()) else {
            return;
        };
        let from = before.map(|(_, standing)| standing);
        if let Some(known) = &to {
            self.known.insert(place.clone(), known.clone());
        }
        let step = Step {
            about,
            from,
            to: to.map(|(_, standing)| standing),
            at,
            unseen: false,
        };
        if differ(step.from.as_deref(), step.to.as_deref()) {
            self.put(place, step);
        } else {
            self.update_last_step(place, step.to);
        }
    }

    /// Replaces the end state of the last step that waits at `place` by `to`, if `to` adds no further step:
    /// the agreement, for example, may be newer.
    fn update_last_step(&mut self, place: &Name, to: Option<Arc<DecisionState>>) {
        let pending_steps = self.pending_steps.get_mut(place);
        let last = pending_steps.and_then(|pending_steps| pending_steps.steps.last_mut());
        if let (Some(last), Some(to)) = (last, to)
            && last.to.as_ref().is_some_and(|end| !end.differs(&to))
        {
            last.to = Some(to);
        }
    }

    /// Adds a step of the decision at `place`.
    pub(crate) fn put(&mut self, place: &Name, step: Step) {
        let pending_steps = self
            .pending_steps
            .entry(place.clone())
            .or_insert_with(|| PendingSteps {
                since: step.at,
                steps: Vec::new(),
            });
        match pending_steps.steps.last_mut() {
            Some(last) if can_merge(last, &step) => {
                last.to = step.to;
                last.about = step.about;
                last.at = step.at;
                if !differ(last.from.as_deref(), last.to.as_deref()) {
                    pending_steps.steps.pop();
                }
            }
            _ => pending_steps.steps.push(step),
        }
        if pending_steps.steps.is_empty() {
            self.pending_steps.remove(place);
        }
    }

    /// Time of the oldest step.
    pub(crate) fn oldest(&self) -> Option<Timestamp> {
        self.pending_steps
            .values()
            .map(|pending_steps| pending_steps.since)
            .min()
    }

    /// Takes the steps that have waited for `delay` at `now`.
    ///
    /// Steps wait longer where the decision is not made or not compared yet, since both mostly happen soon.
    pub(crate) fn take(&mut self, now: Timestamp, delay: Duration) -> Vec<(Name, PendingSteps)> {
        let is_due = |pending_steps: &PendingSteps| {
            let last = pending_steps.steps.last().and_then(|step| step.to.as_ref());
            let delay = match last {
                Some(to) if to.is_passing() => delay * PENDING_FACTOR,
                _ => delay,
            };
            // A clock that was set back does not extend the wait.
            Duration::try_from(now.duration_since(pending_steps.since)).map_or(true, |waited| waited >= delay)
        };
        let due: Vec<Name> = self
            .pending_steps
            .iter()
            .filter(|(_, pending_steps)| is_due(pending_steps))
            .map(|(place, _)| place.clone())
            .collect();
        due.into_iter()
            .filter_map(|place| self.pending_steps.remove_entry(&place))
            .collect()
    }

    /// Puts steps back that cannot be recorded yet. The caller has recorded no newer state of the decision
    /// since it took the steps.
    pub(crate) fn put_back(&mut self, place: Name, pending_steps: PendingSteps) {
        self.pending_steps.insert(place, pending_steps);
    }
}

/// Whether `step` can be merged into `last`: no cluster in between is lost, neither step is the end of a
/// decision, and both steps were observed, or neither.
fn can_merge(last: &Step, step: &Step) -> bool {
    let (Some(former), Some(present)) = (&last.to, &step.to) else {
        return false;
    };
    if last.unseen != step.unseen {
        return false;
    }
    let names: std::collections::BTreeSet<&str> = present.names().collect();
    former.names().all(|name| names.contains(name))
}

#[cfg(test)]
mod tests {
    use berth_scheduling_api::shared::SourceRef;

    use super::super::standing::standing;
    use super::*;

    const DELAY: Duration = Duration::from_millis(250);

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millisecond(millis).unwrap()
    }

    /// The recorded steps of one decision with these successive states, each a phase and clusters.
    fn steps(states: &[Option<(&str, &[&str])>]) -> Vec<String> {
        let mut book = Book::default();
        let place = Name::new("ns", "p.ocm");
        for (millis, side) in (0..).zip(states) {
            let to = side.map(|(phase, clusters)| (About::default(), standing(phase, clusters)));
            book.note(&place, to, at(millis));
        }
        let text = |side: &Option<Arc<DecisionState>>| match side {
            None => "-".to_owned(),
            Some(standing) => format!("{} {}", standing.phase, standing.names().collect::<String>()),
        };
        let taken = book.take(at(9000), DELAY);
        taken
            .iter()
            .flat_map(|(_, pending_steps)| &pending_steps.steps)
            .map(|step| format!("{} > {}", text(&step.from), text(&step.to)))
            .collect()
    }

    #[test]
    fn what_falls_into_a_moment_is_one_step_unless_a_cluster_is_left() {
        let (pending, a, b, ab): (_, _, _, _) = (
            Some(("Pending", &[][..])),
            Some(("Bound", &["a"][..])),
            Some(("Bound", &["b"][..])),
            Some(("Bound", &["a", "b"][..])),
        );
        assert_eq!(steps(&[pending, a]), ["- > Bound a"]);
        assert_eq!(steps(&[pending, a, ab]), ["- > Bound ab"]);
        assert_eq!(steps(&[pending, a, b]), ["- > Bound a", "Bound a > Bound b"]);
        assert_eq!(steps(&[a, ab, b]), ["- > Bound ab", "Bound ab > Bound b"]);
        assert_eq!(steps(&[a, None]), ["- > Bound a", "Bound a > -"]);
        assert_eq!(
            steps(&[a, None, b]),
            ["- > Bound a", "Bound a > -", "- > Bound b"]
        );
        assert_eq!(steps(&[a, a]), ["- > Bound a"]);
        assert_eq!(steps(&[None]), Vec::<String>::new());
    }

    #[test]
    fn another_object_of_the_same_name_is_another_decision() {
        let about = |uid: &str| About {
            source_ref: Arc::new(SourceRef {
                uid: uid.into(),
                ..SourceRef::default()
            }),
            ..About::default()
        };
        let mut book = Book::default();
        let place = Name::new("ns", "p.ocm");
        for uid in ["one", "one", "two"] {
            book.note(&place, Some((about(uid), standing("Bound", &["a"]))), at(1));
        }
        let taken = book.take(at(9000), DELAY);
        let steps = taken.iter().flat_map(|(_, pending_steps)| &pending_steps.steps);
        let ends: Vec<_> = steps
            .map(|step| {
                (
                    &*step.about.source_ref.uid,
                    step.from.is_some(),
                    step.to.is_some(),
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
        let mut book = Book::default();
        let place = Name::new("ns", "p.ocm");
        book.know(
            place.clone(),
            About::default(),
            standing("Unschedulable", &[]).into(),
        );
        for phase in ["Pending", "Unschedulable"] {
            book.note(&place, Some((About::default(), standing(phase, &[]))), at(1));
        }
        assert_eq!(book.oldest(), None);
    }

    #[test]
    fn steps_are_taken_when_they_have_waited() {
        let mut book = Book::default();
        let place = Name::new("ns", "p.ocm");
        book.note(
            &place,
            Some((About::default(), standing("Bound", &["a"]))),
            at(1000),
        );
        assert_eq!(book.oldest(), Some(at(1000)));
        assert!(book.take(at(1249), DELAY).is_empty());
        assert_eq!(book.take(at(1250), DELAY).len(), 1);
        assert_eq!(book.oldest(), None);
        book.note(
            &place,
            Some((About::default(), standing("Pending", &[]))),
            at(2000),
        );
        let taken = |book: &mut Book, millis| book.take(at(millis), DELAY).len();
        assert_eq!(
            (taken(&mut book, 3999), taken(&mut book, 4000)),
            (0, 1),
            "not decided yet"
        );
        book.note(
            &place,
            Some((About::default(), standing("Bound", &["a"]))),
            at(5000),
        );
        assert_eq!(book.standing(&place).unwrap().phase, "Bound");
    }

    #[test]
    fn a_record_that_waits_hears_whether_berth_agrees_and_agreement_alone_makes_none() {
        let agreed = |status: &str, awaited| {
            let agreement = standing::Agreement {
                status: status.to_owned(),
                awaited,
                ..standing::Agreement::default()
            };
            let standing = DecisionState {
                agreement: Some(agreement),
                ..standing("Bound", &["a"])
            };
            Some((About::default(), standing))
        };
        let mut book = Book::default();
        let place = Name::new("ns", "p.ocm");
        book.note(&place, agreed("Unknown", true), at(0));
        assert!(book.take(at(300), DELAY).is_empty(), "it is about to be compared");
        book.note(&place, agreed("False", false), at(310));
        let taken = book.take(at(320), DELAY);
        let [(_, PendingSteps { steps, .. })] = taken.as_slice() else {
            panic!("{taken:?}")
        };
        let end = steps[0].to.as_ref().unwrap();
        assert_eq!(end.agreement.as_ref().unwrap().status, "False");
        book.note(&place, agreed("True", false), at(400));
        assert_eq!(book.oldest(), None);
    }
}
