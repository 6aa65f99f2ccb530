//! Writes other than an apply.

use serde_json::Value;

use super::reset::STRIPPED;
use super::versions::Comparisons;
use super::{Versions, Writer};
use crate::managers::{Entry, Identity, Managers, Operation};
use crate::too_deep;

impl Managers {
    /// Returns the owners after a create, update or patch that changes `live` to `new`: the writer is the
    /// only owner of the fields that it changed; removed fields have no owner. The time of the writer's entry
    /// changes if the writer changed a field.
    ///
    /// `live` is `{apiVersion, kind}` if the object is created; `new` has its defaults. The managed fields in
    /// both are ignored in favour of `self`, see [`Managers::of_request`].
    ///
    /// An existing object without owners is not tracked until the first apply. A write in a version that is
    /// not served, or of an object that is nested too deep, leaves the owners unchanged: an update never
    /// fails.
    #[must_use]
    pub fn update(mut self, versions: &dyn Versions, live: &Value, new: &Value, writer: &Writer<'_>) -> Self {
        let exists = live["metadata"]["uid"]
            .as_str()
            .is_some_and(|uid| !uid.is_empty());
        if (self.is_empty() && exists) || too_deep(live) || too_deep(new) {
            return self;
        }
        self.own_changes(versions, live, new, writer);
        self
    }

    /// Makes the writer the owner of the fields that it changes.
    pub(super) fn own_changes(
        &mut self,
        versions: &dyn Versions,
        live: &Value,
        new: &Value,
        writer: &Writer<'_>,
    ) {
        let Some(types) = versions.types(writer.api_version) else {
            return;
        };
        self.reconcile(versions);
        let mut comparisons = Comparisons::new(versions, types, (live, new), writer);
        for entry in self.entries.values_mut() {
            if let Some(changes) = comparisons.changes(&entry.api_version) {
                entry.set.remove(&changes.changed);
                entry.set.remove(&changes.removed);
            }
        }
        self.remove_empty();
        let mut own_fields = comparisons.into_changed();
        own_fields.remove(&STRIPPED);
        if !own_fields.is_empty() {
            self.add_owned(writer.identity(Operation::Update), own_fields, writer);
        }
        self.merge_oldest_updaters();
    }

    /// Adds `set` to the fields of `owner`, with the time of the write.
    fn add_owned(&mut self, owner: Identity, mut set: crate::Set, writer: &Writer<'_>) {
        if let Some(before) = self.entries.remove(&owner) {
            set.add(&before.set);
        }
        let entry = Entry {
            api_version: writer.api_version.to_owned(),
            time: writer.time(),
            set,
        };
        self.entries.insert(owner, entry);
    }
}
