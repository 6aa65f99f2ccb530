//! Adapter of kcp's view of a syncer to views of the server library.

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

use super::{Home, SyncerObjects};

/// Period of the rules of a view.
pub(super) struct Term {
    /// The name of the workload cluster.
    pub(super) cluster: Arc<str>,
    /// First revision of the period.
    pub(super) since: Revision,
    /// Cancelled when the view is dropped.
    pub(super) ended: CancellationToken,
}

/// View of one workload cluster's syncer.
pub(super) struct SyncerRules {
    term: Term,
    clusters: Arc<Registry>,
    identifier: String,
    advanced: bool,
    label: String,
    user: UserInfo,
    registry: Arc<Registry>,
    home: Option<Arc<dyn Home>>,
    /// Resources that may be in a namespace of the cluster.
    content: Vec<GroupResource>,
}

impl SyncerRules {
    /// The view of the syncer of the cluster `identifier` for a `term`, with the resources in `synced`.
    pub(super) fn new(
        identifier: &str,
        advanced: bool,
        shown: &SyncerObjects,
        synced: &[GroupResource],
        term: Term,
    ) -> Self {
        Self {
            term,
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
            home: shown.home.clone(),
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

    /// The names of the objects of `served` in `namespace` that are still on the cluster, according to
    /// the copies.
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

    /// Checks that all objects of the cluster that `home` has in `namespace` are known here; a conflict
    /// otherwise.
    async fn all_known(&self, home: &dyn Home, namespace: &str) -> Result<(), Status> {
        for served in self.served() {
            let names = home
                .labelled(&served.storage_api_version, served.stored, namespace, &self.label)
                .await?;
            if !names.is_subset(&self.known_names(served, namespace)) {
                let text = format!(
                    "not all {} in namespace \"{namespace}\" are known here yet",
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
    fn sees(&self, object: &Object) -> bool {
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

    fn since(&self) -> Revision {
        self.term.since
    }

    fn hold(&self) -> bool {
        let index = self.clusters.index();
        let source = index
            .preferred(WORKLOAD_CLUSTERS)
            .and_then(|served| served.source());
        let clusters = source.map(|source| source.cached(WORKLOAD_CLUSTERS));
        let cluster = clusters.as_ref().and_then(|all| all.get("", &self.term.cluster));
        !self.term.ended.is_cancelled()
            && cluster.is_some_and(|cluster| {
                identifier(cluster.meta()) == self.identifier && is_advanced(cluster) == self.advanced
            })
    }

    async fn outlived(&self) {
        self.term.ended.cancelled().await;
    }

    fn user(&self) -> &UserInfo {
        &self.user
    }

    /// Subresource for writes to `subresource`. For an advanced cluster, the reported status is stored in an
    /// annotation of the object itself.
    fn through(&self, subresource: &'static str) -> &'static str {
        if self.advanced { "" } else { subresource }
    }

    fn origin(&self) -> Option<&dyn Origin> {
        self.home.as_deref().map(|home| home as &dyn Origin)
    }

    /// Before a namespace is released, every acknowledged write in the namespace has to be known.
    async fn ready(&self, key: &Key) -> Result<(), Status> {
        if key.resource != NAMESPACES {
            return Ok(());
        }
        if let Some(home) = &self.home {
            return self.all_known(&**home, &key.name).await;
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
