//! Kept bindings, picked clusters and released bindings (docs/systems/fleet.md, "Picking").

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
use crate::filters::spread::Spread;
use crate::filters::{
    ClusterAffinity, ClusterEligibility, NamespaceAffinity, PickFixed, SamePlacementAntiAffinity,
    TaintToleration, TopologySpread,
};
use crate::fleet::Fleet;
use crate::fleet::record::BindingRecord;
use crate::kind::State;
use crate::policy::{Mode, Policy};
use crate::scores::{self, CandidateRank, KnownScorer, Ranking, best_first};
use crate::words;

/// Facts that are known before anything is picked.
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

/// Selects by the policy's mode, or as the caller chose.
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
        Mode::Fixed(names) => facts.fixed(names),
        Mode::All | Mode::Number(_) => facts.scheduled(),
    }
}

/// The rank of `candidate` by the scores that are recorded with its binding.
fn recorded(candidate: Ix, binding: &BindingRecord) -> CandidateRank {
    let score = binding.decision.cluster_score.unwrap_or_default();
    CandidateRank {
        topology: score.priority_score.unwrap_or(0),
        affinity: score.affinity_score.unwrap_or(0),
        sticky: false,
        candidate,
    }
}

impl SelectionFacts<'_> {
    /// The clusters that the caller chose; `None` lets the policy pick.
    fn chosen(&self) -> Option<&[String]> {
        self.ask.chosen.filter(|chosen| !chosen.is_empty())
    }

    /// Whether `candidate` has a binding by an older policy.
    fn sticky(&self, candidate: Ix) -> bool {
        Classes::find(&self.classes.obsolete, candidate).is_some()
    }

    /// Selects by the modes PickAll and PickN.
    fn scheduled(&self) -> Result<Selection, ChoiceRefusal> {
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
        let mut candidates: Vec<CandidateRank> = pickable
            .iter()
            .filter(|&candidate| choice.as_ref().is_none_or(|choice| choice.has(candidate)))
            .map(|candidate| CandidateRank {
                topology: 0,
                affinity: affinity[candidate as usize],
                sticky: self.sticky(candidate),
                candidate,
            })
            .collect();
        let picks = match policy.mode {
            Mode::Number(number) => {
                let missing = number.saturating_sub(kept.len());
                if policy.spread.is_empty() {
                    scores::best(candidates, missing)
                } else {
                    best_first(&mut candidates);
                    spread.pick(&candidates, missing)
                }
            }
            Mode::All | Mode::Fixed(_) => candidates,
        };
        self.all_placed(choice.as_ref(), &kept, &picks, &spread)?;
        let mut chosen = Bits::none(columns.count());
        kept.iter().for_each(|&candidate| chosen.set(candidate, true));
        picks.iter().for_each(|pick| chosen.set(pick.candidate, true));
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
        Ok(self.rank(kept, picks, &affinity, &spread, feasible, rejections))
    }

    /// The present bindings that stay: the bindings that the caller chose, or all up to the requested number.
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
        let mut leaving: Vec<Ix> = self.scale_in().into_iter().take(surplus).collect();
        leaving.sort_unstable();
        let stays = present
            .iter()
            .filter(|(candidate, _)| leaving.binary_search(candidate).is_err());
        stays.map(|(candidate, _)| *candidate).collect()
    }

    /// The present bindings in the order in which scaling in releases them: Scheduled ones first, then
    /// bindings without a score, then by lowest scores, then by name.
    fn scale_in(&self) -> Vec<Ix> {
        let mut order: Vec<_> = self
            .classes
            .present
            .iter()
            .map(|&(candidate, binding)| {
                let CandidateRank {
                    topology, affinity, ..
                } = recorded(candidate, binding);
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

    /// Ranks the clusters: chosen clusters before the others, within both groups best first for PickN, and by
    /// name for PickAll.
    fn rank(
        &self,
        kept: Vec<Ix>,
        picks: Vec<CandidateRank>,
        affinity: &[i32],
        spread: &Spread<'_>,
        feasible: Vec<Ix>,
        rejections: Rejections,
    ) -> Selection {
        let count = self.columns.count();
        let by_score = matches!(self.policy.mode, Mode::Number(_));
        let mut chosen: Vec<CandidateRank> = kept
            .iter()
            .filter_map(|&candidate| {
                Classes::find(&self.classes.present, candidate).map(|binding| recorded(candidate, binding))
            })
            .chain(picks.iter().copied())
            .collect();
        let mut chosen_bits = Bits::none(count);
        chosen
            .iter()
            .for_each(|standing| chosen_bits.set(standing.candidate, true));
        let rest = feasible.iter().filter(|&&candidate| !chosen_bits.has(candidate));
        let mut others: Vec<CandidateRank> = rest
            .map(|&candidate| CandidateRank {
                topology: spread.score(candidate),
                affinity: affinity[candidate as usize],
                sticky: self.sticky(candidate),
                candidate,
            })
            .collect();
        let order = |chosen: &[CandidateRank]| -> Vec<Ix> {
            chosen.iter().map(|standing| standing.candidate).collect()
        };
        if by_score {
            chosen.sort_unstable_by_key(|standing| Reverse(standing.without_stickiness()));
            best_first(&mut others);
        } else {
            chosen.sort_unstable_by_key(|standing| standing.candidate);
        }
        let recorded = order(&chosen);
        if by_score {
            best_first(&mut chosen);
        }
        let picked = order(&chosen);
        let fits = |candidate: &Ix| feasible.binary_search(candidate).is_ok();
        let ranked = picked.iter().copied().filter(fits);
        let ranked = ranked
            .chain(others.iter().map(|standing| standing.candidate))
            .collect();
        let (scorers, scores) = if by_score {
            self.score(&chosen, &others, &feasible)
        } else {
            (Vec::new(), Vec::new())
        };
        let violations = rejections
            .iter()
            .filter(|rejection| Code::of_reason(rejection.reason) == Code::SkewExceeded);
        let skews = violations.filter_map(|rejection| {
            let (own, least) = spread.counts(rejection.reason.detail, rejection.candidate)?;
            Some((rejection.candidate, own, least))
        });
        Selection {
            skews: skews.collect(),
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
            others,
            recorded,
            chosen: chosen_bits,
            columns: Arc::clone(self.columns),
            kept,
            picks,
        }
    }

    /// The present bindings that are not kept, in the order of their release.
    fn released(&self, kept: &[Ix]) -> Vec<Ix> {
        if kept.len() == self.classes.present.len() {
            return Vec::new();
        }
        let mut released = self.scale_in();
        released.retain(|candidate| kept.binary_search(candidate).is_err());
        released
    }

    /// The scorers in use and their columns. KubeFleet ranks by one scorer after the other, in this order,
    /// and has no total.
    fn score(
        &self,
        chosen: &[CandidateRank],
        others: &[CandidateRank],
        feasible: &[Ix],
    ) -> (Vec<Ranking>, Vec<berth_scheduling::ScoreColumn>) {
        let is_in_use = |scorer: &Ranking| match scorer {
            Ranking::Spread => !self.policy.spread.is_empty(),
            Ranking::Affinity => true,
            Ranking::Sticky => !self.classes.obsolete.is_empty(),
        };
        let scorers: Vec<Ranking> = Ranking::ALL.into_iter().filter(is_in_use).collect();
        let mut columns = vec![vec![None; self.columns.count() as usize]; scorers.len()];
        // A kept binding without a score was not scored when it was created.
        let unscored = |standing: &&CandidateRank| {
            let binding = Classes::find(&self.classes.present, standing.candidate);
            binding.is_some_and(|binding| binding.decision.cluster_score.is_none())
        };
        for standing in chosen.iter().filter(|standing| !unscored(standing)).chain(others) {
            for (scorer, column) in scorers.iter().zip(&mut columns) {
                column[standing.candidate as usize] = Some(scorer.value(standing));
            }
        }
        let known: Vec<KnownScorer<'_>> = columns.iter().map(|column| KnownScorer(column)).collect();
        let known: Vec<&dyn Scorer<Columns>> = known.iter().map(|known| known as _).collect();
        let columns = berth_scheduling::score(&**self.columns, feasible, &known).0;
        (scorers, columns)
    }

    /// Selects by the mode PickFixed: the named clusters, if they are eligible. A named cluster with a
    /// binding keeps it.
    fn fixed(&self, names: &[Arc<str>]) -> Result<Selection, ChoiceRefusal> {
        let columns = self.columns;
        let mut named = Bits::none(columns.count());
        let mut order = Vec::new();
        let mut unknown = Vec::new();
        for name in names {
            match columns.candidate(name) {
                Some(candidate) => {
                    named.set(candidate, true);
                    order.push(candidate);
                }
                None => unknown.push(Arc::clone(name)),
            }
        }
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
        let fresh = order.iter().copied().filter(|&candidate| {
            let is_allowed = Classes::find(&self.classes.obsolete, candidate).is_some()
                || self.eligibility.passes(candidate);
            is_allowed && !self.held.has(candidate) && is_chosen(candidate)
        });
        let unscored = |candidate| CandidateRank {
            topology: 0,
            affinity: 0,
            sticky: false,
            candidate,
        };
        let picks: Vec<CandidateRank> = fresh.map(unscored).collect();
        let (feasible, rejections) = berth_scheduling::filter(&**columns, columns.count(), &[&fixed]);
        let mut chosen = Bits::none(columns.count());
        kept.iter().for_each(|&candidate| chosen.set(candidate, true));
        picks.iter().for_each(|pick| chosen.set(pick.candidate, true));
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
            others: Vec::new(),
            skews: Vec::new(),
            emptiest: Vec::new(),
            scorers: Vec::new(),
            recorded: picked.clone(),
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

    /// The clusters that the caller chose; `None` where the policy picks. `refused` returns the reason why a
    /// cluster cannot be bound.
    fn caller_choice(&self, refused: impl Fn(Ix) -> Option<String>) -> Result<Option<Bits>, ChoiceRefusal> {
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
                Some(candidate) => match refused(candidate) {
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

    /// Checks that every cluster that the caller chose is picked; only topology spread can still refuse a
    /// cluster.
    fn all_placed(
        &self,
        choice: Option<&Bits>,
        kept: &[Ix],
        picks: &[CandidateRank],
        spread: &Spread<'_>,
    ) -> Result<(), ChoiceRefusal> {
        let (Some(choice), Some(chosen)) = (choice, self.chosen()) else {
            return Ok(());
        };
        let placed =
            |candidate: Ix| kept.contains(&candidate) || picks.iter().any(|pick| pick.candidate == candidate);
        let mut errors = Vec::new();
        let emptiest = spread.emptiest(self.columns);
        let words = words::Words::new(self.fleet, self.ask.demand, Some(self.policy), &[], &emptiest);
        for (index, name) in chosen.iter().enumerate() {
            let unplaced = self
                .columns
                .candidate(name)
                .filter(|&candidate| choice.has(candidate) && !placed(candidate));
            if let Some(candidate) = unplaced {
                let detail = match spread.violated(candidate) {
                    Some(constraint) => {
                        let counts = spread.counts(constraint, candidate);
                        let sentence = words.skew(candidate, constraint, counts);
                        format!("{}: {sentence}", Code::SkewExceeded)
                    }
                    None => "is more than the placement asks for".to_owned(),
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

    /// Every refusal of `candidate` by `filters`, as one text.
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
        let words = words::Words::new(self.fleet, self.ask.demand, Some(self.policy), &[], &[]);
        status::joined(&words, &rejections)
    }
}
