//! The admission rules beyond the kinds' own validation (docs/systems/kcp.md, "What is guarded"): the
//! placement annotation, the syncing labels and annotations, and the syncers' finalizers can only be changed
//! by the responsible actors, and only in legal transitions. This holds for cluster admins, too.
//!
//! The guard compares the object before and after a write of any subresource, since writes of `status` and
//! `finalize` change metadata, too. It allows every user except syncers to delete objects, to write soft
//! finalizers and the label that disables scheduling, and all writes that leave guarded fields
//! byte-identical. It prevents mistakes by users with ordinary permissions: a user who may impersonate the
//! actors can circumvent it.

pub(crate) mod hub_rules;
mod keys;
mod placement;
mod roles;

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_admission::{Denial, Operation, Plugin, Request};
use berth_apimachinery::selector::Selector;
use berth_apimachinery::{FieldError, GroupResource};
use serde_json::Value;

use crate::names::{DEFAULT_LOCATION_CLUSTER, NAMESPACES, SYNCED_BY_DEFAULT};
pub use roles::{Role, user_of};

/// Settings of the dialect for admission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The roles of users by their names, in addition to Berth's own users (such as
    /// `berth:placement-controller`).
    pub users: BTreeMap<String, Role>,
    /// The resources that follow their namespace.
    pub synced_resources: Vec<GroupResource>,
    /// Whether a configuration may only sync the resources in `synced_resources`. This is the case on a hub,
    /// since permissions and webhooks are only created for these resources.
    pub synced_only: bool,
    /// The labels of the namespaces that are placed; all namespaces by default.
    pub namespace_selector: Selector,
    /// The cluster of the Locations, which is the first segment of location strings.
    pub location_cluster: Arc<str>,
    /// The URL of all Targets, below which syncers find their views; `None` if the URL is not known.
    pub targets_url: Option<Arc<str>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            users: BTreeMap::new(),
            synced_resources: SYNCED_BY_DEFAULT.to_vec(),
            synced_only: false,
            namespace_selector: Selector::default(),
            location_cluster: DEFAULT_LOCATION_CLUSTER.into(),
            targets_url: None,
        }
    }
}

/// Refuses writes of guarded fields by users other than their actors. Members of the break-glass group are
/// exempt.
#[derive(Clone, Debug, Default)]
pub struct PlacementGuard {
    settings: Settings,
}

/// Refuses values that no controller could parse, from every user, including the break-glass group. This
/// plugin runs after [`PlacementGuard`], so that a user without permission gets no errors about the format.
#[derive(Clone, Debug, Default)]
pub struct PlacementValues {
    settings: Settings,
}

/// The kind of user that makes a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Writer {
    /// An actor of the state machines.
    Role(Role),
    /// A user whose permission to write is not checked.
    Trusted,
    /// Any other user.
    User,
}

/// The errors found in a write.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Values that no user may write.
    pub(crate) malformed: Vec<FieldError>,
    /// Changes that the writer is not allowed to make.
    pub(crate) forbidden: Vec<FieldError>,
}

impl Findings {
    /// Adds a change at `path` that the writer is not allowed to make.
    pub(crate) fn forbid(&mut self, path: &str, detail: impl Into<String>) {
        self.forbidden.push(FieldError::forbidden(path, detail));
    }

    /// Adds a value at `path` that no user may write.
    pub(crate) fn add_malformed(&mut self, path: &str, value: &str, detail: impl Into<String>) {
        self.malformed.push(FieldError::invalid(path, value, detail));
    }

    /// Returns the errors as a denial. A missing permission takes precedence over an invalid value, so that
    /// a user without permission gets no errors about the format.
    fn into_result(self, request: &Request<'_>) -> Result<(), Denial> {
        if self.forbidden.is_empty() && self.malformed.is_empty() {
            return Ok(());
        }
        if self.forbidden.is_empty() {
            return Err(Denial::Invalid(self.malformed));
        }
        let all = [self.forbidden, self.malformed].concat();
        Err(Denial::owned_fields(request, &all))
    }
}

impl PlacementGuard {
    /// Creates the plugin with these settings.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { settings }
    }

    fn writer(&self, request: &Request<'_>) -> Writer {
        let user = &request.user.name;
        let role = Role::of(user).or_else(|| self.settings.users.get(user).cloned());
        role.map_or(Writer::User, Writer::Role)
    }
}

impl PlacementValues {
    /// Creates the plugin with these settings.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { settings }
    }
}

impl Settings {
    /// The resources that a configuration may sync; `None` if it may sync any resource.
    pub(crate) fn syncable(&self) -> Option<&[GroupResource]> {
        self.synced_only.then_some(&*self.synced_resources)
    }

    fn applies_to(&self, request: &Request<'_>) -> bool {
        let guarded = request.resource == NAMESPACES || self.synced_resources.contains(&request.resource);
        guarded && request.operation != Operation::Connect
    }
}

/// Checks a creation or an update that results in `new`. Other operations are allowed.
fn check(writer: &Writer, request: &Request<'_>, new: &Value) -> Result<(), Denial> {
    if !matches!(request.operation, Operation::Create | Operation::Update) {
        return Ok(());
    }
    let null = Value::Null;
    let old = request.old.unwrap_or(&null);
    let is_namespace = request.resource == NAMESPACES;
    let mut findings = Findings::default();
    if is_namespace {
        placement::check(writer, old, new, &mut findings);
    }
    keys::check(writer, is_namespace, old, new, &mut findings);
    if let Writer::Role(Role::Syncer(identifier)) = writer {
        keys::check_syncer(identifier, request.operation, old, new, &mut findings);
    }
    findings.into_result(request)
}

impl Plugin for PlacementGuard {
    fn name(&self) -> &'static str {
        "PlacementGuard"
    }

    fn is_guard(&self) -> bool {
        true
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        self.settings.applies_to(request)
    }

    /// Checks the object, without changing it. This check is in the mutating phase, so that a forbidden write
    /// is refused before further webhooks are called for it.
    fn mutate(
        &self,
        request: &Request<'_>,
        object: &mut Value,
        _warnings: &mut Vec<String>,
    ) -> Result<(), Denial> {
        check(&self.writer(request), request, object)
    }

    /// Checks the object again after the changes of other plugins. Every user may delete objects, except
    /// syncers, which only release objects.
    fn validate(
        &self,
        request: &Request<'_>,
        object: Option<&Value>,
        _warnings: &mut Vec<String>,
    ) -> Result<(), Denial> {
        let writer = self.writer(request);
        if request.operation == Operation::Delete && matches!(writer, Writer::Role(Role::Syncer(_))) {
            let text = "a syncer may not delete objects: to release an object, it removes its own finalizer";
            return Err(Denial::Forbidden(text.to_owned()));
        }
        object.map_or(Ok(()), |object| check(&writer, request, object))
    }

    /// The audit annotation with the changed entries of the placement.
    fn annotate(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<(&'static str, String)> {
        let object = object.filter(|_| request.resource == NAMESPACES);
        let transitions = object.map(|new| placement::transitions(request.old.unwrap_or(&Value::Null), new));
        let text = transitions.filter(|text| !text.is_empty());
        text.map(|text| ("placement-transition", text))
            .into_iter()
            .collect()
    }
}

impl Plugin for PlacementValues {
    fn name(&self) -> &'static str {
        "PlacementValues"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        self.settings.applies_to(request)
    }

    fn validate(
        &self,
        request: &Request<'_>,
        object: Option<&Value>,
        _warnings: &mut Vec<String>,
    ) -> Result<(), Denial> {
        object.map_or(Ok(()), |object| check(&Writer::Trusted, request, object))
    }
}

#[cfg(test)]
mod tests;
