//! Whether a decision would leave a binding unchanged, so that its present clusters are the scheduler's
//! choice.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::choice;
use crate::cluster::Cluster;
use crate::config::Settings;
use crate::failure::Failure;
use crate::ignored::Ignored;
use crate::question::{Around, Question};
use crate::record::Record;
use crate::trigger::Trigger;

/// Whether deciding `record` over `clusters` would leave its clusters unchanged.
pub(crate) fn is_settled(
    clusters: &[Arc<Cluster>],
    around: &Around,
    record: &Record,
    settings: &Settings,
) -> bool {
    let (Some(policy), None) = (&record.policy, Ignored::of(record, settings)) else {
        return true;
    };
    if record.is_leaving() || Trigger::of(record, &policy.raw, clusters) == Trigger::Nothing {
        return true;
    }
    let question = Question::new(clusters, record, policy, around);
    match choice::choose(&question, settings.choice()).run.outcome {
        Ok(shares) => {
            let shares = shares.iter();
            let wanted: BTreeMap<&str, i64> = shares
                .map(|(candidate, share)| (&*question.cluster(*candidate).name, *share))
                .collect();
            let targets = record.spec.clusters.iter();
            wanted
                == targets
                    .map(|target| (target.name.as_str(), i64::from(target.replicas)))
                    .collect()
        }
        Err(Failure::NoClusterFit) => record.spec.clusters.is_empty(),
        Err(_) => true,
    }
}
