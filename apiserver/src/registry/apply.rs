//! Server-side apply: the configuration of a manager is merged into the object. Controllers in this process
//! use this module directly; `handlers::apply` adds the checks for requests.

use std::sync::Arc;

use berth_apimachinery::write::{CommitError, Verb, Write};
use berth_apimachinery::{Key, Object, Revision, Status, WriteOperation};
use berth_apply::{ApplyError, ApplyOutcome};
use serde_json::Value;

use super::Registry;
use super::ownership::{Ownership, WriteIntent};
use super::transaction::{Author, Origin};
use super::write::ObjectAddress;
use crate::actor::Actor;
use crate::annotations::Annotations;
use crate::call::Warnings;
use crate::render;
use crate::served::ServedVersion;

/// A configuration to apply.
#[derive(Clone, Copy, Debug)]
pub struct ApplyConfiguration<'a> {
    /// Key of the object.
    pub key: &'a Key,
    /// Subresource: `status`, or the empty string.
    pub subresource: &'static str,
    /// The configuration, in any served version.
    pub config: &'a Value,
    /// Revision of the object that the controller read for its decision; `None` if the object must not exist
    /// yet.
    pub base: Option<Revision>,
}

impl Registry {
    /// Applies `configuration` as `author`, and takes over fields of other managers.
    ///
    /// # Errors
    /// Reason why the configuration was not applied. Requests of the author's user are refused for the same
    /// reasons.
    pub async fn apply_as(
        &self,
        author: Author<'_>,
        configuration: ApplyConfiguration<'_>,
    ) -> Result<Arc<Object>, CommitError> {
        let since = self.clock().now();
        let annotations = self.annotations(&Origin::default());
        let result = self
            .apply_configuration(author, configuration, &annotations)
            .await;
        let write = Write {
            verb: configuration.base.map_or(Verb::Create, |_| Verb::Update),
            key: configuration.key.clone(),
            subresource: configuration.subresource,
            object: configuration.config.clone(),
            base: configuration.base,
        };
        let objects = result.as_ref().map(std::slice::from_ref);
        self.record(author, &[write], &[annotations], since, objects)
            .await;
        result
    }

    async fn apply_configuration(
        &self,
        author: Author<'_>,
        configuration: ApplyConfiguration<'_>,
        annotations: &Annotations,
    ) -> Result<Arc<Object>, CommitError> {
        let ApplyConfiguration {
            key,
            subresource,
            config,
            base,
        } = configuration;
        let version = config["apiVersion"].as_str().unwrap_or_default();
        let served = self
            .index()
            .by_api_version(key.resource, version)
            .ok_or_else(|| {
                Status::bad_request(format!(
                    "{} is not served in the version {version:?}",
                    key.resource
                ))
            })?;
        let warnings = Warnings::default();
        let actor = Actor {
            user: author.user,
            manager: author.manager,
            now: self.clock().now(),
            dry_run: false,
            policies_consulted: false,
            decided: true,
            warnings: &warnings,
            annotations,
        };
        let address = ObjectAddress {
            served,
            namespace: &key.namespace,
            name: &key.name,
        };
        let operation = operation_of(base, subresource);
        let application = Application {
            ownership: Ownership::new(self.index(), served, operation, actor.manager, actor.now),
            served,
            config,
        };
        let to_status = |problem: ApplyError| Status::internal(problem.to_string());
        let Some(base) = base else {
            let body = || {
                application
                    .apply_to_absent(true)
                    .map(WriteIntent::of_first_apply)
                    .map_err(to_status)
            };
            return self.create(served, actor, &key.namespace, body).await;
        };
        let edit = |current: &Object| {
            if current.revision() != base {
                return Err(CommitError::modified(served.name, &key.name));
            }
            let stored = application.for_stored(current);
            let applied = stored.apply(true).map_err(to_status)?;
            Ok(stored.into_intent(applied))
        };
        self.update(address, actor, operation, true, edit).await
    }
}

/// Operation that applies a configuration with `base` to `subresource`.
fn operation_of(base: Option<Revision>, subresource: &'static str) -> WriteOperation {
    match (base, subresource) {
        (None, _) => WriteOperation::Create,
        (Some(_), "") => WriteOperation::Update,
        (Some(_), name) => WriteOperation::Subresource(name),
    }
}

/// Application of the configuration of one manager, which a request or a controller in this process applies.
pub(crate) struct Application<'a> {
    pub(crate) ownership: Ownership<'a>,
    pub(crate) served: &'a ServedVersion,
    /// The configuration, in the served version.
    pub(crate) config: &'a Value,
}

impl Application<'_> {
    /// Applies the configuration, for which no object is stored yet.
    pub(crate) fn apply_to_absent(&self, force: bool) -> Result<ApplyOutcome, ApplyError> {
        self.ownership.applied(None, self.config, force)
    }

    /// Prepares the application of the configuration to the stored object `current`.
    pub(crate) fn for_stored<'a>(&'a self, current: &'a Object) -> StoredApplication<'a> {
        StoredApplication {
            application: self,
            current,
            live: render::unmanaged(self.served, current),
        }
    }
}

/// Application of a configuration to a stored object.
pub(crate) struct StoredApplication<'a> {
    application: &'a Application<'a>,
    current: &'a Object,
    /// The stored object in the served version, without managed fields.
    pub(crate) live: Value,
}

impl StoredApplication<'_> {
    /// Applies the configuration; `force` takes over fields of other managers.
    pub(crate) fn apply(&self, force: bool) -> Result<ApplyOutcome, ApplyError> {
        let Application {
            ownership, config, ..
        } = self.application;
        ownership.applied(Some((self.current, &self.live)), config, force)
    }

    /// Returns the resulting object as a write.
    pub(crate) fn into_intent(self, applied: ApplyOutcome) -> WriteIntent {
        let is_as_stored = render::is_as_stored(self.application.served, self.current);
        WriteIntent::Applied {
            value: applied.object,
            managers: applied.managers,
            before: is_as_stored.then_some(self.live),
        }
    }
}
