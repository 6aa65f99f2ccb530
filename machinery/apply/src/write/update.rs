//! Writes other than an apply.

use serde_json::Value;

use super::reset::STRIPPED;
use super::versions::Comparisons;
use super::{Versions, Writer};
use crate::managers::{Entry, Identity, Managers, Operation};
use crate::too_deep;

impl Managers {
    /// Returns the owners after a create, update or patch that changes `live` to `new`: the writer is the
    /// only owner of the fields that it changed; removed fields have no owner. An entry's time is updated
    /// when its manager changed a field.
    ///
    /// `live` is `{apiVersion, kind}` where the object is created; `new` has its defaults. The managed fields
    /// in both are ignored: `self` is the list, see [`Managers::of_request`].
    ///
    /// An existing object without owners is not tracked until the first apply. A write in a version that is
    /// not served cannot be tracked: it leaves the owners unchanged, and never fails.
    #[must_use]
    pub fn update(mut self, versions: &dyn Versions, live: &Value, new: &Value, by: &Writer<'_>) -> Self {
        let exists = live["metadata"]["uid"]
            .as_str()
            .is_some_and(|uid| !uid.is_empty());
        if (self.is_empty() && exists) || too_deep(live) || too_deep(new) {
            return self;
        }
        self.take(versions, live, new, by);
        self
    }

    /// Makes the writer the owner of the fields that it changes.
    pub(super) fn take(&mut self, versions: &dyn Versions, live: &Value, new: &Value, by: &Writer<'_>) {
        let Some(types) = versions.types(by.api_version) else {
            return;
        };
        self.reconcile(versions);
        let mut comparisons = Comparisons::new(versions, types, (live, new), by);
        for entry in self.entries.values_mut() {
            if let Some(changes) = comparisons.of(&entry.api_version) {
                entry.set.remove(&changes.changed);
                entry.set.remove(&changes.removed);
            }
        }
        self.tidy();
        let mut own_fields = comparisons.into_changed();
        own_fields.remove(&STRIPPED);
        if !own_fields.is_empty() {
            self.own(by.identity(Operation::Update), own_fields, by);
        }
        self.cap();
    }

    fn own(&mut self, owner: Identity, mut set: crate::Set, by: &Writer<'_>) {
        if let Some(before) = self.entries.remove(&owner) {
            set.add(&before.set);
        }
        let entry = Entry {
            api_version: by.api_version.to_owned(),
            time: by.time(),
            set,
        };
        self.entries.insert(owner, entry);
    }
}
