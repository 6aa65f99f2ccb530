//! `targets/<name>.kcp/proxy/…`: the API endpoint that the syncer of one workload cluster sees
//! (docs/systems/kcp.md, "The syncer's view"). The endpoint is complete: the URL up to `proxy` is the
//! server of a syncer's kubeconfig.
//!
//! The dialect defines the visible form and the treatment of writes
//! ([`berth_dialect_kcp::syncer_view`]); the server library serves it ([`berth_apiserver::view`]). This
//! module joins the two: [`rules::SyncerRules`] is the adapter, [`SyncerViews`] keeps one API per
//! workload cluster. The right to `targets/proxy` of one target lets a syncer do its work, as
//! `berth:syncer:<identifier>`, and nothing else.
//!
//! Behind a hub, the objects are on the hub ([`HubOrigin`]): the view shows copies of them, and writes go to
//! the hub. The WorkloadClusters themselves are on the hub or in Berth's own store.

mod followed;
mod hub_origin;
mod rules;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use berth_apimachinery::{GroupResource, Key, Object, Schema, Status};
use berth_apiserver::documents::Documents;
use berth_apiserver::view::ViewApi;
use berth_apiserver::{
    Call, Group, InstallError, Registry, RequestInfo, Subresource, SubresourceApi, SubresourceHandler,
    VersionInfo, view,
};
use berth_dialect_contract::Dialect;
use berth_dialect_kcp::names::{DIALECT, WORKLOAD_CLUSTERS};
use berth_dialect_kcp::syncer_view::{identifier, is_advanced};
use berth_storage::Source;
use parking_lot::Mutex;
use schemars::JsonSchema;
use tokio_util::sync::{CancellationToken, DropGuard};

pub use self::hub_origin::HubOrigin;
use self::rules::{SyncerRules, Validity};
use berth_dialect_contract::names;
use berth_dialect_contract::names::TARGETS;
use berth_kubernetes::protobuf::Protobuf;

/// Options of a request through a target's proxy.
#[derive(JsonSchema)]
pub struct TargetProxyOptions {
    /// The path below the API endpoint, such as api/v1/configmaps.
    pub path: Option<String>,
}

static OPTIONS: LazyLock<Arc<Schema>> = LazyLock::new(|| Arc::new(Schema::of::<TargetProxyOptions>()));

/// The objects that syncers see, and the sources of the views' rules.
pub struct SyncerObjects {
    /// Registry of the WorkloadClusters, or of copies of them.
    pub clusters: Arc<Registry>,
    /// Registry of the objects, or of copies of them.
    pub registry: Arc<Registry>,
    /// The hub with the objects, if `registry` has only copies.
    pub hub: Option<Arc<dyn HubOrigin>>,
    /// Source of the WorkloadClusters and of kcp's configuration.
    pub source: Arc<dyn Source>,
    /// The configuration in force, with the synced resources.
    pub configuration: ConfigurationReader,
}

/// The SchedulerConfiguration in force of a system; `None` where the defaults apply.
pub type ConfigurationReader = Arc<dyn Fn(&str) -> Option<Arc<Object>> + Send + Sync>;

/// Adds `targets/proxy` to `groups`, over the objects in `shown`, if kcp is one of `dialects`. Returns the
/// views that the subresource serves, which [`SyncerViews::spawn`] keeps up to date.
pub fn attach<'a>(
    groups: &mut [Group],
    shown: SyncerObjects,
    dialects: impl IntoIterator<Item = &'a Arc<dyn Dialect>>,
    version: VersionInfo,
) -> Option<Arc<SyncerViews>> {
    let mut dialects = dialects.into_iter();
    let dialect = dialects.find(|dialect| dialect.name() == DIALECT)?;
    let handler = Arc::new(SyncerViews {
        shown,
        dialect: Arc::clone(dialect),
        version,
        documents: Mutex::default(),
        views: Mutex::default(),
    });
    let resources = groups.iter_mut().flat_map(|group| &mut group.resources);
    for resource in resources.filter(|resource| resource.kind.info().resource() == TARGETS) {
        resource.subresources.push(Subresource {
            name: "proxy",
            group: "",
            version: "",
            kind: "TargetProxyOptions",
            verbs: &["get", "patch", "update"],
            schema: Some(Arc::clone(&OPTIONS)),
            handler: Arc::clone(&handler) as Arc<_>,
        });
    }
    Some(handler)
}

/// Synced resources, with the documents that describe them.
type DescribedResources = (Vec<GroupResource>, Arc<Documents>);

/// The APIs of all syncers.
pub struct SyncerViews {
    shown: SyncerObjects,
    dialect: Arc<dyn Dialect>,
    version: VersionInfo,
    /// The cached documents of the synced resources.
    documents: Mutex<Option<DescribedResources>>,
    /// The views, by the name of the workload cluster.
    views: Mutex<BTreeMap<String, View>>,
}

/// The API of one syncer, and the state it was built for.
struct View {
    /// The identifier of the WorkloadCluster.
    identifier: String,
    /// Whether the WorkloadCluster is advanced ([`is_advanced`]).
    advanced: bool,
    synced: Vec<GroupResource>,
    api: Arc<ViewApi>,
    /// Ends the watches of the view when it is dropped.
    _ends: DropGuard,
}

impl View {
    /// Whether the view was built for the present state of `cluster` and for the resources in `synced`.
    fn is_current(&self, cluster: &Object, synced: &[GroupResource]) -> bool {
        let meta = cluster.meta();
        self.identifier == identifier(meta) && self.advanced == is_advanced(cluster) && self.synced == synced
    }
}

#[async_trait]
impl SubresourceHandler for SyncerViews {
    fn effort(&self, _: &RequestInfo) -> usize {
        0
    }

    async fn api(&self, call: &Call) -> Result<Option<Arc<dyn SubresourceApi>>, Status> {
        let missing = || Status::not_found(TARGETS, &call.name);
        let (name, dialect) = names::split(&call.name).ok_or_else(missing)?;
        if dialect != DIALECT {
            return Err(Status::no_such_path());
        }
        let key = Key::new(WORKLOAD_CLUSTERS, "", name);
        let cluster = match self.shown.clusters.get(&key).await {
            Ok(cluster) => cluster,
            Err(status) if status.code == 404 => {
                self.views.lock().remove(name);
                return Err(missing());
            }
            Err(status) => return Err(status),
        };
        self.view(name, &cluster)
            .map(|view| Some(view as Arc<dyn SubresourceApi>))
            .map_err(|problem| Status::internal(problem.to_string()))
    }

    async fn tidy(&self) {
        let apis: Vec<_> = {
            let views = self.views.lock();
            views.values().map(|view| Arc::clone(&view.api)).collect()
        };
        for api in apis {
            api.tidy().await;
        }
    }
}

impl SyncerViews {
    /// The API of the syncer of `cluster`, which is named `name`: built at the first request, and after
    /// changes.
    fn view(&self, name: &str, cluster: &Object) -> Result<Arc<ViewApi>, InstallError> {
        let (synced, documents) = self.synced_documents()?;
        let mut views = self.views.lock();
        if let Some(view) = views.get(name).filter(|view| view.is_current(cluster, &synced)) {
            return Ok(Arc::clone(&view.api));
        }
        let (own_identifier, advanced) = (identifier(cluster.meta()).to_owned(), is_advanced(cluster));
        let ended = CancellationToken::new();
        let validity = Validity {
            cluster: name.into(),
            since: self.shown.source.revision(),
            ended: ended.clone(),
        };
        let rules = SyncerRules::new(&own_identifier, advanced, &self.shown, &synced, validity);
        let codec = Some(Arc::new(Protobuf) as Arc<_>);
        let api = Arc::new(ViewApi::new(
            &self.shown.registry,
            Arc::new(rules),
            &synced,
            documents,
            codec,
        )?);
        let view = View {
            identifier: own_identifier,
            advanced,
            synced,
            api: Arc::clone(&api),
            _ends: ended.drop_guard(),
        };
        views.insert(name.to_owned(), view);
        Ok(api)
    }

    /// The synced resources that Berth serves, and the documents that describe them.
    fn synced_documents(&self) -> Result<DescribedResources, InstallError> {
        let synced = self.synced();
        let mut cache = self.documents.lock();
        match &*cache {
            Some((known, documents)) if *known == synced => Ok((synced, Arc::clone(documents))),
            _ => {
                let documents = view::documents(&self.shown.registry, &synced, "Berth", &self.version)?;
                let documents = Arc::new(documents);
                *cache = Some((synced.clone(), Arc::clone(&documents)));
                Ok((synced, documents))
            }
        }
    }

    /// The synced resources, by the configuration in force, that Berth serves.
    fn synced(&self) -> Vec<GroupResource> {
        let in_force = (self.shown.configuration)(DIALECT);
        let spec = in_force
            .as_ref()
            .and_then(|object| object.value()["spec"].get(DIALECT));
        let mut all = self.dialect.configuration().guards(spec);
        let index = self.shown.registry.index();
        all.retain(|resource| {
            let served = index.preferred(*resource);
            served.is_some_and(|served| served.source().is_some())
        });
        all.sort_unstable();
        all.dedup();
        all
    }
}
