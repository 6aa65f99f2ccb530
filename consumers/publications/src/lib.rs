//! Publications (docs/consumers.md): ClusterProfiles and PlacementDecisions of `multicluster.x-k8s.io` in the
//! namespaces that objects of kind Publication name.
//!
//! Published objects are stored and have several writers: a [`publisher`] applies Berth's fields, and
//! other clients add theirs. A standalone Berth serves the two kinds from its own store; behind a hub,
//! Berth writes the objects to the hub ([`object_writer`]). [`compute`] renders the objects of one target or
//! decision, [`task`] compares an object with the stored one, and [`work`] writes the differences.
//! PublishedDecisions are not stored: they are computed at each read ([`mod@flat`]).
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

mod compute;
mod condition;
mod copies;
mod flat;
mod in_force;
mod kind;
mod object_writer;
mod published_state;
mod publisher;
mod rate_limiter;
mod spec;
mod task;
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
use self::object_writer::{ObjectWriter, OnHub, OwnStore};

/// The resource `publications.config.berth.dev`.
pub const PUBLICATIONS: GroupResource = GroupResource::new(config::GROUP, "publications");

/// Destination of published objects.
#[derive(Clone)]
pub enum Destination {
    /// The registry of this server, which serves ClusterProfiles and PlacementDecisions.
    Registry(Arc<Registry>),
    /// The hub.
    Hub {
        /// Committer of writes to the hub.
        committer: Arc<HubCommitter>,
        /// Progress of the copies from the hub.
        copies: Arc<Copies>,
    },
}

/// The resource `publications`, for the systems of `dialects`, stored in `store`. The resource belongs to the
/// group of the configurations.
#[must_use]
pub fn resource(dialects: &[Arc<dyn Dialect>], store: &Arc<dyn Store>) -> Resource {
    Resource::stored(Publication::new(dialects), store)
}

/// The group of published objects, stored in `store`.
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

/// The resource `publisheddecisions` over the decisions of `engine`, for the group of the virtual API.
/// `copies` is the progress of copying Publications from the hub, if there is a hub.
#[must_use]
pub fn flat(engine: &Arc<Engine>, copies: Option<Arc<Copies>>) -> Resource {
    flat::resource(engine, copies)
}

/// The kinds of published objects that a hub stores: ClusterProfile and PlacementDecision.
#[must_use]
pub fn kinds_on_hub() -> Vec<Arc<dyn Kind>> {
    vec![
        Arc::new(kinds::cluster_profile()),
        Arc::new(kinds::placement_decision()),
    ]
}

/// Starts to publish the state of `engine` while `leading` is true, and to write the conditions of each
/// Publication through `committer`. `progress` is the progress of copying objects from the hub; without it,
/// nothing is published to a hub.
#[must_use]
pub fn spawn(
    engine: &Arc<Engine>,
    destination: Destination,
    committer: &Arc<dyn Committer>,
    leading: watch::Receiver<bool>,
    progress: Option<watch::Receiver<Progress>>,
) -> Vec<JoinHandle<()>> {
    let writer: Arc<dyn ObjectWriter> = match (destination, progress) {
        (Destination::Registry(registry), _) => Arc::new(OwnStore(registry)),
        (Destination::Hub { committer, copies }, Some(progress)) => {
            copies.follow(progress.clone());
            Arc::new(OnHub { committer, progress })
        }
        (Destination::Hub { .. }, None) => return Vec::new(),
    };
    let (report, reports) = watch::channel(Vec::new());
    vec![
        publisher::spawn(engine, writer, leading, report),
        condition::spawn(Arc::clone(engine), Arc::clone(committer), reports),
    ]
}
