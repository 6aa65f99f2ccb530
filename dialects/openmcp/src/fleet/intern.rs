//! Texts as small numbers, so that filters compare integers.

use std::sync::Arc;

use berth_dialect_columns::Interner;
use imbl::{HashMap, Vector};

/// Number of texts up to which unused ones are kept.
const MIN_CLEANUP_SIZE: usize = 1024;

/// The numbers of namespaces, labels and lists of purposes.
#[derive(Clone, Default)]
pub(crate) struct InternedTexts {
    pub(crate) namespaces: Interner,
    pub(crate) labels: Interner,
    pub(crate) purposes: PurposeSets,
    /// Number of texts after the last cleanup.
    used: usize,
}

impl InternedTexts {
    /// Number of namespaces, keys and values of labels, and lists of purposes.
    fn count(&self) -> usize {
        let texts = self.namespaces.count().saturating_add(self.labels.count());
        texts as usize + self.purposes.lists.len()
    }

    /// Whether a cleanup is worthwhile: there are more texts than Clusters (`clusters`), and twice as many as
    /// after the last cleanup.
    pub(super) fn needs_cleanup(&self, clusters: usize) -> bool {
        self.count() > MIN_CLEANUP_SIZE.max(clusters).max(2 * self.used)
    }

    /// Notes that all texts are in use.
    pub(super) fn end_cleanup(&mut self) {
        self.used = self.count();
    }
}

/// The distinct lists of purposes, with their numbers. Many Clusters share few lists, so that a filter judges
/// each list only once.
#[derive(Clone, Default)]
pub(crate) struct PurposeSets {
    numbers: HashMap<Arc<[String]>, u32>,
    lists: Vector<Arc<[String]>>,
}

impl PurposeSets {
    /// The number of `purposes`, which is assigned at the first call.
    pub(crate) fn number(&mut self, purposes: &[String]) -> u32 {
        if let Some(&known) = self.numbers.get(purposes) {
            return known;
        }
        let number = u32::try_from(self.lists.len()).unwrap_or(u32::MAX);
        let list: Arc<[String]> = purposes.into();
        self.lists.push_back(Arc::clone(&list));
        self.numbers.insert(list, number);
        number
    }

    /// For each list, whether it contains `purpose`; the index is the number of the list.
    pub(crate) fn lists_with(&self, purpose: &str) -> Vec<bool> {
        let lists = self.lists.iter();
        lists
            .map(|list| list.iter().any(|known| known == purpose))
            .collect()
    }
}
