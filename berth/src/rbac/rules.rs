//! Single rules: what they allow, and whether some rules allow all that others do.

use apiserver::Attributes;

use crate::core::rbac::PolicyRule;

/// Whether `rule` allows the request.
pub(crate) fn allows(rule: &PolicyRule, request: &Attributes) -> bool {
    if !holds(&rule.verbs, &request.verb) {
        return false;
    }
    if !request.is_resource {
        return rule
            .non_resource_urls
            .iter()
            .any(|url| url_matches(url, &request.path));
    }
    holds(&rule.api_groups, &request.group)
        && rule
            .resources
            .iter()
            .any(|resource| resource_matches(resource, &request.resource, &request.subresource))
        && (rule.resource_names.is_empty() || rule.resource_names.contains(&request.name))
}

fn holds(list: &[String], wanted: &str) -> bool {
    list.iter().any(|have| have == "*" || have == wanted)
}

fn url_matches(pattern: &str, path: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => path.starts_with(prefix),
        None => pattern == path,
    }
}

/// `*`, `resource`, `resource/subresource` or `*/subresource`.
fn resource_matches(pattern: &str, resource: &str, subresource: &str) -> bool {
    if pattern == "*" {
        return true;
    }
    match pattern.split_once('/') {
        None => subresource.is_empty() && pattern == resource,
        Some((of, sub)) => !subresource.is_empty() && sub == subresource && (of == "*" || of == resource),
    }
}

/// The smallest rules of `wanted` that `held` does not cover.
pub(crate) fn uncovered(held: &[PolicyRule], wanted: &[PolicyRule]) -> Vec<PolicyRule> {
    wanted
        .iter()
        .flat_map(parts)
        .filter(|part| !held.iter().any(|rule| covers(rule, part)))
        .collect()
}

/// A rule as rules of one verb, one group, one resource and at most one name, or one verb and one path.
fn parts(rule: &PolicyRule) -> Vec<PolicyRule> {
    let mut list = Vec::new();
    for verb in &rule.verbs {
        let verbs = vec![verb.clone()];
        for url in &rule.non_resource_urls {
            let non_resource_urls = vec![url.clone()];
            list.push(PolicyRule {
                verbs: verbs.clone(),
                non_resource_urls,
                ..PolicyRule::default()
            });
        }
        for group in &rule.api_groups {
            for resource in &rule.resources {
                let part = PolicyRule {
                    verbs: verbs.clone(),
                    api_groups: vec![group.clone()],
                    resources: vec![resource.clone()],
                    ..PolicyRule::default()
                };
                if rule.resource_names.is_empty() {
                    list.push(part);
                    continue;
                }
                let named = rule.resource_names.iter();
                list.extend(named.map(|name| PolicyRule {
                    resource_names: vec![name.clone()],
                    ..part.clone()
                }));
            }
        }
    }
    list
}

/// Whether `rule` alone allows everything that `part` (one of [`parts`]) does.
fn covers(rule: &PolicyRule, part: &PolicyRule) -> bool {
    let each = |have: &[String], wanted: &[String]| wanted.iter().all(|wanted| holds(have, wanted));
    let urls = part.non_resource_urls.iter().all(|url| {
        rule.non_resource_urls
            .iter()
            .any(|have| match have.strip_suffix('*') {
                Some(prefix) => url.starts_with(prefix),
                None => have == url,
            })
    });
    let resources = part.resources.iter().all(|wanted| {
        rule.resources
            .iter()
            .any(|have| have == "*" || have == wanted || covers_subresource(have, wanted))
    });
    let names = rule.resource_names.is_empty()
        || (!part.resource_names.is_empty()
            && part
                .resource_names
                .iter()
                .all(|name| rule.resource_names.contains(name)));
    each(&rule.verbs, &part.verbs) && each(&rule.api_groups, &part.api_groups) && resources && names && urls
}

/// `*/scale` covers `deployments/scale`.
fn covers_subresource(have: &str, wanted: &str) -> bool {
    match (have.strip_prefix("*/"), wanted.split_once('/')) {
        (Some(sub), Some((_, wanted))) => sub == wanted,
        _ => false,
    }
}
