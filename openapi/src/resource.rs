//! Input of the documents: resources with their subresources, arranged by group and version.

use std::cmp::Ordering;
use std::sync::Arc;

use berth_apimachinery::{Kind, KindInfo, Schema};

/// One served resource. Its verbs are the verbs of its [`KindInfo`].
#[derive(Clone)]
pub struct ResourceDoc {
    /// Kind of the resource.
    pub kind: Arc<dyn Kind>,
    /// Whether `status` is a subresource (get, patch, update).
    pub status: bool,
    /// Whether the resource and its status support server-side apply.
    pub apply: bool,
    /// Subresources except `status`.
    pub subresources: Vec<SubresourceDoc>,
}

/// A subresource other than `status`.
#[derive(Clone)]
pub struct SubresourceDoc {
    /// Name of the subresource, such as `binding`.
    pub name: &'static str,
    /// API group of its bodies; an empty group and version mean the group and version of the resource.
    pub group: &'static str,
    /// API version of its bodies.
    pub version: &'static str,
    /// Kind of its bodies.
    pub kind: &'static str,
    /// Served verbs: `get`, `create`, `update`, `patch`.
    pub verbs: &'static [&'static str],
    /// Whether the subresource supports server-side apply.
    pub apply: bool,
    /// Schema of its bodies; `None` where another resource or the resource itself defines the kind.
    pub schema: Option<Arc<Schema>>,
}

/// A group, a version and a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gvk {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
}

/// One subresource of one resource in one version, including `status`.
pub(crate) struct Sub<'a> {
    pub(crate) name: &'static str,
    pub(crate) gvk: Gvk,
    pub(crate) verbs: Vec<&'static str>,
    pub(crate) apply: bool,
    pub(crate) schema: Option<&'a Schema>,
}

/// One resource in one version.
pub(crate) struct Entry<'a> {
    pub(crate) kind: &'a dyn Kind,
    pub(crate) info: &'a KindInfo,
    pub(crate) schema: &'a Schema,
    pub(crate) gvk: Gvk,
    pub(crate) verbs: Vec<&'static str>,
    pub(crate) apply: bool,
    pub(crate) subresources: Vec<Sub<'a>>,
}

/// One group-version with its resources, by name.
pub(crate) struct Version<'a> {
    pub(crate) name: &'static str,
    pub(crate) entries: Vec<Entry<'a>>,
}

/// One group with its versions, by priority.
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
            group.versions.sort_by(|a, b| priority(a.name, b.name));
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
    let mut subresources: Vec<Sub<'a>> = resource
        .subresources
        .iter()
        .map(|sub| {
            let foreign = !(sub.group.is_empty() && sub.version.is_empty());
            let gvk = if foreign {
                Gvk {
                    group: sub.group.to_owned(),
                    version: sub.version.to_owned(),
                    kind: sub.kind.to_owned(),
                }
            } else {
                own_gvk(sub.kind)
            };
            Sub {
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
        subresources.push(Sub {
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
fn priority(a: &str, b: &str) -> Ordering {
    match (parts(a), parts(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// Returns stability (2 is stable), major and minor number.
fn parts(version: &str) -> Option<(u8, u32, u32)> {
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
        versions.sort_by(|a, b| priority(a, b));
        assert_eq!(
            versions,
            [
                "v10", "v2", "v1", "v2beta1", "v1beta2", "v1beta1", "v1alpha1", "foo"
            ]
        );
    }
}
