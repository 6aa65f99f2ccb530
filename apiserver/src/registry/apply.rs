//! Server-side apply in the process: what a controller wants of an object, merged into what others want.

use std::sync::Arc;

use meta::kind::Via;
use meta::{CommitError, Key, Object, Revision, Status, Verb, Write};
use serde_json::Value;

use super::Registry;
use super::commit::{Author, Origin};
use super::ownership::{Ownership, Wish};
use super::write::Target;
use crate::actor::Actor;
use crate::annotations::Annotations;
use crate::call::Warnings;
use crate::render;

/// A configuration to apply.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The object.
    pub key: &'a Key,
    /// `status`, or the empty string.
    pub subresource: &'static str,
    /// What is wanted of it, in any served version.
    pub config: &'a Value,
    /// The revision it was decided on; `None` where there must be no object yet.
    pub base: Option<Revision>,
}

impl Registry {
    /// Applies what is `wanted` as the `author`'s own, taking over what others own of it.
    ///
    /// # Errors
    /// Why it was not applied; a refusal is the one that user's own request would get.
    pub async fn apply_as(&self, author: Author<'_>, wanted: Wanted<'_>) -> Result<Arc<Object>, CommitError> {
        let since = self.clock().now();
        let annotations = self.annotations(&Origin::default());
        let result = self.apply_wanted(author, wanted, &annotations).await;
        let write = Write {
            verb: wanted.base.map_or(Verb::Create, |_| Verb::Update),
            key: wanted.key.clone(),
            subresource: wanted.subresource,
            object: wanted.config.clone(),
            base: wanted.base,
        };
        let objects = result.as_ref().map(std::slice::from_ref);
        self.record(author, &[write], &[annotations], since, objects)
            .await;
        result
    }

    async fn apply_wanted(
        &self,
        author: Author<'_>,
        wanted: Wanted<'_>,
        annotations: &Annotations,
    ) -> Result<Arc<Object>, CommitError> {
        let Wanted {
            key,
            subresource,
            config,
            base,
        } = wanted;
        let version = config["apiVersion"].as_str().unwrap_or_default();
        let served = self
            .index()
            .by_api_version(key.resource, version)
            .ok_or_else(|| Status::bad_request(format!("{} is not served as {version}", key.resource)))?;
        let warnings = Warnings::default();
        let actor = Actor {
            user: author.user,
            manager: author.manager,
            now: self.clock().now(),
            dry_run: false,
            asked: false,
            decided: true,
            warnings: &warnings,
            annotations,
        };
        let target = Target {
            served,
            namespace: &key.namespace,
            name: &key.name,
        };
        let via = match (base, subresource) {
            (None, _) => Via::Create,
            (Some(_), "") => Via::Update,
            (Some(_), name) => Via::Subresource(name),
        };
        let ownership = Ownership::new(self.index(), served, via, actor.manager, actor.now);
        let applied = |stored: Option<(&Object, &Value)>| {
            let applied = ownership.applied(stored, config, true);
            let applied = applied.map_err(|problem| Status::internal(problem.to_string()))?;
            Ok(Wish {
                value: applied.object,
                applied: Some(applied.managers),
                before: None,
            })
        };
        let Some(base) = base else {
            return self.create(served, actor, &key.namespace, || applied(None)).await;
        };
        let edit = |current: &Object| {
            if current.revision() != base {
                return Err(CommitError::modified(served.name, &key.name));
            }
            let live = render::unmanaged(served, current);
            applied(Some((current, &live))).map_err(CommitError::from)
        };
        self.update(target, actor, via, true, edit).await
    }
}
