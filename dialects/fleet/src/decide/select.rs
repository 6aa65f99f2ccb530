//! Selection by a policy: the bindings that stay, the clusters that are picked, and the bindings that are
//! released (docs/systems/fleet.md, "Picking").

use std::cmp::Reverse;
use std::sync::Arc;

use berth_apimachinery::FieldError;
use berth_dialect_columns::Bits;
use berth_dialect_contract::{Ask, ChoiceRefusal};
use berth_scheduling::{Filter, Ix, PipelineOutcome, Rejection, Rejections, Scorer};

use super::classify::Classes;
use super::selection::Selection;
use super::status;
use crate::code::{Code, Plugin};
use crate::columns::Columns;
use crate::filters::spread::{DomainCounts, Spread};
use crate::filters::{
    ClusterAffinity, ClusterEligibility, NamespaceAffinity, PickFixed, SamePlacementAntiAffinity,
    TaintToleration, TopologySpread,
};
use crate::fleet::Fleet;
use crate::fleet::record::BindingRecord;
use crate::kind::State;
use crate::policy::{Mode, Policy};
use crate::scores::{self, CandidateRank, KnownScorer, RankCriterion, best_first};
use crate::words;

/// The input of a selection, and facts that are known before anything is picked.
struct SelectionFacts<'a> {
    fleet: &'a Fleet,
    columns: &'a Arc<Columns>,
    policy: &'a Policy,
    classes: &'a Classes<'a>,
    ask: &'a Ask<'a>,
    /// The clusters with a present binding.
    held: Bits,
    eligibility: ClusterEligibility,
}

/// Selects by the mode of `policy`. If the caller has chosen clusters, only those are selected.
///
/// # Errors
/// When a cluster that the caller has chosen cannot be bound.
pub(super) fn select(
    fleet: &Fleet,
    columns: &Arc<Columns>,
    policy: &Policy,
    classes: &Classes<'_>,
    ask: &Ask<'_>,
) -> Result<Selection, ChoiceRefusal> {
    let mut held = Bits::none(columns.count());
    for &(candidate, _) in &classes.present {
        held.set(candidate, true);
    }
    let facts = SelectionFacts {
        fleet,
        columns,
        policy,
        classes,
        ask,
        held,
        eligibility: ClusterEligibility::judge(columns, ask.now, fleet.limits),
    };
    match &policy.mode {
        Mode::Fixed(names) => facts.select_fixed(names),
        Mode::All | Mode::Number(_) => facts.select_scheduled(),
    }
}

/// The rank of `candidate` by the scores that are recorded with its binding.
fn recorded_rank(candidate: Ix, binding: &BindingRecord) -> CandidateRank {
    let score = binding.decision.cluster_score.unwrap_or_default();
    CandidateRank {
        topology: score.priority_score.unwrap_or(0),
        affinity: score.affinity_score.unwrap_or(0),
        sticky: false,
        candidate,
    }
}

/// The rank of a cluster that the policy names, without scores.
fn unscored_rank(candidate: Ix) -> CandidateRank {
    CandidateRank {
        topology: 0,
        affinity: 0,
        sticky: false,
        candidate,
    }
}

/// The candidates of `ranks`, in the same order.
fn order(ranks: &[CandidateRank]) -> Vec<Ix> {
    ranks.iter().map(|rank| rank.candidate).collect()
}

/// The candidate of each refusal by a topology spread constraint, with the counts of the constraint.
fn skews(rejections: &Rejections, spread: &Spread<'_>) -> Vec<(Ix, DomainCounts)> {
    let violations = rejections
        .iter()
        .filter(|rejection| Code::of_reason(rejection.reason) == Code::SkewExceeded);
    let skews = violations.filter_map(|rejection| {
        let counts = spread.counts(rejection.reason.detail, rejection.candidate)?;
        Some((rejection.candidate, counts))
    });
    skews.collect()
}

impl SelectionFacts<'_> {
    /// The names of the clusters that the caller has chosen; `None` if the policy picks.
    fn chosen(&self) -> Option<&[String]> {
        self.ask.chosen.filter(|chosen| !chosen.is_empty())
    }

    /// Whether `candidate` has a binding by an older policy.
    fn is_sticky(&self, candidate: Ix) -> bool {
        Classes::find(&self.classes.obsolete, candidate).is_some()
    }

    /// The set of `candidates`.
    fn bits(&self, candidates: impl IntoIterator<Item = Ix>) -> Bits {
        let mut bits = Bits::none(self.columns.count());
        for candidate in candidates {
            bits.set(candidate, true);
        }
        bits
    }

    /// The clusters in `pickable`, with the ranks that they have before anything is picked; only clusters in
    /// `choice` if the caller has chosen.
    fn candidates(&self, pickable: &Bits, affinity: &[i32], choice: Option<&Bits>) -> Vec<CandidateRank> {
        pickable
            .iter()
            .filter(|&candidate| choice.is_none_or(|choice| choice.has(candidate)))
            .map(|candidate| CandidateRank {
                topology: 0,
                affinity: affinity[candidate as usize],
                sticky: self.is_sticky(candidate),
                candidate,
            })
            .collect()
    }

    /// Picks from `candidates`: all for PickAll; for PickN the best, as many as `kept_count` kept bindings
    /// leave.
    fn pick(
        &self,
        mut candidates: Vec<CandidateRank>,
        kept_count: usize,
        spread: &mut Spread<'_>,
    ) -> Vec<CandidateRank> {
        let Mode::Number(number) = self.policy.mode else {
            return candidates;
        };
        let missing = number.saturating_sub(kept_count);
        if self.policy.spread.is_empty() {
            return scores::best(candidates, missing);
        }
        best_first(&mut candidates);
        spread.pick(&candidates, missing)
    }

    /// Selects by the modes PickAll and PickN.
    fn select_scheduled(&self) -> Result<Selection, ChoiceRefusal> {
        let (columns, policy) = (self.columns, self.policy);
        let affinity_filter = ClusterAffinity::judge(&policy.required, columns);
        let namespaces = NamespaceAffinity {
            namespace: &self.ask.demand.namespace,
            columns,
        };
        let taints = TaintToleration::judge(&policy.tolerations, columns);
        let mut pickable = Bits::all(columns.count());
        affinity_filter.restrict(&mut pickable);
        self.eligibility.restrict(&mut pickable);
        namespaces.restrict(&mut pickable);
        taints.restrict(&mut pickable);
        let anti_affinity = SamePlacementAntiAffinity(&self.held);
        anti_affinity.restrict(&mut pickable);
        let affinity = match policy.mode {
            Mode::Number(_) => scores::affinity(&policy.preferred, columns),
            Mode::All | Mode::Fixed(_) => vec![0; columns.count() as usize],
        };
        let choice = self.caller_choice(|candidate| {
            let passes = self.held.has(candidate) || pickable.has(candidate);
            (!passes).then(|| {
                let filters: [&dyn Filter<Columns>; 4] =
                    [&affinity_filter, &self.eligibility, &namespaces, &taints];
                self.refusals(&filters, candidate)
            })
        })?;
        let kept = self.kept(choice.as_ref());
        let mut spread = Spread::new(&policy.spread, columns, kept.iter().copied());
        let candidates = self.candidates(&pickable, &affinity, choice.as_ref());
        let picks = self.pick(candidates, kept.len(), &mut spread);
        let chosen = self.bits(
            kept.iter()
                .copied()
                .chain(picks.iter().map(|pick| pick.candidate)),
        );
        self.check_all_placed(choice.as_ref(), &chosen, &spread)?;
        let topology = TopologySpread {
            spread: &spread,
            chosen: &chosen,
        };
        let filters = Plugin::ALL
            .into_iter()
            .filter_map(|filter| -> Option<&dyn Filter<Columns>> {
                match filter {
                    Plugin::ClusterAffinity => Some(&affinity_filter),
                    Plugin::ClusterEligibility => Some(&self.eligibility),
                    Plugin::NamespaceAffinity => Some(&namespaces),
                    Plugin::TaintToleration => Some(&taints),
                    Plugin::SamePlacementAntiAffinity => Some(&anti_affinity),
                    Plugin::TopologySpreadConstraints => Some(&topology),
                    Plugin::PickFixed => None,
                }
            });
        let filters: Vec<&dyn Filter<Columns>> = filters.collect();
        let (feasible, rejections) = berth_scheduling::filter(&**columns, columns.count(), &filters);
        Ok(self.selection(kept, picks, &affinity, &spread, feasible, rejections))
    }

    /// The candidates of present bindings that stay: the candidates that the caller has chosen, or as many as
    /// the policy requests.
    fn kept(&self, choice: Option<&Bits>) -> Vec<Ix> {
        let present = &self.classes.present;
        if let Some(choice) = choice {
            let chosen = present.iter().filter(|(candidate, _)| choice.has(*candidate));
            return chosen.map(|(candidate, _)| *candidate).collect();
        }
        let surplus = match self.policy.mode {
            Mode::Number(number) => present.len().saturating_sub(number),
            Mode::All | Mode::Fixed(_) => 0,
        };
        if surplus == 0 {
            return present.iter().map(|(candidate, _)| *candidate).collect();
        }
        let mut leaving: Vec<Ix> = self.release_order().into_iter().take(surplus).collect();
        leaving.sort_unstable();
        let stays = present
            .iter()
            .filter(|(candidate, _)| leaving.binary_search(candidate).is_err());
        stays.map(|(candidate, _)| *candidate).collect()
    }

    /// The candidates of present bindings, in the order in which surplus bindings are released: Scheduled
    /// bindings first, then bindings without a score, then by lowest scores, then by name.
    fn release_order(&self) -> Vec<Ix> {
        let mut order: Vec<_> = self
            .classes
            .present
            .iter()
            .map(|&(candidate, binding)| {
                let CandidateRank {
                    topology, affinity, ..
                } = recorded_rank(candidate, binding);
                let scored = binding.decision.cluster_score.is_some();
                (
                    binding.state != State::Scheduled,
                    scored,
                    topology,
                    affinity,
                    candidate,
                )
            })
            .collect();
        order.sort_unstable();
        order.into_iter().map(|(.., candidate)| candidate).collect()
    }

    /// Builds the selection by PickAll or PickN. Chosen clusters rank before other clusters; both groups are
    /// sorted best first for PickN, and by name for PickAll.
    fn selection(
        &self,
        kept: Vec<Ix>,
        picks: Vec<CandidateRank>,
        affinity: &[i32],
        spread: &Spread<'_>,
        feasible: Vec<Ix>,
        rejections: Rejections,
    ) -> Selection {
        let by_score = matches!(self.policy.mode, Mode::Number(_));
        let mut chosen = self.chosen_ranks(&kept, &picks);
        let chosen_bits = self.bits(chosen.iter().map(|rank| rank.candidate));
        let rest = feasible
            .iter()
            .copied()
            .filter(|&candidate| !chosen_bits.has(candidate));
        let mut others = self.ranks(rest, affinity, spread);
        if by_score {
            chosen.sort_unstable_by_key(|rank| Reverse(rank.without_stickiness()));
            best_first(&mut others);
        } else {
            chosen.sort_unstable_by_key(|rank| rank.candidate);
        }
        let status_order = order(&chosen);
        if by_score {
            best_first(&mut chosen);
        }
        let picked = order(&chosen);
        let fits = |candidate: &Ix| feasible.binary_search(candidate).is_ok();
        let ranked = picked.iter().copied().filter(fits);
        let ranked = ranked.chain(others.iter().map(|rank| rank.candidate)).collect();
        let (scorers, scores) = if by_score {
            self.score(&chosen, &others, &feasible)
        } else {
            (Vec::new(), Vec::new())
        };
        Selection {
            skews: skews(&rejections, spread),
            emptiest: spread.emptiest(self.columns),
            scorers,
            released: self.released(&kept),
            unknown: Vec::new(),
            solved: PipelineOutcome {
                rejections,
                feasible,
                scores,
                totals: Vec::new(),
                ranked,
                picked,
            },
            not_chosen: others,
            status_order,
            chosen: chosen_bits,
            columns: Arc::clone(self.columns),
            kept,
            picks,
        }
    }

    /// The ranks of the kept clusters, as recorded, and of the `picks`.
    fn chosen_ranks(&self, kept: &[Ix], picks: &[CandidateRank]) -> Vec<CandidateRank> {
        let recorded = kept.iter().filter_map(|&candidate| {
            let binding = Classes::find(&self.classes.present, candidate)?;
            Some(recorded_rank(candidate, binding))
        });
        recorded.chain(picks.iter().copied()).collect()
    }

    /// The ranks of `candidates` after the picks.
    fn ranks(
        &self,
        candidates: impl Iterator<Item = Ix>,
        affinity: &[i32],
        spread: &Spread<'_>,
    ) -> Vec<CandidateRank> {
        candidates
            .map(|candidate| CandidateRank {
                topology: spread.score(candidate),
                affinity: affinity[candidate as usize],
                sticky: self.is_sticky(candidate),
                candidate,
            })
            .collect()
    }

    /// The candidates of present bindings that are not kept, in the order in which they are released.
    fn released(&self, kept: &[Ix]) -> Vec<Ix> {
        if kept.len() == self.classes.present.len() {
            return Vec::new();
        }
        let mut released = self.release_order();
        released.retain(|candidate| kept.binary_search(candidate).is_err());
        released
    }

    /// The scorers in use and the columns of their scores. KubeFleet ranks by one scorer after the other, in
    /// this order, and has no total.
    fn score(
        &self,
        chosen: &[CandidateRank],
        others: &[CandidateRank],
        feasible: &[Ix],
    ) -> (Vec<RankCriterion>, Vec<berth_scheduling::ScoreColumn>) {
        let is_in_use = |scorer: &RankCriterion| match scorer {
            RankCriterion::Spread => !self.policy.spread.is_empty(),
            RankCriterion::Affinity => true,
            RankCriterion::Sticky => !self.classes.obsolete.is_empty(),
        };
        let scorers: Vec<RankCriterion> = RankCriterion::ALL.into_iter().filter(is_in_use).collect();
        let mut columns = vec![vec![None; self.columns.count() as usize]; scorers.len()];
        // A kept binding without a score was not scored when it was created.
        let is_unscored = |rank: &&CandidateRank| {
            let binding = Classes::find(&self.classes.present, rank.candidate);
            binding.is_some_and(|binding| binding.decision.cluster_score.is_none())
        };
        for rank in chosen.iter().filter(|rank| !is_unscored(rank)).chain(others) {
            for (scorer, column) in scorers.iter().zip(&mut columns) {
                column[rank.candidate as usize] = Some(scorer.value(rank));
            }
        }
        let known: Vec<KnownScorer<'_>> = columns.iter().map(|column| KnownScorer(column)).collect();
        let known: Vec<&dyn Scorer<Columns>> = known.iter().map(|known| known as _).collect();
        let columns = berth_scheduling::score(&**self.columns, feasible, &known).0;
        (scorers, columns)
    }

    /// The candidates with the `names`, in the order of the names, and the names of clusters that do not
    /// exist.
    fn find_named(&self, names: &[Arc<str>]) -> (Vec<Ix>, Vec<Arc<str>>) {
        let (mut candidates, mut unknown) = (Vec::new(), Vec::new());
        for name in names {
            match self.columns.candidate(name) {
                Some(candidate) => candidates.push(candidate),
                None => unknown.push(Arc::clone(name)),
            }
        }
        (candidates, unknown)
    }

    /// Selects by the mode PickFixed: the named clusters, if they are eligible. A named cluster with a
    /// binding stays bound, also if it is not eligible.
    fn select_fixed(&self, names: &[Arc<str>]) -> Result<Selection, ChoiceRefusal> {
        let columns = self.columns;
        let (order, unknown) = self.find_named(names);
        let named = self.bits(order.iter().copied());
        let fixed = PickFixed {
            named: &named,
            eligibility: &self.eligibility,
        };
        let bound = |candidate| {
            self.held.has(candidate) || Classes::find(&self.classes.obsolete, candidate).is_some()
        };
        let choice = self.caller_choice(|candidate| {
            let passes = named.has(candidate) && (bound(candidate) || self.eligibility.passes(candidate));
            (!passes).then(|| self.refusals(&[&fixed], candidate))
        })?;
        let is_chosen = |candidate: Ix| choice.as_ref().is_none_or(|choice| choice.has(candidate));
        let kept = self.kept(choice.as_ref());
        let new = order.iter().copied().filter(|&candidate| {
            let is_allowed = Classes::find(&self.classes.obsolete, candidate).is_some()
                || self.eligibility.passes(candidate);
            is_allowed && !self.held.has(candidate) && is_chosen(candidate)
        });
        let picks: Vec<CandidateRank> = new.map(unscored_rank).collect();
        let (feasible, rejections) = berth_scheduling::filter(&**columns, columns.count(), &[&fixed]);
        let chosen = self.bits(
            kept.iter()
                .copied()
                .chain(picks.iter().map(|pick| pick.candidate)),
        );
        let unnamed = kept.iter().copied().filter(|&candidate| !named.has(candidate));
        let picked: Vec<Ix> = order
            .iter()
            .copied()
            .filter(|&candidate| chosen.has(candidate))
            .chain(unnamed)
            .collect();
        let fits = |candidate: &Ix| feasible.binary_search(candidate).is_ok();
        let rest = order.iter().copied().filter(|&candidate| !chosen.has(candidate));
        let ranked: Vec<Ix> = picked.iter().copied().chain(rest).filter(fits).collect();
        Ok(Selection {
            released: self.released(&kept),
            not_chosen: Vec::new(),
            skews: Vec::new(),
            emptiest: Vec::new(),
            scorers: Vec::new(),
            status_order: picked.clone(),
            solved: PipelineOutcome {
                rejections,
                feasible,
                ranked,
                picked,
                ..PipelineOutcome::default()
            },
            chosen,
            columns: Arc::clone(columns),
            kept,
            picks,
            unknown,
        })
    }

    /// The clusters that the caller has chosen; `None` if the policy picks. `refusal` returns the reason why
    /// a cluster cannot be bound.
    ///
    /// # Errors
    /// When a chosen cluster does not exist or cannot be bound, or when the caller has chosen too
    /// many clusters.
    fn caller_choice(&self, refusal: impl Fn(Ix) -> Option<String>) -> Result<Option<Bits>, ChoiceRefusal> {
        let Some(chosen) = self.chosen() else {
            return Ok(None);
        };
        let mut choice = Bits::none(self.columns.count());
        let mut errors = Vec::new();
        for (index, name) in chosen.iter().enumerate() {
            let path = format!("spec.targets[{index}]");
            match self.columns.candidate(name) {
                None => {
                    errors.push(FieldError::invalid(path, name.as_str(), words::not_found(name)));
                }
                Some(candidate) if choice.has(candidate) => {
                    errors.push(FieldError::duplicate(path, name.as_str()));
                }
                Some(candidate) => match refusal(candidate) {
                    Some(reasons) => errors.push(FieldError::invalid(path, name.as_str(), reasons)),
                    None => choice.set(candidate, true),
                },
            }
        }
        if let Mode::Number(number) = self.policy.mode
            && chosen.len() > number
        {
            errors.push(FieldError::too_many("spec.targets", chosen.len(), number));
        }
        if errors.is_empty() {
            Ok(Some(choice))
        } else {
            Err(ChoiceRefusal { errors })
        }
    }

    /// Checks that every cluster that the caller has chosen is kept or picked, which are the clusters in
    /// `placed`: a topology spread constraint may still refuse a cluster, and the kept bindings may leave no
    /// further pick.
    fn check_all_placed(
        &self,
        choice: Option<&Bits>,
        placed: &Bits,
        spread: &Spread<'_>,
    ) -> Result<(), ChoiceRefusal> {
        let (Some(choice), Some(chosen)) = (choice, self.chosen()) else {
            return Ok(());
        };
        let mut errors = Vec::new();
        let emptiest = spread.emptiest(self.columns);
        let words =
            words::RefusalSentences::new(self.fleet, self.ask.demand, Some(self.policy), &[], &emptiest);
        for (index, name) in chosen.iter().enumerate() {
            let unplaced = self
                .columns
                .candidate(name)
                .filter(|&candidate| choice.has(candidate) && !placed.has(candidate));
            if let Some(candidate) = unplaced {
                let detail = match spread.violated(candidate) {
                    Some(constraint) => {
                        let counts = spread.counts(constraint, candidate);
                        let sentence = words.skew(candidate, constraint, counts);
                        format!("{}: {sentence}", Code::SkewExceeded)
                    }
                    None => "exceeds the number of clusters that the placement requests".to_owned(),
                };
                errors.push(FieldError::invalid(
                    format!("spec.targets[{index}]"),
                    name.as_str(),
                    detail,
                ));
            }
        }
        if errors.is_empty() {
            Ok(())
        } else {
            Err(ChoiceRefusal { errors })
        }
    }

    /// All refusals of `candidate` by `filters`, as one text.
    fn refusals(&self, filters: &[&dyn Filter<Columns>], candidate: Ix) -> String {
        let judged = filters
            .iter()
            .filter_map(|filter| match filter.check(self.columns, candidate) {
                berth_scheduling::Verdict::Pass => None,
                berth_scheduling::Verdict::Reject(reason) => Some(Rejection {
                    candidate,
                    plugin: filter.plugin(),
                    reason,
                }),
            });
        let rejections: Vec<Rejection> = judged.collect();
        let words = words::RefusalSentences::new(self.fleet, self.ask.demand, Some(self.policy), &[], &[]);
        status::joined(&words, &rejections)
    }
}
