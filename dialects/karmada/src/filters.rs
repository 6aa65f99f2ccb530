//! The filters. Each judges every cluster, so that every refusal is known. Karmada reports the first
//! one only.

use berth_scheduling::{Filter, Ix, Verdict};

use crate::affinity::Miss;
use crate::code::{Code, Plugin};
use crate::kind::cluster::Taint;
use crate::kind::placement::Toleration;
use crate::question::Try;

/// The effects that keep templates away.
const EFFECTS: [&str; 2] = ["NoSchedule", "NoExecute"];

impl Filter<Try<'_>> for Plugin {
    fn plugin(&self) -> u16 {
        self.number()
    }

    fn check(&self, asked: &Try<'_>, candidate: Ix) -> Verdict {
        match self {
            Self::ClusterDeletion => Code::Deleting.unless(!asked.question.cluster(candidate).is_leaving()),
            Self::ApiEnablement => api(asked, candidate),
            Self::TaintToleration => taints(asked, candidate),
            Self::ClusterAffinity => affinity(asked, candidate),
            Self::SpreadConstraint => fields(asked, candidate),
            Self::ClusterEviction => Code::Evicting.unless(!asked.question.is_evicting(candidate)),
            Self::WorkloadAffinity => together(asked, candidate),
            Self::WorkloadAntiAffinity => apart(asked, candidate),
        }
    }
}

fn api(asked: &Try<'_>, candidate: Ix) -> Verdict {
    let question = asked.question;
    let (cluster, template) = (question.cluster(candidate), &question.record.spec.resource);
    let serves = cluster.serves(&template.api_version, &template.kind);
    match serves || question.is_listed(candidate) {
        true => Verdict::Pass,
        false if cluster.lists_apis() => Code::NotServed.refuse(),
        false => Code::NoApis.refuse(),
    }
}

fn taints(asked: &Try<'_>, candidate: Ix) -> Verdict {
    let question = asked.question;
    if question.is_listed(candidate) {
        return Verdict::Pass;
    }
    let tolerations = &question.policy.raw.cluster_tolerations;
    let found = untolerated(&question.cluster(candidate).taints, tolerations).next();
    found.map_or(Verdict::Pass, |(place, _)| {
        Verdict::Reject(Code::Untolerated.with(u32::try_from(place).unwrap_or(u32::MAX)))
    })
}

/// The taints that refuse templates and that none of `tolerations` tolerates, with their places.
pub(crate) fn untolerated<'a>(
    taints: &'a [Taint],
    tolerations: &'a [Toleration],
) -> impl Iterator<Item = (usize, &'a Taint)> {
    let all = taints.iter().enumerate();
    all.filter(|(_, taint)| EFFECTS.contains(&taint.effect.as_str()))
        .filter(move |(_, taint)| !tolerations.iter().any(|toleration| tolerates(toleration, taint)))
}

/// Whether `toleration` tolerates `taint`; its time does not count.
fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let effect = toleration.effect.is_empty() || toleration.effect == taint.effect;
    let key = toleration.key.is_empty() || toleration.key == taint.key;
    let value = match toleration.operator.as_str() {
        "" | "Equal" => toleration.value == taint.value,
        "Exists" => true,
        _ => false,
    };
    effect && key && value
}

fn affinity(asked: &Try<'_>, candidate: Ix) -> Verdict {
    match asked.miss(candidate) {
        None => Verdict::Pass,
        Some(Miss::Excluded) => Code::Excluded.refuse(),
        Some(Miss::Labels) => Code::Labels.refuse(),
        Some(Miss::Field(index)) => Verdict::Reject(Code::Field.with(index)),
        Some(Miss::Names) => Code::Names.refuse(),
    }
}

fn fields(asked: &Try<'_>, candidate: Ix) -> Verdict {
    let question = asked.question;
    let cluster = question.cluster(candidate);
    let constraints = &question.policy.raw.spread_constraints;
    let spreads_by = |field: &str| {
        constraints
            .iter()
            .any(|constraint| constraint.spread_by_field == field)
    };
    let missing = [
        ("provider", cluster.provider.is_empty(), Code::NoProvider),
        ("region", cluster.region.is_empty(), Code::NoRegion),
        ("zone", cluster.zones.is_empty(), Code::NoZone),
    ];
    let mut missing = missing.into_iter();
    let found = missing.find(|(field, is_missing, _)| *is_missing && spreads_by(field));
    found.map_or(Verdict::Pass, |(.., code)| code.refuse())
}

fn together(asked: &Try<'_>, candidate: Ix) -> Verdict {
    let question = asked.question;
    let name = &question.cluster(candidate).name;
    let mut placed = question
        .around
        .together
        .iter()
        .filter(|clusters| !clusters.is_empty());
    let all_here = placed.all(|clusters| clusters.contains(name));
    Code::Apart.unless(all_here || question.is_listed(candidate))
}

fn apart(asked: &Try<'_>, candidate: Ix) -> Verdict {
    let question = asked.question;
    let name = &question.cluster(candidate).name;
    let any_here = question
        .around
        .apart
        .iter()
        .any(|clusters| clusters.contains(name));
    Code::Together.unless(!any_here || question.is_listed(candidate))
}
