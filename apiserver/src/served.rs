//! One resource in one of its versions, with the data that all readers and writers of its objects use.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use berth_apimachinery::{Column, GroupResource, Kind, KindInfo, StatusMetadata};
use berth_apply::{Reset, Types};
use berth_storage::{Source, Store};
use bytes::Bytes;
use serde_json::{Value, json};

use crate::resource::{Backing, Resource, Subresource};

/// One resource in one of its versions.
pub struct ServedVersion {
    /// The kind, its backing and its subresources.
    pub resource: Resource,
    /// API version, such as `v1beta1`.
    pub version: &'static str,
    /// API version in the objects of this version: `group/version`, or `version` in the core group.
    pub api_version: Arc<str>,
    /// API version in stored objects: `group/version`, or `version` in the core group.
    pub storage_api_version: Arc<str>,
    /// Resource as clients name it.
    pub name: GroupResource,
    /// Resource under which the objects are stored.
    pub stored: GroupResource,
    /// The table's `columnDefinitions` as JSON.
    pub(crate) columns: Bytes,
    merge_schema: OnceLock<MergeSchema>,
}

impl ServedVersion {
    pub(crate) fn new(resource: &Resource, version: &'static str) -> Self {
        let kind = &resource.kind;
        let info = kind.info();
        Self {
            resource: resource.clone(),
            version,
            api_version: info.api_version(version).into(),
            storage_api_version: storage_api_version(&**kind),
            name: info.resource(),
            stored: kind.stored_in(),
            columns: column_definitions(kind.columns()),
            merge_schema: OnceLock::new(),
        }
    }

    /// Kind of the objects.
    #[must_use]
    pub fn kind(&self) -> &dyn Kind {
        &*self.resource.kind
    }

    /// Names and switches of the kind.
    #[must_use]
    pub fn info(&self) -> &KindInfo {
        self.resource.kind.info()
    }

    /// Whether the resource supports `verb`; subresources have verbs of their own.
    #[must_use]
    pub fn supports(&self, verb: &str) -> bool {
        self.info().verbs.contains(&verb)
    }

    /// Store of a stored resource.
    #[must_use]
    pub fn store(&self) -> Option<&Arc<dyn Store>> {
        match &self.resource.backing {
            Backing::Stored(store) => Some(store),
            Backing::Projected(_) | Backing::Computed(_) | Backing::View(_) => None,
        }
    }

    /// Source of lists and watches; `None` for a computed resource that is not watched.
    #[must_use]
    pub fn source(&self) -> Option<&dyn Source> {
        match &self.resource.backing {
            Backing::Stored(store) => Some(&**store),
            Backing::Projected(source) => Some(&**source),
            Backing::View(view) => Some(&**view),
            Backing::Computed(handler) => handler.source(),
        }
    }

    /// Whether resource versions are valid only in this process, so that a future version is from another
    /// replica.
    #[must_use]
    pub fn has_local_versions(&self) -> bool {
        match &self.resource.backing {
            Backing::Projected(_) => true,
            Backing::View(view) => view.has_local_versions(),
            Backing::Stored(_) | Backing::Computed(_) => false,
        }
    }

    /// Whether bodies of the kind are treated like bodies of Kubernetes' built-in kinds, whose Go types
    /// reject values of other types. Custom resources are validated only by their schemas.
    #[must_use]
    pub(crate) fn has_own_type(&self) -> bool {
        self.info().strategic_merge_patch
    }

    /// Merge rules for the objects, computed from the schema on first use.
    pub(crate) fn merge_schema(&self) -> &MergeSchema {
        self.merge_schema.get_or_init(|| MergeSchema::of(self))
    }

    /// Returns the subresource `name` of the program; the library's own `status` is not included.
    #[must_use]
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.resource
            .subresources
            .iter()
            .find(|subresource| subresource.name == name)
    }

    /// The apiVersion of the bodies of `subresource`.
    pub(crate) fn api_version_of(&self, subresource: &Subresource) -> Cow<'_, str> {
        match (subresource.group, subresource.version) {
            ("", "") => Cow::Borrowed(&*self.api_version),
            ("", version) => Cow::Borrowed(version),
            (group, version) => Cow::Owned(format!("{group}/{version}")),
        }
    }

    /// Whether this library serves the subresource `status` itself.
    #[must_use]
    pub fn has_status(&self) -> bool {
        self.resource.has_status()
    }

    /// Whether the garbage collector handles the resource, so that the collector's finalizers will be removed
    /// again.
    #[must_use]
    pub(crate) fn is_collected(&self) -> bool {
        ["delete", "list", "watch"]
            .into_iter()
            .all(|verb| self.supports(verb))
    }
}

/// The apiVersion of stored objects: in the group of the resource under which they are stored, which may be
/// another API's (Event).
fn storage_api_version(kind: &dyn Kind) -> Arc<str> {
    let version = kind.info().storage_version;
    match kind.stored_in().group {
        "" => version.into(),
        group => format!("{group}/{version}").into(),
    }
}

/// Merge rules for the objects of one served version.
pub(crate) struct MergeSchema {
    pub(crate) types: Types,
    /// Fields that a write of the resource itself cannot set.
    pub(crate) itself: Reset,
    /// Fields that a write of the status cannot set.
    pub(crate) status: Reset,
}

impl MergeSchema {
    fn of(served: &ServedVersion) -> Self {
        Self {
            types: Types::of(served.kind().schema(served.version)),
            itself: match served.info().status_subresource {
                true => Reset::status(),
                false => Reset::Nothing,
            },
            status: match served.kind().status_metadata() {
                StatusMetadata::Ignored => Reset::all_but_status(),
                StatusMetadata::Written => Reset::spec(false),
                StatusMetadata::WrittenButLabels => Reset::spec(true),
            },
        }
    }
}

/// Renders `columnDefinitions` as JSON.
#[must_use]
pub(crate) fn column_definitions(columns: &[Column]) -> Bytes {
    let list: Vec<Value> = columns
        .iter()
        .map(|column| {
            json!({
                "name": column.name,
                "type": column.r#type,
                "format": column.format,
                "description": column.description,
                "priority": column.priority,
            })
        })
        .collect();
    Value::from(list).to_string().into()
}
