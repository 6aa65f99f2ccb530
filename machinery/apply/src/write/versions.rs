//! Versions of a kind, and the paths that a write changes in each version.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use super::Writer;
use crate::fields::Set;
use crate::types::Types;

/// Versions of a kind. [`SingleVersion`] is for a kind with a single version.
pub trait Versions {
    /// Returns the types of objects in `api_version`; `None` when the version is not served, and its entries
    /// in the managed fields are dropped. Versions with the same types should return the same reference, so
    /// that objects are compared only once.
    fn types(&self, api_version: &str) -> Option<&Types>;

    /// Converts `object` from version `from` to version `to`. The result is borrowed if the
    /// versions differ only in `apiVersion`.
    fn convert<'a>(&self, object: &'a Value, from: &str, to: &str) -> Cow<'a, Value>;
}

/// The single version of a kind.
#[derive(Clone, Copy, Debug)]
pub struct SingleVersion<'a> {
    /// Name of the version, as in `apiVersion`.
    pub api_version: &'a str,
    /// Types of the version.
    pub types: &'a Types,
}

impl Versions for SingleVersion<'_> {
    fn types(&self, api_version: &str) -> Option<&Types> {
        (api_version == self.api_version).then_some(self.types)
    }

    fn convert<'a>(&self, object: &'a Value, _: &str, _: &str) -> Cow<'a, Value> {
        Cow::Borrowed(object)
    }
}

/// Paths that a write changes, in one version.
#[derive(Clone, Default)]
pub(super) struct Changes {
    /// Modified and added paths.
    pub(super) changed: Set,
    pub(super) removed: Set,
}

/// Changes between two states of an object in the version of the writer, and on demand in other versions.
pub(super) struct Comparisons<'a> {
    versions: &'a dyn Versions,
    old: &'a Value,
    new: &'a Value,
    writer: &'a Writer<'a>,
    types: &'a Types,
    writer_changes: Changes,
    /// Changes in versions other than the version of the writer, by version.
    converted_changes: BTreeMap<String, Changes>,
}

impl<'a> Comparisons<'a> {
    pub(super) fn new(
        versions: &'a dyn Versions,
        types: &'a Types,
        (old, new): (&'a Value, &'a Value),
        writer: &'a Writer<'a>,
    ) -> Self {
        Self {
            versions,
            old,
            new,
            writer,
            types,
            writer_changes: changes(types, old, new, writer),
            converted_changes: BTreeMap::new(),
        }
    }

    /// Returns the paths that the writer modified or added.
    pub(super) fn into_changed(self) -> Set {
        self.writer_changes.changed
    }

    /// Returns the changes in `api_version`; `None` when the version is not served.
    pub(super) fn changes(&mut self, api_version: &str) -> Option<&Changes> {
        if api_version == self.writer.api_version {
            return Some(&self.writer_changes);
        }
        let types = self.versions.types(api_version)?;
        let convert = |object| {
            self.versions
                .convert(object, self.writer.api_version, api_version)
        };
        if std::ptr::eq(types, self.types)
            && matches!(
                (convert(self.old), convert(self.new)),
                (Cow::Borrowed(_), Cow::Borrowed(_))
            )
        {
            return Some(&self.writer_changes);
        }
        if !self.converted_changes.contains_key(api_version) {
            let changes = changes(types, &convert(self.old), &convert(self.new), self.writer);
            self.converted_changes.insert(api_version.to_owned(), changes);
        }
        self.converted_changes.get(api_version)
    }
}

fn changes(types: &Types, old: &Value, new: &Value, writer: &Writer<'_>) -> Changes {
    let found = types.compare(old, new);
    Changes {
        changed: writer.reset.without(found.modified.union(&found.added)),
        removed: writer.reset.without(found.removed),
    }
}
