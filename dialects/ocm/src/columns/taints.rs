//! The taints of all clusters as one column. Many clusters have equal lists of taints, so each distinct list
//! has a number, and a decision judges each numbered list once. A decision judges single clusters if the
//! verdict depends on times or on the present selection, or if their lists are not numbered.

use std::sync::Arc;

use berth_dialect_columns::{Bits, Chunks, Interner, Renumbering};
use berth_scheduling::Ix;

use crate::kind::Taint;

/// The number of a cluster without taints.
const NONE: u32 = 0;
/// The number of a cluster whose list is not numbered: the list is too long, or there are too many lists.
/// Such a list is only in the cluster's record.
const UNNUMBERED: u32 = u32::MAX;
/// The maximum length of a list that is numbered.
const MAX_LENGTH: usize = 8;
/// Highest number of lists that are numbered. A list keeps its number even if no cluster has the list any
/// more.
const MAX_LISTS: u32 = 4096;

/// The taints of all clusters.
#[derive(Clone, Default)]
pub(crate) struct Taints {
    /// The number of each cluster's list of taints.
    numbers: Chunks<u32>,
    /// The clusters with taints.
    tainted: Arc<Bits>,
    /// The indices of the numbered lists, by the text of a list.
    known: Interner,
    /// The numbered lists. In `numbers`, the number of a list is its index plus 1.
    lists: imbl::Vector<Arc<[Taint]>>,
}

/// The taints of one cluster: the number of its list, if the list is numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClusterTaints {
    /// The cluster has no taints.
    Not,
    /// The cluster has the taints of [`Taints::list`] with this number, apart from the times of the taints.
    Like(u32),
    /// The cluster has taints that are not numbered.
    Unnumbered,
}

impl std::fmt::Debug for Taints {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Taints")
            .field("lists", &self.lists)
            .finish_non_exhaustive()
    }
}

impl Taints {
    /// Builds the column from the taints of each cluster, in order.
    pub(crate) fn build<'a>(clusters: impl Iterator<Item = &'a [Taint]>) -> Self {
        let mut taints = Self::default();
        let numbers: Vec<u32> = clusters.map(|list| taints.number(list)).collect();
        let mut tainted = Bits::none(Ix::try_from(numbers.len()).unwrap_or(Ix::MAX));
        for (candidate, _) in (0..).zip(&numbers).filter(|(_, number)| **number != NONE) {
            tainted.set(candidate, true);
        }
        taints.tainted = Arc::new(tainted);
        taints.numbers = numbers.into_iter().collect();
        taints
    }

    /// The taints of `candidate`.
    #[inline]
    pub(crate) fn of(&self, candidate: Ix) -> ClusterTaints {
        match self.numbers.get(candidate) {
            NONE => ClusterTaints::Not,
            UNNUMBERED => ClusterTaints::Unnumbered,
            number => ClusterTaints::Like(number - 1),
        }
    }

    /// The clusters with taints, each with the number of its list, if the list is numbered.
    pub(crate) fn tainted(&self) -> impl Iterator<Item = (Ix, Option<u32>)> {
        let numbers = self
            .tainted
            .iter()
            .map(|candidate| (candidate, self.numbers.get(candidate)));
        numbers.map(|(candidate, number)| (candidate, (number != UNNUMBERED).then(|| number - 1)))
    }

    /// Number of numbered lists. Every number in [`ClusterTaints::Like`] is smaller.
    pub(crate) fn count(&self) -> usize {
        self.lists.len()
    }

    /// The list with this number. The times of the taints are those of the first cluster that had the list.
    pub(crate) fn list(&self, number: u32) -> &[Taint] {
        &self.lists[number as usize]
    }

    /// Sets the taints of `candidate`.
    pub(crate) fn set(&mut self, candidate: Ix, list: &[Taint]) {
        let number = self.number(list);
        if self.numbers.get(candidate) != number {
            self.numbers.set(candidate, number);
            Arc::make_mut(&mut self.tainted).set(candidate, number != NONE);
        }
    }

    /// Returns the column after `renumbering`, in which new clusters have no taints yet.
    pub(crate) fn moved(&self, renumbering: &Renumbering) -> Self {
        Self {
            numbers: renumbering.chunks(&self.numbers, NONE),
            tainted: Arc::new(renumbering.bits(&self.tainted)),
            known: self.known.clone(),
            lists: self.lists.clone(),
        }
    }

    /// The number of `list`, which is assigned if there is none yet.
    fn number(&mut self, list: &[Taint]) -> u32 {
        if list.is_empty() {
            return NONE;
        }
        if list.len() > MAX_LENGTH {
            return UNNUMBERED;
        }
        let text = text(list);
        let known = self.known.find(&text);
        if known.is_none() && self.known.count() >= MAX_LISTS {
            return UNNUMBERED;
        }
        let number = known.unwrap_or_else(|| {
            self.lists.push_back(list.into());
            self.known.number(&text)
        });
        number + 1
    }
}

/// The text that identifies a list. Objects of a hub may have any content, so each part of the text is
/// preceded by the length of the part.
fn text(list: &[Taint]) -> String {
    let mut text = String::new();
    for part in list
        .iter()
        .flat_map(|taint| [&taint.key, &taint.value, &taint.effect])
    {
        text.push_str(&part.len().to_string());
        text.push('\n');
        text.push_str(part);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taint(key: &str, value: &str) -> Taint {
        Taint {
            key: key.to_owned(),
            value: value.to_owned(),
            effect: "NoSelect".to_owned(),
            ..Taint::default()
        }
    }

    #[test]
    fn clusters_with_like_taints_share_a_list_and_times_do_not_count() {
        let mut late = taint("a", "");
        late.time_added = Some("2026-01-01T00:00:00Z".parse().unwrap());
        let lists = [vec![taint("a", "")], vec![], vec![late], vec![taint("a", "b")]];
        let mut taints = Taints::build(lists.iter().map(Vec::as_slice));
        let of = |taints: &Taints| [0, 1, 2, 3].map(|candidate| taints.of(candidate));
        let (one, two) = (ClusterTaints::Like(0), ClusterTaints::Like(1));
        assert_eq!(of(&taints), [one, ClusterTaints::Not, one, two]);
        assert_eq!(taints.list(1)[0].value, "b");
        taints.set(3, &[]);
        taints.set(1, &lists[3]);
        assert_eq!(of(&taints), [one, two, one, ClusterTaints::Not]);
        let moved = taints.moved(&Renumbering::new(4, &[0], &[4]));
        assert_eq!(of(&moved), [two, one, ClusterTaints::Not, ClusterTaints::Not]);
    }

    #[test]
    fn long_lists_and_very_many_of_them_stay_with_their_clusters() {
        let long = vec![taint("a", ""); MAX_LENGTH + 1];
        let mut taints = Taints::build([long.as_slice(), &[]].into_iter());
        assert_eq!(taints.of(0), ClusterTaints::Unnumbered);
        for number in 0..=MAX_LISTS {
            taints.set(1, &[taint("n", &number.to_string())]);
        }
        assert_eq!(
            (taints.of(1), taints.count()),
            (ClusterTaints::Unnumbered, MAX_LISTS as usize)
        );
        taints.set(1, &[taint("n", "7")]);
        assert_eq!(taints.of(1), ClusterTaints::Like(7));
    }
}
