//! What is served: every (group, version, resource), looked up once built without allocating.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use meta::{GroupResource, Kind, KindInfo};
use storage::{Source, Store};

use crate::registry::ownership::Merging;
use crate::resource::{Backing, Group, Resource, Subresource};
use crate::table;

/// One resource in one of its versions.
pub struct Served {
    /// The kind, its backing and its subresources.
    pub resource: Resource,
    /// The version: `v1beta1`.
    pub version: &'static str,
    /// `group/version` as this version's objects carry it.
    pub api_version: Arc<str>,
    /// `group/version` as stored objects carry it.
    pub storage_api_version: Arc<str>,
    /// The resource as clients name it.
    pub name: GroupResource,
    /// The resource whose records hold the objects.
    pub stored: GroupResource,
    /// The JSON of the table's `columnDefinitions`.
    pub(crate) columns: Bytes,
    merging: OnceLock<Merging>,
}

impl Served {
    fn new(resource: &Resource, version: &'static str) -> Self {
        let kind = &resource.kind;
        let info = kind.info();
        Self {
            resource: resource.clone(),
            version,
            api_version: info.api_version(version).into(),
            storage_api_version: storage_api_version(&**kind),
            name: info.resource(),
            stored: kind.stored_in(),
            columns: table::column_definitions(kind.columns()),
            merging: OnceLock::new(),
        }
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> &dyn Kind {
        &*self.resource.kind
    }

    /// Names and switches of the kind.
    #[must_use]
    pub fn info(&self) -> &KindInfo {
        self.resource.kind.info()
    }

    /// Whether the resource itself takes `verb`.
    #[must_use]
    pub fn takes(&self, verb: &str) -> bool {
        self.info().verbs.contains(&verb)
    }

    /// The store behind a stored resource.
    #[must_use]
    pub fn store(&self) -> Option<&Arc<dyn Store>> {
        match &self.resource.backing {
            Backing::Stored(store) => Some(store),
            Backing::Projected(_) | Backing::Computed(_) | Backing::Seen(_) => None,
        }
    }

    /// Where lists and watches read; `None` for a computed resource.
    #[must_use]
    pub fn source(&self) -> Option<&dyn Source> {
        match &self.resource.backing {
            Backing::Stored(store) => Some(&**store),
            Backing::Projected(source) => Some(&**source),
            Backing::Seen(seen) => Some(&**seen),
            Backing::Computed(_) => None,
        }
    }

    /// Whether resource versions are good for this process only, so that one from ahead is another replica's.
    #[must_use]
    pub fn own_sequence(&self) -> bool {
        match &self.resource.backing {
            Backing::Projected(_) => true,
            Backing::Seen(seen) => seen.own_sequence(),
            Backing::Stored(_) | Backing::Computed(_) => false,
        }
    }

    /// How its objects merge: made of the schema when it is first asked for.
    pub(crate) fn merging(&self) -> &Merging {
        self.merging.get_or_init(|| Merging::of(self))
    }

    /// The subresource of that name, `status` of a stored kind left out.
    #[must_use]
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.resource.subresources.iter().find(|have| have.name == name)
    }

    /// Whether `status` is a subresource that this library serves by itself.
    #[must_use]
    pub fn has_status(&self) -> bool {
        self.resource.has_status()
    }

    /// Whether the garbage collector can see the resource, so that its finalizers will be taken off again.
    #[must_use]
    pub(crate) fn is_collected(&self) -> bool {
        ["delete", "list", "watch"]
            .into_iter()
            .all(|verb| self.takes(verb))
    }
}

/// The apiVersion of stored objects: in the group of the resource that holds them, which may be another API's (Event).
fn storage_api_version(kind: &dyn Kind) -> Arc<str> {
    let version = kind.info().storage_version;
    match kind.stored_in().group {
        "" => version.into(),
        group => format!("{group}/{version}").into(),
    }
}

type ByName<T> = HashMap<&'static str, T>;

/// Why something cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InstallError {
    /// A resource stands in a group that is not its own.
    #[error("{resource} is in the group {group:?}, which is not its own")]
    WrongGroup {
        /// The resource.
        resource: GroupResource,
        /// The group.
        group: &'static str,
    },
    /// A resource stands twice in one version.
    #[error("{resource} is served twice in version {version}")]
    Twice {
        /// The resource.
        resource: GroupResource,
        /// The version.
        version: &'static str,
    },
    /// A resource is asked for that is not served.
    #[error("{0} is not served here")]
    NotServed(GroupResource),
    /// A registry was given its groups, or its hook, before.
    #[error("{0} are installed already")]
    Already(&'static str),
    /// A document cannot be rendered.
    #[error("rendering a document: {0}")]
    Document(String),
}

/// Every served resource.
#[derive(Default)]
pub struct Index {
    groups: ByName<ByName<ByName<Arc<Served>>>>,
    resources: HashMap<GroupResource, Vec<Arc<Served>>>,
}

impl Index {
    /// The index of `groups`.
    ///
    /// # Errors
    /// When a resource stands twice, or in a group that is not its own.
    pub fn new(groups: &[Group]) -> Result<Self, InstallError> {
        let mut index = Self::default();
        for group in groups {
            for resource in &group.resources {
                index.add(group, resource)?;
            }
        }
        Ok(index)
    }

    fn add(&mut self, group: &Group, resource: &Resource) -> Result<(), InstallError> {
        let info = resource.kind.info();
        if info.group != group.name {
            return Err(InstallError::WrongGroup {
                resource: info.resource(),
                group: group.name,
            });
        }
        for version in info.versions {
            let served = Arc::new(Served::new(resource, version));
            let versions = self.groups.entry(info.group).or_default();
            let names = versions.entry(version).or_default();
            if names.insert(info.plural, Arc::clone(&served)).is_some() {
                return Err(InstallError::Twice {
                    resource: info.resource(),
                    version,
                });
            }
            self.resources.entry(served.name).or_default().push(served);
        }
        Ok(())
    }

    /// The resource at a path.
    #[must_use]
    pub fn get(&self, group: &str, version: &str, resource: &str) -> Option<&Arc<Served>> {
        self.groups.get(group)?.get(version)?.get(resource)
    }

    /// The resource in the version whose objects carry `api_version`.
    #[must_use]
    pub fn by_api_version(&self, resource: GroupResource, api_version: &str) -> Option<&Arc<Served>> {
        self.resources
            .get(&resource)?
            .iter()
            .find(|served| *served.api_version == *api_version)
    }

    /// The resource whose objects carry `api_version` and are in the records of `stored`.
    pub(crate) fn storing(&self, stored: GroupResource, api_version: &str) -> Option<&Served> {
        let all = self.resources.values().flatten();
        let mut found = all.filter(|served| served.stored == stored && *served.api_version == *api_version);
        found.next().map(|served| &**served)
    }

    /// The resource in its preferred version.
    #[must_use]
    pub fn preferred(&self, resource: GroupResource) -> Option<&Arc<Served>> {
        self.resources.get(&resource)?.first()
    }

    /// Every resource in its preferred version.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Served>> {
        self.resources.values().filter_map(|versions| versions.first())
    }
}
