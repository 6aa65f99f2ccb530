//! Comparison of rules: whether the held rules allow everything that other rules allow.
//!
//! A rule is a product: every verb on every resource of every group, with every name. The parts of this
//! product are compared one by one, and never stored together: a rule of a few kilobytes can have millions of
//! parts.

use std::collections::{HashMap, HashSet};

use berth_apimachinery::budget::{Budget, BudgetExceeded};

use crate::core::rbac::PolicyRule;

#[cfg(test)]
mod tests;

/// Highest number of parts of one rule that are compared, unless a single held rule covers all of them.
const MAX_PARTS: usize = 10_000;

/// Highest number of steps of one comparison: a step compares a rule with a part, or reads a word of a rule.
const MAX_STEPS: u64 = 5_000_000;

/// Rules that are not covered.
#[derive(Debug, Default)]
pub(crate) struct UncoveredRules {
    /// The first missing parts, as rules with one verb, one group, one resource and at most one name, or with
    /// one verb and one path.
    pub(crate) rules: Vec<PolicyRule>,
    /// Whether further parts are missing.
    pub(crate) more: bool,
}

/// Returns the parts of `wanted` that `held` does not cover, at most `limit` of them.
///
/// # Errors
/// A message when a rule of `wanted` has too many parts, or the comparison needs too many steps.
pub(crate) fn uncovered<'a>(
    held: impl Iterator<Item = &'a PolicyRule>,
    wanted: &[PolicyRule],
    limit: usize,
) -> Result<UncoveredRules, String> {
    let mut budget = budget();
    search(held, wanted, limit, &mut budget)
}

fn budget() -> Budget {
    Budget::new("comparing the rules with those held", MAX_STEPS, 0)
}

fn search<'a>(
    held: impl Iterator<Item = &'a PolicyRule>,
    wanted: &[PolicyRule],
    limit: usize,
    budget: &mut Budget,
) -> Result<UncoveredRules, String> {
    let to_message = |exceeded: BudgetExceeded| exceeded.to_string();
    let held = RulesByVerb::of(held, budget).map_err(to_message)?;
    let mut missing = UncoveredRules::default();
    for rule in wanted {
        let product = Product::of(rule);
        if held.covers_product(&product, budget).map_err(to_message)? {
            continue;
        }
        if product.part_count() > MAX_PARTS {
            return Err(format!(
                "a rule has {} combinations of verb, API group, resource and name, more than {MAX_PARTS}: split it \
                 into several rules, or use '*'",
                product.part_count()
            ));
        }
        for part in product.iter_parts() {
            if held.covers_part(&part, budget).map_err(to_message)? {
                continue;
            }
            if missing.rules.len() == limit {
                missing.more = true;
                return Ok(missing);
            }
            missing.rules.push(part.as_rule());
        }
    }
    Ok(missing)
}

/// A rule in which each word occurs once.
struct Product<'a> {
    verbs: Vec<&'a str>,
    groups: Vec<&'a str>,
    resources: Vec<&'a str>,
    /// Names of objects; an empty list means any name.
    names: Vec<&'a str>,
    urls: Vec<&'a str>,
}

/// A part of a rule: one verb on one resource or path.
#[derive(Clone, Copy)]
struct Part<'a> {
    verb: &'a str,
    accessed: ResourceOrUrl<'a>,
}

/// Resource or path to which a part of a rule gives access.
#[derive(Clone, Copy)]
enum ResourceOrUrl<'a> {
    Url(&'a str),
    Resource {
        group: &'a str,
        resource: &'a str,
        name: Option<&'a str>,
    },
}

impl<'a> Product<'a> {
    fn of(rule: &'a PolicyRule) -> Self {
        Self {
            verbs: unique(&rule.verbs),
            groups: unique(&rule.api_groups),
            resources: unique(&rule.resources),
            names: unique(&rule.resource_names),
            urls: unique(&rule.non_resource_urls),
        }
    }

    fn part_count(&self) -> usize {
        let resource_parts = self.groups.len().saturating_mul(self.resources.len());
        let resource_parts = resource_parts.saturating_mul(self.names.len().max(1));
        self.verbs
            .len()
            .saturating_mul(self.urls.len().saturating_add(resource_parts))
    }

    fn word_count(&self) -> usize {
        self.verbs.len() + self.groups.len() + self.resources.len() + self.names.len() + self.urls.len()
    }

    fn iter_parts(&self) -> impl Iterator<Item = Part<'a>> + '_ {
        let names = || {
            let any = self.names.is_empty().then_some(None);
            any.into_iter().chain(self.names.iter().copied().map(Some))
        };
        let resources = move || {
            self.groups.iter().flat_map(move |&group| {
                self.resources.iter().flat_map(move |&resource| {
                    names().map(move |name| ResourceOrUrl::Resource {
                        group,
                        resource,
                        name,
                    })
                })
            })
        };
        self.verbs.iter().flat_map(move |&verb| {
            let urls = self.urls.iter().map(|url| ResourceOrUrl::Url(url));
            urls.chain(resources())
                .map(move |accessed| Part { verb, accessed })
        })
    }
}

impl Part<'_> {
    fn as_rule(&self) -> PolicyRule {
        let one = |text: &str| vec![text.to_owned()];
        let verbs = one(self.verb);
        match self.accessed {
            ResourceOrUrl::Url(url) => PolicyRule {
                verbs,
                non_resource_urls: one(url),
                ..PolicyRule::default()
            },
            ResourceOrUrl::Resource {
                group,
                resource,
                name,
            } => PolicyRule {
                verbs,
                api_groups: one(group),
                resources: one(resource),
                resource_names: name.map(one).unwrap_or_default(),
                ..PolicyRule::default()
            },
        }
    }
}

fn unique(list: &[String]) -> Vec<&str> {
    let mut texts = HashSet::new();
    list.iter()
        .map(String::as_str)
        .filter(|text| texts.insert(*text))
        .collect()
}

/// Held rules, indexed by verb.
#[derive(Default)]
struct RulesByVerb<'a> {
    rules: Vec<HeldRule<'a>>,
    by_verb: HashMap<&'a str, Vec<usize>>,
}

/// A held rule, as sets of words for fast lookups.
struct HeldRule<'a> {
    verbs: HashSet<&'a str>,
    groups: HashSet<&'a str>,
    resources: HashSet<&'a str>,
    names: HashSet<&'a str>,
    urls: Vec<&'a str>,
}

impl<'a> RulesByVerb<'a> {
    fn of(rules: impl Iterator<Item = &'a PolicyRule>, budget: &mut Budget) -> Result<Self, BudgetExceeded> {
        let mut index = Self::default();
        for rule in rules {
            let held = HeldRule::of(rule);
            budget.spend(1 + held.verbs.len() + held.groups.len() + held.resources.len())?;
            budget.spend(held.names.len() + held.urls.len())?;
            for verb in &held.verbs {
                index.by_verb.entry(verb).or_default().push(index.rules.len());
            }
            index.rules.push(held);
        }
        Ok(index)
    }

    fn with_verb(&self, verb: &str) -> impl Iterator<Item = &HeldRule<'a>> {
        let every = (verb != "*").then(|| self.by_verb.get("*")).flatten();
        let places = self.by_verb.get(verb).into_iter().chain(every).flatten();
        places.map(|place| &self.rules[*place])
    }

    /// Whether one rule allows `part`.
    fn covers_part(&self, part: &Part<'_>, budget: &mut Budget) -> Result<bool, BudgetExceeded> {
        for held in self.with_verb(part.verb) {
            budget.spend(
                1 + if matches!(part.accessed, ResourceOrUrl::Url(_)) {
                    held.urls.len()
                } else {
                    0
                },
            )?;
            if held.allow(part.accessed) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether one rule allows all of `product`.
    fn covers_product(&self, product: &Product<'_>, budget: &mut Budget) -> Result<bool, BudgetExceeded> {
        let Some(first) = product.verbs.first() else {
            return Ok(true);
        };
        for held in self.with_verb(first) {
            budget.spend(1 + product.urls.len() * held.urls.len())?;
            if !held.allow_verbs(product) {
                continue;
            }
            budget.spend(product.word_count())?;
            if held.allow_all(product) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl<'a> HeldRule<'a> {
    fn of(rule: &'a PolicyRule) -> Self {
        let set = |list: &'a [String]| list.iter().map(String::as_str).collect();
        Self {
            verbs: set(&rule.verbs),
            groups: set(&rule.api_groups),
            resources: set(&rule.resources),
            names: set(&rule.resource_names),
            urls: unique(&rule.non_resource_urls),
        }
    }

    fn allow(&self, accessed: ResourceOrUrl<'_>) -> bool {
        match accessed {
            // A rule that is limited to names allows no path.
            ResourceOrUrl::Url(url) => self.names.is_empty() && self.allow_url(url),
            ResourceOrUrl::Resource {
                group,
                resource,
                name,
            } => {
                self.allow_group(group)
                    && self.allow_resource(resource)
                    && (self.names.is_empty() || name.is_some_and(|name| self.names.contains(name)))
            }
        }
    }

    fn allow_verbs(&self, product: &Product<'_>) -> bool {
        self.verbs.contains("*") || product.verbs.iter().all(|verb| self.verbs.contains(verb))
    }

    fn allow_all(&self, product: &Product<'_>) -> bool {
        let covers_names = self.names.is_empty()
            || (!product.names.is_empty() && product.names.iter().all(|name| self.names.contains(name)));
        covers_names
            && product.groups.iter().all(|group| self.allow_group(group))
            && product
                .resources
                .iter()
                .all(|resource| self.allow_resource(resource))
            && product.urls.iter().all(|url| self.allow_url(url))
    }

    fn allow_group(&self, group: &str) -> bool {
        self.groups.contains("*") || self.groups.contains(group)
    }

    /// Whether the resources of the rule cover `wanted`: `*/scale` covers `deployments/scale`.
    fn allow_resource(&self, wanted: &str) -> bool {
        let subresource = || {
            let (_, sub) = wanted.split_once('/')?;
            self.resources.get(format!("*/{sub}").as_str())
        };
        self.resources.contains("*") || self.resources.contains(wanted) || subresource().is_some()
    }

    fn allow_url(&self, url: &str) -> bool {
        self.urls.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(prefix) => url.starts_with(prefix),
            None => *pattern == url,
        })
    }
}
