//! From names in requests to demands in a fresh snapshot.

use dialect_contract::Dialect;
use engine::{Behind, Engine, Snapshot};
use meta::{GroupResource, Key, Status};

use super::names;
use super::projection::{CLUSTER_DECISIONS, DECISIONS};

/// Seconds after which a client should ask again while the inventory is behind.
const RETRY_AFTER: u32 = 1;

/// What a request to a computed resource is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum About {
    /// A Decision or ClusterDecision (or what hangs on one), by its virtual name.
    Decision,
    /// A placeable object of the dialect named, by its own name.
    Source {
        /// The dialect.
        dialect: &'static str,
        /// The object's resource.
        resource: GroupResource,
    },
}

/// A demand and the world it is in.
pub(crate) struct Found {
    pub(crate) snapshot: Snapshot,
    pub(crate) demand: Key,
}

/// The answer while the engine is behind.
pub fn behind(behind: &Behind) -> Status {
    Status::unavailable(behind.to_string(), RETRY_AFTER)
}

/// `decisions`, or `clusterdecisions` where there is no namespace.
pub(crate) const fn decisions_of(namespace: &str) -> GroupResource {
    if namespace.is_empty() {
        CLUSTER_DECISIONS
    } else {
        DECISIONS
    }
}

impl About {
    /// Finds what `name` in `namespace` means, in a snapshot that holds every acknowledged write.
    pub(crate) async fn find(self, engine: &Engine, namespace: &str, name: &str) -> Result<Found, Status> {
        let missing = || match self {
            Self::Decision => Status::not_found(decisions_of(namespace), name),
            Self::Source { resource, .. } => Status::not_found(resource, name),
        };
        let dialect = match self {
            Self::Decision => names::split(name).ok_or_else(missing)?.1,
            Self::Source { dialect, .. } => dialect,
        };
        let snapshot = engine
            .fresh(dialect)
            .await
            .map_err(|error| behind(&error))?
            .ok_or_else(missing)?;
        let demand = match self {
            Self::Decision => {
                let (source, _) = names::split(name).ok_or_else(missing)?;
                names::demand(&*snapshot.dialect, &*snapshot.inventory, namespace, source)
            }
            Self::Source { resource, .. } => {
                let key = Key::new(resource, namespace, name);
                snapshot.inventory.object(&key).map(|_| key)
            }
        };
        Ok(Found {
            demand: demand.ok_or_else(missing)?,
            snapshot,
        })
    }
}

/// The kind of `demand`, as its dialect names it.
pub(crate) fn kind_of(dialect: &dyn Dialect, demand: &Key) -> &'static str {
    let kinds = dialect.demands().iter();
    kinds
        .filter(|kind| kind.resource == demand.resource)
        .map(|kind| kind.kind)
        .next()
        .unwrap_or_default()
}
