//! One question put to the fleet: the rows in one list, and what the request asks for in the fleet's own numbers.

use std::sync::Arc;

use dialect_columns::LabelTest;
use scheduling::{Ix, Random, ScoreColumn, Solved, filter};

use crate::config::{Config, Mapping, Strategy, Tenancy};
use crate::filters;
use crate::fleet::{Fleet, Record, Row};

/// How a request shares Clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Not at all.
    Never,
    /// With so many others, itself included.
    UpTo(u32),
}

/// The fleet as one request sees it.
pub(crate) struct Request<'a> {
    /// The candidates, by index.
    rows: Vec<&'a Row>,
    /// Whether the purpose is in each list of purposes; empty where the purpose means nothing.
    pub(crate) purposes: Vec<bool>,
    /// Whether the purpose means anything.
    pub(crate) understood: bool,
    pub(crate) selector: LabelTest,
    /// The one namespace looked at; `Some(None)` is one without Clusters.
    pub(crate) namespace: Option<Option<u32>>,
    pub(crate) sharing: Sharing,
    /// The candidates the request uses already: it does not stand in its own way.
    own: Vec<Ix>,
    strategy: Strategy,
}

impl<'a> Request<'a> {
    /// The question of `request`; without a configuration and a mapping, no Cluster fits.
    pub(crate) fn new(fleet: &'a Fleet, request: &Record, meaning: Option<(&Config, &Mapping)>) -> Self {
        let namespace = &request.object.meta().namespace;
        let held = fleet.held_by(&request.wants.holder);
        Self {
            rows: fleet.rows.iter().collect(),
            purposes: fleet.names.purposes.with(&request.wants.purpose),
            understood: meaning.is_some(),
            selector: meaning
                .map(|(_, mapping)| LabelTest::new(&mapping.selector, &fleet.names.labels))
                .unwrap_or_default(),
            namespace: meaning
                .and_then(|(config, mapping)| config.within(mapping, namespace))
                .map(|namespace| fleet.names.namespaces.find(namespace)),
            sharing: match meaning.map(|(_, mapping)| mapping.tenancy) {
                Some(Tenancy::Exclusive) => Sharing::Never,
                Some(Tenancy::Shared(limit)) => Sharing::UpTo(limit.unwrap_or(u32::MAX)),
                None => Sharing::UpTo(u32::MAX),
            },
            own: held
                .filter_map(|place| fleet.find(place).map(|(candidate, _)| candidate))
                .collect(),
            strategy: meaning.map(|(config, _)| config.strategy).unwrap_or_default(),
        }
    }

    /// The row of a candidate.
    pub(crate) fn row(&self, candidate: Ix) -> &'a Row {
        self.rows[candidate as usize]
    }

    /// Whether the request uses `candidate` already.
    pub(crate) fn is_own(&self, candidate: Ix) -> bool {
        self.own.contains(&candidate)
    }

    /// How many other requests use `candidate`.
    pub(crate) fn others(&self, candidate: Ix) -> u32 {
        self.row(candidate).used - u32::from(self.is_own(candidate))
    }

    /// Judges and orders every Cluster; nothing is picked yet. Gives the names of the score columns too.
    pub(crate) fn solve(&self, seed: u64) -> (Solved, Vec<Arc<str>>) {
        let count = Ix::try_from(self.rows.len()).unwrap_or(Ix::MAX);
        let (feasible, rejections) = filter(self, count, &filters::all());
        let ranked = match self.strategy {
            Strategy::Simple => feasible.clone(),
            Strategy::Balanced => self.balanced(&feasible),
            Strategy::Random => shuffled(feasible.clone(), seed),
        };
        let mut solved = Solved {
            rejections,
            ranked,
            ..Solved::default()
        };
        let mut scorers = Vec::new();
        if self.strategy == Strategy::Balanced && !feasible.is_empty() {
            // Shown, not added up: the fewest come first.
            let values = feasible
                .iter()
                .map(|&candidate| Some(i64::from(self.others(candidate))));
            solved.scores = vec![ScoreColumn {
                plugin: 0,
                weight: 0,
                values: values.collect(),
            }];
            scorers.push(Strategy::Balanced.as_str().into());
        }
        solved.feasible = feasible;
        (solved, scorers)
    }

    /// Fewest other requests first, then by place: candidates are numbered in that order.
    fn balanced(&self, feasible: &[Ix]) -> Vec<Ix> {
        let key = |&candidate: &Ix| u64::from(self.others(candidate)) << 32 | u64::from(candidate);
        let mut keys: Vec<u64> = feasible.iter().map(key).collect();
        keys.sort_unstable();
        #[expect(clippy::cast_possible_truncation, reason = "the lower half is the candidate")]
        keys.into_iter().map(|key| key as Ix).collect()
    }
}

/// Every order is equally likely, and each seed has its own.
fn shuffled(mut list: Vec<Ix>, seed: u64) -> Vec<Ix> {
    let mut random = Random::new(seed);
    for place in 0..list.len() {
        let rest = list.len() - place;
        let other = place + usize::try_from(random.below(rest as u64)).unwrap_or_default();
        list.swap(place, other);
    }
    list
}
