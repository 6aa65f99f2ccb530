//! Sentences about a decision, rendered only for a reader.

use std::fmt;

use berth_apimachinery::Timestamp;
use berth_apimachinery::selector::Selector;
use berth_dialect_columns::Bits;
use berth_dialect_contract::{Action, Decision, Outcome, Taint, listing, taints};
use berth_scheduling::{Ix, PipelineOutcome};

use crate::code::Code;
use crate::columns::taints::ClusterTaints;
use crate::detail::Detail;
use crate::evaluate::Evaluator;
use crate::filters::TaintToleration;
use crate::fleet::Fleet;
use crate::kind::DecisionGroupStatus;
use crate::names::SET_LABEL;
use crate::plan::Plan;
use crate::policy::{Policy, Predicate};

/// Highest number of predicates that a sentence describes.
const MAX_PREDICATES: usize = 10;

/// The sentence of the refusal of `candidate` by `code`.
pub(crate) fn refusal(fleet: &Fleet, decision: &Decision, candidate: Ix, code: Code) -> String {
    let detail = decision.detail::<Detail>();
    let facts = RefusalFacts {
        fleet,
        policy: detail.and_then(|detail| detail.policy.as_deref()),
        held: detail.and_then(|detail| detail.held.as_ref()),
        now: decision.now,
    };
    facts.sentence(candidate, code)
}

/// A number for the sentence of a refusal: within one decision, two refusals with the same code and the same
/// number have the same sentence. `None` if the sentence may be different for each cluster.
pub(crate) fn alike(fleet: &Fleet, decision: &Decision, candidate: Ix, code: Code) -> Option<u32> {
    let policy = decision.detail::<Detail>()?.policy.as_deref()?;
    match code {
        Code::NotInSet | Code::Unreadable | Code::ExpressionTooCostly => None,
        Code::Terminating => Some(0),
        Code::PredicateMismatch => {
            let predicates = policy.predicates.as_deref().ok()?;
            predicates.iter().all(Predicate::tests_labels_only).then_some(0)
        }
        Code::Untolerated => match fleet.columns().taints.of(candidate) {
            ClusterTaints::Shared(index) => {
                // Times and the current selection may lead to different sentences for two clusters with
                // the same taints.
                let mut taints = fleet.columns().taints.list(index).iter();
                let mut tolerations = policy.tolerations.iter().flatten();
                let may_differ = taints.any(|taint| taint.effect == "NoSelectIfNew")
                    || tolerations.any(|toleration| toleration.toleration_seconds.is_some());
                (!may_differ).then_some(index)
            }
            ClusterTaints::Untainted | ClusterTaints::Own => None,
        },
    }
}

/// The label selector of the policy's only predicate, if there is only one and it tests only labels.
pub(crate) fn asked_labels(decision: &Decision) -> Option<&Selector> {
    let policy = decision.detail::<Detail>()?.policy.as_deref()?;
    match policy.predicates.as_deref().ok()? {
        [predicate] => predicate.tests_labels_only().then_some(&predicate.labels),
        _ => None,
    }
}

/// Facts for the sentences of refusals.
pub(crate) struct RefusalFacts<'a> {
    /// All known objects.
    pub(crate) fleet: &'a Fleet,
    /// The policy by which the clusters were judged.
    pub(crate) policy: Option<&'a Policy>,
    /// The clusters that were selected before.
    pub(crate) held: Option<&'a Bits>,
    /// The instant of the decision.
    pub(crate) now: Timestamp,
}

impl RefusalFacts<'_> {
    /// All refusals of `candidate` in one text, for the error about a target that the caller has chosen.
    pub(crate) fn refusals(&self, solved: &PipelineOutcome, candidate: Ix) -> String {
        let lines: Vec<String> = solved
            .rejections_of(candidate)
            .iter()
            .map(|rejection| {
                let code = Code::of_reason(rejection.reason);
                format!("{code}: {}", self.sentence(candidate, code))
            })
            .collect();
        lines.join("; ")
    }

    fn sentence(&self, candidate: Ix, code: Code) -> String {
        let row = self.fleet.columns().row(candidate);
        match code {
            Code::NotInSet => match row.labels().get(SET_LABEL) {
                Some(set) if !self.fleet.sets.contains_key(set) => format!(
                    "the cluster is in none of the sets to choose from; its set label names \"{set}\", and there is no such \
                     ManagedClusterSet"
                ),
                Some(set) => {
                    format!(
                        "the cluster is in none of the sets to choose from; its set label names \"{set}\""
                    )
                }
                None => "the cluster is in none of the sets to choose from and has no set label".to_owned(),
            },
            Code::Terminating => "the cluster is being deleted".to_owned(),
            Code::Unreadable => format!(
                "the ManagedCluster cannot be read: {}",
                row.problem.as_deref().unwrap_or_default()
            ),
            Code::PredicateMismatch | Code::ExpressionTooCostly => {
                let predicates = self.policy.and_then(|policy| policy.predicates.as_deref().ok());
                let unmatched = UnmatchedParts {
                    predicates: predicates.unwrap_or_default(),
                    fleet: self.fleet,
                    now: self.now,
                    candidate,
                };
                unmatched.to_string()
            }
            Code::Untolerated => self.untolerated(candidate),
        }
    }

    /// The sentence about all untolerated taints of the cluster.
    fn untolerated(&self, candidate: Ix) -> String {
        let columns = self.fleet.columns();
        let tolerations = self.policy.and_then(|policy| policy.tolerations.as_deref().ok());
        let no_clusters = Bits::none(columns.count());
        let current = self.held.unwrap_or(&no_clusters);
        let filter = TaintToleration::new(tolerations.unwrap_or_default(), &no_clusters, current, self.now);
        let taints = filter.untolerated(columns.row(candidate).taints(), current.has(candidate));
        taints::untolerated(taints.map(Taint::from))
    }
}

/// The text with the first part of each predicate that a cluster does not match. Further predicates are only
/// counted. In a large fleet, most refusals have such a text, so it is written without intermediate strings.
struct UnmatchedParts<'a> {
    predicates: &'a [Predicate],
    fleet: &'a Fleet,
    now: Timestamp,
    candidate: Ix,
}

impl fmt::Display for UnmatchedParts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut evaluator = Evaluator::new(self.fleet, self.now);
        for (index, predicate) in self.predicates.iter().enumerate().take(MAX_PREDICATES) {
            let between = if index > 0 { "; " } else { "" };
            let part = mismatch(predicate, self.fleet, self.candidate, &mut evaluator);
            write!(f, "{between}predicates[{index}] {part}")?;
        }
        match self.predicates.len().saturating_sub(MAX_PREDICATES) {
            0 => Ok(()),
            more => write!(f, "; {more} more do not match"),
        }
    }
}

/// A part of a predicate that a cluster does not match.
enum PredicatePart<'a> {
    /// Each single part matches, but the expressions of the predicate or of the decision exceed their cost
    /// limit.
    TooCostly,
    Labels(&'a Selector),
    Claims(&'a Selector),
    /// An expression, with the reason if it is neither true nor false.
    Expression(&'a str, Option<String>),
}

impl fmt::Display for PredicatePart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooCostly => f.write_str("has expressions that together exceed the cost limit"),
            Self::Labels(selector) => write!(f, "asks for labels {selector}"),
            Self::Claims(selector) => write!(f, "asks for claims {selector}"),
            Self::Expression(source, None) => write!(f, "asks for {source}"),
            Self::Expression(source, Some(failure)) => write!(f, "asks for {source}, which fails: {failure}"),
        }
    }
}

/// The first part of `predicate` that does not match the refused cluster.
fn mismatch<'a>(
    predicate: &'a Predicate,
    fleet: &Fleet,
    candidate: Ix,
    evaluator: &mut Evaluator<'_>,
) -> PredicatePart<'a> {
    // If the predicate only tests labels, the labels do not match: the cluster has been refused.
    if predicate.tests_labels_only() {
        return PredicatePart::Labels(&predicate.labels);
    }
    let row = fleet.columns().row(candidate);
    if !predicate.labels.matches(row.labels()) {
        return PredicatePart::Labels(&predicate.labels);
    }
    if !predicate.claims.matches(&row.claims) {
        return PredicatePart::Claims(&predicate.claims);
    }
    let mut expressions = predicate.expressions.iter();
    let unmet = expressions.find(|(_, expression)| !evaluator.holds(expression, candidate));
    unmet.map_or(PredicatePart::TooCostly, |(source, expression)| {
        PredicatePart::Expression(source, evaluator.failure(expression, candidate))
    })
}

/// The token and the sentence for a feasible cluster that is not picked.
pub(crate) fn not_picked(
    fleet: &Fleet,
    decision: &Decision,
    candidate: Ix,
    rank: Option<usize>,
) -> (&'static str, String) {
    let solved = &decision.solved;
    let picked = solved.picked.len();
    if is_choice(decision) {
        let names = solved.picked.iter().map(|&one| &*fleet.columns().row(one).name);
        let verb = if picked == 1 { "was" } else { "were" };
        let asked = format!("{} {verb} asked for", listing::clusters(names));
        let text = match rank {
            Some(rank) => format!("ranks {rank} of {}, but {asked}", solved.ranked.len()),
            None => asked,
        };
        return ("LowerRank", text);
    }
    let mut text = match rank {
        Some(rank) => format!(
            "ranks {rank} of {}, and {picked} are selected",
            solved.ranked.len()
        ),
        None => format!("{picked} other clusters are selected"),
    };
    let total = solved.total_of(candidate);
    let last = solved
        .picked
        .last()
        .filter(|last| total.is_some() && solved.total_of(**last) == total);
    if let (Some(&last), Some(total)) = (last, total) {
        let last = &fleet.columns().row(last).name;
        text.push_str(&format!(
            "; {last} has the same score, {total}, and among equal scores the name decides"
        ));
    }
    ("LowerRank", text)
}

/// Whether the caller chose other clusters than the scheduler would have picked: the best ranked ones, up to
/// the requested number.
fn is_choice(decision: &Decision) -> bool {
    let solved = &decision.solved;
    // Clusters that are kept although they cannot be read come first, and have no rank.
    let kept = solved
        .picked
        .iter()
        .take_while(|one| solved.row_of(**one).is_none())
        .count();
    let (ranked, picked) = (&solved.ranked, &solved.picked[kept..]);
    let policy = decision
        .detail::<Detail>()
        .and_then(|detail| detail.policy.as_deref());
    let wanted = policy.and_then(|policy| policy.wanted).unwrap_or(usize::MAX);
    let wanted = wanted.saturating_sub(kept);
    // Picked clusters are in the order of their ranks: if the last one has the rank of its place, all have.
    let last = picked.len().checked_sub(1).and_then(|last| ranked.get(last));
    picked.len() < wanted.min(ranked.len()) || picked.last() != last
}

/// The summary of a decision in one line.
pub(crate) fn message(fleet: &Fleet, decision: &Decision) -> String {
    let detail = decision.detail::<Detail>();
    match decision.outcome {
        Outcome::Released => {
            return format!(
                "the placement is being deleted and releases {}",
                listing::clusters(decision.current.iter().map(|entry| &*entry.cluster_name))
            );
        }
        Outcome::Ignored => return "scheduling is disabled by the annotation on the placement".to_owned(),
        Outcome::Invalid => {
            let problem = detail
                .and_then(|detail| detail.problem.as_ref())
                .map(|problem| problem.message());
            return problem.unwrap_or_default() + &kept_and_released(decision);
        }
        _ => {}
    }
    let columns = fleet.columns();
    let feasible = decision.solved.feasible.len();
    let in_scope = detail.map_or(0, |detail| detail.in_scope);
    let counts = format!("{feasible} of {in_scope} clusters in the bound sets feasible");
    let satisfied = detail.and_then(|detail| detail.satisfied.as_ref());
    let cause = detail.and_then(|detail| detail.cause.as_deref());
    if decision.solved.picked.is_empty() {
        if let Some(cause) = cause {
            return cause.to_owned();
        }
        let why = satisfied
            .map(|satisfied| satisfied.message.as_str())
            .unwrap_or_default();
        return match in_scope {
            0 => why.to_owned(),
            _ => format!("{counts}; {why}"),
        };
    }
    let rows = decision
        .solved
        .picked
        .iter()
        .map(|&candidate| &*columns.row(candidate).name);
    let groups = detail.and_then(|detail| detail.plan.as_ref()).map(groups);
    format!(
        "{counts}; picked {}{}{}",
        listing::clusters(rows),
        groups.unwrap_or_default(),
        cause.map_or_else(String::new, |cause| format!(". {cause}"))
    )
}

/// The decision groups with their numbers of clusters, if there are several groups or they have names.
fn groups(plan: &Plan) -> String {
    let is_unnamed = |group: &DecisionGroupStatus| group.decision_group_name.is_empty();
    if plan.groups.len() < 2 && plan.groups.iter().all(is_unnamed) {
        return String::new();
    }
    let all = plan.groups.iter().map(|group| {
        let name = match group.decision_group_name.as_str() {
            "" => String::new(),
            name => format!(" {name}"),
        };
        format!("{}{name} ({})", group.decision_group_index, group.cluster_count)
    });
    let all: Vec<String> = all.collect();
    format!(
        "; decision groups {}",
        listing::clusters(all.iter().map(String::as_str))
    )
}

/// The text about the clusters that a misconfigured placement keeps, and the clusters that it releases.
fn kept_and_released(decision: &Decision) -> String {
    let names_with = |action: Action| -> Vec<&str> {
        let changes = decision.changes.iter().filter(|change| change.action == action);
        changes.map(|change| &*change.cluster_name).collect()
    };
    let (kept_names, released_names) = (names_with(Action::Keep), names_with(Action::Unbind));
    let mut text = String::new();
    if !kept_names.is_empty() {
        text.push_str(&format!(
            "; until this is corrected, it keeps {}",
            listing::clusters(kept_names.into_iter())
        ));
    }
    if !released_names.is_empty() {
        text.push_str(&format!(
            "; it releases {}: gone, or being deleted",
            listing::clusters(released_names.into_iter())
        ));
    }
    text
}
