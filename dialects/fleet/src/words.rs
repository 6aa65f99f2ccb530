//! Sentences about a decision, rendered only for a reader.

use berth_apimachinery::Key;
use berth_apimachinery::selector::Selector;
use berth_dialect_contract::{Decision, Outcome, Taint, listing, report, taints};
use berth_scheduling::{Ix, Reason};

use crate::code::{self, Code};
use crate::columns::Columns;
use crate::detail::Detail;
use crate::eligibility::{Ineligible, Limits};
use crate::filters::spread::Emptiest;
use crate::fleet::Fleet;
use crate::policy::{Mode, Policy, Term};

/// The data for sentences about refusals.
pub(super) struct Words<'a> {
    columns: &'a Columns,
    /// The namespace of the placement; empty for a cluster-scoped one.
    namespace: &'a str,
    policy: Option<&'a Policy>,
    limits: Limits,
    skews: &'a [(Ix, u32, u32)],
    emptiest: &'a [Option<Emptiest>],
}

impl<'a> Words<'a> {
    /// Creates the data for refusals of clusters of `fleet` by `policy`, the policy of `placement`.
    pub(super) fn new(
        fleet: &'a Fleet,
        placement: &'a Key,
        policy: Option<&'a Policy>,
        skews: &'a [(Ix, u32, u32)],
        emptiest: &'a [Option<Emptiest>],
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

    /// The sentence of a refusal.
    pub(super) fn refusal(&self, candidate: Ix, reason: Reason) -> String {
        match Code::of_reason(reason) {
            Code::AffinityMismatch => self.mismatch(candidate),
            Code::NotEligible | Code::NamedIneligible => self.ineligible(candidate, code::ineligible(reason)),
            Code::NamespaceMissing => format!("the cluster has no namespace {}", self.namespace),
            Code::NamespacesUnknown => "the member agent collects namespaces and reports none".to_owned(),
            Code::Untolerated => self.taint(candidate, reason.detail),
            Code::SkewExceeded => {
                let place = self
                    .skews
                    .binary_search_by_key(&candidate, |(candidate, ..)| *candidate);
                let counts = place.ok().map(|place| (self.skews[place].1, self.skews[place].2));
                self.skew(candidate, reason.detail, counts)
            }
            Code::NotFound => not_found(&self.columns.row(candidate).name),
            Code::NotNamed => "spec.policy.clusterNames does not name the cluster".to_owned(),
        }
    }

    /// The sentence that constraint `number` refuses a cluster. `counts` are the counts of its domain and of
    /// the emptiest domain.
    pub(super) fn skew(&self, candidate: Ix, number: u32, counts: Option<(u32, u32)>) -> String {
        let constraint = self.policy.and_then(|policy| policy.spread.get(number as usize));
        let Some(constraint) = constraint else {
            return "a topology spread constraint is violated".to_owned();
        };
        let rule = format!(
            "one more would exceed maxSkew {} over {}",
            constraint.max_skew, constraint.key
        );
        let Some((own, least)) = counts else {
            return rule;
        };
        let domain = self.columns.row(candidate).labels().get(&constraint.key);
        let domain = domain.unwrap_or_default();
        let emptiest = self.emptiest.get(number as usize).and_then(Option::as_ref);
        let emptiest = match emptiest {
            Some(Emptiest { value, others: 0, .. }) => format!("the emptiest domain {value} has {least}"),
            Some(Emptiest { value, others, .. }) => {
                format!("the emptiest domains, {value} and {others} more, have {least}")
            }
            None => format!("the emptiest domain has {least}"),
        };
        format!("{rule}: its domain {domain} has {own}, {emptiest}")
    }

    fn ineligible(&self, candidate: Ix, why: Ineligible) -> String {
        why.sentence(&self.columns.row(candidate).standing, self.limits)
    }

    fn taint(&self, candidate: Ix, place: u32) -> String {
        let taint = self.columns.row(candidate).taints.get(place as usize);
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
                self.missing(term, candidate)
            )
        });
        parts.collect::<Vec<_>>().join("; ")
    }

    /// The first part of `term` that does not match, in words.
    fn missing(&self, term: &Term, candidate: Ix) -> String {
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
            Some((test, None)) => format!("the property {}, which it does not have", test.name),
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

/// The sentence of a refusal.
pub(crate) fn refusal(fleet: &Fleet, decision: &Decision, candidate: Ix, reason: Reason) -> String {
    let record = fleet.placements.get(&decision.demand);
    let policy = record.and_then(|record| record.policy.as_ref().as_ref().ok());
    let detail = decision.detail::<Detail>();
    let skews = detail.map(|detail| detail.skews.as_slice());
    let emptiest = detail.map(|detail| detail.emptiest.as_slice());
    let words = Words::new(
        fleet,
        &decision.demand,
        policy,
        skews.unwrap_or_default(),
        emptiest.unwrap_or_default(),
    );
    words.refusal(candidate, reason)
}

/// The label selector of the only required term of `decision`, if there is only one and it tests nothing
/// else.
pub(crate) fn asked_labels<'a>(fleet: &'a Fleet, decision: &Decision) -> Option<&'a Selector> {
    let policy = fleet.placements.get(&decision.demand)?.policy.as_ref();
    match policy.as_ref().ok()?.required.as_slice() {
        [term] => term.properties.is_empty().then_some(&term.labels),
        _ => None,
    }
}

/// The sentence that no cluster has this name.
pub(crate) fn not_found(name: &str) -> String {
    format!("there is no MemberCluster \"{name}\"")
}

/// The known difference from KubeFleet's scheduler that may affect `decision`, if there is one
/// (docs/systems/fleet.md, "Differences from upstream").
pub(crate) fn known_difference(fleet: &Fleet, decision: &Decision) -> Option<&'static str> {
    let policy = fleet.placements.get(&decision.demand)?.policy.as_ref();
    let is_empty_list = matches!(policy, Ok(Policy { mode: Mode::Fixed(names), .. }) if names.is_empty());
    is_empty_list.then_some(
        "KubeFleet does nothing about PickFixed with an empty list, Berth lets go of what is bound",
    )
}

/// The token and the sentence for a feasible cluster that is not picked.
pub(crate) fn not_picked(fleet: &Fleet, decision: &Decision, rank: Option<usize>) -> (&'static str, String) {
    let picked = decision.solved.picked.len();
    let verb = if picked == 1 { "is" } else { "are" };
    let detail = decision.detail::<Detail>();
    if let Some(detail) = detail.filter(|detail| detail.filled) {
        let what = match picked {
            0 => "no cluster is asked for".to_owned(),
            1 => "the 1 cluster asked for is placed already".to_owned(),
            count => format!("the {count} clusters asked for are placed already"),
        };
        return ("NumberReached", format!("{what}{}", unfit(fleet, detail)));
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

/// The clause about clusters that stay although filters refuse them now.
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
                "the placement is being deleted and lets go of {}",
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
    let satisfied = detail.and_then(|detail| detail.satisfied.as_ref());
    let cause = is_short(fleet, decision)
        .then(|| report::cause(fleet, decision))
        .flatten();
    if let (Some(cause), true) = (&cause, decision.solved.picked.is_empty()) {
        return cause.to_string();
    }
    let fulfilment = satisfied
        .map(|satisfied| satisfied.message.as_str())
        .unwrap_or_default();
    let counts = format!(
        "{} of {} clusters feasible",
        decision.solved.feasible.len(),
        columns.count()
    );
    let picked = format!("{counts}; picked {}; {fulfilment}", listing::clusters(rows));
    cause.map_or_else(|| picked.clone(), |cause| format!("{picked}. {cause}"))
}

/// Whether fewer clusters are placed than requested, so that the reasons against the others matter. False
/// for PickFixed, where missing clusters are listed by name.
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
