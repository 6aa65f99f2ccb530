//! Default domains of seeds: a shoot's domain below one is `<shoot>.<project>.<default domain>`
//! (docs/systems/gardener.md, "Default domains").

use crate::fleet::seed::Row;
use crate::fleet::shoot::Requirements;

/// The domain of a shoot of `project` below a seed's `default` domain.
pub(crate) fn of(wants: &Requirements, project: &str, default: &str) -> String {
    format!("{}.{project}.{default}", wants.name)
}

/// The first default domain of the seed that contains the shoot's own domain.
pub(crate) fn above<'a>(row: &'a Row, wants: &Requirements) -> Option<&'a str> {
    let own = wants.domain.as_deref()?;
    let is_below = |default: &&String| {
        own.strip_suffix(default.as_str())
            .is_some_and(|rest| rest.ends_with('.'))
    };
    row.facts.domains.iter().find(is_below).map(String::as_str)
}

/// Whether the shoot's own domain is its domain below one of the seed's default domains.
pub(crate) fn is_of(row: &Row, wants: &Requirements, project: &str) -> bool {
    let own = wants.domain.as_deref();
    let mut defaults = row.facts.domains.iter();
    defaults.any(|default| own == Some(&of(wants, project, default)))
}
