//! Selection of writes by the `matchConstraints` of a policy and the `matchResources` of a binding.

use berth_admission::client::{Rule, VersionedWrite};
use berth_admission::{NAMESPACES, Request};
use berth_apimachinery::selector::Selector;
use serde_json::Value;

use crate::params::compile;
use crate::surroundings::Surroundings;

/// Rules and selectors that select writes.
#[derive(Clone, Debug)]
pub struct Constraints {
    rules: Vec<NamedRule>,
    excluded: Vec<NamedRule>,
    exact: bool,
    namespaces: Result<Selector, String>,
    objects: Result<Selector, String>,
}

#[derive(Clone, Debug)]
struct NamedRule {
    rule: Rule,
    /// Names of the matching objects; an empty list matches every name.
    names: Vec<String>,
}

impl NamedRule {
    fn all(value: &Value) -> Vec<Self> {
        let rules = value.as_array().into_iter().flatten();
        rules
            .map(|rule| {
                let names = rule["resourceNames"].as_array().into_iter().flatten();
                Self {
                    rule: Rule::of(rule),
                    names: names
                        .filter_map(|name| name.as_str().map(str::to_owned))
                        .collect(),
                }
            })
            .collect()
    }

    fn covers(&self, request: &Request<'_>, version: &str) -> bool {
        self.rule.covers(request, version)
            && (self.names.is_empty() || self.names.iter().any(|name| name == request.name))
    }
}

/// Version of the resource that one of `rules` covers: the client's version if possible, otherwise, unless
/// `exact`, another served version. `None` when no rule covers the write.
fn covered_version<'a>(rules: &[NamedRule], exact: bool, write: &VersionedWrite<'a>) -> Option<&'a str> {
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

impl Constraints {
    /// Reads the constraints from their field.
    #[must_use]
    pub fn of(value: &Value) -> Self {
        Self {
            rules: NamedRule::all(&value["resourceRules"]),
            excluded: NamedRule::all(&value["excludeResourceRules"]),
            exact: value["matchPolicy"] == "Exact",
            namespaces: compile(&value["namespaceSelector"], "namespaceSelector"),
            objects: compile(&value["objectSelector"], "objectSelector"),
        }
    }

    /// Whether the rules match the write, regardless of the selectors. Without `resourceRules`, every
    /// write that is not excluded matches.
    #[must_use]
    pub fn may_concern(&self, write: &VersionedWrite<'_>) -> bool {
        self.version(write).is_some()
    }

    /// Whether the rules match `write`, and the namespace selector may match its namespace: a missing
    /// namespace and an invalid selector count as a match.
    pub(crate) fn may_concern_in(&self, write: &VersionedWrite<'_>, surroundings: &dyn Surroundings) -> bool {
        let request = write.request;
        // The new labels of a written Namespace are not known yet.
        let is_selected = || {
            request.resource == NAMESPACES || self.selects_namespace(request, None, surroundings) != Ok(false)
        };
        self.may_concern(write) && is_selected()
    }

    fn version<'a>(&self, write: &VersionedWrite<'a>) -> Option<&'a str> {
        if covered_version(&self.excluded, self.exact, write).is_some() {
            return None;
        }
        if self.rules.is_empty() {
            return Some(write.version);
        }
        covered_version(&self.rules, self.exact, write)
    }

    /// Version of the resource in which policies judge the write of `object`; `None` when the constraints do
    /// not match the write.
    ///
    /// # Errors
    /// When a selector is invalid, or the namespace for the namespace selector does not exist, and neither
    /// the rules nor the other selector exclude the write.
    pub fn matching_version<'a>(
        &self,
        write: &VersionedWrite<'a>,
        object: Option<&Value>,
        surroundings: &dyn Surroundings,
    ) -> Result<Option<&'a str>, String> {
        let Some(version) = self.version(write) else {
            return Ok(None);
        };
        // A selector that does not match takes precedence over one that cannot be evaluated.
        let in_namespace = self.selects_namespace(write.request, object, surroundings);
        if in_namespace == Ok(false) {
            return Ok(None);
        }
        let objects = self.objects.as_ref().map_err(Clone::clone);
        let selected = objects.map(|selector| {
            selector.is_everything() || selects(selector, object) || selects(selector, write.request.old)
        });
        if selected == Ok(false) {
            return Ok(None);
        }
        in_namespace?;
        selected?;
        Ok(Some(version))
    }

    fn selects_namespace(
        &self,
        request: &Request<'_>,
        object: Option<&Value>,
        surroundings: &dyn Surroundings,
    ) -> Result<bool, String> {
        let selector = self.namespaces.as_ref().map_err(Clone::clone)?;
        if selector.is_everything() {
            return Ok(true);
        }
        let written_namespace = request.own_namespace(object);
        let namespace = request.namespace;
        // Cluster-scoped objects, except for Namespaces, match every namespace selector.
        if written_namespace.is_none() && namespace.is_empty() {
            return Ok(true);
        }
        match written_namespace {
            Some(written) => Ok(selects(selector, Some(written))),
            None => match surroundings.namespace(namespace) {
                Some(found) => Ok(selects(selector, Some(&found))),
                None => Err(format!("namespaces {namespace:?} not found")),
            },
        }
    }
}

fn selects(selector: &Selector, object: Option<&Value>) -> bool {
    object.is_some_and(|object| {
        let labels = &object["metadata"]["labels"];
        selector.matches_with(|key| labels[key].as_str())
    })
}
