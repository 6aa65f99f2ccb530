//! Candidates as JSON, written directly from the decision, without a list of candidates in memory. A sentence
//! that many candidates have is rendered once.

use std::collections::HashMap;
use std::ops::Range;

use berth_apimachinery::budget::{self, BudgetExceeded};
use berth_scheduling::{Reason, Rejection};
use serde::Serialize;

use super::{Entry, View};

/// Number of candidates between two checks whether the caller still waits for the answer.
const CHECK_INTERVAL: usize = 64;
/// Usual number of bytes of a candidate of a large fleet, to reserve the buffer.
const BYTES_PER_CANDIDATE: usize = 288;
/// Highest number of refusals whose places in the buffer are remembered.
const MAX_TEXTS: usize = 1024;

/// Candidates that are rendered one by one while they are written, so that the candidates of a large fleet
/// are never all in memory. The JSON form is a list of [`super::Candidate`]s.
pub struct StreamedCandidates<'a> {
    /// The view of the decision.
    pub view: View<'a>,
    /// The candidates to write, in order.
    pub entries: &'a [Entry],
    /// Whether the reasons of the candidates are written.
    pub with_reasons: bool,
}

/// The ranges of written refusals in the buffer, from which they are copied for other candidates with the
/// same text: by plugin, reason and the number that [`Words::alike`](crate::Words::alike) returns.
type TextPlaces = HashMap<(u16, Reason, u32), Range<usize>>;

impl StreamedCandidates<'_> {
    /// Appends the list of candidates to `out`.
    ///
    /// # Errors
    /// When the caller no longer waits for the answer.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), BudgetExceeded> {
        let mut writer = Writer::new(self.view, self.with_reasons);
        out.reserve(self.entries.len() * BYTES_PER_CANDIDATE);
        out.push(b'[');
        for (index, &entry) in self.entries.iter().enumerate() {
            if index % CHECK_INTERVAL == 0 {
                budget::check_needed()?;
            }
            if index > 0 {
                out.push(b',');
            }
            writer.write(entry, out);
        }
        out.push(b']');
        Ok(())
    }
}

/// Writer of candidates, one by one, into one buffer.
pub struct Writer<'a> {
    view: View<'a>,
    with_reasons: bool,
    /// The refusals that are in the buffer already.
    known: TextPlaces,
}

impl<'a> Writer<'a> {
    /// Creates a writer of the candidates of `view`.
    #[must_use]
    pub fn new(view: View<'a>, with_reasons: bool) -> Self {
        Self {
            view,
            with_reasons,
            known: TextPlaces::new(),
        }
    }

    /// Appends `entry` to `out`, in the form of a [`super::Candidate`]. All calls must use the same `out`,
    /// and `out` must only grow between the calls: repeated texts are copied from the earlier part of `out`.
    pub fn write(&mut self, entry: Entry, out: &mut Vec<u8>) {
        match entry {
            Entry::Target(candidate) => self.target(candidate, out),
            Entry::Unknown(_) => json(&self.view.candidate(entry, self.with_reasons), out),
        }
    }

    fn target(&mut self, candidate: u32, out: &mut Vec<u8>) {
        let view = self.view;
        let refusals = view.refusals(candidate);
        let name = view.inventory.cluster_name(candidate);
        out.extend_from_slice(br#"{"clusterName":"#);
        json(&*name, out);
        out.extend_from_slice(br#","feasible":"#);
        json(&refusals.is_empty(), out);
        if view.is_outside(refusals) {
            out.extend_from_slice(br#","outOfScope":true"#);
        }
        out.extend_from_slice(br#","picked":"#);
        json(&view.places.is_picked(candidate), out);
        if let Some(amount) = view.places.amount(candidate) {
            out.extend_from_slice(br#","amount":"#);
            json(&amount, out);
        }
        if let Some(rank) = view.rank(candidate) {
            out.extend_from_slice(br#","rank":"#);
            json(&rank, out);
        }
        out.extend_from_slice(br#","rejections":["#);
        if self.with_reasons {
            self.reasons(candidate, refusals, out);
        }
        out.push(b']');
        if refusals.is_empty() {
            self.scores(candidate, out);
        }
        out.extend_from_slice(br#","target":"#);
        match view.inventory.has_plain_names() {
            true => json(&*name, out),
            false => json(view.inventory.target_name(candidate).as_str(), out),
        }
        // The name of the dialect is part of the same JSON string: the closing quote is removed and written
        // again.
        out.pop();
        out.push(b'.');
        out.extend_from_slice(view.dialect.as_bytes());
        out.extend_from_slice(br#""}"#);
    }

    /// Writes the reasons why a target is refused, or not picked.
    fn reasons(&mut self, candidate: u32, refusals: &[Rejection], out: &mut Vec<u8>) {
        let view = self.view;
        for (index, refusal) in refusals.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            let (plugin, reason) = (refusal.plugin, refusal.reason);
            let alike = view.inventory.alike(view.decision, candidate, plugin, reason);
            let key = alike.map(|alike| (plugin, reason, alike));
            if let Some(place) = key.and_then(|key| self.known.get(&key)) {
                out.extend_from_within(place.clone());
                continue;
            }
            let start = out.len();
            json(&view.refusal(candidate, refusal), out);
            if let Some(key) = key.filter(|_| self.known.len() < MAX_TEXTS) {
                self.known.insert(key, start..out.len());
            }
        }
        if let Some(not_picked) = view.not_picked(candidate, refusals) {
            json(&not_picked, out);
        }
    }

    fn scores(&self, candidate: u32, out: &mut Vec<u8>) {
        let decision = self.view.decision;
        let Some(row) = decision.solved.row_of(candidate) else {
            return;
        };
        if let Some(total) = decision.solved.totals.get(row) {
            out.extend_from_slice(br#","score":"#);
            json(total, out);
        }
        let mut separator: &[u8] = br#","scores":["#;
        for column in &decision.solved.scores {
            out.extend_from_slice(separator);
            separator = b",";
            json(&self.view.score(column, row, candidate), out);
        }
        if !decision.solved.scores.is_empty() {
            out.push(b']');
        }
    }
}

/// Appends `value` to `out` as JSON.
fn json(value: &(impl Serialize + ?Sized), out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("a report can be written as JSON into memory");
}
