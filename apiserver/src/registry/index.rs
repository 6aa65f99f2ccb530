//! Index of served resources by group, version and name. Lookups allocate no memory.

use std::collections::HashMap;
use std::sync::Arc;

use berth_apimachinery::GroupResource;

use crate::resource::{Group, Resource};
use crate::served::ServedVersion;

type ByName<T> = HashMap<&'static str, T>;

/// Reason why resources cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// A resource is in the wrong group.
    #[error("{resource} cannot be served in the group {group:?}, which is not the group of its kind")]
    WrongGroup {
        /// The resource.
        resource: GroupResource,
        /// The wrong group.
        group: &'static str,
    },
    /// A resource occurs twice in one version.
    #[error("{resource} is served twice in version {version}")]
    Duplicate {
        /// The resource.
        resource: GroupResource,
        /// The version.
        version: &'static str,
    },
    /// A requested resource is not served.
    #[error("{0} is not served here")]
    NotServed(GroupResource),
    /// A part of a registry that can be set once (the audit log) is already set.
    #[error("{0} is already set")]
    AlreadySet(&'static str),
    /// A document cannot be rendered.
    #[error("cannot render a document: {0}")]
    Document(String),
}

/// Served resources, by group, version and name.
#[derive(Default)]
pub struct Index {
    groups: ByName<ByName<ByName<Arc<ServedVersion>>>>,
    resources: HashMap<GroupResource, Vec<Arc<ServedVersion>>>,
}

impl Index {
    /// Creates the index of `groups`.
    ///
    /// # Errors
    /// When a resource is a duplicate, or in the wrong group.
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
            let served = Arc::new(ServedVersion::new(resource, version));
            let versions = self.groups.entry(info.group).or_default();
            let names = versions.entry(version).or_default();
            if names.insert(info.plural, Arc::clone(&served)).is_some() {
                return Err(InstallError::Duplicate {
                    resource: info.resource(),
                    version,
                });
            }
            self.resources.entry(served.name).or_default().push(served);
        }
        Ok(())
    }

    /// Returns the resource of a request path.
    #[must_use]
    pub fn get(&self, group: &str, version: &str, resource: &str) -> Option<&Arc<ServedVersion>> {
        self.groups.get(group)?.get(version)?.get(resource)
    }

    /// Returns the resource in the version whose objects have `api_version`.
    #[must_use]
    pub fn by_api_version(&self, resource: GroupResource, api_version: &str) -> Option<&Arc<ServedVersion>> {
        self.resources
            .get(&resource)?
            .iter()
            .find(|served| *served.api_version == *api_version)
    }

    /// Returns the resource whose objects have `api_version` and are stored as `stored`.
    pub(crate) fn storing(&self, stored: GroupResource, api_version: &str) -> Option<&ServedVersion> {
        let all = self.resources.values().flatten();
        let mut matching =
            all.filter(|served| served.stored == stored && *served.api_version == *api_version);
        matching.next().map(|served| &**served)
    }

    /// Returns the resource in the preferred version.
    #[must_use]
    pub fn preferred(&self, resource: GroupResource) -> Option<&Arc<ServedVersion>> {
        self.resources.get(&resource)?.first()
    }

    /// Returns every resource in the preferred version.
    pub fn all(&self) -> impl Iterator<Item = &Arc<ServedVersion>> {
        self.resources.values().filter_map(|versions| versions.first())
    }
}
