//! The inventory: Clusters as rows in the order of namespace and name, requests, uses of Clusters, and the
//! configuration. All collections are copied on write.

mod fold;
mod intern;
mod request;
mod row;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use berth_apimachinery::{Key, Object};
use berth_dialect_columns::UnusableObjects;
use berth_dialect_contract::rules::{EffectiveRules, Rules, RulesChoice};
use berth_scheduling::Ix;
use imbl::{HashMap, OrdMap, OrdSet, Vector};

use crate::config::{Config, Mapping, Scope};
use crate::names::CLUSTERS;

pub(crate) use request::{GrantedCluster, Operation, Record, RequestMetadata};
pub(crate) use row::{Row, holders_of, is_deleted_with_last_request};

/// The namespace and the name of a Cluster. The text form is the cluster name: `<namespace>/<name>`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
}

impl Place {
    pub(crate) fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// Parses a cluster name.
    pub(crate) fn parse(cluster_name: &str) -> Option<Self> {
        let (namespace, name) = cluster_name.split_once('/')?;
        Some(Self::new(namespace, name))
    }

    /// The key of the Cluster.
    pub(crate) fn key(&self) -> Key {
        Key {
            resource: CLUSTERS,
            namespace: Arc::clone(&self.namespace),
            name: Arc::clone(&self.name),
        }
    }
}

impl From<&Key> for Place {
    fn from(key: &Key) -> Self {
        Self {
            namespace: Arc::clone(&key.namespace),
            name: Arc::clone(&key.name),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// All objects that the scheduler knows. Cloning copies a handful of pointers.
#[derive(Clone, Default)]
pub(crate) struct Fleet {
    /// The configuration in force; `None` if there is none.
    pub(crate) config: Option<Arc<Config>>,
    /// The configured choice of rules.
    pub(crate) rules_choice: RulesChoice,
    /// Whether the objects are on a hub. `Auto` then means the current rules.
    pub(crate) on_hub: bool,
    /// Problem of the stored configuration, if no earlier one is in force.
    pub(crate) config_problem: Option<Arc<str>>,
    /// The Clusters, by place.
    pub(crate) rows: Vector<Row>,
    /// The Clusters that cannot be parsed. Their names are taken, and their finalizers count.
    unparsed: OrdMap<Place, Arc<Object>>,
    /// The Clusters with the finalizer of each holder.
    holders: HashMap<Arc<str>, OrdSet<Place>>,
    /// The requests.
    pub(crate) requests: OrdMap<Key, Arc<Record>>,
    /// The holders of the requests that cannot be parsed.
    unparsed_requests: OrdMap<Key, Arc<str>>,
    /// The request of each holder, including requests that cannot be parsed.
    pub(crate) by_holder: HashMap<Arc<str>, Key>,
    /// The requests by the Cluster in their status.
    by_cluster: OrdSet<(Place, Key)>,
    /// The requests that wait for a Cluster, by purpose.
    waiting: OrdSet<(Arc<str>, Key)>,
    /// The waiting requests, by the place of a new Cluster for the request if its name is not random.
    planned: OrdSet<(Place, Key)>,
    /// Objects that could not be parsed, with the reason.
    pub(crate) unusable: UnusableObjects,
    /// Namespaces, labels and purposes as small numbers.
    pub(crate) texts: intern::InternedTexts,
}

impl Fleet {
    /// The index of the Cluster at `place` among the rows, or the index at which it would be inserted.
    fn position(&self, place: &Place) -> Result<usize, usize> {
        self.rows.binary_search_by(|row| row.place().cmp(place))
    }

    /// The Cluster at `place`, as a candidate and its row.
    pub(crate) fn find(&self, place: &Place) -> Option<(Ix, &Row)> {
        let position = self.position(place).ok()?;
        Some((Ix::try_from(position).ok()?, self.rows.get(position)?))
    }

    /// The row of a candidate.
    pub(crate) fn row(&self, candidate: Ix) -> &Row {
        &self.rows[candidate as usize]
    }

    /// Number of Clusters.
    pub(crate) fn cluster_count(&self) -> Ix {
        Ix::try_from(self.rows.len()).unwrap_or(Ix::MAX)
    }

    /// The stored Cluster at `place`, including one that cannot be parsed.
    pub(crate) fn cluster(&self, place: &Place) -> Option<&Arc<Object>> {
        match self.find(place) {
            Some((_, row)) => Some(&row.record.object),
            None => self.unparsed.get(place),
        }
    }

    /// The Clusters with the finalizer of `holder`, in order.
    pub(crate) fn clusters_held_by(&self, holder: &str) -> impl Iterator<Item = &Place> {
        self.holders.get(holder).into_iter().flatten()
    }

    /// The requests that are granted the Cluster at `place`, or have a finalizer on it, in order.
    pub(crate) fn requests_on(&self, place: &Place) -> BTreeSet<Key> {
        let granted = fold::keys_of(&self.by_cluster, place);
        let cluster = self.cluster(place);
        let holders = cluster.into_iter().flat_map(|cluster| holders_of(cluster.meta()));
        let holding = holders
            .filter_map(|holder| self.request_of_holder(holder))
            .filter(|key| self.requests.contains_key(*key));
        granted.chain(holding).cloned().collect()
    }

    /// The request of `holder`, including one that cannot be parsed.
    pub(crate) fn request_of_holder(&self, holder: &str) -> Option<&Key> {
        self.by_holder.get(holder)
    }

    /// Whether the Cluster at `place` has the finalizer of `holder`.
    pub(crate) fn holds(&self, holder: &str, place: &Place) -> bool {
        self.holders
            .get(holder)
            .is_some_and(|places| places.contains(place))
    }

    /// The request at `demand`, if it exists and could be parsed.
    pub(crate) fn request(&self, demand: &Key) -> Option<&Arc<Record>> {
        self.requests.get(demand)
    }

    /// The mapping of the purpose of `request`, if the purpose is configured.
    pub(crate) fn mapping(&self, request: &Record) -> Option<&Arc<Mapping>> {
        self.config.as_ref()?.purposes.get(&*request.requirements.purpose)
    }

    /// The rules in force.
    pub(crate) fn rules(&self) -> Rules {
        match self.rules_choice {
            RulesChoice::Documented => Rules::Documented,
            RulesChoice::Current => Rules::Current,
            RulesChoice::Auto if self.on_hub => Rules::Current,
            RulesChoice::Auto => Rules::Documented,
        }
    }

    /// The rules in force, with the reason. `None` without a configuration: no request gets a Cluster then.
    pub(crate) fn in_force(&self) -> Option<EffectiveRules> {
        let config = self.config.as_ref()?;
        let rules = self.rules();
        let why = match self.rules_choice {
            RulesChoice::Auto if self.on_hub => "the objects are those of a hub".to_owned(),
            RulesChoice::Auto => "the objects are in files, or stored by Berth".to_owned(),
            chosen => format!("spec.rules is {}", chosen.as_str()),
        };
        let scope = match config.scope {
            Some(scope) => format!("scheduler.scope is {}, whatever the rules", scope.as_str()),
            None => format!(
                "scheduler.scope is not set and means {}",
                Scope::default_by(rules).as_str()
            ),
        };
        Some(EffectiveRules {
            rules,
            is_at_odds: false,
            because: format!("{why}; {scope}"),
        })
    }

    /// Whether the scheduler ignores `request`.
    pub(crate) fn ignores(&self, request: &Record) -> bool {
        let labels = request.object.meta().labels();
        request.requirements.operation == Operation::Ignore
            || self
                .config
                .as_ref()
                .is_some_and(|config| !config.requests.matches(labels))
    }
}
