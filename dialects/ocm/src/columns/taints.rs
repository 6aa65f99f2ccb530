//! The taints of all clusters as one column. Many clusters have equal lists of taints, so each distinct list
//! is stored once, and a decision judges each of these shared lists once. A decision judges single clusters
//! if the verdict depends on times or on the present selection, or if their lists are not shared.

use std::sync::Arc;

use berth_dialect_columns::{Bits, Chunks, Interner, Renumbering};
use berth_scheduling::Ix;

use crate::kind::Taint;

/// The code of a cluster without taints.
const UNTAINTED: u32 = 0;
/// The code of a cluster whose list is not shared: the list is too long, or there are too many lists. Such a
/// list is only in the cluster's record.
const OWN: u32 = u32::MAX;
/// The maximum length of a shared list.
const MAX_LENGTH: usize = 8;
/// Highest number of shared lists. A list keeps its index even if no cluster has the list any more.
const MAX_LISTS: u32 = 4096;

/// The taints of all clusters.
#[derive(Clone, Default)]
pub(crate) struct Taints {
    /// The code of each cluster: [`UNTAINTED`], [`OWN`], or the index of the cluster's shared list plus 1.
    codes: Chunks<u32>,
    /// The clusters with taints.
    tainted: Arc<Bits>,
    /// The indices of the shared lists, by the text of a list.
    indices: Interner,
    /// The shared lists.
    lists: imbl::Vector<Arc<[Taint]>>,
}

/// The taints of one cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClusterTaints {
    /// The cluster has no taints.
    Untainted,
    /// The cluster has the taints of the shared list with this index, apart from the times of the taints.
    Shared(u32),
    /// The cluster has a list of taints that is not shared.
    Own,
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
        let codes: Vec<u32> = clusters.map(|list| taints.encode(list)).collect();
        let mut tainted = Bits::none(Ix::try_from(codes.len()).unwrap_or(Ix::MAX));
        for (candidate, _) in (0..).zip(&codes).filter(|(_, code)| **code != UNTAINTED) {
            tainted.set(candidate, true);
        }
        taints.tainted = Arc::new(tainted);
        taints.codes = codes.into_iter().collect();
        taints
    }

    /// The taints of `candidate`.
    #[inline]
    pub(crate) fn of(&self, candidate: Ix) -> ClusterTaints {
        match self.codes.get(candidate) {
            UNTAINTED => ClusterTaints::Untainted,
            OWN => ClusterTaints::Own,
            code => ClusterTaints::Shared(code - 1),
        }
    }

    /// The clusters with taints, each with the index of its shared list; `None` if the list is not shared.
    pub(crate) fn tainted(&self) -> impl Iterator<Item = (Ix, Option<u32>)> {
        let codes = self
            .tainted
            .iter()
            .map(|candidate| (candidate, self.codes.get(candidate)));
        codes.map(|(candidate, code)| (candidate, (code != OWN).then(|| code - 1)))
    }

    /// Number of shared lists, which is greater than all of their indices.
    pub(crate) fn list_count(&self) -> usize {
        self.lists.len()
    }

    /// The shared list with this index. The times of the taints are those of the first cluster that had the
    /// list.
    pub(crate) fn list(&self, index: u32) -> &[Taint] {
        &self.lists[index as usize]
    }

    /// Sets the taints of `candidate`.
    pub(crate) fn set(&mut self, candidate: Ix, list: &[Taint]) {
        let code = self.encode(list);
        if self.codes.get(candidate) != code {
            self.codes.set(candidate, code);
            Arc::make_mut(&mut self.tainted).set(candidate, code != UNTAINTED);
        }
    }

    /// Returns the column after `renumbering`, in which new clusters have no taints yet.
    pub(crate) fn moved(&self, renumbering: &Renumbering) -> Self {
        Self {
            codes: renumbering.chunks(&self.codes, UNTAINTED),
            tainted: Arc::new(renumbering.bits(&self.tainted)),
            indices: self.indices.clone(),
            lists: self.lists.clone(),
        }
    }

    /// Returns the code of a cluster with `list`, which becomes a shared list if it can.
    fn encode(&mut self, list: &[Taint]) -> u32 {
        if list.is_empty() {
            return UNTAINTED;
        }
        if list.len() > MAX_LENGTH {
            return OWN;
        }
        let text = text(list);
        let known = self.indices.find(&text);
        if known.is_none() && self.indices.count() >= MAX_LISTS {
            return OWN;
        }
        let index = known.unwrap_or_else(|| {
            self.lists.push_back(list.into());
            self.indices.number(&text)
        });
        index + 1
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
        let (one, two) = (ClusterTaints::Shared(0), ClusterTaints::Shared(1));
        assert_eq!(of(&taints), [one, ClusterTaints::Untainted, one, two]);
        assert_eq!(taints.list(1)[0].value, "b");
        taints.set(3, &[]);
        taints.set(1, &lists[3]);
        assert_eq!(of(&taints), [one, two, one, ClusterTaints::Untainted]);
        let moved = taints.moved(&Renumbering::new(4, &[0], &[4]));
        assert_eq!(
            of(&moved),
            [two, one, ClusterTaints::Untainted, ClusterTaints::Untainted]
        );
    }

    #[test]
    fn long_lists_and_very_many_of_them_stay_with_their_clusters() {
        let long = vec![taint("a", ""); MAX_LENGTH + 1];
        let mut taints = Taints::build([long.as_slice(), &[]].into_iter());
        assert_eq!(taints.of(0), ClusterTaints::Own);
        for value in 0..=MAX_LISTS {
            taints.set(1, &[taint("n", &value.to_string())]);
        }
        assert_eq!(
            (taints.of(1), taints.list_count()),
            (ClusterTaints::Own, MAX_LISTS as usize)
        );
        taints.set(1, &[taint("n", "7")]);
        assert_eq!(taints.of(1), ClusterTaints::Shared(7));
    }
}
