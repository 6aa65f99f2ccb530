//! Domains of shoots that are derived from the default domains of seeds: `<shoot>.<project>.<default domain>`
//! (docs/systems/gardener.md, "Default domains").

use crate::fleet::seed::Row;
use crate::fleet::shoot::Requirements;

/// The domain of a shoot of `project` that is derived from `default`, a default domain of a seed.
pub(crate) fn derived(requirements: &Requirements, project: &str, default: &str) -> String {
    format!("{}.{project}.{default}", requirements.name)
}

/// The first default domain of the seed in `row` that is a parent domain of the shoot's own domain.
pub(crate) fn default_of<'a>(row: &'a Row, requirements: &Requirements) -> Option<&'a str> {
    let own = requirements.domain.as_deref()?;
    let is_parent = |default: &&String| {
        own.strip_suffix(default.as_str())
            .is_some_and(|rest| rest.ends_with('.'))
    };
    row.facts.domains.iter().find(is_parent).map(String::as_str)
}

/// Whether the shoot's own domain is derived from a default domain of the seed in `row`.
pub(crate) fn is_derived(row: &Row, requirements: &Requirements, project: &str) -> bool {
    let own = requirements.domain.as_deref();
    let mut defaults = row.facts.domains.iter();
    defaults.any(|default| own == Some(&derived(requirements, project, default)))
}
