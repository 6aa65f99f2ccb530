//! Slices of a decision's clusters, and the order in which they are written.
//!
//! Consumers undeploy from a cluster that they no longer find, so a cluster never moves to another slice as
//! long as it is decided, unless its slice is being deleted. New clusters are written before others are
//! removed: a reader that has seen only the first writes sees every cluster that is decided both before and
//! after.

use std::collections::{BTreeMap, BTreeSet};

/// Highest number of clusters in a slice (`decisions` has `maxItems: 100`).
pub const MAX_CLUSTERS: usize = 100;

/// One slice of a decision: some of the chosen clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// The index of the slice, which is also the end of the object's name.
    pub index: u32,
    /// The reason for each cluster, by the name of the ClusterProfile.
    pub clusters: BTreeMap<String, String>,
}

/// One write to one slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// Creates or replaces the slice.
    Put(Slice),
    /// Deletes the slice with the contained index, which has no decided cluster any more.
    Delete(u32),
}

/// The writes, in order, that change the `old` slices so that they show exactly the clusters `wanted`.
/// Without wanted clusters, one empty slice remains: consumers can distinguish "no cluster" from "unknown".
/// The indices in `closed` are not used: slices with these indices are being deleted, and their clusters need
/// another slice.
#[must_use]
pub fn plan(old: &[Slice], wanted: &BTreeMap<String, String>, closed: &BTreeSet<u32>) -> Vec<Write> {
    let mut slices = kept_slices(old, wanted);
    add_missing(&mut slices, wanted, closed);
    let first = slices.keys().next().copied();
    let (mut additions, mut removals, mut deletions) = (Vec::new(), Vec::new(), Vec::new());
    let is_empty = wanted.is_empty();
    for (index, clusters) in slices {
        let before = old.iter().find(|slice| slice.index == index);
        if clusters.is_empty() && !(is_empty && first == Some(index)) {
            deletions.extend(before.map(|_| Write::Delete(index)));
            continue;
        }
        if before.is_some_and(|before| before.clusters == clusters) {
            continue;
        }
        let adds =
            before.is_none_or(|before| clusters.keys().any(|name| !before.clusters.contains_key(name)));
        let list = if adds { &mut additions } else { &mut removals };
        list.push(Write::Put(Slice { index, clusters }));
    }
    additions.append(&mut removals);
    additions.append(&mut deletions);
    additions
}

/// The slices of `old`, reduced to wanted clusters. A cluster in several slices stays in the slice with the
/// lowest index.
fn kept_slices(old: &[Slice], wanted: &BTreeMap<String, String>) -> BTreeMap<u32, BTreeMap<String, String>> {
    let sorted: BTreeMap<u32, &Slice> = old.iter().map(|slice| (slice.index, slice)).collect();
    let mut placed = BTreeSet::new();
    let mut slices = BTreeMap::new();
    for (index, slice) in sorted {
        let names = slice.clusters.keys();
        let clusters = names
            .filter_map(|name| wanted.get_key_value(name))
            .filter(|(name, _)| placed.insert(name.as_str()))
            .map(|(name, reason)| (name.clone(), reason.clone()))
            .collect();
        slices.insert(index, clusters);
    }
    slices
}

/// Adds the `wanted` clusters without a slice to slices with room, in the order of the indices that are not
/// `closed`, and creates slices as needed. Without any slice, one empty slice is created.
fn add_missing(
    slices: &mut BTreeMap<u32, BTreeMap<String, String>>,
    wanted: &BTreeMap<String, String>,
    closed: &BTreeSet<u32>,
) {
    let placed: BTreeSet<String> = slices.values().flat_map(|slice| slice.keys().cloned()).collect();
    let mut missing = wanted
        .iter()
        .filter(|(name, _)| !placed.contains(*name))
        .peekable();
    let mut indices = (0..).filter(|index| !closed.contains(index));
    while missing.peek().is_some() || slices.is_empty() {
        let Some(index) = indices.next() else { return };
        let slice = slices.entry(index).or_default();
        let room = MAX_CLUSTERS.saturating_sub(slice.len());
        slice.extend(
            missing
                .by_ref()
                .take(room)
                .map(|(name, reason)| (name.clone(), reason.clone())),
        );
    }
}

#[cfg(test)]
mod tests;
