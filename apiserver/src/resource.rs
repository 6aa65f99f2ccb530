//! Resources that a program hands the server: groups of resources, each a kind and the place its objects come
//! from.

use std::sync::Arc;

use async_trait::async_trait;
use berth_apimachinery::write::CommitError;
use berth_apimachinery::{GroupResource, Key, Kind, Object, Schema, Status};
use berth_storage::{Source, Store};
use serde_json::Value;

use crate::actor::Actor;
use crate::call::{Call, ListQuery, Reply};
use crate::context::Inner;
use crate::listing::Listing;
use crate::request_info::RequestInfo;

/// One resource of one group, in all its versions.
#[derive(Clone)]
pub struct Resource {
    /// Names, schema, rules and columns. Its `verbs` are the served ones.
    pub kind: Arc<dyn Kind>,
    /// Source of the objects.
    pub backing: Backing,
    /// Subresources except `status`, which every stored kind with `status: true` has by itself.
    pub subresources: Vec<Subresource>,
    /// Effort of its writes beside the size of their bodies; none where it is `None`.
    pub effort: Option<Effort>,
    /// Reason why other verbs than the kind's are not served; Kubernetes' own words where it is `None`.
    pub refusal: Option<&'static str>,
}

/// Cost of requests whose admission plugins read other objects, beside the size of the body. The unit is the
/// number of bytes that could be parsed in the same time: see [`crate::heavy`].
pub type Effort = Arc<dyn Fn(&RequestInfo) -> usize + Send + Sync>;

impl Resource {
    /// Objects of `kind` that come from `backing`.
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

    /// Objects of `kind`, made by `handler` at each request.
    #[must_use]
    pub fn computed(kind: impl Kind, handler: impl Computed) -> Self {
        Self::new(Arc::new(kind), Backing::Computed(Arc::new(handler)))
    }

    /// Objects of `kind`, kept in `store`.
    #[must_use]
    pub fn stored(kind: impl Kind, store: &Arc<dyn Store>) -> Self {
        Self::new(Arc::new(kind), Backing::Stored(Arc::clone(store)))
    }

    /// Adds a subresource.
    #[must_use]
    pub fn with(mut self, subresource: Subresource) -> Self {
        self.subresources.push(subresource);
        self
    }

    /// Adds subresources.
    #[must_use]
    pub fn with_all(mut self, subresources: impl IntoIterator<Item = Subresource>) -> Self {
        self.subresources.extend(subresources);
        self
    }

    /// Sets the `effort` that requests take.
    #[must_use]
    pub fn taking(mut self, effort: Effort) -> Self {
        self.effort = Some(effort);
        self
    }

    /// Effort of the program's own part in a request, from the handlers that answer it.
    #[must_use]
    pub fn effort_of(&self, info: &RequestInfo) -> usize {
        let own = self.effort.as_ref().map_or(0, |effort| effort(info));
        let answered = match (info.subresource.as_str(), &self.backing) {
            ("", Backing::Computed(handler)) => handler.effort(info),
            ("", _) => 0,
            (name, _) => {
                let known = self.subresources.iter().find(|known| known.name == name);
                known.map_or(0, |known| known.handler.effort(info))
            }
        };
        own.saturating_add(answered)
    }

    /// Sets the reason (`why`) in answers to other verbs than the kind's.
    #[must_use]
    pub fn refusing(mut self, why: &'static str) -> Self {
        self.refusal = Some(why);
        self
    }

    /// Whether `status` is a subresource that this library serves by itself.
    #[must_use]
    pub fn has_status(&self) -> bool {
        self.kind.info().status && !matches!(self.backing, Backing::Computed(_))
    }
}

/// Source of a resource's objects.
#[derive(Clone)]
pub enum Backing {
    /// A store of Berth: every verb.
    Stored(Arc<dyn Store>),
    /// A source that another component fills: get, list and watch.
    Projected(Arc<dyn Source>),
    /// Made at each request: those verbs that [`Computed`] implements.
    Computed(Arc<dyn Computed>),
    /// Kept by the program in a way of its own: get, list, watch, update and patch.
    View(Arc<dyn View>),
}

/// Objects that a program keeps in a way of its own. Reads are those of any source; the program itself stores
/// the writes.
#[async_trait]
pub trait View: Source {
    /// Whether resource versions are valid in this process only.
    fn own_sequence(&self) -> bool {
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
    /// Version of the client's object.
    pub version: &'a str,
    /// Key of the object.
    pub key: &'a Key,
    /// `status`, or the empty string.
    pub subresource: &'static str,
    /// The user of the write.
    pub actor: Actor<'a>,
    /// Whether the resource version may be missing.
    pub unconditional: bool,
    /// Edit of the stored object. Called again where the object has changed meanwhile.
    pub edit: &'a mut (dyn FnMut(&Object) -> Result<Value, Status> + Send),
}

/// A resource made at each request. Verbs not in the kind's list are never called; a `patch` is done by
/// the server (get, patch, update), and so is `deletecollection` (list, delete). Subresources do
/// `connect` ([`SubresourceHandler::api`]).
#[async_trait]
pub trait Computed: Send + Sync + 'static {
    /// Effort of the answer beside the size of the body, in bytes that could be parsed in the same time, or
    /// [`crate::heavy::UNKNOWN`]. Heavy requests run off the runtime's threads.
    fn effort(&self, info: &RequestInfo) -> usize;

    /// One object.
    ///
    /// # Errors
    /// The `Status` the client gets.
    async fn get(&self, _call: &Call) -> Result<Arc<Object>, Status> {
        Err(Status::method_not_allowed())
    }

    /// All objects in `call.namespace` (or everywhere), in name order. Pages after the first come from the
    /// same listing.
    ///
    /// # Errors
    /// The `Status` the client gets.
    async fn list(&self, _call: &Call, _query: &ListQuery) -> Result<Arc<dyn Listing>, Status> {
        Err(Status::method_not_allowed())
    }

    /// Answers a posted object (a review, a binding). The body has passed the kind's schema and validation.
    ///
    /// # Errors
    /// The `Status` the client gets.
    async fn create(&self, _call: &Call, _object: Value) -> Result<Reply, Status> {
        Err(Status::method_not_allowed())
    }

    /// Replaces an object. The body has passed admission, the kind's schema and validation against the object
    /// that [`Computed::get`] returned. Its `metadata.resourceVersion`, if there is one, was that object's.
    /// Where the object has changed since, answer [`Status::conflict`]: the server then repeats a patch.
    ///
    /// # Errors
    /// The `Status` the client gets.
    async fn update(&self, _call: &Call, _object: Value) -> Result<Reply, Status> {
        Err(Status::method_not_allowed())
    }

    /// Deletes an object, after the client's preconditions and admission were checked. Returns the
    /// object where it is not gone yet.
    ///
    /// # Errors
    /// The `Status` the client gets.
    async fn delete(&self, _call: &Call) -> Result<Option<Reply>, Status> {
        Err(Status::method_not_allowed())
    }

    /// Returns the source of watches. Its objects are those of the lists, with the same resource versions. It
    /// can be a [`MemoryStore`](berth_storage::MemoryStore) that the program fills.
    fn source(&self) -> Option<&dyn Source> {
        None
    }
}

/// A subresource other than `status`.
#[derive(Clone)]
pub struct Subresource {
    /// `binding`.
    pub name: &'static str,
    /// The group, version and kind of its bodies. An empty group and version mean those of the resource.
    pub group: &'static str,
    /// See `group`.
    pub version: &'static str,
    /// The kind of its bodies.
    pub kind: &'static str,
    /// The verbs: `get`, `create`, `update`, `patch`.
    pub verbs: &'static [&'static str],
    /// The schema of its bodies, for OpenAPI and validation; `None` where it is the resource's own.
    pub schema: Option<Arc<Schema>>,
    /// Handler of requests.
    pub handler: Arc<dyn SubresourceHandler>,
}

impl Subresource {
    /// A subresource whose bodies are of `kind`, in the group and version of the resource, with the
    /// resource's schema.
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

/// Answers a subresource. `patch` is done by the server: get, patch, update.
#[async_trait]
pub trait SubresourceHandler: Send + Sync + 'static {
    /// Effort of the answer to the request: see [`Computed::effort`]. An API below the subresource has an
    /// effort of its own.
    fn effort(&self, info: &RequestInfo) -> usize;

    /// The API for requests to paths below the subresource, where it has one (`proxy`). Its verbs are
    /// those of HTTP methods: `get`, `update`, `patch`.
    ///
    /// # Errors
    /// The `Status` the client gets.
    async fn api(&self, _call: &Call) -> Result<Option<Arc<dyn Inner>>, Status> {
        Ok(None)
    }

    /// Part of the object that it represents, where server-side apply to it is possible.
    fn part(&self) -> Option<&dyn Part> {
        None
    }

    /// Reads it.
    ///
    /// # Errors
    /// The `Status` the client gets.
    async fn get(&self, _call: &Call) -> Result<Reply, Status> {
        Err(Status::method_not_allowed())
    }

    /// Answers a posted body.
    ///
    /// # Errors
    /// The `Status` the client gets.
    async fn create(&self, _call: &Call, _body: Value) -> Result<Reply, Status> {
        Err(Status::method_not_allowed())
    }

    /// Answers a put (or patched) body.
    ///
    /// # Errors
    /// The `Status` the client gets.
    async fn update(&self, _call: &Call, _body: Value) -> Result<Reply, Status> {
        Err(Status::method_not_allowed())
    }
}

/// Some fields of an object that a subresource shows in a form of its own (`scale`). An applier to the
/// subresource owns these fields.
pub trait Part: Send + Sync {
    /// Returns the apply configuration of the object with the same effect as `config`, which fits the
    /// subresource's schema.
    fn of_object(&self, config: &Value) -> Value;

    /// Returns `object` as the subresource shows it.
    fn shown(&self, object: &Object) -> Value;
}

/// One API group as served: its resources; versions and their order come from the kinds.
#[derive(Clone)]
pub struct Group {
    /// The group's name, empty for core.
    pub name: &'static str,
    /// Its resources.
    pub resources: Vec<Resource>,
}

impl Group {
    /// The group `name` with `resources`.
    #[must_use]
    pub fn new(name: &'static str, resources: Vec<Resource>) -> Self {
        Self { name, resources }
    }
}

/// The stored resources of `groups`, and where each is stored.
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
