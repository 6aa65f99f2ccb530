//! One request to the fleet: the rows in one list, and the request's requirements with names replaced by the
//! fleet's interned numbers.

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

/// The requirements of one request, with names replaced by the fleet's interned numbers.
pub(crate) struct Request<'a> {
    /// The candidates, by index.
    pub(crate) rows: Vec<&'a Row>,
    /// Whether each list of purposes contains the request's purpose, by number of the list.
    pub(crate) purposes: Vec<bool>,
    /// Whether the configuration defines the purpose.
    pub(crate) understood: bool,
    pub(crate) selector: LabelTest,
    /// The only namespace whose Clusters are candidates, if there is one; `Some(None)` is a namespace
    /// without Clusters.
    pub(crate) namespace: Option<Option<u32>>,
    pub(crate) sharing: SharingMode,
    /// The candidates that the request uses already, and on which its own use is not counted.
    own: Vec<Ix>,
    pub(crate) strategy: Strategy,
}

impl<'a> Request<'a> {
    /// Creates the request to the fleet from the record `request`. Without a configuration and a mapping
    /// (`settings`), no Cluster fits.
    pub(crate) fn new(fleet: &'a Fleet, request: &Record, settings: Option<(&Config, &Mapping)>) -> Self {
        let namespace = request.object.meta().namespace();
        let places = fleet.held_by(&request.wants.holder);
        Self {
            rows: fleet.rows.iter().collect(),
            purposes: fleet.names.purposes.lists_with(&request.wants.purpose),
            understood: settings.is_some(),
            selector: settings
                .map(|(_, mapping)| LabelTest::new(&mapping.selector, &fleet.names.labels))
                .unwrap_or_default(),
            namespace: settings
                .and_then(|(config, mapping)| config.within(mapping, namespace, fleet.rules()))
                .map(|namespace| fleet.names.namespaces.find(namespace)),
            sharing: match settings.map(|(_, mapping)| mapping.tenancy) {
                Some(Tenancy::Exclusive) => SharingMode::Never,
                Some(Tenancy::Shared(limit)) => SharingMode::UpTo(limit.unwrap_or(u32::MAX)),
                None => SharingMode::UpTo(u32::MAX),
            },
            own: places
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
    pub(crate) fn is_own(&self, candidate: Ix) -> bool {
        self.own.contains(&candidate)
    }

    /// Number of other requests that use `candidate`.
    pub(crate) fn others(&self, candidate: Ix) -> u32 {
        self.row(candidate).used - u32::from(self.is_own(candidate))
    }
}
