//! `rules` of a webhook: the matching writes.

use serde_json::Value;

use super::subject::Subject;
use crate::request::Request;

const ANY: &str = "*";

/// A rule: an element of `rules`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    groups: Vec<String>,
    versions: Vec<String>,
    /// Resources and subresources: `pods`, `pods/status`, `*`, `*/*`, `pods/*`, `*/scale`.
    resources: Vec<String>,
    operations: Vec<String>,
    /// Scope: `Namespaced`, `Cluster`, or `*`.
    scope: String,
}

impl Rule {
    /// Reads one element of `rules`; a missing list matches nothing, and a missing scope matches any.
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

    /// Whether the rule is about `request`, in `version` of its resource.
    #[must_use]
    pub fn covers(&self, request: &Request<'_>, version: &str) -> bool {
        self.in_scope(request)
            && has(&self.operations, request.operation.as_str())
            && has(&self.groups, request.resource.group)
            && has(&self.versions, version)
            && self.names(request.resource.resource, request.subresource)
    }

    /// Whether the rule names a resource and subresource.
    fn names(&self, resource: &str, subresource: &str) -> bool {
        self.resources.iter().any(|named| {
            let (named, part) = named.split_once('/').unwrap_or((named, ""));
            (named == ANY || named == resource) && (part == ANY || part == subresource)
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

/// The version of `subject` for a call, if any of `rules` concerns it. This is the client's version where a
/// rule names it. Otherwise, unless `exact`, this is the first other version that a rule names.
#[must_use]
pub(super) fn version<'a>(rules: &[Rule], exact: bool, subject: &Subject<'a>) -> Option<&'a str> {
    let covered = |version: &&str| rules.iter().any(|rule| rule.covers(subject.request, version));
    if covered(&subject.version) {
        return Some(subject.version);
    }
    if exact {
        return None;
    }
    let others = subject.versions.iter().copied();
    others.filter(|version| *version != subject.version).find(covered)
}

fn has(list: &[String], wanted: &str) -> bool {
    list.iter().any(|entry| entry == ANY || entry == wanted)
}

/// The strings of a list.
pub(super) fn texts(value: &Value) -> Vec<String> {
    let entries = value.as_array().into_iter().flatten();
    entries
        .filter_map(|entry| entry.as_str().map(str::to_owned))
        .collect()
}
