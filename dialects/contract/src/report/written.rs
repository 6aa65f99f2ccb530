//! Candidates that are written from the decision itself: no tree and no list of them in between.

use std::fmt;

use meta::budget;
use scheduling::Rejection;
use serde::ser::{Error as _, SerializeSeq, SerializeStruct};
use serde::{Serialize, Serializer};

use super::{Entry, RejectionEntry, View};

/// Candidates that are made while they are written, so that those of a large fleet are never all there at once. They read
/// as a list of [`super::Candidate`]s.
pub struct Written<'a> {
    /// Whose candidates.
    pub view: View<'a>,
    /// Which of them.
    pub entries: &'a [Entry],
    /// Whether their reasons are written.
    pub with_reasons: bool,
}

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut candidates = serializer.serialize_seq(Some(self.entries.len()))?;
        for &entry in self.entries {
            budget::wanted().map_err(S::Error::custom)?;
            match entry {
                Entry::Target(candidate) => candidates.serialize_element(&Considered {
                    view: &self.view,
                    candidate,
                    with_reasons: self.with_reasons,
                })?,
                Entry::Unknown(_) => {
                    candidates.serialize_element(&self.view.candidate(entry, self.with_reasons))?;
                }
            }
        }
        candidates.end()
    }
}

/// A [`super::Candidate`] that is a target.
struct Considered<'a> {
    view: &'a View<'a>,
    candidate: u32,
    with_reasons: bool,
}

impl Serialize for Considered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (view, candidate) = (self.view, self.candidate);
        let refusals = view.refusals(candidate);
        let mut fields = serializer.serialize_struct("Candidate", 8)?;
        fields.serialize_field("clusterName", &view.inventory.cluster_name(candidate))?;
        fields.serialize_field("feasible", &refusals.is_empty())?;
        fields.serialize_field("picked", &view.places.picked[candidate as usize])?;
        if let Some(rank) = view.rank(candidate) {
            fields.serialize_field("rank", &rank)?;
        }
        fields.serialize_field("rejections", &Reasons { of: self, refusals })?;
        if refusals.is_empty() {
            if let Some(total) = view.decision.solved.total_of(candidate) {
                fields.serialize_field("score", &total)?;
            }
            let scores = view.scores(candidate);
            if !scores.is_empty() {
                fields.serialize_field("scores", &scores)?;
            }
        }
        fields.serialize_field("target", &Target(self))?;
        fields.end()
    }
}

/// Why a target is refused, or why it is not picked.
struct Reasons<'a> {
    of: &'a Considered<'a>,
    refusals: &'a [Rejection],
}

impl Serialize for Reasons<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Considered {
            view,
            candidate,
            with_reasons,
        } = *self.of;
        if !with_reasons {
            return serializer.serialize_seq(Some(0))?.end();
        }
        let mut reasons = serializer.serialize_seq(None)?;
        for refusal in self.refusals {
            reasons.serialize_element(&view.refusal(candidate, refusal))?;
        }
        if let Some(passed_over) = view.passed_over(candidate, self.refusals) {
            reasons.serialize_element::<RejectionEntry>(&passed_over)?;
        }
        reasons.end()
    }
}

/// The name of the Target object.
struct Target<'a>(&'a Considered<'a>);

impl fmt::Display for Target<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Considered { view, candidate, .. } = self.0;
        write!(f, "{}.{}", view.inventory.target_name(*candidate), view.dialect)
    }
}

impl Serialize for Target<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
