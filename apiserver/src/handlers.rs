//! The API behind the request pipeline: it finds the resource of a request, and calls the handler of the
//! verb.

mod answer;
mod apply;
mod body;
mod computed;
mod create;
mod delete;
mod effort;
mod get;
mod list;
mod patch;
mod subresource;
mod update;
mod watch;

use std::sync::Arc;

use async_trait::async_trait;
use axum::body::Body;
use berth_admission::Chain;
use berth_apimachinery::{Clock, GroupResource, Revision, Status};
use berth_storage::Collection;
use http::{HeaderMap, Response};

use crate::actor::Actor;
use crate::call::Call;
use crate::compress::CompressedBodies;
use crate::context::{Api, AuthorizedRequest, RequestCx, Route};
use crate::decode::{self, Codec};
use crate::listing::Listings;
use crate::managers;
use crate::registry::{InstallError, ObjectAddress, Registry};
use crate::request_info::RequestInfo;
use crate::resource::{Backing, Group};
use crate::served::ServedVersion;

/// Time for which the list of a projection is cached for further pages.
const LIST_LIFETIME: std::time::Duration = std::time::Duration::from_secs(300);
/// Highest number of cached lists of projections.
const LISTS_LIMIT: u64 = 256;

/// Shared state of the handlers, which is the [`Api`] of a server.
pub struct ApiState {
    registry: Arc<Registry>,
    codec: Option<Arc<dyn Codec>>,
    compressed: CompressedBodies,
    cached_lists: moka::sync::Cache<(GroupResource, Revision), Collection>,
    listings: Listings,
}

impl ApiState {
    /// Creates the API of `groups`. Writes pass `chain`, and in-process writes have the time of `clock`.
    ///
    /// # Errors
    /// When a resource is a duplicate, or in the wrong group.
    pub fn new(groups: &[Group], chain: Chain, clock: Arc<dyn Clock>) -> Result<Self, InstallError> {
        Ok(Self::from_registry(
            Registry::builder(chain, clock).build(groups)?,
        ))
    }

    /// Creates the API of an existing `registry`, for groups that themselves write through the registry.
    #[must_use]
    pub fn from_registry(registry: Arc<Registry>) -> Self {
        let cached_lists = moka::sync::Cache::builder()
            .time_to_live(LIST_LIFETIME)
            .max_capacity(LISTS_LIMIT)
            .eviction_policy(moka::policy::EvictionPolicy::lru())
            .build();
        Self {
            registry,
            codec: None,
            compressed: CompressedBodies::new(),
            cached_lists,
            listings: Listings::new(),
        }
    }

    /// Adds a codec for protobuf.
    #[must_use]
    pub fn with_codec(self, codec: Arc<dyn Codec>) -> Self {
        Self {
            codec: Some(codec),
            ..self
        }
    }

    /// Returns the registry.
    #[must_use]
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    fn served(&self, info: &RequestInfo) -> Option<&Arc<ServedVersion>> {
        self.registry
            .index()
            .get(&info.group, &info.version, &info.resource)
    }

    async fn answer(&self, request: &RequestCx) -> Result<Response<Body>, Status> {
        let served = self.served(&request.info).ok_or_else(Status::no_such_path)?;
        let cx = Cx::new(self, served, request)?;
        if !request.info.subresource.is_empty() {
            return subresource::handle(&cx).await;
        }
        let verb = request.info.verb;
        if !served.supports(verb) || !cx.verb_fits_path() {
            let mut status = Status::method_not_allowed();
            if let Some(reason) = served.resource.refusal {
                status.message = format!("{}: {reason}", status.message);
            }
            return Err(status);
        }
        let is_computed = matches!(served.resource.backing, Backing::Computed(_));
        match verb {
            "get" if is_computed => computed::get(&cx).await,
            "list" if is_computed => computed::list(&cx).await,
            "create" if is_computed => computed::create(&cx).await,
            "update" if is_computed => computed::update(&cx).await,
            "patch" if is_computed => computed::patch(&cx).await,
            "delete" if is_computed => computed::delete(&cx).await,
            "deletecollection" if is_computed => computed::delete_collection(&cx).await,
            "get" => get::handle(&cx).await,
            "list" => list::handle(&cx).await,
            "watch" => watch::handle(&cx).await,
            "create" => create::handle(&cx).await,
            "update" => update::handle(&cx, "").await,
            "patch" => patch::handle(&cx, "").await,
            "delete" => delete::handle(&cx).await,
            "deletecollection" => delete::handle_collection(&cx).await,
            _ => Err(Status::method_not_allowed()),
        }
    }
}

#[async_trait]
impl Api for ApiState {
    fn route(&self, info: &RequestInfo) -> Option<Route> {
        let served = self.served(info)?;
        let subresource = match info.subresource.as_str() {
            "" => "",
            "status" if served.has_status() => "status",
            name => served.subresource(name)?.name,
        };
        Some(Route {
            group: served.name.group,
            version: served.version,
            resource: served.name.resource,
            subresource,
        })
    }

    fn changed_bytes(&self, info: &RequestInfo) -> usize {
        let size = || {
            let (info, collection) = match &info.inner {
                // A write through a view changes an object that is stored here, or of which there is a copy.
                Some(inner) => {
                    let served = self.served(inner)?;
                    (&**inner, served.source()?.cached(served.stored))
                }
                None => {
                    let served = self.served(info)?;
                    (info, served.store()?.cached(served.stored))
                }
            };
            let name = info.named_in_path.then_some(info.name.as_str())?;
            Some(collection.get(&info.namespace, name)?.len())
        };
        size().unwrap_or_default()
    }

    fn tree_size(&self, headers: &HeaderMap, body: &[u8]) -> usize {
        decode::tree_size(self.codec.as_deref(), headers, body)
    }

    fn effort(&self, info: &RequestInfo, headers: &HeaderMap) -> usize {
        effort::estimate(self, info, headers)
    }

    async fn tidy(&self) {
        self.cached_lists.run_pending_tasks();
        self.listings.tidy();
        self.compressed.tidy().await;
        let resources = self.registry.index().all().map(|served| &served.resource);
        let subresources: Vec<_> = resources.flat_map(|resource| &resource.subresources).collect();
        for subresource in subresources {
            subresource.handler.tidy().await;
        }
    }

    async fn dispatch(&self, request: AuthorizedRequest) -> Response<Body> {
        let request = request.into_inner();
        match self.answer(&request).await {
            Ok(response) => response,
            Err(status) => self.refusal(&request, &status),
        }
    }
}

/// One request in a handler.
struct Cx<'a> {
    state: &'a ApiState,
    served: &'a Arc<ServedVersion>,
    request: &'a RequestCx,
    /// The namespace in the path, empty for cluster-scoped resources and for lists of all namespaces.
    namespace: &'a str,
    /// The name in the path, or the empty string.
    name: &'a str,
    /// The field manager of a create, an update or a patch; empty for other verbs.
    manager: String,
}

impl<'a> Cx<'a> {
    fn new(
        state: &'a ApiState,
        served: &'a Arc<ServedVersion>,
        request: &'a RequestCx,
    ) -> Result<Self, Status> {
        let info = &request.info;
        let name = if info.named_in_path {
            info.name.as_str()
        } else {
            ""
        };
        let mut namespace = info.namespace.as_str();
        if !served.info().namespaced() && !namespace.is_empty() {
            // In the path of a Namespace object, its name is also the namespace.
            if !(info.group.is_empty() && info.resource == "namespaces") {
                return Err(Status::no_such_path());
            }
            namespace = "";
        }
        if served.info().namespaced() && namespace.is_empty() && !name.is_empty() {
            return Err(Status::no_such_path());
        }
        if !info.rest.is_empty() && info.subresource != "proxy" {
            return Err(Status::no_such_path());
        }
        for segment in [name, namespace] {
            if let Err(problem) = berth_apimachinery::name::path_segment(segment) {
                return Err(Status::bad_request(format!(
                    "invalid path segment {segment:?}: {problem}"
                )));
            }
        }
        let manager = match info.verb {
            "create" | "update" | "patch" => managers::of_request(&request.headers, &info.query),
            _ => String::new(),
        };
        Ok(Self {
            state,
            served,
            request,
            namespace,
            name,
            manager,
        })
    }

    /// Whether the verb fits the path. Verbs of one object need a name. A create and a deletecollection need
    /// a path without a name, and with a namespace if the resource is namespaced.
    fn verb_fits_path(&self) -> bool {
        let is_named = !self.name.is_empty();
        match self.request.info.verb {
            "get" | "update" | "patch" | "delete" => is_named,
            "create" | "deletecollection" => {
                !is_named && (!self.served.info().namespaced() || !self.namespace.is_empty())
            }
            _ => true,
        }
    }

    fn address(&self) -> ObjectAddress<'_> {
        ObjectAddress {
            served: self.served,
            namespace: self.namespace,
            name: self.name,
        }
    }

    fn actor(&self, dry_run: bool) -> Actor<'_> {
        Actor {
            user: &self.request.user,
            manager: &self.manager,
            now: self.request.now,
            dry_run,
            policies_consulted: false,
            decided: false,
            warnings: &self.request.warnings,
            annotations: &self.request.annotations,
        }
    }

    fn call(&self, dry_run: bool) -> Call {
        Call {
            user: self.request.user.clone(),
            manager: self.manager.clone(),
            version: self.served.version.to_owned(),
            namespace: self.namespace.to_owned(),
            name: self.name.to_owned(),
            now: self.request.now,
            query: self.request.info.query.clone(),
            dry_run,
            warnings: self.request.warnings.clone(),
            annotations: self.request.annotations.clone(),
            authorizer: Arc::clone(&self.request.authorizer),
        }
    }
}

#[cfg(test)]
mod tests;
