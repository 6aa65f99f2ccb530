//! Publications (docs/consumers.md): ClusterProfiles and PlacementDecisions of `multicluster.x-k8s.io` in the
//! namespaces that objects of kind Publication name.
//!
//! They are stored objects with several writers: a [`publisher`] applies Berth's fields, others add
//! theirs. Standing alone Berth serves the two kinds from its own store, and on a hub it writes into
//! the hub's ([`outlet`]). [`deed`] computes the change of one object, [`make`] the objects of one
//! target or decision.
//!
//! ```
//! use std::sync::Arc;
//!
//! use berth_storage::{MemoryStore, Store};
//!
//! let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
//! let group = berth_publications::group(&store);
//! let plurals: Vec<&str> = group.resources.iter().map(|resource| resource.kind.info().plural).collect();
//! assert_eq!(plurals, ["clusterprofiles", "placementdecisions"]);
//! ```

mod condition;
mod copies;
mod deed;
mod flat;
mod in_force;
mod kind;
mod known;
mod make;
mod outlet;
mod pace;
mod publisher;
mod spec;
mod work;

use std::sync::Arc;

use berth_apimachinery::{GroupResource, Kind};
use berth_apiserver::{Group, Registry, Resource};
use berth_dialect_contract::{Dialect, config};
use berth_engine::{Committer, Engine};
use berth_hub::HubCommitter;
use berth_hub::mirror::Progress;
use berth_multicluster::kinds;
use berth_storage::Store;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use self::copies::Copies;
pub use self::kind::Publication;
use self::outlet::{OnHub, Outlet, OwnStore};

/// `publications.config.berth.dev`.
pub const PUBLICATIONS: GroupResource = GroupResource::new(config::GROUP, "publications");

/// Destination of Publications.
#[derive(Clone)]
pub enum Place {
    /// In this registry, which serves both kinds.
    Here(Arc<Registry>),
    /// On the hub, through this writer.
    Hub {
        /// Committer of writes there.
        committer: Arc<HubCommitter>,
        /// Progress of the copies from there.
        copies: Arc<Copies>,
    },
}

/// The kind Publication, of `dialects`, kept in `store`: for the group of the configurations.
#[must_use]
pub fn resource(dialects: &[Arc<dyn Dialect>], store: &Arc<dyn Store>) -> Resource {
    Resource::stored(Publication::new(dialects), store)
}

/// The group of published objects, kept in `store`.
#[must_use]
pub fn group(store: &Arc<dyn Store>) -> Group {
    Group::new(
        berth_multicluster::GROUP,
        vec![
            Resource::stored(kinds::cluster_profile(), store),
            Resource::stored(kinds::placement_decision(), store),
        ],
    )
}

/// PublishedDecisions of the decisions of `engine`, for the group of computed objects; `copies` is the
/// progress of copying Publications, where they are a hub's.
#[must_use]
pub fn flat(engine: &Arc<Engine>, copies: Option<Arc<Copies>>) -> Resource {
    flat::resource(engine, copies)
}

/// Published kinds, as a hub has them and they are copied from there.
#[must_use]
pub fn on_hub() -> Vec<Arc<dyn Kind>> {
    vec![
        Arc::new(kinds::cluster_profile()),
        Arc::new(kinds::placement_decision()),
    ]
}

/// Starts publishing the state of `engine`, while `leading` is true, and keeps the conditions of each
/// Publication, through `committer`. `progress` is that of the copies of a hub.
#[must_use]
pub fn spawn(
    engine: &Arc<Engine>,
    place: Place,
    committer: &Arc<dyn Committer>,
    leading: watch::Receiver<bool>,
    progress: Option<watch::Receiver<Progress>>,
) -> Vec<JoinHandle<()>> {
    let outlet: Arc<dyn Outlet> = match (place, progress) {
        (Place::Here(registry), _) => Arc::new(OwnStore(registry)),
        (Place::Hub { committer, copies }, Some(progress)) => {
            copies.follow(progress.clone());
            Arc::new(OnHub { committer, progress })
        }
        (Place::Hub { .. }, None) => return Vec::new(),
    };
    let (tell, told) = watch::channel(Vec::new());
    vec![
        publisher::spawn(engine, outlet, leading, tell),
        condition::spawn(Arc::clone(engine), Arc::clone(committer), told),
    ]
}
