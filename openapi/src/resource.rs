//! Served resources with their subresources, by group and version, from which all documents are rendered.

use std::cmp::Ordering;
use std::sync::Arc;

use berth_apimachinery::{Kind, KindInfo, Schema};

/// A served resource. The verbs are in the [`KindInfo`] of the kind.
#[derive(Clone)]
pub struct ResourceDoc {
    /// Kind of the resource.
    pub kind: Arc<dyn Kind>,
    /// Whether the resource has the subresource `status`, with the verbs get, patch and update.
    pub status: bool,
    /// Whether the resource and its status support server-side apply.
    pub apply: bool,
    /// Subresources of the resource, except `status`.
    pub subresources: Vec<SubresourceDoc>,
}

/// A subresource other than `status`.
#[derive(Clone)]
pub struct SubresourceDoc {
    /// Name of the subresource, such as `binding`.
    pub name: &'static str,
    /// API group of request and response bodies. If group and version are empty, the bodies have the group
    /// and version of the resource.
    pub group: &'static str,
    /// API version of request and response bodies.
    pub version: &'static str,
    /// Kind of request and response bodies.
    pub kind: &'static str,
    /// Served verbs: `get`, `create`, `update`, `patch`.
    pub verbs: &'static [&'static str],
    /// Whether the subresource supports server-side apply.
    pub apply: bool,
    /// Schema of request and response bodies; `None` when the resource itself or another resource
    /// defines the kind.
    pub schema: Option<Arc<Schema>>,
}

/// A group, a version and a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gvk {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
}

/// A subresource, such as `status`, of a resource in one version.
pub(crate) struct Subresource<'a> {
    pub(crate) name: &'static str,
    pub(crate) gvk: Gvk,
    pub(crate) verbs: Vec<&'static str>,
    pub(crate) apply: bool,
    pub(crate) schema: Option<&'a Schema>,
}

/// A resource in one version.
pub(crate) struct Entry<'a> {
    pub(crate) kind: &'a dyn Kind,
    pub(crate) info: &'a KindInfo,
    pub(crate) schema: &'a Schema,
    pub(crate) gvk: Gvk,
    pub(crate) verbs: Vec<&'static str>,
    pub(crate) apply: bool,
    pub(crate) subresources: Vec<Subresource<'a>>,
}

/// A group-version with its resources, by name.
pub(crate) struct Version<'a> {
    pub(crate) name: &'static str,
    pub(crate) entries: Vec<Entry<'a>>,
}

/// A group with its versions, by priority.
pub(crate) struct Group<'a> {
    pub(crate) name: &'static str,
    pub(crate) versions: Vec<Version<'a>>,
}

impl Group<'_> {
    /// Returns `api` for the core group, `apis/<group>` for other groups.
    pub(crate) fn root(&self) -> String {
        if self.name.is_empty() {
            "api".to_owned()
        } else {
            format!("apis/{}", self.name)
        }
    }

    /// Returns `group/version`, or only the version in the core group.
    pub(crate) fn api_version(&self, version: &str) -> String {
        if self.name.is_empty() {
            version.to_owned()
        } else {
            format!("{}/{version}", self.name)
        }
    }
}

/// All served resources.
pub(crate) struct Catalog<'a> {
    pub(crate) groups: Vec<Group<'a>>,
}

impl<'a> Catalog<'a> {
    pub(crate) fn new(resources: &'a [ResourceDoc]) -> Self {
        let mut groups: Vec<Group<'a>> = Vec::new();
        for resource in resources {
            let info = resource.kind.info();
            let index = groups
                .iter()
                .position(|group| group.name == info.group)
                .unwrap_or_else(|| {
                    groups.push(Group {
                        name: info.group,
                        versions: Vec::new(),
                    });
                    groups.len() - 1
                });
            for &version in info.versions {
                add_entry(&mut groups[index], version, entry(resource, version));
            }
        }
        for group in &mut groups {
            group.versions.sort_by(|a, b| compare_versions(a.name, b.name));
            for version in &mut group.versions {
                version.entries.sort_by_key(|entry| entry.info.plural);
            }
        }
        Self { groups }
    }

    /// Returns the core group, if it is served.
    pub(crate) fn core(&self) -> Option<&Group<'a>> {
        self.groups.iter().find(|group| group.name.is_empty())
    }

    /// Returns the groups under `/apis`.
    pub(crate) fn named(&self) -> impl Iterator<Item = &Group<'a>> {
        self.groups.iter().filter(|group| !group.name.is_empty())
    }
}

fn add_entry<'a>(group: &mut Group<'a>, version: &'static str, entry: Entry<'a>) {
    match group.versions.iter_mut().find(|known| known.name == version) {
        Some(known) => known.entries.push(entry),
        None => group.versions.push(Version {
            name: version,
            entries: vec![entry],
        }),
    }
}

fn entry<'a>(resource: &'a ResourceDoc, version: &'static str) -> Entry<'a> {
    let info = resource.kind.info();
    let own_gvk = |kind: &str| Gvk {
        group: info.group.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
    };
    let mut subresources: Vec<Subresource<'a>> = resource
        .subresources
        .iter()
        .map(|sub| {
            let has_group_version = !(sub.group.is_empty() && sub.version.is_empty());
            let gvk = if has_group_version {
                Gvk {
                    group: sub.group.to_owned(),
                    version: sub.version.to_owned(),
                    kind: sub.kind.to_owned(),
                }
            } else {
                own_gvk(sub.kind)
            };
            Subresource {
                name: sub.name,
                gvk,
                verbs: sorted(sub.verbs),
                apply: sub.apply,
                schema: sub.schema.as_deref(),
            }
        })
        .collect();
    if resource.status && !subresources.iter().any(|sub| sub.name == "status") {
        let verbs = vec!["get", "patch", "update"];
        subresources.push(Subresource {
            name: "status",
            gvk: own_gvk(info.kind),
            verbs,
            apply: resource.apply,
            schema: None,
        });
    }
    subresources.sort_by_key(|sub| sub.name);
    let schema = resource.kind.schema(version);
    Entry {
        kind: &*resource.kind,
        info,
        schema,
        gvk: own_gvk(info.kind),
        verbs: sorted(info.verbs),
        apply: resource.apply,
        subresources,
    }
}

fn sorted(verbs: &[&'static str]) -> Vec<&'static str> {
    let mut verbs = verbs.to_vec();
    verbs.sort_unstable();
    verbs
}

/// Compares versions in Kubernetes' order: `v10`, `v2`, `v1`, `v2beta1`, `v1beta2`, `v1alpha1`, then other
/// versions by name.
fn compare_versions(a: &str, b: &str) -> Ordering {
    match (version_parts(a), version_parts(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// Returns the stability (0 is alpha, 1 is beta, 2 is stable), the major and the minor number; `None` when
/// the name has another form.
fn version_parts(version: &str) -> Option<(u8, u32, u32)> {
    let rest = version.strip_prefix('v')?;
    for (word, stability) in [("alpha", 0), ("beta", 1)] {
        if let Some((major, minor)) = rest.split_once(word) {
            return Some((stability, major.parse().ok()?, minor.parse().ok()?));
        }
    }
    Some((2, rest.parse().ok()?, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_stability_then_number() {
        let mut versions = [
            "v1alpha1", "foo", "v1", "v1beta1", "v2beta1", "v10", "v1beta2", "v2",
        ];
        versions.sort_by(|a, b| compare_versions(a, b));
        assert_eq!(
            versions,
            [
                "v10", "v2", "v1", "v2beta1", "v1beta2", "v1beta1", "v1alpha1", "foo"
            ]
        );
    }
}
