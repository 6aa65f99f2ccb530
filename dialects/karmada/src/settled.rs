//! Whether a decision would leave the clusters of a binding unchanged.

use std::collections::BTreeMap;

use crate::choice;
use crate::columns::Columns;
use crate::config::Settings;
use crate::failure::Failure;
use crate::ignored::IgnoreReason;
use crate::question::{Neighbors, Question};
use crate::record::Record;
use crate::trigger::Trigger;

/// Whether deciding `record` over the clusters of `columns` would leave its clusters unchanged.
pub(crate) fn is_settled(
    columns: &Columns,
    neighbors: &Neighbors,
    record: &Record,
    settings: &Settings,
) -> bool {
    let (Some(placement), None) = (&record.placement, IgnoreReason::of(record, settings)) else {
        return true;
    };
    if record.is_deleting() {
        return true;
    }
    match Trigger::of(record, &placement.raw, columns) {
        Trigger::Nothing => return true,
        // The listed clusters are not the result of a decision: with every decision, the scheduler records
        // the placement, and lists either clusters that together have all requested replicas, or no clusters.
        Trigger::PlacementChanged | Trigger::ReplicasChanged
            if record.divides() && placement.strategy.divides() && !record.spec.clusters.is_empty() =>
        {
            return false;
        }
        _ => {}
    }
    let question = Question::new(columns, record, placement, neighbors);
    match choice::choose(&question, settings.choice()).run.outcome {
        Ok(shares) => {
            let shares = shares.iter();
            let expected: BTreeMap<&str, i64> = shares
                .map(|(candidate, share)| (&*question.cluster(*candidate).name, *share))
                .collect();
            let targets = record.spec.clusters.iter();
            expected
                == targets
                    .map(|target| (target.name.as_str(), i64::from(target.replicas)))
                    .collect()
        }
        Err(Failure::NoClusterFit) => record.spec.clusters.is_empty(),
        Err(_) => true,
    }
}
