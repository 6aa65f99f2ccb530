//! The filters. Each judges every cluster, so that every refusal is known. Karmada reports only the first
//! refusal.

use berth_dialect_columns::Bits;
use berth_scheduling::{Filter, Ix, Reason, Refusals, Verdict};

use crate::affinity::Mismatch;
use crate::cluster::{Apis, PROVIDER, REGION, ZONE};
use crate::code::{Code, Plugin};
use crate::kind::cluster::Taint;
use crate::kind::placement::Toleration;
use crate::question::{GroupQuestion, Question};

/// The taint effects that refuse templates.
const REFUSING_EFFECTS: [&str; 2] = ["NoSchedule", "NoExecute"];

/// The fields by which spread constraints may spread, each with the code that refuses clusters without the
/// field.
const FIELDS: [(&str, Code); 3] = [
    (PROVIDER, Code::NoProvider),
    (REGION, Code::NoRegion),
    (ZONE, Code::NoZone),
];

impl Filter<GroupQuestion<'_>> for Plugin {
    fn plugin(&self) -> u16 {
        self.number()
    }

    fn check(&self, group_question: &GroupQuestion<'_>, candidate: Ix) -> Verdict {
        let question = group_question.question;
        let cluster = question.cluster(candidate);
        let is_listed = question.is_listed(candidate);
        let refusal = match self {
            Self::ClusterDeletion => return Code::Deleting.unless(!cluster.is_deleting()),
            Self::ApiEnablement => api(question, &cluster.apis).filter(|_| !is_listed),
            Self::TaintToleration => taint(question, &cluster.taints).filter(|_| !is_listed),
            Self::ClusterAffinity => group_question.mismatch(candidate).map(mismatch_reason),
            Self::SpreadConstraint => constraint_fields(question)
                .find(|(field, _)| !cluster.fields.contains_key(field))
                .map(|(_, code)| code.with(0)),
            Self::ClusterEviction => return Code::Evicting.unless(!question.is_evicting(candidate)),
            Self::WorkloadAffinity => workload_affinity(question, candidate),
            Self::WorkloadAntiAffinity => workload_anti_affinity(question, candidate),
        };
        refusal.map_or(Verdict::Pass, Verdict::Reject)
    }

    fn refuse(&self, group_question: &GroupQuestion<'_>, count: Ix) -> Refusals<'_> {
        let question = group_question.question;
        let columns = question.columns;
        let refused: Vec<(Ix, Reason)> = match self {
            Self::ClusterDeletion => refuse_all(&columns.deleting, Code::Deleting),
            Self::ApiEnablement => without_listed(
                question,
                columns.apis.judge_candidates(|apis| api(question, apis)),
            ),
            Self::TaintToleration => without_listed(
                question,
                columns.taints.judge_candidates(|taints| taint(question, taints)),
            ),
            Self::ClusterAffinity => {
                let parts = group_question.parts().into_iter();
                let parts: Vec<(Bits, Reason)> = parts
                    .map(|(mismatch, passing)| (passing, mismatch_reason(mismatch)))
                    .collect();
                refuse_by_first_part(&group_question.matching(), &parts, count)
            }
            Self::SpreadConstraint => {
                let parts = constraint_fields(question);
                let parts: Vec<(Bits, Reason)> = parts
                    .map(|(field, code)| (columns.with_field(field, None), code.with(0)))
                    .collect();
                let mut passing = Bits::all(count);
                parts.iter().for_each(|(part, _)| passing.intersect(part));
                refuse_by_first_part(&passing, &parts, count)
            }
            Self::ClusterEviction => {
                refuse_all(&columns.named(question.evicting.iter().copied()), Code::Evicting)
            }
            Self::WorkloadAffinity if question.neighbors.affinity_peers.is_empty() => Vec::new(),
            Self::WorkloadAffinity => refuse_each(count, |candidate| workload_affinity(question, candidate)),
            Self::WorkloadAntiAffinity if question.neighbors.anti_affinity_peers.is_empty() => Vec::new(),
            Self::WorkloadAntiAffinity => {
                refuse_each(count, |candidate| workload_anti_affinity(question, candidate))
            }
        };
        Refusals::List(refused)
    }
}

/// Refuses all of `clusters` with `code`.
fn refuse_all(clusters: &Bits, code: Code) -> Vec<(Ix, Reason)> {
    clusters
        .iter()
        .map(|candidate| (candidate, code.with(0)))
        .collect()
}

/// The `refused` clusters, except clusters that the binding lists already.
fn without_listed(question: &Question<'_>, mut refused: Vec<(Ix, Reason)>) -> Vec<(Ix, Reason)> {
    refused.retain(|(candidate, _)| !question.is_listed(*candidate));
    refused
}

/// Refuses every candidate below `count` that is not `passing`, with the reason of the first part that the
/// candidate does not pass.
fn refuse_by_first_part(passing: &Bits, parts: &[(Bits, Reason)], count: Ix) -> Vec<(Ix, Reason)> {
    let mut refused = Bits::all(count);
    refused.subtract(passing);
    let reason = |candidate| {
        let mut parts = parts.iter();
        parts.find(|(part, _)| !part.has(candidate))
    };
    refused
        .iter()
        .filter_map(|candidate| Some((candidate, reason(candidate)?.1)))
        .collect()
}

/// Refuses every candidate below `count` for which `judge` returns a reason.
fn refuse_each(count: Ix, judge: impl Fn(Ix) -> Option<Reason>) -> Vec<(Ix, Reason)> {
    (0..count)
        .filter_map(|candidate| Some((candidate, judge(candidate)?)))
        .collect()
}

/// Reason why a cluster that serves `apis` cannot get the template; `None` if it can.
fn api(question: &Question<'_>, apis: &Apis) -> Option<Reason> {
    let template = &question.record.spec.resource;
    match apis.include(&template.api_version, &template.kind) {
        true => None,
        false if apis.is_empty() => Some(Code::NoApis.with(0)),
        false => Some(Code::NotServed.with(0)),
    }
}

/// The refusal for the first of `taints` that the placement does not tolerate; `None` if all are tolerated.
fn taint(question: &Question<'_>, taints: &[Taint]) -> Option<Reason> {
    let tolerations = &question.placement.raw.cluster_tolerations;
    let (place, _) = untolerated(taints, tolerations).next()?;
    Some(Code::Untolerated.with(u32::try_from(place).unwrap_or(u32::MAX)))
}

/// The taints with a refusing effect that none of `tolerations` tolerates, with their indices.
pub(crate) fn untolerated<'a>(
    taints: &'a [Taint],
    tolerations: &'a [Toleration],
) -> impl Iterator<Item = (usize, &'a Taint)> {
    let all = taints.iter().enumerate();
    all.filter(|(_, taint)| REFUSING_EFFECTS.contains(&taint.effect.as_str()))
        .filter(move |(_, taint)| !tolerations.iter().any(|toleration| tolerates(toleration, taint)))
}

/// Whether `toleration` tolerates `taint`, regardless of `tolerationSeconds`.
fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let matches_effect = toleration.effect.is_empty() || toleration.effect == taint.effect;
    let matches_key = toleration.key.is_empty() || toleration.key == taint.key;
    let matches_value = match toleration.operator.as_str() {
        "" | "Equal" => toleration.value == taint.value,
        "Exists" => true,
        _ => false,
    };
    matches_effect && matches_key && matches_value
}

fn mismatch_reason(mismatch: Mismatch) -> Reason {
    match mismatch {
        Mismatch::Excluded => Code::Excluded.with(0),
        Mismatch::Labels => Code::Labels.with(0),
        Mismatch::Field(index) => Code::Field.with(index),
        Mismatch::Names => Code::Names.with(0),
    }
}

/// The fields by which the placement spreads, each with the code that refuses clusters without the field.
fn constraint_fields(question: &Question<'_>) -> impl Iterator<Item = (&'static str, Code)> {
    let constraints = &question.placement.raw.spread_constraints;
    FIELDS.into_iter().filter(|(field, _)| {
        let mut all = constraints.iter();
        all.any(|constraint| constraint.spread_by_field == *field)
    })
}

/// The refusal of a cluster on which a placed workload of the affinity group is missing. A cluster that the
/// binding lists already passes.
fn workload_affinity(question: &Question<'_>, candidate: Ix) -> Option<Reason> {
    let name = &question.cluster(candidate).name;
    let placed = question.neighbors.affinity_peers.iter();
    let mut placed = placed.filter(|clusters| !clusters.is_empty());
    let passes = placed.all(|clusters| clusters.contains(name)) || question.is_listed(candidate);
    (!passes).then(|| Code::GroupElsewhere.with(0))
}

/// The refusal of a cluster with a workload of the anti-affinity group. A cluster that the binding lists
/// already passes.
fn workload_anti_affinity(question: &Question<'_>, candidate: Ix) -> Option<Reason> {
    let name = &question.cluster(candidate).name;
    let mut placed = question.neighbors.anti_affinity_peers.iter();
    let passes = !placed.any(|clusters| clusters.contains(name)) || question.is_listed(candidate);
    (!passes).then(|| Code::GroupHere.with(0))
}

#[cfg(test)]
mod tests;
