//! The filters. Each judges every cluster, so that every refusal is known. Karmada reports only the first
//! refusal.

use berth_dialect_columns::Bits;
use berth_scheduling::{Filter, Ix, Reason, Refusals, Verdict};

use crate::affinity::Miss;
use crate::cluster::{Apis, PROVIDER, REGION, ZONE};
use crate::code::{Code, Plugin};
use crate::kind::cluster::Taint;
use crate::kind::placement::Toleration;
use crate::question::{Question, Try};

/// The taint effects that keep templates away.
const EFFECTS: [&str; 2] = ["NoSchedule", "NoExecute"];

/// Fields by which spread constraints may spread, each with the refusal of clusters without it.
const FIELDS: [(&str, Code); 3] = [
    (PROVIDER, Code::NoProvider),
    (REGION, Code::NoRegion),
    (ZONE, Code::NoZone),
];

impl Filter<Try<'_>> for Plugin {
    fn plugin(&self) -> u16 {
        self.number()
    }

    fn check(&self, attempt: &Try<'_>, candidate: Ix) -> Verdict {
        let question = attempt.question;
        let cluster = question.cluster(candidate);
        let is_listed = question.is_listed(candidate);
        let refusal = match self {
            Self::ClusterDeletion => return Code::Deleting.unless(!cluster.is_leaving()),
            Self::ApiEnablement => api(question, &cluster.apis).filter(|_| !is_listed),
            Self::TaintToleration => taint(question, &cluster.taints).filter(|_| !is_listed),
            Self::ClusterAffinity => attempt.miss(candidate).map(affinity),
            Self::SpreadConstraint => constraint_fields(question)
                .find(|(field, _)| !cluster.fields.contains_key(field))
                .map(|(_, code)| code.with(0)),
            Self::ClusterEviction => return Code::Evicting.unless(!question.is_evicting(candidate)),
            Self::WorkloadAffinity => together(question, candidate),
            Self::WorkloadAntiAffinity => apart(question, candidate),
        };
        refusal.map_or(Verdict::Pass, Verdict::Reject)
    }

    fn refuse(&self, attempt: &Try<'_>, count: Ix) -> Refusals<'_> {
        let question = attempt.question;
        let columns = question.columns;
        let refused: Vec<(Ix, Reason)> = match self {
            Self::ClusterDeletion => all(&columns.leaving, Code::Deleting),
            Self::ApiEnablement => without_listed(question, columns.apis.each(|apis| api(question, apis))),
            Self::TaintToleration => {
                without_listed(question, columns.taints.each(|taints| taint(question, taints)))
            }
            Self::ClusterAffinity => {
                let parts = attempt.parts().into_iter();
                let parts: Vec<(Bits, Reason)> =
                    parts.map(|(miss, passing)| (passing, affinity(miss))).collect();
                first(&attempt.matching(), &parts, count)
            }
            Self::SpreadConstraint => {
                let parts = constraint_fields(question);
                let parts: Vec<(Bits, Reason)> = parts
                    .map(|(field, code)| (columns.with_field(field, None), code.with(0)))
                    .collect();
                let mut passing = Bits::all(count);
                parts.iter().for_each(|(part, _)| passing.intersect(part));
                first(&passing, &parts, count)
            }
            Self::ClusterEviction => all(&columns.named(question.evicting.iter().copied()), Code::Evicting),
            Self::WorkloadAffinity if question.around.together.is_empty() => Vec::new(),
            Self::WorkloadAffinity => each(count, |candidate| together(question, candidate)),
            Self::WorkloadAntiAffinity if question.around.apart.is_empty() => Vec::new(),
            Self::WorkloadAntiAffinity => each(count, |candidate| apart(question, candidate)),
        };
        Refusals::These(refused)
    }
}

/// Refuses all of `clusters` with `code`.
fn all(clusters: &Bits, code: Code) -> Vec<(Ix, Reason)> {
    clusters
        .iter()
        .map(|candidate| (candidate, code.with(0)))
        .collect()
}

/// The `refused` clusters, except clusters that have the template already.
fn without_listed(question: &Question<'_>, mut refused: Vec<(Ix, Reason)>) -> Vec<(Ix, Reason)> {
    refused.retain(|(candidate, _)| !question.is_listed(*candidate));
    refused
}

/// Refuses every candidate among `count` that is not `passing`, for the reason of the first part that it
/// does not pass.
fn first(passing: &Bits, parts: &[(Bits, Reason)], count: Ix) -> Vec<(Ix, Reason)> {
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

/// Refuses the candidates among `count` for which `judge` returns a reason.
fn each(count: Ix, judge: impl Fn(Ix) -> Option<Reason>) -> Vec<(Ix, Reason)> {
    (0..count)
        .filter_map(|candidate| Some((candidate, judge(candidate)?)))
        .collect()
}

/// Reason why a cluster that serves `apis` cannot have the template.
fn api(question: &Question<'_>, apis: &Apis) -> Option<Reason> {
    let template = &question.record.spec.resource;
    match apis.serve(&template.api_version, &template.kind) {
        true => None,
        false if apis.is_empty() => Some(Code::NoApis.with(0)),
        false => Some(Code::NotServed.with(0)),
    }
}

/// The refusal for the first of `taints` that the placement does not tolerate.
fn taint(question: &Question<'_>, taints: &[Taint]) -> Option<Reason> {
    let tolerations = &question.policy.raw.cluster_tolerations;
    let (place, _) = untolerated(taints, tolerations).next()?;
    Some(Code::Untolerated.with(u32::try_from(place).unwrap_or(u32::MAX)))
}

/// The taints with a refusing effect that none of `tolerations` tolerates, with their indices.
pub(crate) fn untolerated<'a>(
    taints: &'a [Taint],
    tolerations: &'a [Toleration],
) -> impl Iterator<Item = (usize, &'a Taint)> {
    let all = taints.iter().enumerate();
    all.filter(|(_, taint)| EFFECTS.contains(&taint.effect.as_str()))
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

fn affinity(miss: Miss) -> Reason {
    match miss {
        Miss::Excluded => Code::Excluded.with(0),
        Miss::Labels => Code::Labels.with(0),
        Miss::Field(index) => Code::Field.with(index),
        Miss::Names => Code::Names.with(0),
    }
}

/// The fields by which the placement spreads, each with the refusal of clusters without it.
fn constraint_fields(question: &Question<'_>) -> impl Iterator<Item = (&'static str, Code)> {
    let constraints = &question.policy.raw.spread_constraints;
    FIELDS.into_iter().filter(|(field, _)| {
        let mut all = constraints.iter();
        all.any(|constraint| constraint.spread_by_field == *field)
    })
}

fn together(question: &Question<'_>, candidate: Ix) -> Option<Reason> {
    let name = &question.cluster(candidate).name;
    let placed = question.around.together.iter();
    let mut placed = placed.filter(|clusters| !clusters.is_empty());
    let passes = placed.all(|clusters| clusters.contains(name)) || question.is_listed(candidate);
    (!passes).then(|| Code::Apart.with(0))
}

fn apart(question: &Question<'_>, candidate: Ix) -> Option<Reason> {
    let name = &question.cluster(candidate).name;
    let mut placed = question.around.apart.iter();
    let passes = !placed.any(|clusters| clusters.contains(name)) || question.is_listed(candidate);
    (!passes).then(|| Code::Together.with(0))
}

#[cfg(test)]
mod tests;
