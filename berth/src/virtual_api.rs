//! The virtual API `scheduling.berth.dev` (docs/api.md, "Resources"): what the engine knows and decides, as resources.
//!
//! Targets and Decisions are projections that can be watched; candidates, reviews and the subresources `scheduling`
//! and `binding` are made at each request. Start reading at [`VirtualApi`]; the shapes are in [`kinds`].

mod binding;
mod candidates;
mod commit;
mod faults;
mod hidden;
pub mod kinds;
pub mod names;
pub(crate) mod own_places;
mod owned;
mod plans;
pub mod projection;
mod render;
mod resolve;
pub mod review;
mod reviews;
mod scheduling;
pub(crate) mod updater;

use std::sync::Arc;

use apiserver::registry::Registry;
use apiserver::{Backing, Group, Resource, Subresource};
use engine::{Catalog, Committer, Engine};
use meta::{GroupResource, Kind};
use tokio::task::JoinHandle;

use self::binding::{Binder, Bindings};
use self::candidates::Candidates;
use self::kinds::{GROUP, Virtual};
use self::projection::Projection;
use self::resolve::About;
use self::reviews::Reviews;

pub use self::commit::RegistryCommitter;
pub use self::kinds::API_VERSION;
pub(crate) use self::resolve::behind;
pub(crate) use self::scheduling::scheduling_of;

/// The virtual API over one engine.
pub struct VirtualApi {
    binder: Binder,
    registry: Arc<Registry>,
    projection: Arc<Projection>,
    catalog: Arc<Catalog>,
}

impl VirtualApi {
    /// The virtual API over `engine`, which binds by writing through `registry`. Reviews may bring objects of any of
    /// `kinds`, and of the dialects' own.
    #[must_use]
    pub fn new(engine: Arc<Engine>, registry: Arc<Registry>, kinds: Vec<Arc<dyn Kind>>) -> Self {
        let own: Vec<Arc<dyn Kind>> = engine.dialects().flat_map(|dialect| dialect.kinds()).collect();
        let committer = Arc::new(RegistryCommitter(Arc::clone(&registry)));
        let projection = Projection::new(Arc::clone(&engine));
        let catalog = Arc::new(Catalog::new(kinds.into_iter().chain(own)));
        Self {
            binder: Binder { engine, committer },
            registry,
            projection,
            catalog,
        }
    }

    /// The same, binding through `committer` instead: where objects are a hub's.
    #[must_use]
    pub fn binding_through(mut self, committer: Arc<dyn Committer>) -> Self {
        self.binder.committer = committer;
        self
    }

    /// Starts keeping Targets and Decisions in step with the engine, which must be spawned too.
    pub fn spawn(&self) -> JoinHandle<()> {
        updater::spawn(Arc::clone(&self.projection))
    }

    /// Whether Targets and Decisions are shown: the readiness of the virtual API.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.projection.is_ready()
    }

    /// Where Targets and Decisions are read.
    #[must_use]
    pub fn projection(&self) -> &Arc<Projection> {
        &self.projection
    }

    /// The kinds reviews (and `simulate`) read objects of.
    #[must_use]
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// The group to serve.
    #[must_use]
    pub fn groups(&self) -> Vec<Group> {
        let engine = &self.binder.engine;
        let candidates = |namespaced| {
            Backing::Computed(Arc::new(Candidates {
                engine: Arc::clone(engine),
                namespaced,
            }) as Arc<_>)
        };
        let bindings = || Backing::Computed(Arc::new(Bindings(self.binder.clone())) as Arc<_>);
        let reviews = |kind| {
            Backing::Computed(Arc::new(Reviews {
                engine: Arc::clone(engine),
                catalog: Arc::clone(&self.catalog),
                kind,
            }) as Arc<_>)
        };
        let resources = vec![
            resource(kinds::binding::namespaced(), bindings()),
            resource(kinds::candidate::namespaced(), candidates(true)),
            resource(kinds::binding::cluster(), bindings()),
            resource(kinds::candidate::cluster(), candidates(false)),
            self.decisions(kinds::decision::cluster()),
            self.decisions(kinds::decision::namespaced()),
            resource(kinds::review::local(), reviews("LocalSchedulingReview")),
            resource(kinds::review::kind(), reviews("SchedulingReview")),
            resource(kinds::target::kind(), self.projected()),
        ];
        vec![Group {
            name: GROUP,
            resources,
        }]
    }

    fn projected(&self) -> Backing {
        Backing::Projected(Arc::clone(&self.projection) as Arc<_>)
    }

    fn decisions(&self, kind: Virtual) -> Resource {
        let namespaced = kind.info().namespaced();
        let subresources = vec![
            owned::binding(&self.binder, About::Decision, namespaced),
            owned::scheduling(&self.binder.engine, &self.catalog, About::Decision),
        ];
        Resource {
            subresources,
            ..resource(kind, self.projected())
        }
    }

    /// The subresources to serve on the dialects' own resource `resource` beside its `status`: `binding` and
    /// `scheduling` on what can be placed, none elsewhere.
    #[must_use]
    pub fn subresources(&self, resource: GroupResource) -> Vec<Subresource> {
        let demands = self
            .binder
            .engine
            .dialects()
            .flat_map(|dialect| dialect.demands().iter().map(move |demand| (dialect, demand)));
        demands
            .filter(|(_, demand)| demand.resource == resource)
            .flat_map(|(dialect, demand)| {
                owned::subresources(&self.binder, &self.registry, &self.catalog, &**dialect, demand)
            })
            .collect()
    }
}

fn resource(kind: Virtual, backing: Backing) -> Resource {
    Resource {
        kind: Arc::new(kind),
        backing,
        subresources: Vec::new(),
    }
}
