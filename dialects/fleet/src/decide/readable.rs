//! Check of the property values that a policy compares: a value that is not a quantity cannot be compared,
//! and the placement is not decided. Other placements are decided (docs/systems/fleet.md, "Differences from
//! upstream").

use berth_scheduling::Ix;

use super::classify::Classes;
use crate::columns::Columns;
use crate::filters::passing;
use crate::policy::{Mode, Policy};

/// A sentence about the first value that `policy` cannot compare; `None` if there is none, or if the policy
/// requests no further cluster, so that nothing is compared.
pub(super) fn problem(policy: &Policy, columns: &Columns, classes: &Classes<'_>) -> Option<String> {
    let needs_more = match policy.mode {
        Mode::All => true,
        Mode::Number(wanted) => classes.present.len() < wanted,
        Mode::Fixed(_) => false,
    };
    if !needs_more || !policy.properties().any(|name| columns.has_non_quantities(name)) {
        return None;
    }
    let problem = |name: &str, (candidate, value): (Ix, &str)| {
        let cluster = &columns.row(candidate).name;
        format!("the property {name} of the cluster \"{cluster}\" is not a quantity: \"{value}\"")
    };
    for term in &policy.required {
        let mut matching = columns.labels.select(&term.labels, columns.count());
        for test in &term.properties {
            let mut values = columns.non_quantities(&test.name);
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
            let entry = columns.non_quantities(&sorter.name).next()?;
            Some(problem(&sorter.name, entry))
        })
        .next()
}
