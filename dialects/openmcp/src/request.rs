//! One request as the pipeline reads it: the requirements, with interned numbers instead of texts, and the
//! candidates.

use berth_dialect_columns::LabelTest;
use berth_scheduling::Ix;

use crate::config::{Config, Mapping, Strategy, Tenancy};
use crate::fleet::{Fleet, Record, Row};

/// The mode of sharing Clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SharingMode {
    /// The request shares no Cluster.
    Never,
    /// The request shares a Cluster with up to this number of requests, including itself.
    UpTo(u32),
}

/// The requirements of one request, with interned numbers instead of texts, and the candidates.
pub(crate) struct Request<'a> {
    /// The candidates, by index.
    pub(crate) rows: Vec<&'a Row>,
    /// For each list of purposes, whether it contains the request's purpose; the index is the number of the
    /// list.
    pub(crate) purposes: Vec<bool>,
    /// Whether the configuration defines the purpose.
    pub(crate) is_purpose_configured: bool,
    /// The selector that the labels of Clusters must match.
    pub(crate) selector: LabelTest,
    /// The only namespace whose Clusters are candidates, if there is one; `Some(None)` is a namespace
    /// without Clusters.
    pub(crate) namespace: Option<Option<u32>>,
    /// The mode in which the request shares Clusters.
    pub(crate) sharing: SharingMode,
    /// The candidates that the request uses already.
    used: Vec<Ix>,
    /// The strategy that ranks the feasible candidates.
    pub(crate) strategy: Strategy,
}

impl<'a> Request<'a> {
    /// Prepares `request` for the pipeline. Without a configuration and a mapping (`settings`), no Cluster
    /// fits.
    pub(crate) fn new(fleet: &'a Fleet, request: &Record, settings: Option<(&Config, &Mapping)>) -> Self {
        let namespace = request.object.meta().namespace();
        let places = fleet.clusters_held_by(&request.requirements.holder);
        let mut rows = Vec::with_capacity(fleet.rows.len());
        fleet.rows.leaves().for_each(|leaf| rows.extend(leaf));
        Self {
            rows,
            purposes: fleet.texts.purposes.lists_with(&request.requirements.purpose),
            is_purpose_configured: settings.is_some(),
            selector: settings
                .map(|(_, mapping)| LabelTest::new(&mapping.selector, &fleet.texts.labels))
                .unwrap_or_default(),
            namespace: settings
                .and_then(|(config, mapping)| config.only_namespace(mapping, namespace, fleet.rules()))
                .map(|namespace| fleet.texts.namespaces.find(namespace)),
            sharing: match settings.map(|(_, mapping)| mapping.tenancy) {
                Some(Tenancy::Exclusive) => SharingMode::Never,
                Some(Tenancy::Shared(limit)) => SharingMode::UpTo(limit.unwrap_or(u32::MAX)),
                None => SharingMode::UpTo(u32::MAX),
            },
            used: places
                .filter_map(|place| fleet.find(place).map(|(candidate, _)| candidate))
                .collect(),
            strategy: settings.map(|(config, _)| config.strategy).unwrap_or_default(),
        }
    }

    /// The row of a candidate.
    pub(crate) fn row(&self, candidate: Ix) -> &'a Row {
        self.rows[candidate as usize]
    }

    /// Whether the request uses `candidate` already.
    pub(crate) fn uses(&self, candidate: Ix) -> bool {
        self.used.contains(&candidate)
    }

    /// Number of other requests that use `candidate`: a use by this request does not take room from itself.
    pub(crate) fn other_requests(&self, candidate: Ix) -> u32 {
        self.row(candidate).used - u32::from(self.uses(candidate))
    }
}
