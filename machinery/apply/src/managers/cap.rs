//! Limit of the updaters of an object, ten: the fields of the oldest updaters get one common owner.

use std::collections::BTreeMap;

use super::{Identity, Managers, Operation, seconds};

/// Highest number of updaters in an object.
const MAX_UPDATERS: usize = 10;
/// Name of the common owner of the oldest updaters' fields, as in kube-apiserver.
const ANCIENT: &str = "ancient-changes";

impl Managers {
    /// Merges the oldest updaters of the same version, until the number of updaters is within the limit, or
    /// no version has two updaters.
    pub(crate) fn merge_oldest_updaters(&mut self) {
        let is_updater = |identity: &Identity| identity.operation == Operation::Update;
        let mut count = self.entries.keys().filter(|owner| is_updater(owner)).count();
        if count <= MAX_UPDATERS {
            return;
        }
        let updaters = self.entries.iter().filter(|(owner, _)| is_updater(owner));
        let mut updaters: Vec<(i64, String, Identity)> = updaters
            .map(|(identity, entry)| (seconds(entry.time), identity.sort_key(), identity.clone()))
            .collect();
        updaters.sort();
        let mut oldest: BTreeMap<String, Identity> = BTreeMap::new();
        for (_, _, updater) in updaters {
            if count <= MAX_UPDATERS {
                return;
            }
            match oldest.get(&updater.api_version) {
                None => {
                    oldest.insert(updater.api_version.clone(), updater);
                }
                Some(first) => {
                    self.join(&first.clone(), &updater);
                    count -= 1;
                }
            }
        }
    }

    /// Moves the fields of the updater `later` to the common owner of its version. If there is no common
    /// owner yet, the updater `first` becomes the common owner.
    fn join(&mut self, first: &Identity, later: &Identity) {
        let ancient = Identity {
            manager: ANCIENT.to_owned(),
            operation: Operation::Update,
            api_version: later.api_version.clone(),
            subresource: String::new(),
        };
        if !self.entries.contains_key(&ancient)
            && let Some(entry) = self.entries.remove(first)
        {
            self.entries.insert(ancient.clone(), entry);
        }
        // In a list from a client, the common owner may itself be the later updater.
        let joining = if *later == ancient { first } else { later };
        let Some(joining) = self.entries.remove(joining) else {
            return;
        };
        if let Some(entry) = self.entries.get_mut(&ancient) {
            entry.set = std::mem::take(&mut entry.set).union(&joining.set);
            entry.time = entry.time.max(joining.time);
        }
    }
}
