//! The rules of kcp's syncer views, in the form that the server library requires ([`ViewRules`]).

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use berth_admission::{Denial, UserInfo};
use berth_apimachinery::{GroupResource, Key, Object, Revision, Status};
use berth_apiserver::view::{Origin, ViewRules};
use berth_apiserver::{Registry, ServedVersion};
use berth_dialect_kcp::names::{NAMESPACES, WORKLOAD_CLUSTERS};
use berth_dialect_kcp::syncer_view::{
    SEEN, Syncer, SyncerObject, identifier, is_advanced, state_label, user,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{HubOrigin, SyncerObjects};

/// The time for which the rules of a view hold.
pub(super) struct Validity {
    /// The name of the workload cluster.
    pub(super) cluster: Arc<str>,
    /// First revision for which the rules hold.
    pub(super) since: Revision,
    /// Token that is cancelled when the view is dropped.
    pub(super) ended: CancellationToken,
}

/// Rules of the view of one workload cluster's syncer.
pub(super) struct SyncerRules {
    validity: Validity,
    clusters: Arc<Registry>,
    identifier: String,
    advanced: bool,
    /// The state label ([`state_label`]): the syncer sees an object if the value is [`SEEN`].
    label: String,
    user: UserInfo,
    registry: Arc<Registry>,
    hub: Option<Arc<dyn HubOrigin>>,
    /// Synced resources that are in namespaces.
    content: Vec<GroupResource>,
}

impl SyncerRules {
    /// Creates the rules for the syncer of the workload cluster `identifier`, with the resources in `synced`.
    pub(super) fn new(
        identifier: &str,
        advanced: bool,
        shown: &SyncerObjects,
        synced: &[GroupResource],
        validity: Validity,
    ) -> Self {
        Self {
            validity,
            clusters: Arc::clone(&shown.clusters),
            identifier: identifier.to_owned(),
            advanced,
            label: state_label(identifier),
            user: UserInfo {
                name: user(identifier),
                groups: vec!["system:authenticated".to_owned()],
                ..UserInfo::default()
            },
            registry: Arc::clone(&shown.registry),
            hub: shown.hub.clone(),
            content: synced
                .iter()
                .copied()
                .filter(|resource| *resource != NAMESPACES)
                .collect(),
        }
    }

    fn syncer(&self) -> Syncer<'_> {
        Syncer {
            identifier: &self.identifier,
            advanced: self.advanced,
        }
    }

    /// The names of the objects of `served` in `namespace` that are still on the cluster, according to the
    /// cached objects (behind a hub, Berth's copies).
    fn known_names(&self, served: &ServedVersion, namespace: &str) -> BTreeSet<String> {
        let Some(source) = served.source() else {
            return BTreeSet::new();
        };
        let objects = source.cached(served.stored);
        let marked = objects
            .iter(Some(namespace), None)
            .filter(|(_, object)| object.meta().labels().contains_key(&self.label));
        marked.map(|(name, _)| name.name.to_string()).collect()
    }

    /// The versions in which Berth serves the synced resources in namespaces.
    fn served(&self) -> impl Iterator<Item = &Arc<ServedVersion>> {
        let index = self.registry.index();
        self.content
            .iter()
            .filter_map(move |&resource| index.preferred(resource))
    }

    /// Number of objects in `namespace` that are still on the cluster.
    fn remaining(&self, namespace: &str) -> usize {
        let counts = self
            .served()
            .map(|served| self.known_names(served, namespace).len());
        counts.sum()
    }

    /// Checks that Berth has copies of all objects of the cluster that `hub` has in `namespace`. Otherwise it
    /// returns a conflict, so that the syncer tries again.
    async fn check_copies(&self, hub: &dyn HubOrigin, namespace: &str) -> Result<(), Status> {
        for served in self.served() {
            let names = hub
                .labelled(&served.storage_api_version, served.stored, namespace, &self.label)
                .await?;
            if !names.is_subset(&self.known_names(served, namespace)) {
                let text = format!(
                    "Berth has not copied all {} of namespace \"{namespace}\" from the hub yet; try again",
                    served.name
                );
                return Err(Status::conflict(NAMESPACES, namespace, &text));
            }
        }
        Ok(())
    }
}

#[async_trait]
impl ViewRules for SyncerRules {
    fn is_visible(&self, object: &Object) -> bool {
        object
            .meta()
            .labels()
            .get(&self.label)
            .is_some_and(|state| state == SEEN)
    }

    fn show(&self, object: &Arc<Object>) -> Arc<Object> {
        if self.syncer().looks_as_stored(object) {
            return Arc::clone(object);
        }
        let SyncerObject {
            object: seen,
            problems,
        } = self.syncer().show(object.value());
        for problem in problems {
            let meta = object.meta();
            let (namespace, name) = (meta.namespace(), meta.name());
            tracing::warn!(
                namespace,
                name,
                identifier = self.identifier,
                problem,
                "an annotation of this object cannot be translated for the syncer and is left out; correct it"
            );
        }
        let seen = Object::new(&seen, object.revision());
        Arc::new(seen.expect("the view keeps kind and name"))
    }

    fn valid_from(&self) -> Revision {
        self.validity.since
    }

    fn are_valid(&self) -> bool {
        let index = self.clusters.index();
        let source = index
            .preferred(WORKLOAD_CLUSTERS)
            .and_then(|served| served.source());
        let clusters = source.map(|source| source.cached(WORKLOAD_CLUSTERS));
        let cluster = clusters
            .as_ref()
            .and_then(|all| all.get("", &self.validity.cluster));
        !self.validity.ended.is_cancelled()
            && cluster.is_some_and(|cluster| {
                identifier(cluster.meta()) == self.identifier && is_advanced(cluster) == self.advanced
            })
    }

    async fn wait_until_invalid(&self) {
        self.validity.ended.cancelled().await;
    }

    fn user(&self) -> &UserInfo {
        &self.user
    }

    /// For an advanced cluster, a write of the status is stored as a write of the object itself, since the
    /// reported status is in an annotation.
    fn written_subresource(&self, subresource: &'static str) -> &'static str {
        if self.advanced { "" } else { subresource }
    }

    fn origin(&self) -> Option<&dyn Origin> {
        self.hub.as_deref().map(|hub| hub as &dyn Origin)
    }

    /// Before a namespace is released, every acknowledged write in the namespace has to be known: a hub is
    /// asked for its objects, and a list of Berth's own store waits until the cached objects are current.
    async fn ready(&self, key: &Key) -> Result<(), Status> {
        if key.resource != NAMESPACES {
            return Ok(());
        }
        if let Some(hub) = &self.hub {
            return self.check_copies(&**hub, &key.name).await;
        }
        for &resource in &self.content {
            self.registry.list(resource).await?;
        }
        Ok(())
    }

    fn write(&self, key: &Key, stored: &Value, written: &Value, subresource: &str) -> Result<Value, Denial> {
        if subresource == "status" {
            return self.syncer().update_status(stored, written);
        }
        let remaining = match key.resource == NAMESPACES {
            true => self.remaining(&key.name),
            false => 0,
        };
        self.syncer().update(stored, written, remaining)
    }
}
