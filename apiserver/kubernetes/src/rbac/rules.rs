//! Match of a request with a single rule.

use berth_apiserver::Attributes;

use crate::core::rbac::PolicyRule;

/// Whether `rule` allows the request.
pub(crate) fn allows(rule: &PolicyRule, request: &Attributes) -> bool {
    if !matches_any(&rule.verbs, &request.verb) {
        return false;
    }
    if !request.is_resource {
        return rule
            .non_resource_urls
            .iter()
            .any(|url| url_matches(url, &request.path));
    }
    matches_any(&rule.api_groups, &request.group)
        && rule
            .resources
            .iter()
            .any(|resource| resource_matches(resource, &request.resource, &request.subresource))
        && (rule.resource_names.is_empty() || rule.resource_names.contains(&request.name))
}

/// Whether `list` contains `wanted`, or `*` for everything.
fn matches_any(list: &[String], wanted: &str) -> bool {
    list.iter().any(|entry| entry == "*" || entry == wanted)
}

fn url_matches(pattern: &str, path: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => path.starts_with(prefix),
        None => pattern == path,
    }
}

/// Whether `pattern` matches the resource. Patterns are `*`, `resource`, `resource/subresource` and
/// `*/subresource`.
fn resource_matches(pattern: &str, resource: &str, subresource: &str) -> bool {
    if pattern == "*" {
        return true;
    }
    match pattern.split_once('/') {
        None => subresource.is_empty() && pattern == resource,
        Some((parent, sub)) => {
            !subresource.is_empty() && sub == subresource && (parent == "*" || parent == resource)
        }
    }
}
