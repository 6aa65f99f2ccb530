//! Resolution of names in requests to demands in a fresh snapshot.

use berth_apimachinery::{GroupResource, Key, Status};
use berth_dialect_contract::Dialect;
use berth_engine::{Engine, ReadinessError, Snapshot};

use super::names;
use super::projection::{CLUSTER_DECISIONS, DECISIONS};

/// Seconds after which a client should ask again while the inventory is behind.
const RETRY_AFTER: u32 = 1;

/// The effort of reporting a target, in bytes that could be parsed in the same time.
const REPORTING: usize = 90;
/// The effort of judging a target by comparing fields (see [`berth_dialect_contract::Inventory::effort`]), in
/// bytes that could be parsed in the same time.
const JUDGING: usize = 10;

/// The effort of deciding and reporting a demand that is not known, from the largest number of targets of a
/// system. The unit is bytes that could be parsed in the same time.
pub(crate) fn effort(engine: &Engine) -> usize {
    (REPORTING + JUDGING).saturating_mul(engine.most_targets() as usize)
}

/// Rule by which the demand of a request is found: the kind of object that the request names.
#[derive(Clone, Copy, Debug)]
pub(super) enum DemandResolver {
    /// The request names a Decision or ClusterDecision.
    Decision,
    /// The request names a placeable object of `dialect`.
    Source {
        /// The name of the dialect.
        dialect: &'static str,
        /// The object's resource.
        resource: GroupResource,
    },
}

/// A demand, and the snapshot that contains the demand.
pub(crate) struct ResolvedDemand {
    pub(crate) snapshot: Snapshot,
    pub(crate) demand: Key,
}

/// The status of requests while the engine is `behind`.
pub fn behind(behind: &ReadinessError) -> Status {
    Status::unavailable(behind.to_string(), RETRY_AFTER)
}

/// `decisions`, or `clusterdecisions` without a namespace.
pub(crate) const fn decisions_of(namespace: &str) -> GroupResource {
    if namespace.is_empty() {
        CLUSTER_DECISIONS
    } else {
        DECISIONS
    }
}

impl DemandResolver {
    /// Finds the demand of the object `name` in `namespace`, in a snapshot with every acknowledged write.
    ///
    /// # Errors
    /// 404 when there is no such demand, and 503 when the engine is behind.
    pub(crate) async fn find(
        self,
        engine: &Engine,
        namespace: &str,
        name: &str,
    ) -> Result<ResolvedDemand, Status> {
        let missing = || match self {
            Self::Decision => Status::not_found(decisions_of(namespace), name),
            Self::Source { resource, .. } => Status::not_found(resource, name),
        };
        let dialect = self.dialect(name).ok_or_else(missing)?;
        let snapshot = engine
            .fresh(dialect)
            .await
            .map_err(|error| behind(&error))?
            .ok_or_else(missing)?;
        Ok(ResolvedDemand {
            demand: self.demand(&snapshot, namespace, name).ok_or_else(missing)?,
            snapshot,
        })
    }

    fn dialect(self, name: &str) -> Option<&str> {
        match self {
            Self::Decision => names::split(name).map(|(_, dialect)| dialect),
            Self::Source { dialect, .. } => Some(dialect),
        }
    }

    fn demand(self, snapshot: &Snapshot, namespace: &str, name: &str) -> Option<Key> {
        match self {
            Self::Decision => {
                let (source, _) = names::split(name)?;
                names::demand(&*snapshot.dialect, &*snapshot.inventory, namespace, source)
            }
            Self::Source { resource, .. } => {
                let key = Key::new(resource, namespace, name);
                snapshot.inventory.object(&key).map(|_| key)
            }
        }
    }

    /// The effort of the decision on `name` in `namespace` and of its report, as far as it is known in
    /// advance. The unit is bytes that could be parsed in the same time.
    pub(crate) fn effort(self, engine: &Engine, namespace: &str, name: &str) -> usize {
        let known = || {
            let snapshot = engine.snapshot(self.dialect(name)?)?;
            let demand = self.demand(&snapshot, namespace, name)?;
            let inventory = &snapshot.inventory;
            let (count, judged) = (inventory.count() as usize, inventory.effort(&demand) as usize);
            Some(
                count
                    .saturating_mul(REPORTING)
                    .saturating_add(judged.saturating_mul(JUDGING)),
            )
        };
        known().unwrap_or_else(|| effort(engine))
    }
}

/// The kind of `demand` in its dialect.
pub(crate) fn kind_of(dialect: &dyn Dialect, demand: &Key) -> &'static str {
    let kinds = dialect.demands().iter();
    kinds
        .filter(|kind| kind.resource == demand.resource)
        .map(|kind| kind.kind)
        .next()
        .unwrap_or_default()
}
