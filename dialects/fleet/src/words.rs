//! Sentences about refusals and decisions, for readers, for errors and for the status of snapshots.

use berth_apimachinery::Key;
use berth_apimachinery::selector::Selector;
use berth_dialect_contract::{Decision, Outcome, Taint, listing, report, taints};
use berth_scheduling::{Ix, Reason};

use crate::code::{self, Code};
use crate::columns::Columns;
use crate::detail::Detail;
use crate::eligibility::{IneligibilityReason, Limits};
use crate::filters::spread::{DomainCounts, EmptiestDomain};
use crate::fleet::Fleet;
use crate::policy::{Mode, Policy, Term};

/// The sentences about refusals of clusters by one policy.
pub(super) struct RefusalSentences<'a> {
    columns: &'a Columns,
    /// The namespace of the placement; empty for a cluster-scoped placement.
    namespace: &'a str,
    policy: Option<&'a Policy>,
    limits: Limits,
    skews: &'a [(Ix, DomainCounts)],
    emptiest: &'a [Option<EmptiestDomain>],
}

impl<'a> RefusalSentences<'a> {
    /// Creates the sentences about refusals by `policy`, the policy of `placement`. For `skews` and
    /// `emptiest`, see [`Detail`].
    pub(super) fn new(
        fleet: &'a Fleet,
        placement: &'a Key,
        policy: Option<&'a Policy>,
        skews: &'a [(Ix, DomainCounts)],
        emptiest: &'a [Option<EmptiestDomain>],
    ) -> Self {
        Self {
            columns: fleet.columns(),
            namespace: &placement.namespace,
            policy,
            limits: fleet.limits,
            skews,
            emptiest,
        }
    }

    /// The sentence about the refusal of `candidate` for `reason`.
    pub(super) fn refusal(&self, candidate: Ix, reason: Reason) -> String {
        match Code::of_reason(reason) {
            Code::AffinityMismatch => self.mismatch(candidate),
            Code::NotEligible | Code::NamedIneligible => self.ineligible(candidate, code::ineligible(reason)),
            Code::NamespaceMissing => format!("the cluster has no namespace {}", self.namespace),
            Code::NamespacesUnknown => "the member agent collects namespaces and reports none".to_owned(),
            Code::Untolerated => self.taint(candidate, reason.detail),
            Code::SkewExceeded => {
                let found = self
                    .skews
                    .binary_search_by_key(&candidate, |(candidate, _)| *candidate);
                let counts = found.ok().map(|found| self.skews[found].1);
                self.skew(candidate, reason.detail, counts)
            }
            Code::NotFound => not_found(&self.columns.row(candidate).name),
            Code::NotNamed => "spec.policy.clusterNames does not name the cluster".to_owned(),
        }
    }

    /// The sentence about the refusal of `candidate` by the topology spread constraint with the index
    /// `number`, which has these `counts`.
    pub(super) fn skew(&self, candidate: Ix, number: u32, counts: Option<DomainCounts>) -> String {
        let constraint = self.policy.and_then(|policy| policy.spread.get(number as usize));
        let Some(constraint) = constraint else {
            return "a topology spread constraint is violated".to_owned();
        };
        let rule = format!(
            "one more cluster would exceed maxSkew {} over {}",
            constraint.max_skew, constraint.key
        );
        let Some(DomainCounts { own, least, .. }) = counts else {
            return rule;
        };
        let domain = self.columns.row(candidate).labels().get(&constraint.key);
        let domain = domain.unwrap_or_default();
        let emptiest = self.emptiest.get(number as usize).and_then(Option::as_ref);
        let emptiest = match emptiest {
            Some(EmptiestDomain { value, tied: 0, .. }) => format!("the emptiest domain {value} has {least}"),
            Some(EmptiestDomain { value, tied, .. }) => {
                format!("the emptiest domains, {value} and {tied} more, have {least}")
            }
            None => format!("the emptiest domain has {least}"),
        };
        format!("{rule}: its domain {domain} has {own}, {emptiest}")
    }

    fn ineligible(&self, candidate: Ix, reason: IneligibilityReason) -> String {
        self.columns.row(candidate).ineligibility(reason, self.limits)
    }

    fn taint(&self, candidate: Ix, index: u32) -> String {
        let taint = self.columns.row(candidate).taints.get(index as usize);
        taints::untolerated(taint.map(Taint::from))
    }

    fn mismatch(&self, candidate: Ix) -> String {
        let terms = self
            .policy
            .map(|policy| policy.required.as_slice())
            .unwrap_or_default();
        let parts = terms.iter().enumerate().map(|(index, term)| {
            format!(
                "clusterSelectorTerms[{index}] asks for {}",
                self.unmet_requirement(term, candidate)
            )
        });
        parts.collect::<Vec<_>>().join("; ")
    }

    /// The first requirement of `term` that `candidate` does not meet, in words.
    fn unmet_requirement(&self, term: &Term, candidate: Ix) -> String {
        let row = self.columns.row(candidate);
        let unmet = term
            .labels
            .requirements
            .iter()
            .find(|requirement| !requirement.matches(row.labels().get(&requirement.key)));
        if let Some(unmet) = unmet {
            let selector = Selector {
                requirements: vec![unmet.clone()],
            };
            return format!("the label {selector}");
        }
        let failed = term.properties.iter().find_map(|test| {
            let value = row.properties.get(test.name.as_str());
            (!test.passes(value.map(|amount| amount.exact))).then_some((test, value))
        });
        match failed {
            Some((test, None)) => match row.non_quantities.get(test.name.as_str()) {
                Some(text) => format!(
                    "the property {} {} {}, which is \"{text}\" and not a quantity",
                    test.name,
                    test.operator.as_str(),
                    test.text
                ),
                None => format!("the property {}, which it does not have", test.name),
            },
            Some((test, Some(value))) => {
                format!(
                    "the property {} {} {}, which is {}",
                    test.name,
                    test.operator.as_str(),
                    test.text,
                    value.text
                )
            }
            None => "nothing".to_owned(),
        }
    }
}

/// The sentence about the refusal of `candidate` in `decision` for `reason`.
pub(crate) fn refusal(fleet: &Fleet, decision: &Decision, candidate: Ix, reason: Reason) -> String {
    let record = fleet.placements.get(&decision.demand);
    let policy = record.and_then(|record| record.policy.as_ref().as_ref().ok());
    let detail = decision.detail::<Detail>();
    let skews = detail.map(|detail| detail.skews.as_slice());
    let emptiest = detail.map(|detail| detail.emptiest.as_slice());
    let words = RefusalSentences::new(
        fleet,
        &decision.demand,
        policy,
        skews.unwrap_or_default(),
        emptiest.unwrap_or_default(),
    );
    words.refusal(candidate, reason)
}

/// The label selector of the only required term of the policy; `None` if there are several terms, or if the
/// term also has requirements on properties.
pub(crate) fn asked_labels<'a>(fleet: &'a Fleet, decision: &Decision) -> Option<&'a Selector> {
    let policy = fleet.placements.get(&decision.demand)?.policy.as_ref();
    match policy.as_ref().ok()?.required.as_slice() {
        [term] => term.properties.is_empty().then_some(&term.labels),
        _ => None,
    }
}

/// The sentence that there is no cluster with the name `name`.
pub(crate) fn not_found(name: &str) -> String {
    format!("there is no MemberCluster \"{name}\"")
}

/// The known difference from KubeFleet's scheduler that may affect `decision`; `None` if there is none
/// (docs/systems/fleet.md, "Differences from upstream").
pub(crate) fn known_difference(fleet: &Fleet, decision: &Decision) -> Option<&'static str> {
    let policy = fleet.placements.get(&decision.demand)?.policy.as_ref();
    let is_empty_list = matches!(policy, Ok(Policy { mode: Mode::Fixed(names), .. }) if names.is_empty());
    is_empty_list.then_some(
        "for PickFixed with an empty list, KubeFleet changes nothing, and Berth releases all bindings",
    )
}

/// The reason, as a token and as a sentence, why a feasible cluster is not picked.
pub(crate) fn not_picked(fleet: &Fleet, decision: &Decision, rank: Option<usize>) -> (&'static str, String) {
    let picked = decision.solved.picked.len();
    let verb = if picked == 1 { "is" } else { "are" };
    let detail = decision.detail::<Detail>();
    if let Some(detail) = detail.filter(|detail| detail.filled) {
        let count = match picked {
            0 => "no cluster is asked for".to_owned(),
            1 => "the 1 cluster asked for is placed already".to_owned(),
            picked => format!("the {picked} clusters asked for are placed already"),
        };
        return ("NumberReached", format!("{count}{}", unfit(fleet, detail)));
    }
    let text = match rank {
        Some(rank) => {
            format!(
                "ranks {rank} of {}, and {picked} {verb} selected{}",
                decision.solved.ranked.len(),
                detail.map(|detail| unfit(fleet, detail)).unwrap_or_default()
            )
        }
        None => {
            let clusters = if picked == 1 { "cluster is" } else { "clusters are" };
            format!("{picked} other {clusters} selected")
        }
    };
    ("NotPickedByScore", text)
}

/// The clause about clusters that are kept although filters refuse them now; empty if there are none.
fn unfit(fleet: &Fleet, detail: &Detail) -> String {
    if detail.unfit.is_empty() {
        return String::new();
    }
    let columns = fleet.columns();
    let rows = detail
        .unfit
        .iter()
        .map(|&candidate| &*columns.row(candidate).name);
    let (verb, pronoun) = match detail.unfit.len() {
        1 => ("stays", "it"),
        _ => ("stay", "they"),
    };
    format!(
        "; {} {verb} although {pronoun} would not be picked today",
        listing::clusters(rows)
    )
}

/// The summary of a decision in one line.
pub(crate) fn message(fleet: &Fleet, decision: &Decision) -> String {
    let detail = decision.detail::<Detail>();
    match decision.outcome {
        Outcome::Released => {
            let bound = decision.current.iter().map(|entry| &*entry.cluster_name);
            return format!(
                "the placement is being deleted and releases {}",
                listing::clusters(bound)
            );
        }
        Outcome::Invalid => {
            let problem = detail.and_then(|detail| detail.problem.as_deref());
            return problem.unwrap_or_default().to_owned();
        }
        _ => {}
    }
    let columns = fleet.columns();
    let rows = decision
        .solved
        .picked
        .iter()
        .map(|&candidate| &*columns.row(candidate).name);
    let fulfilment = detail.and_then(|detail| detail.fulfilment.as_ref());
    let cause = is_short(fleet, decision)
        .then(|| report::cause(fleet, decision))
        .flatten();
    if let (Some(cause), true) = (&cause, decision.solved.picked.is_empty()) {
        return cause.to_string();
    }
    let fulfilment = fulfilment
        .map(|fulfilment| fulfilment.message.as_str())
        .unwrap_or_default();
    let counts = format!(
        "{} of {} clusters feasible",
        decision.solved.feasible.len(),
        columns.count()
    );
    let picked = format!("{counts}; picked {}; {fulfilment}", listing::clusters(rows));
    cause.map_or_else(|| picked.clone(), |cause| format!("{picked}. {cause}"))
}

/// Whether fewer clusters are picked than requested (for PickAll: whether none is picked), so that the
/// message states the reasons against the other clusters. False for PickFixed, for which the message lists
/// the missing clusters.
fn is_short(fleet: &Fleet, decision: &Decision) -> bool {
    let policy = fleet
        .placements
        .get(&decision.demand)
        .map(|record| &*record.policy);
    let picked = decision.solved.picked.len();
    match policy {
        Some(Ok(policy)) => match &policy.mode {
            Mode::All => picked == 0,
            Mode::Number(wanted) => picked < *wanted,
            Mode::Fixed(_) => false,
        },
        _ => false,
    }
}
