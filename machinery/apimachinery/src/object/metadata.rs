//! Parsed metadata of an object.

use serde::Deserialize;

use super::annotations::TextsOnly;
use crate::labels::Labels;
use jiff::Timestamp;

/// The parts of `metadata` that are available without parsing the object again.
///
/// Every stored object has this struct, so the struct is small: three texts are one allocation, and fields
/// that most objects do not have are in a separate one.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(from = "SerializedMeta")]
pub struct Meta {
    /// Name, namespace and UID, concatenated.
    texts: Box<str>,
    /// Ends of the name and of the namespace.
    ends: [u32; 2],
    generation: i64,
    labels: Labels,
    created: Moment,
    rare: Option<Box<RareFields>>,
}

/// Fields of the metadata that most objects do not have.
#[derive(Clone, Debug, Default, PartialEq)]
struct RareFields {
    deletion_timestamp: Option<Timestamp>,
    finalizers: Box<[String]>,
    owner_references: Box<[OwnerReference]>,
}

/// An optional instant, as microseconds since 1970; the smallest number stands for a missing time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Moment(i64);

impl Default for Moment {
    fn default() -> Self {
        Self(i64::MIN)
    }
}

impl From<Option<Timestamp>> for Moment {
    fn from(time: Option<Timestamp>) -> Self {
        time.map_or_else(Self::default, |time| Self(time.as_microsecond()))
    }
}

/// The fields of `metadata` as they are serialized.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SerializedMeta {
    name: String,
    namespace: String,
    uid: String,
    generation: i64,
    labels: Labels,
    creation_timestamp: Option<Timestamp>,
    deletion_timestamp: Option<Timestamp>,
    finalizers: Vec<String>,
    owner_references: Vec<OwnerReference>,
    #[serde(rename = "annotations")]
    _annotations: TextsOnly,
}

impl From<SerializedMeta> for Meta {
    fn from(meta: SerializedMeta) -> Self {
        let rare = RareFields {
            deletion_timestamp: meta.deletion_timestamp,
            finalizers: meta.finalizers.into(),
            owner_references: meta.owner_references.into(),
        };
        Self {
            generation: meta.generation,
            labels: meta.labels,
            created: meta.creation_timestamp.into(),
            rare: (rare != RareFields::default()).then(|| Box::new(rare)),
            ..Self::default()
        }
        .named(&meta.name, &meta.namespace, &meta.uid)
    }
}

/// An element of `metadata.ownerReferences`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Hash)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerReference {
    /// API version of the owner.
    pub api_version: String,
    /// Kind of the owner.
    pub kind: String,
    /// Name of the owner.
    pub name: String,
    /// UID of the owner.
    pub uid: String,
    /// Whether the owner is the managing controller.
    pub controller: Option<bool>,
    /// Whether a foreground deletion of the owner waits for this object.
    pub block_owner_deletion: Option<bool>,
}

impl Meta {
    /// Returns the metadata with another name, namespace and UID.
    #[must_use]
    pub fn named(self, name: &str, namespace: &str, uid: &str) -> Self {
        let end = |length: usize| u32::try_from(length).expect("an object is no larger than its request");
        Self {
            texts: [name, namespace, uid].concat().into(),
            ends: [end(name.len()), end(name.len() + namespace.len())],
            ..self
        }
    }

    /// Returns the metadata that the objects of an [`ObjectTemplate`](super::ObjectTemplate) share:
    /// namespace, labels and creation time.
    pub(super) fn shared(&self) -> Self {
        Self {
            labels: self.labels.clone(),
            created: self.created,
            ..Self::default()
        }
        .named("", self.namespace(), "")
    }

    /// Returns `metadata.name`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.texts[..self.ends[0] as usize]
    }

    /// Returns `metadata.namespace`, empty for cluster-scoped objects.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.texts[self.ends[0] as usize..self.ends[1] as usize]
    }

    /// Returns `metadata.uid`.
    #[must_use]
    pub fn uid(&self) -> &str {
        &self.texts[self.ends[1] as usize..]
    }

    /// Returns `metadata.generation`, 0 where the kind has none.
    #[must_use]
    pub fn generation(&self) -> i64 {
        self.generation
    }

    /// Returns `metadata.labels`.
    #[must_use]
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Returns `metadata.creationTimestamp`, to the microsecond.
    #[must_use]
    pub fn creation_timestamp(&self) -> Option<Timestamp> {
        // The smallest number stands for a missing time.
        Timestamp::from_microsecond(self.created.0).ok()
    }

    /// Returns `metadata.deletionTimestamp`: it is set while finalizers delay the removal of a deleted
    /// object.
    #[must_use]
    pub fn deletion_timestamp(&self) -> Option<Timestamp> {
        self.rare.as_ref()?.deletion_timestamp
    }

    /// Returns `metadata.finalizers`.
    #[must_use]
    pub fn finalizers(&self) -> &[String] {
        self.rare.as_ref().map_or(&[], |rare| &rare.finalizers)
    }

    /// Returns `metadata.ownerReferences`.
    #[must_use]
    pub fn owner_references(&self) -> &[OwnerReference] {
        self.rare.as_ref().map_or(&[], |rare| &rare.owner_references)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_field_is_parsed_and_missing_fields_are_empty() {
        let whole: Meta = serde_json::from_value(json!({
            "name": "a", "namespace": "né", "uid": "u-1", "generation": 3, "labels": {"k": "v"},
            "creationTimestamp": "2026-01-01T00:00:00.25Z", "deletionTimestamp": "2026-01-02T00:00:00Z",
            "finalizers": ["f"], "ownerReferences": [{"name": "o", "controller": true}], "annotations": {"x": "y"},
        }))
        .unwrap();
        assert_eq!((whole.name(), whole.namespace(), whole.uid()), ("a", "né", "u-1"));
        assert_eq!((whole.generation(), whole.labels().get("k")), (3, Some("v")));
        assert_eq!(
            [whole.creation_timestamp(), whole.deletion_timestamp()].map(|at| at.unwrap().to_string()),
            ["2026-01-01T00:00:00.25Z", "2026-01-02T00:00:00Z"]
        );
        assert_eq!(whole.finalizers(), ["f"]);
        assert_eq!(whole.owner_references()[0].name, "o");

        let shared = whole.shared();
        assert_eq!((shared.name(), shared.namespace(), shared.uid()), ("", "né", ""));
        assert_eq!(
            (shared.labels(), shared.creation_timestamp()),
            (whole.labels(), whole.creation_timestamp())
        );
        assert!(shared.deletion_timestamp().is_none());

        let none: Meta = serde_json::from_value(json!({})).unwrap();
        assert_eq!(none, Meta::default());
        assert_eq!((none.name(), none.namespace(), none.uid()), ("", "", ""));
        assert!(none.creation_timestamp().is_none() && none.deletion_timestamp().is_none());
        assert!(none.finalizers().is_empty() && none.owner_references().is_empty());
    }
}
