//! Writers of published objects: into Berth's own store, or to a hub that has the CustomResourceDefinitions.

use std::sync::Arc;

use async_trait::async_trait;
use berth_admission::UserInfo;
use berth_apimachinery::write::{CommitError, Verb, Write};
use berth_apimachinery::{GroupResource, Key, Object, Revision};
use berth_apiserver::{ApplyConfiguration, Author, Registry};
use berth_hub::HubCommitter;
use berth_hub::commits::ApplyRequest;
use berth_hub::mirror::{CopyProgress, Progress};
use berth_kubernetes::core::namespace;
use berth_multicluster::{CLUSTER_PROFILES, MANAGER, PLACEMENT_DECISIONS, USER};
use berth_scheduling_rest::faults;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::PUBLICATIONS;

/// Cause of the writes, for the audit log.
const CAUSE: &str = "a Publication";

/// The resources on whose objects the verdicts on Publications depend.
const JUDGED: [GroupResource; 2] = [PUBLICATIONS, namespace::RESOURCE];
/// The resources of the published objects.
const PUBLISHED: [GroupResource; 2] = [CLUSTER_PROFILES, PLACEMENT_DECISIONS];

/// Reason why objects cannot be published: a word for the condition, and a sentence.
pub(super) type Obstacle = (&'static str, String);

/// Writer of published objects, by server-side apply.
#[async_trait]
pub(super) trait ObjectWriter: Send + Sync {
    /// Checks that all Publications and namespaces are known, without which no verdict is certain.
    ///
    /// # Errors
    /// The obstacle: some are not known yet.
    fn can_judge(&self) -> Result<(), Obstacle> {
        Ok(())
    }

    /// Checks that all Publications, namespaces and published objects are known.
    ///
    /// # Errors
    /// The obstacle: some are not known yet, or the hub does not have a kind.
    fn ready(&self) -> Result<(), Obstacle>;

    /// Applies `config` to the object at `key`, or to a `subresource` of the object. The object must have the
    /// revision `base`, or not exist if `base` is `None`.
    async fn apply(
        &self,
        key: &Key,
        subresource: &'static str,
        config: &Value,
        base: Option<Revision>,
    ) -> Result<Arc<Object>, CommitError>;

    /// Deletes the object at `key`, which must have the revision `base`.
    async fn delete(&self, key: &Key, base: Revision) -> Result<(), CommitError>;
}

/// Writer into Berth's own store.
pub(super) struct OwnStore(pub(super) Arc<Registry>);

fn author(user: &UserInfo) -> Author<'_> {
    Author {
        user,
        manager: MANAGER,
        cause: Some(CAUSE),
    }
}

#[async_trait]
impl ObjectWriter for OwnStore {
    fn ready(&self) -> Result<(), Obstacle> {
        Ok(())
    }

    async fn apply(
        &self,
        key: &Key,
        subresource: &'static str,
        config: &Value,
        base: Option<Revision>,
    ) -> Result<Arc<Object>, CommitError> {
        faults::point();
        let request = ApplyConfiguration {
            key,
            subresource,
            config,
            base,
        };
        let user = berth_scheduling_rest::actor_user(USER);
        self.0.apply_as(author(&user), request).await
    }

    async fn delete(&self, key: &Key, base: Revision) -> Result<(), CommitError> {
        faults::point();
        let write = Write {
            verb: Verb::Delete,
            key: key.clone(),
            subresource: "",
            object: Value::Null,
            base: Some(base),
        };
        let user = berth_scheduling_rest::actor_user(USER);
        let result = self.0.commit(author(&user), vec![write], Vec::new(), false);
        result.await.map(drop)
    }
}

/// Writer to a hub that has the kinds ClusterProfile and PlacementDecision.
pub(super) struct OnHub {
    pub(super) committer: Arc<HubCommitter>,
    pub(super) progress: watch::Receiver<Progress>,
}

/// Checks in `progress` that all objects of `resources` are copied.
fn check_copied(progress: &Progress, resources: &[GroupResource]) -> Result<(), Obstacle> {
    for resource in resources {
        match progress.get(resource) {
            Some(CopyProgress::Complete) => {}
            Some(CopyProgress::Absent) => {
                let text = format!("the hub does not have {resource}; retrying");
                return Err(("KindsMissing", text));
            }
            Some(CopyProgress::Waiting(Some(problem))) => {
                return Err(("NotCopied", format!("{resource} cannot be read: {problem}")));
            }
            Some(CopyProgress::Waiting(None)) | None => {
                return Err(("NotCopied", format!("{resource} has not been read yet")));
            }
        }
    }
    Ok(())
}

#[async_trait]
impl ObjectWriter for OnHub {
    fn can_judge(&self) -> Result<(), Obstacle> {
        check_copied(&self.progress.borrow(), &JUDGED)
    }

    fn ready(&self) -> Result<(), Obstacle> {
        self.can_judge()?;
        check_copied(&self.progress.borrow(), &PUBLISHED)
    }

    async fn apply(
        &self,
        key: &Key,
        subresource: &'static str,
        config: &Value,
        base: Option<Revision>,
    ) -> Result<Arc<Object>, CommitError> {
        faults::point();
        let request = ApplyRequest {
            actor: USER,
            manager: MANAGER,
            key,
            subresource,
            config,
            base,
        };
        self.committer.apply(request).await
    }

    async fn delete(&self, key: &Key, base: Revision) -> Result<(), CommitError> {
        faults::point();
        let write = Write {
            verb: Verb::Delete,
            key: key.clone(),
            subresource: "",
            object: json!({"apiVersion": berth_multicluster::API_VERSION}),
            base: Some(base),
        };
        let result = self.committer.write_alone(USER, &write, false).await;
        result.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_verdict_is_certain_before_publications_and_namespaces_are_copied() {
        let mut progress: Progress = JUDGED.map(|resource| (resource, CopyProgress::Complete)).into();
        assert_eq!(check_copied(&progress, &JUDGED), Ok(()));
        for resource in [PUBLICATIONS, namespace::RESOURCE] {
            progress.insert(resource, CopyProgress::Waiting(None));
            let (reason, text) = check_copied(&progress, &JUDGED).unwrap_err();
            assert_eq!(reason, "NotCopied");
            assert!(text.starts_with(&resource.to_string()), "{text}");
            progress.insert(resource, CopyProgress::Complete);
        }
    }
}
