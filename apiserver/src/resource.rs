//! Resources that a program passes to the server: groups of resources, each with a kind and the source of its
//! objects.

use std::sync::Arc;

use async_trait::async_trait;
use berth_apimachinery::write::CommitError;
use berth_apimachinery::{GroupResource, Key, Kind, Object, Schema, Status};
use berth_storage::{Source, Store};
use serde_json::Value;

use crate::actor::Actor;
use crate::call::{Call, ListQuery, Reply};
use crate::context::SubresourceApi;
use crate::listing::Listing;
use crate::request_info::RequestInfo;

/// One resource of one group, in all its versions.
#[derive(Clone)]
pub struct Resource {
    /// Kind of the objects: names, schema, rules and columns. Its `verbs` are the served verbs.
    pub kind: Arc<dyn Kind>,
    /// Source of the objects.
    pub backing: Backing,
    /// Subresources except `status`, which the server adds to every resource that is not computed and whose
    /// kind has the status subresource.
    pub subresources: Vec<Subresource>,
    /// Effort of the resource's requests in addition to the size of their bodies; `None` means no additional
    /// effort.
    pub effort: Option<Effort>,
    /// Reason why the resource does not serve other verbs, which follows the message of Kubernetes in the
    /// answer to such a verb.
    pub refusal: Option<&'static str>,
}

/// Cost of requests whose admission plugins read other objects, in addition to the size of the body. The unit
/// is the number of bytes that could be parsed in the same time: see [`crate::heavy`].
pub type Effort = Arc<dyn Fn(&RequestInfo) -> usize + Send + Sync>;

impl Resource {
    /// Creates a resource with objects of `kind` from `backing`.
    #[must_use]
    pub fn new(kind: Arc<dyn Kind>, backing: Backing) -> Self {
        Self {
            kind,
            backing,
            subresources: Vec::new(),
            effort: None,
            refusal: None,
        }
    }

    /// Creates a resource with objects of `kind` that `handler` computes for each request.
    #[must_use]
    pub fn computed(kind: impl Kind, handler: impl Computed) -> Self {
        Self::new(Arc::new(kind), Backing::Computed(Arc::new(handler)))
    }

    /// Creates a resource with objects of `kind` in `store`.
    #[must_use]
    pub fn stored(kind: impl Kind, store: &Arc<dyn Store>) -> Self {
        Self::new(Arc::new(kind), Backing::Stored(Arc::clone(store)))
    }

    /// Adds a subresource.
    #[must_use]
    pub fn with_subresource(mut self, subresource: Subresource) -> Self {
        self.subresources.push(subresource);
        self
    }

    /// Adds subresources.
    #[must_use]
    pub fn with_subresources(mut self, subresources: impl IntoIterator<Item = Subresource>) -> Self {
        self.subresources.extend(subresources);
        self
    }

    /// Sets the additional `effort` of requests.
    #[must_use]
    pub fn with_effort(mut self, effort: Effort) -> Self {
        self.effort = Some(effort);
        self
    }

    /// Effort of the program's own part of a request: the additional effort of the resource, and the effort
    /// of the handler that answers the request.
    #[must_use]
    pub fn effort_of(&self, info: &RequestInfo) -> usize {
        let resource_effort = self.effort.as_ref().map_or(0, |effort| effort(info));
        let handler_effort = match (info.subresource.as_str(), &self.backing) {
            ("", Backing::Computed(handler)) => handler.effort(info),
            ("", _) => 0,
            (name, _) => {
                let subresource = self
                    .subresources
                    .iter()
                    .find(|subresource| subresource.name == name);
                subresource.map_or(0, |subresource| subresource.handler.effort(info))
            }
        };
        resource_effort.saturating_add(handler_effort)
    }

    /// Sets the `reason` why the resource does not serve other verbs.
    #[must_use]
    pub fn with_refusal(mut self, reason: &'static str) -> Self {
        self.refusal = Some(reason);
        self
    }

    /// Whether this library serves the subresource `status` itself.
    #[must_use]
    pub fn has_status(&self) -> bool {
        self.kind.info().status_subresource && !matches!(self.backing, Backing::Computed(_))
    }
}

/// Source of a resource's objects.
#[derive(Clone)]
pub enum Backing {
    /// A store of Berth: serves every verb.
    Stored(Arc<dyn Store>),
    /// A source that another component fills: serves get, list and watch.
    Projected(Arc<dyn Source>),
    /// A handler that computes the objects for each request: serves the verbs that [`Computed`] implements.
    Computed(Arc<dyn Computed>),
    /// Custom storage of the program: serves get, list, watch, update and patch.
    View(Arc<dyn View>),
}

/// Objects in custom storage of a program. The server reads them as from any source; the program itself
/// stores the writes.
#[async_trait]
pub trait View: Source {
    /// Whether resource versions are valid only in this process.
    fn has_local_versions(&self) -> bool {
        false
    }

    /// Stores the client's next state of an object, and returns the stored object.
    ///
    /// # Errors
    /// Reason why nothing was stored.
    async fn update(&self, change: Change<'_>) -> Result<Arc<Object>, CommitError>;
}

/// A client's change of one object.
pub struct Change<'a> {
    /// API version of the client's object, such as `v1beta1`.
    pub version: &'a str,
    /// Key of the object.
    pub key: &'a Key,
    /// Subresource: `status`, or the empty string.
    pub subresource: &'static str,
    /// Author of the write.
    pub actor: Actor<'a>,
    /// Whether the client's object may lack a resource version.
    pub unconditional: bool,
    /// Function that returns the client's next state of the given object. Called again if the object was
    /// changed concurrently.
    pub edit: &'a mut (dyn FnMut(&Object) -> Result<Value, Status> + Send),
}

/// A resource whose objects are computed for each request. Verbs not in the kind's list are never called; the
/// server implements `patch` (get, patch, update) and `deletecollection` (list, delete). Subresources handle
/// `connect` ([`SubresourceHandler::api`]).
#[async_trait]
pub trait Computed: Send + Sync + 'static {
    /// Effort of the answer in addition to the size of the body, in bytes that could be parsed in the same
    /// time, or [`crate::heavy::UNKNOWN`]. Heavy requests run outside of the runtime's threads.
    fn effort(&self, info: &RequestInfo) -> usize;

    /// Returns one object.
    ///
    /// # Errors
    /// The `Status` that the client receives.
    async fn get(&self, _call: &Call) -> Result<Arc<Object>, Status> {
        Err(Status::method_not_allowed())
    }

    /// Returns all objects in `call.namespace` (or in all namespaces), in the order of their names. Pages
    /// after the first come from the same listing.
    ///
    /// # Errors
    /// The `Status` that the client receives.
    async fn list(&self, _call: &Call, _query: &ListQuery) -> Result<Arc<dyn Listing>, Status> {
        Err(Status::method_not_allowed())
    }

    /// Answers a posted object (a review, a binding). The body has passed admission, the kind's schema and
    /// validation.
    ///
    /// # Errors
    /// The `Status` that the client receives.
    async fn create(&self, _call: &Call, _object: Value) -> Result<Reply, Status> {
        Err(Status::method_not_allowed())
    }

    /// Replaces an object. The body has passed admission, the kind's schema and validation against the object
    /// that [`Computed::get`] returned. Its `metadata.resourceVersion`, if present, matched that object. If
    /// the object has changed since, return [`Status::conflict`]: the server then repeats a patch.
    ///
    /// # Errors
    /// The `Status` that the client receives.
    async fn update(&self, _call: &Call, _object: Value) -> Result<Reply, Status> {
        Err(Status::method_not_allowed())
    }

    /// Deletes an object, after the client's preconditions and admission were checked. Returns the object if
    /// it still exists.
    ///
    /// # Errors
    /// The `Status` that the client receives.
    async fn delete(&self, _call: &Call) -> Result<Option<Reply>, Status> {
        Err(Status::method_not_allowed())
    }

    /// Returns the source of watches; `None` if the resource is not watched. The source has the objects of
    /// the lists, with the same resource versions. It can be a [`MemoryStore`](berth_storage::MemoryStore)
    /// that the program fills.
    fn source(&self) -> Option<&dyn Source> {
        None
    }
}

/// A subresource other than `status`.
#[derive(Clone)]
pub struct Subresource {
    /// Name of the subresource, such as `binding`.
    pub name: &'static str,
    /// API group of the subresource's bodies. An empty group and version mean the group and version of the
    /// resource.
    pub group: &'static str,
    /// API version of the subresource's bodies; see `group`.
    pub version: &'static str,
    /// Kind of the subresource's bodies.
    pub kind: &'static str,
    /// Served verbs: `get`, `create`, `update`, `patch`.
    pub verbs: &'static [&'static str],
    /// Schema of the subresource's bodies, for OpenAPI and validation; `None` means the resource's schema for
    /// bodies of the resource's kind, and no schema for others.
    pub schema: Option<Arc<Schema>>,
    /// Handler of the requests to the subresource.
    pub handler: Arc<dyn SubresourceHandler>,
}

impl Subresource {
    /// Creates a subresource whose bodies are of `kind`, in the group and version of the resource, without a
    /// schema of their own.
    #[must_use]
    pub fn new(
        name: &'static str,
        kind: &'static str,
        verbs: &'static [&'static str],
        handler: impl SubresourceHandler,
    ) -> Self {
        Self {
            name,
            group: "",
            version: "",
            kind,
            verbs,
            schema: None,
            handler: Arc::new(handler),
        }
    }
}

/// Handler of a subresource. The server implements `patch`: get, patch, update.
#[async_trait]
pub trait SubresourceHandler: Send + Sync + 'static {
    /// Effort of the answer to the request: see [`Computed::effort`]. An API below the subresource has its
    /// own effort.
    fn effort(&self, info: &RequestInfo) -> usize;

    /// Returns the API for requests to paths below the subresource, if it has one (`proxy`). Only requests
    /// with a verb of [`Subresource::verbs`] reach it.
    ///
    /// # Errors
    /// The `Status` that the client receives.
    async fn api(&self, _call: &Call) -> Result<Option<Arc<dyn SubresourceApi>>, Status> {
        Ok(None)
    }

    /// Frees expired data that the APIs of the subresource cache ([`SubresourceApi::tidy`]). Called every
    /// minute.
    async fn tidy(&self) {}

    /// Returns the part of the object that the subresource represents, if it supports server-side apply.
    fn part(&self) -> Option<&dyn Part> {
        None
    }

    /// Answers a get.
    ///
    /// # Errors
    /// The `Status` that the client receives.
    async fn get(&self, _call: &Call) -> Result<Reply, Status> {
        Err(Status::method_not_allowed())
    }

    /// Answers a posted body.
    ///
    /// # Errors
    /// The `Status` that the client receives.
    async fn create(&self, _call: &Call, _body: Value) -> Result<Reply, Status> {
        Err(Status::method_not_allowed())
    }

    /// Answers a put (or patched) body.
    ///
    /// # Errors
    /// The `Status` that the client receives.
    async fn update(&self, _call: &Call, _body: Value) -> Result<Reply, Status> {
        Err(Status::method_not_allowed())
    }
}

/// Part of an object that a subresource represents in a form of its own (`scale`). A manager that applies to
/// the subresource owns the fields of this part.
pub trait Part: Send + Sync {
    /// Converts `config`, an apply configuration of the subresource, to the apply configuration of the object
    /// with the same effect.
    fn to_object_configuration(&self, config: &Value) -> Value;

    /// Returns the subresource's form of `object`.
    fn part_of(&self, object: &Object) -> Value;
}

/// One served API group with its resources; versions and their order come from the kinds.
#[derive(Clone)]
pub struct Group {
    /// The group's name, empty for core.
    pub name: &'static str,
    /// Resources of the group.
    pub resources: Vec<Resource>,
}

impl Group {
    /// Creates the group `name` with `resources`.
    #[must_use]
    pub fn new(name: &'static str, resources: Vec<Resource>) -> Self {
        Self { name, resources }
    }
}

/// The stored resources of `groups`, each with its store.
#[must_use]
pub fn stored(groups: &[Group]) -> Vec<(GroupResource, Arc<dyn Store>)> {
    let resources = groups.iter().flat_map(|group| &group.resources);
    resources
        .filter_map(|resource| match &resource.backing {
            Backing::Stored(store) => Some((resource.kind.stored_in(), Arc::clone(store))),
            Backing::Projected(_) | Backing::Computed(_) | Backing::View(_) => None,
        })
        .collect()
}
