//! Versions of a kind, and the changed paths in each.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use super::Writer;
use crate::fields::Set;
use crate::types::Types;

/// Versions of a kind. [`Only`] is for a kind with a single version.
pub trait Versions {
    /// Returns the types of objects in `api_version`; `None` when it is not served. Entries of such versions
    /// are dropped. Versions with the same types should return the same reference, so that they are compared
    /// only once.
    fn types(&self, api_version: &str) -> Option<&Types>;

    /// Converts `object` from version `from` to version `to`. The result is borrowed where the
    /// versions differ only in `apiVersion`.
    fn convert<'a>(&self, object: &'a Value, from: &str, to: &str) -> Cow<'a, Value>;
}

/// The single version of a kind.
#[derive(Clone, Copy, Debug)]
pub struct Only<'a> {
    /// Name of the version, as in `apiVersion`.
    pub api_version: &'a str,
    /// Types of the version.
    pub types: &'a Types,
}

impl Versions for Only<'_> {
    fn types(&self, api_version: &str) -> Option<&Types> {
        (api_version == self.api_version).then_some(self.types)
    }

    fn convert<'a>(&self, object: &'a Value, _: &str, _: &str) -> Cow<'a, Value> {
        Cow::Borrowed(object)
    }
}

/// Changes of a write.
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
    own: Changes,
    others: BTreeMap<String, Changes>,
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
            own: changes(types, old, new, writer),
            others: BTreeMap::new(),
        }
    }

    /// Returns the fields that the writer changed.
    pub(super) fn into_changed(self) -> Set {
        self.own.changed
    }

    /// Returns the changes in `api_version`; `None` when it is not served.
    pub(super) fn of(&mut self, api_version: &str) -> Option<&Changes> {
        if api_version == self.writer.api_version {
            return Some(&self.own);
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
            return Some(&self.own);
        }
        if !self.others.contains_key(api_version) {
            let changes = changes(types, &convert(self.old), &convert(self.new), self.writer);
            self.others.insert(api_version.to_owned(), changes);
        }
        self.others.get(api_version)
    }
}

fn changes(types: &Types, old: &Value, new: &Value, writer: &Writer<'_>) -> Changes {
    let found = types.compare(old, new);
    Changes {
        changed: writer.reset.without(found.modified.union(&found.added)),
        removed: writer.reset.without(found.removed),
    }
}
