//! Values that a policy compares although they are not quantities. A placement with such a policy is not
//! decided; other placements are (docs/systems/fleet.md, "Differences from upstream").

use berth_scheduling::Ix;

use super::classify::Classes;
use crate::columns::Columns;
use crate::filters::passing;
use crate::policy::{Mode, Policy};

/// The first value that `policy` cannot compare, in words. No value is considered if the policy requests no
/// further cluster.
pub(super) fn problem(policy: &Policy, columns: &Columns, classes: &Classes<'_>) -> Option<String> {
    let needs_more = match policy.mode {
        Mode::All => true,
        Mode::Number(wanted) => classes.present.len() < wanted,
        Mode::Fixed(_) => false,
    };
    if !needs_more || !policy.properties().any(|name| columns.has_unreadable(name)) {
        return None;
    }
    let problem = |name: &str, (candidate, value): (Ix, &str)| {
        let cluster = &columns.row(candidate).name;
        format!("the property {name} of the cluster \"{cluster}\" is not a quantity: \"{value}\"")
    };
    for term in &policy.required {
        let mut matching = columns.labels.select(&term.labels, columns.count());
        for test in &term.properties {
            let mut values = columns.unreadable(&test.name);
            if let Some(entry) = values.find(|(candidate, _)| matching.has(*candidate)) {
                return Some(problem(&test.name, entry));
            }
            matching.intersect(&passing(test, columns));
        }
    }
    // The range of a sorter includes all clusters.
    let sorters = policy.preferred.iter().filter_map(|term| term.sorter.as_ref());
    sorters
        .filter_map(|sorter| {
            let entry = columns.unreadable(&sorter.name).next()?;
            Some(problem(&sorter.name, entry))
        })
        .next()
}
