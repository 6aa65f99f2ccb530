//! The `rules` of a webhook and the `resourceRules` of an admission policy, which select writes by operation
//! and resource.

use serde_json::Value;

use super::versioned_write::VersionedWrite;
use crate::request::Request;

const ANY: &str = "*";

/// One element of the `rules` of a webhook, or of the `resourceRules` or `excludeResourceRules` of an
/// admission policy or its binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    groups: Vec<String>,
    versions: Vec<String>,
    /// Resources and subresources: `pods`, `pods/status`, `*`, `*/*`, `pods/*`, `*/scale`.
    resources: Vec<String>,
    operations: Vec<String>,
    /// Scope of the resources: `Namespaced`, `Cluster`, or `*`.
    scope: String,
}

impl Rule {
    /// Reads one rule from its object. A missing list matches nothing; a missing scope matches every scope.
    #[must_use]
    pub fn of(value: &Value) -> Self {
        Self {
            groups: texts(&value["apiGroups"]),
            versions: texts(&value["apiVersions"]),
            resources: texts(&value["resources"]),
            operations: texts(&value["operations"]),
            scope: value["scope"].as_str().unwrap_or(ANY).to_owned(),
        }
    }

    /// Whether the rule matches `request` with the resource in `version`.
    #[must_use]
    pub fn covers(&self, request: &Request<'_>, version: &str) -> bool {
        self.in_scope(request)
            && has(&self.operations, request.operation.as_str())
            && has(&self.groups, request.resource.group)
            && has(&self.versions, version)
            && self.has_resource(request.resource.resource, request.subresource)
    }

    /// Whether the rule matches `resource` and `subresource`, which is empty for the resource itself.
    fn has_resource(&self, resource: &str, subresource: &str) -> bool {
        self.resources.iter().any(|named| {
            let (name, part) = named.split_once('/').unwrap_or((named, ""));
            (name == ANY || name == resource) && (part == ANY || part == subresource)
        })
    }

    fn in_scope(&self, request: &Request<'_>) -> bool {
        match self.scope.as_str() {
            "Namespaced" => !request.namespace.is_empty(),
            "Cluster" => request.namespace.is_empty(),
            _ => true,
        }
    }
}

/// Version of the resource that one of `rules` covers: the client's version if possible, otherwise, unless
/// `exact`, another served version. `None` when no rule covers the write.
#[must_use]
pub(super) fn version<'a>(rules: &[Rule], exact: bool, write: &VersionedWrite<'a>) -> Option<&'a str> {
    let is_covered = |version: &&str| rules.iter().any(|rule| rule.covers(write.request, version));
    if is_covered(&write.version) {
        return Some(write.version);
    }
    if exact {
        return None;
    }
    let others = write.versions.iter().copied();
    others
        .filter(|version| *version != write.version)
        .find(is_covered)
}

/// Whether `list` has `text` or `*`.
fn has(list: &[String], text: &str) -> bool {
    list.iter().any(|entry| entry == ANY || entry == text)
}

/// Strings of a list; other entries are ignored.
pub(super) fn texts(value: &Value) -> Vec<String> {
    let entries = value.as_array().into_iter().flatten();
    entries
        .filter_map(|entry| entry.as_str().map(str::to_owned))
        .collect()
}
