//! Audit policy, as in kube-apiserver (`audit.k8s.io/v1` Policy): selects the audited requests, and the level
//! of detail of their events.

mod read;

use std::collections::BTreeSet;

use berth_admission::UserInfo;

use super::level::{Level, Stage};
use crate::request_info::RequestInfo;

pub use read::PolicyErrors;

/// Resources of one API group, and optionally names of objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Resources {
    group: String,
    /// Resources: `pods`, `pods/log`, `pods/*`, `*/status`, `*`; an empty list means all resources of the
    /// group.
    resources: Vec<String>,
    /// Names of objects; an empty list means all names.
    names: Vec<String>,
}

/// Rule with the level of the requests that match all fields; an empty field matches all requests.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    level: Level,
    users: Vec<String>,
    groups: Vec<String>,
    verbs: Vec<String>,
    resources: Vec<Resources>,
    namespaces: Vec<String>,
    paths: Vec<String>,
    omit_stages: BTreeSet<Stage>,
    omit_managed_fields: Option<bool>,
}

/// An audit policy: the first matching rule decides. Without a matching rule, there is no event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    rules: Vec<Rule>,
    omit_stages: BTreeSet<Stage>,
    omit_managed_fields: bool,
}

/// Result of a policy for one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Level of detail.
    pub(crate) level: Level,
    omit_stages: BTreeSet<Stage>,
    /// Whether bodies are written without `metadata.managedFields`.
    pub(crate) omit_managed_fields: bool,
}

/// Attributes of a request that the rules of a policy compare.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PolicyAttributes<'a> {
    pub(crate) user: &'a str,
    pub(crate) groups: &'a [String],
    pub(crate) verb: &'a str,
    pub(crate) is_resource: bool,
    pub(crate) path: &'a str,
    pub(crate) group: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) subresource: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
}

impl<'a> PolicyAttributes<'a> {
    /// Returns the attributes of the request `info` by `user`.
    pub(crate) fn of(info: &'a RequestInfo, user: &'a UserInfo) -> Self {
        Self {
            user: &user.name,
            groups: &user.groups,
            verb: info.verb,
            is_resource: info.is_resource,
            path: &info.path,
            group: &info.group,
            resource: &info.resource,
            subresource: &info.subresource,
            namespace: &info.namespace,
            name: &info.name,
        }
    }
}

impl Policy {
    /// The default policy: every request at level Metadata, at every stage except RequestReceived.
    #[must_use]
    pub fn metadata() -> Self {
        Self {
            rules: vec![Rule {
                level: Level::Metadata,
                users: Vec::new(),
                groups: Vec::new(),
                verbs: Vec::new(),
                resources: Vec::new(),
                namespaces: Vec::new(),
                paths: Vec::new(),
                omit_stages: BTreeSet::new(),
                omit_managed_fields: None,
            }],
            omit_stages: BTreeSet::from([Stage::RequestReceived]),
            omit_managed_fields: false,
        }
    }

    /// Parses a policy file.
    ///
    /// # Errors
    /// Every problem of the file, with the path of the field.
    pub fn read(text: &str) -> Result<Self, PolicyErrors> {
        read::policy(text)
    }

    /// Returns the verdict about a request.
    pub(crate) fn judge(&self, attributes: PolicyAttributes<'_>) -> Verdict {
        match self.rules.iter().find(|rule| rule.matches(attributes)) {
            Some(rule) => Verdict {
                level: rule.level,
                omit_stages: &self.omit_stages | &rule.omit_stages,
                omit_managed_fields: rule.omit_managed_fields.unwrap_or(self.omit_managed_fields),
            },
            None => Verdict {
                level: Level::None,
                omit_stages: BTreeSet::new(),
                omit_managed_fields: false,
            },
        }
    }
}

impl Verdict {
    /// Whether the request has an event of `stage`.
    pub(crate) fn writes(&self, stage: Stage) -> bool {
        self.level > Level::None && !self.omit_stages.contains(&stage)
    }
}

impl Rule {
    fn matches(&self, attributes: PolicyAttributes<'_>) -> bool {
        let has = |list: &[String], text: &str| list.iter().any(|one| one == text);
        if !self.users.is_empty() && !has(&self.users, attributes.user) {
            return false;
        }
        if !self.groups.is_empty() && !attributes.groups.iter().any(|group| has(&self.groups, group)) {
            return false;
        }
        if !self.verbs.is_empty() && !has(&self.verbs, attributes.verb) {
            return false;
        }
        if !self.namespaces.is_empty() || !self.resources.is_empty() {
            return attributes.is_resource
                && (self.namespaces.is_empty() || has(&self.namespaces, attributes.namespace))
                && (self.resources.is_empty()
                    || self
                        .resources
                        .iter()
                        .any(|resources| resources.matches(attributes)));
        }
        if !self.paths.is_empty() {
            return !attributes.is_resource
                && self.paths.iter().any(|path| path_matches(attributes.path, path));
        }
        true
    }
}

/// Whether `path` equals `pattern`, or begins with the part of `pattern` before its final `*`.
fn path_matches(path: &str, pattern: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => path.starts_with(beginning),
        None => path == pattern,
    }
}

impl Resources {
    fn matches(&self, attributes: PolicyAttributes<'_>) -> bool {
        if self.group != attributes.group {
            return false;
        }
        if self.resources.is_empty() {
            return true;
        }
        if !self.names.is_empty() && !self.names.iter().any(|name| name == attributes.name) {
            return false;
        }
        self.resources.iter().any(|wanted| match wanted.split_once('/') {
            None if wanted == "*" => true,
            None => wanted == attributes.resource && attributes.subresource.is_empty(),
            Some(("*", subresource)) => !subresource.is_empty() && subresource == attributes.subresource,
            Some((resource, "*")) => resource == attributes.resource,
            Some((resource, subresource)) => {
                resource == attributes.resource && subresource == attributes.subresource
            }
        })
    }
}

#[cfg(test)]
mod tests;
