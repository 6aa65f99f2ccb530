//! Publications (docs/consumers.md): ClusterProfiles and PlacementDecisions of `multicluster.x-k8s.io`, served in the
//! namespaces that objects of kind Publication name.
//!
//! They are a projection, as Targets and Decisions are: [`updater`] keeps a store in memory in step with the engine. Only a
//! standalone server has them, since nobody else serves that group there.

mod condition;
mod in_force;
mod kind;
mod make;
mod spec;
mod updater;

use std::sync::Arc;

use apiserver::{Backing, Group, Resource};
use dialect_contract::{Dialect, config};
use engine::{Committer, Engine};
use meta::GroupResource;
use multicluster::kinds::{self, Published};
use storage::{Store, StoreError};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::virtual_api::projection::Projection;

pub use self::kind::Publication;

/// `publications.config.berth.dev`.
pub const PUBLICATIONS: GroupResource = GroupResource::new(config::GROUP, "publications");

/// What Publications show.
pub struct Publications {
    projection: Arc<Projection>,
}

impl Publications {
    /// The Publications among `engine`'s objects.
    #[must_use]
    pub fn new(engine: Arc<Engine>) -> Self {
        Self {
            projection: Projection::new(engine),
        }
    }

    /// The kind Publication, of `dialects`, kept in `store`: for the group of the configurations.
    #[must_use]
    pub fn resource(dialects: &[Arc<dyn Dialect>], store: &Arc<dyn Store>) -> Resource {
        Resource::stored(Publication::new(dialects), store)
    }

    /// The group of what is published.
    #[must_use]
    pub fn group(&self) -> Group {
        Group {
            name: multicluster::GROUP,
            resources: vec![
                self.shown(kinds::cluster_profile()),
                self.shown(kinds::placement_decision()),
            ],
        }
    }

    fn shown(&self, kind: Published) -> Resource {
        let backing = Backing::Projected(Arc::clone(&self.projection) as Arc<_>);
        Resource::new(Arc::new(kind), backing)
    }

    /// Starts keeping what is published in step with the engine, which must be spawned too, and the condition Valid of
    /// each Publication, writing through `committer`.
    pub fn spawn(&self, committer: &Arc<dyn Committer>) -> Vec<JoinHandle<()>> {
        let (tell, told) = watch::channel(Vec::new());
        let engine = Arc::clone(&self.projection.engine);
        vec![
            updater::spawn(Arc::clone(&self.projection), tell),
            condition::spawn(engine, Arc::clone(committer), told),
        ]
    }

    /// Waits until everything is published that is to be: a list that is not complete yet must never be read.
    ///
    /// # Errors
    /// When that takes too long.
    pub async fn complete(&self) -> Result<(), StoreError> {
        self.projection.caught_up().await
    }
}
