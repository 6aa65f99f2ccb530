//! The virtual API `scheduling.berth.dev` (docs/reference.md, "Resources"): the engine's inventories
//! and decisions, as resources.
//!
//! Targets and Decisions are projections that can be watched; candidates, reviews and the subresources
//! `scheduling`, `advice` and `binding` are computed at each request. Start reading at [`VirtualApi`]; the
//! shapes are in `berth_scheduling_api`.
//!
//! ```
//! use std::sync::Arc;
//!
//! use berth_admission::Chain;
//! use berth_apiserver::{Registry, SystemClock};
//! use berth_scheduling_rest::VirtualApi;
//! use berth_engine::Engine;
//! use berth_storage::MemoryStore;
//!
//! let clock: Arc<dyn berth_apimachinery::Clock> = Arc::new(SystemClock);
//! let store = Arc::new(MemoryStore::default());
//! let engine = Engine::new(berth_dialect_registry::all(), store, Arc::clone(&clock));
//! let registry = Registry::builder(Chain::default(), clock).build(&[]).unwrap();
//! let [group] = &VirtualApi::new(engine, registry, Vec::new()).groups()[..] else { panic!() };
//! let plurals = group.resources.iter().map(|resource| resource.kind.info().plural);
//! assert!(plurals.clone().any(|plural| plural == "targets") && plurals.clone().any(|plural| plural == "decisions"));
//! ```

mod advice;
mod binding;
mod candidates;
mod commit;
mod decision_query;
pub mod faults;
mod head;
mod hidden;
mod limit;
mod live;
pub mod names;
pub mod observed;
pub mod own_places;
mod plans;
pub mod projection;
pub mod records;
pub mod render;
mod resolve;
pub mod review;
mod reviews;
mod rights_to_change;
mod scheduling;
mod subresources;
pub mod tallies;
pub mod updater;

use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::{GroupResource, Kind};
use berth_apiserver::{Backing, Effort, Group, Registry, Resource, Subresource, heavy};
use berth_dialect_contract::{DemandKind, Dialect};
use berth_engine::{Catalog, Committer, Engine, agreement};
use berth_scheduling_api::{self as kinds, GROUP, VERSION, VirtualKind};
use tokio::task::JoinHandle;

use self::binding::{Binder, Bindings};
use self::candidates::Candidates;
use self::projection::Projection;
use self::records::{HistoryReader, Records};
use self::resolve::DemandResolver;
use self::reviews::Reviews;

/// Function that estimates the present cost of a decision and its report, in bytes that could be parsed in
/// the same time.
pub type EffortEstimator = Arc<dyn Fn() -> usize + Send + Sync>;

pub use self::commit::{RegistryCommitter, actor_user};
pub use self::resolve::behind;
pub use self::scheduling::{scheduling_of, summary_of};

/// The virtual API over one engine.
pub struct VirtualApi {
    binder: Binder,
    registry: Arc<Registry>,
    projection: Arc<Projection>,
    catalog: Arc<Catalog>,
    records: Option<Records>,
    extra_resources: Vec<Resource>,
    grace: Duration,
}

impl VirtualApi {
    /// The virtual API over `engine`, which binds by writing through `registry`. Reviews may contain objects
    /// of `kinds` and of the dialects' own kinds.
    #[must_use]
    pub fn new(engine: Arc<Engine>, registry: Arc<Registry>, kinds: Vec<Arc<dyn Kind>>) -> Self {
        let own: Vec<Arc<dyn Kind>> = engine
            .dialects()
            .flat_map(|dialect| dialect.stored_kinds())
            .collect();
        let committer = Arc::new(RegistryCommitter(Arc::clone(&registry)));
        let projection = Projection::new(Arc::clone(&engine));
        let catalog = Arc::new(Catalog::new(kinds.into_iter().chain(own)));
        Self {
            binder: Binder { engine, committer },
            registry,
            projection,
            catalog,
            records: None,
            extra_resources: Vec::new(),
            grace: agreement::GRACE,
        }
    }

    /// Sets `grace`, the time for another scheduler to decide like Berth before an observed decision
    /// reports a difference.
    #[must_use]
    pub fn observing(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Binds through `committer` instead of the registry, for objects on a hub.
    #[must_use]
    pub fn binding_through(mut self, committer: Arc<dyn Committer>) -> Self {
        self.binder.committer = committer;
        self
    }

    /// Serves the history of decisions from `records`.
    #[must_use]
    pub fn remembering(mut self, records: Records) -> Self {
        self.records = Some(records);
        self
    }

    /// Adds another `resource` to the group.
    #[must_use]
    pub fn serving(mut self, resource: Resource) -> Self {
        self.extra_resources.push(resource);
        self
    }

    /// Starts to update Targets and Decisions with the engine, which must be spawned, too.
    pub fn spawn(&self) -> JoinHandle<()> {
        updater::spawn(Arc::clone(&self.projection), self.grace)
    }

    /// Whether Targets and Decisions are shown: the readiness of the virtual API.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.projection.is_ready()
    }

    /// Returns the projection of Targets and Decisions.
    #[must_use]
    pub fn projection(&self) -> &Arc<Projection> {
        &self.projection
    }

    /// The kinds of objects that reviews (and `simulate`) read.
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
        let mut resources = vec![
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
        if let Some(records) = &self.records {
            let stored = || Backing::Stored(Arc::clone(&records.store));
            resources.push(resource(kinds::record::cluster(), stored()));
            resources.push(resource(kinds::record::namespaced(), stored()));
        }
        resources.extend(self.extra_resources.iter().cloned());
        vec![Group {
            name: GROUP,
            resources,
        }]
    }

    fn projected(&self) -> Backing {
        Backing::Projected(Arc::clone(&self.projection) as Arc<_>)
    }

    fn decisions(&self, kind: VirtualKind) -> Resource {
        let namespaced = kind.info().namespaced();
        let mut subresources = vec![
            subresources::binding(&self.binder, DemandResolver::Decision, namespaced),
            subresources::scheduling(&self.binder.engine, &self.catalog, DemandResolver::Decision),
            subresources::advice(&self.binder.engine, &self.catalog),
        ];
        subresources.extend(self.records.clone().map(history));
        resource(kind, self.projected()).with_subresources(subresources)
    }

    /// Adds to a dialect's `resource` of demands the subresources `binding` and `scheduling`, and the effort
    /// of the decisions that a write makes itself. Returns other resources unchanged.
    #[must_use]
    pub fn extended(&self, resource: Resource) -> Resource {
        let subresources = self.subresources(resource.kind.info().resource());
        if subresources.is_empty() {
            return resource;
        }
        let names_its_place = self.demands().any(|(_, demand)| {
            demand.resource == resource.kind.info().resource() && demand.own_place.is_some()
        });
        resource
            .with_subresources(subresources)
            .with_effort(self.write_effort(names_its_place))
    }

    /// Estimator of the cost of a decision and its report, in bytes that could be parsed in the same time.
    #[must_use]
    pub fn effort(&self) -> EffortEstimator {
        let engine = Arc::clone(&self.binder.engine);
        Arc::new(move || resolve::effort(&engine))
    }

    /// The effort of the decision that a write of a demand makes itself. A dry run decides, at an unknown
    /// cost, since the object's own expressions may be evaluated. Other writes decide only where the object
    /// may name its place. All other decisions are the engine's, which has its own limits.
    fn write_effort(&self, names_its_place: bool) -> Effort {
        let effort = self.effort();
        Arc::new(move |info| {
            let writes = matches!(info.verb, "create" | "update" | "patch") && info.subresource.is_empty();
            let is_dry_run = info.query.first("dryRun").is_some();
            match writes {
                true if is_dry_run => heavy::UNKNOWN,
                true if names_its_place => effort(),
                _ => 0,
            }
        })
    }

    fn demands(&self) -> impl Iterator<Item = (&Arc<dyn Dialect>, &'static DemandKind)> {
        let dialects = self.binder.engine.dialects();
        dialects.flat_map(|dialect| dialect.demands().iter().map(move |demand| (dialect, demand)))
    }

    fn subresources(&self, resource: GroupResource) -> Vec<Subresource> {
        self.demands()
            .filter(|(_, demand)| demand.resource == resource)
            .flat_map(|(dialect, demand)| {
                subresources::of_demand(&self.binder, &self.registry, &self.catalog, &**dialect, demand)
            })
            .collect()
    }
}

/// The `history` subresource.
fn history(records: Records) -> Subresource {
    Subresource {
        name: "history",
        group: GROUP,
        version: VERSION,
        kind: "DecisionHistory",
        verbs: &["get"],
        schema: Some(Arc::new(kinds::record::history())),
        handler: Arc::new(HistoryReader(records)),
    }
}

fn resource(kind: VirtualKind, backing: Backing) -> Resource {
    Resource::new(Arc::new(kind), backing)
}
