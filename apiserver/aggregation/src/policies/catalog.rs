//! The hub's admission policies, their bindings and parameters, from watches. Parameters of kinds that this
//! server stores are read from the store.
//!
//! While a watch is interrupted, the last known policies stay in force. When the hub serves the kind in no
//! version, the policies of that kind are no longer in force. A new policy comes into force when its
//! parameters are listed, or after five seconds at the latest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use berth_client::root_cause;
use berth_policies::{Catalog, ParamError, ParamKind, Params, StoredSet};
use futures::StreamExt;
use kube::api::ListParams;
use kube::core::{ApiResource, DynamicObject};
use kube::{Api, Client};
use parking_lot::RwLock;
use serde_json::Value;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;

use super::follow::{self, Snapshot};
use super::params::WatchedParameters;
use super::{GROUP, LIST_TIMEOUT};
use crate::error::HubError;

/// API versions of policies and bindings, newest first. Before Kubernetes 1.36, mutating policies are served
/// in `v1beta1` only.
const VERSIONS: [&str; 2] = ["v1", "v1beta1"];
/// Delay before another attempt to watch a kind that the hub does not serve.
const UNSERVED_DELAY: Duration = Duration::from_mins(1);
/// Longest wait for the parameters of a new policy. After that, the policy comes into force without them.
const PARAMS_TIMEOUT: Duration = Duration::from_secs(5);

/// Kinds and resources of policies and bindings, in the order of the fields of [`StoredSet`].
pub(super) const KINDS: [(&str, &str); 4] = [
    ("MutatingAdmissionPolicy", "mutatingadmissionpolicies"),
    (
        "MutatingAdmissionPolicyBinding",
        "mutatingadmissionpolicybindings",
    ),
    ("ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
    (
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
    ),
];

/// Objects by name.
type ObjectsByName = Arc<BTreeMap<String, Arc<Value>>>;

/// The hub's admission policies.
pub struct HubPolicies {
    client: Client,
    /// Catalog of the parameters that this server stores.
    local: Arc<dyn Catalog>,
    /// Current objects of each kind. The lock is held while new objects come into force.
    latest: Mutex<[ObjectsByName; 4]>,
    stored: RwLock<Arc<StoredSet>>,
    params: RwLock<BTreeMap<ParamKind, Arc<WatchedParameters>>>,
    /// Sender of a notification after each change of the policies in force.
    changed: watch::Sender<()>,
}

impl HubPolicies {
    /// Creates a catalog without policies. `client` watches the hub's policies, and `local` has the
    /// parameters that this server stores.
    #[must_use]
    pub fn new(client: Client, local: Arc<dyn Catalog>) -> Arc<Self> {
        Arc::new(Self {
            client,
            local,
            latest: Mutex::default(),
            stored: RwLock::default(),
            params: RwLock::default(),
            changed: watch::Sender::new(()),
        })
    }

    /// Returns a receiver that is notified after each change of the policies in force.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Starts to watch policies and bindings, and waits until all existing policies are in force. A kind that
    /// the hub does not serve counts as empty.
    ///
    /// # Errors
    /// When the hub does not list the objects of a kind within a minute.
    pub async fn follow(self: &Arc<Self>) -> Result<Vec<JoinHandle<()>>, HubError> {
        let mut tasks = Vec::new();
        for (index, (_, plural)) in KINDS.into_iter().enumerate() {
            let (report, mut complete) = watch::channel(false);
            tasks.push(tokio::spawn(Arc::clone(self).watch_kind(index, report)));
            let listed = tokio::time::timeout(LIST_TIMEOUT, complete.wait_for(|complete| *complete)).await;
            if !matches!(listed, Ok(Ok(_))) {
                tasks.iter().for_each(JoinHandle::abort);
                return Err(HubError::NotListed {
                    resource: plural.to_owned(),
                    limit: LIST_TIMEOUT,
                });
            }
        }
        Ok(tasks)
    }

    /// Watches the policies or bindings of one kind and puts them in force. Reports when they are listed.
    async fn watch_kind(self: Arc<Self>, index: usize, report: watch::Sender<bool>) {
        let (kind, plural) = KINDS[index];
        let mut last_problem = None;
        loop {
            let pause = match find_served(&self.client, kind, plural).await {
                Ok(Some(resource)) => {
                    last_problem = None;
                    let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
                    let mut snapshots = Box::pin(follow::snapshots(api, plural));
                    while let Some(Snapshot::All(objects)) = snapshots.next().await {
                        self.replace(index, objects).await;
                        report.send_replace(true);
                    }
                    // The hub may serve the kind in another version now.
                    follow::RETRY_DELAY
                }
                Ok(None) => {
                    last_problem = None;
                    self.replace(index, ObjectsByName::default()).await;
                    report.send_replace(true);
                    UNSERVED_DELAY
                }
                Err(problem) => {
                    // A lasting problem is logged once.
                    if last_problem.as_ref() != Some(&problem) {
                        tracing::warn!(
                            resource = plural,
                            problem,
                            "cannot watch the hub's admission policies; retrying"
                        );
                    }
                    last_problem = Some(problem);
                    follow::RETRY_DELAY
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Replaces the objects of one kind, and puts the policies of all kinds in force.
    pub(super) async fn replace(&self, index: usize, objects: ObjectsByName) {
        let mut latest = self.latest.lock().await;
        if latest[index] == objects {
            return;
        }
        latest[index] = objects;
        let stored = stored(&latest);
        let kinds = param_kinds(&stored);
        self.watch_params(&kinds).await;
        *self.stored.write() = Arc::new(stored);
        // The former policies needed their parameters until now.
        self.params.write().retain(|kind, _| kinds.contains(kind));
        self.changed.send_replace(());
    }

    /// Watches the parameters of `kinds`, except kinds that this server stores, in addition to the kinds that
    /// are watched already. Waits until the objects of new kinds are listed, at most [`PARAMS_TIMEOUT`].
    async fn watch_params(&self, kinds: &BTreeSet<ParamKind>) {
        let mut new = Vec::new();
        {
            let mut params = self.params.write();
            for kind in kinds.iter().filter(|kind| self.local.find(kind).is_err()) {
                params.entry(kind.clone()).or_insert_with(|| {
                    let watched = WatchedParameters::start(self.client.clone(), kind.clone());
                    new.push(Arc::clone(&watched));
                    watched
                });
            }
        }
        let listed = futures::future::join_all(new.iter().map(|watched| watched.settled()));
        if tokio::time::timeout(PARAMS_TIMEOUT, listed).await.is_err() {
            tracing::warn!(
                "parameters of admission policies were not listed within {PARAMS_TIMEOUT:?}; until they are, the failurePolicy of these policies applies"
            );
        }
    }
}

impl Catalog for HubPolicies {
    fn stored(&self) -> Arc<StoredSet> {
        Arc::clone(&self.stored.read())
    }

    fn find(&self, kind: &ParamKind) -> Result<(), ParamError> {
        if self.local.find(kind).is_ok() {
            return Ok(());
        }
        let watched = self.params.read().get(kind).map(Arc::clone);
        watched.ok_or_else(|| kind.unknown_error())?.find()
    }

    fn params(&self, kind: &ParamKind, namespace: &str, name: Option<&str>) -> Result<Params, ParamError> {
        if self.local.find(kind).is_ok() {
            return self.local.params(kind, namespace, name);
        }
        let watched = self.params.read().get(kind).map(Arc::clone);
        watched
            .ok_or_else(|| kind.unknown_error())?
            .params(namespace, name)
    }

    fn count(&self, kind: &ParamKind, namespace: &str, limit: usize) -> usize {
        if self.local.find(kind).is_ok() {
            return self.local.count(kind, namespace, limit);
        }
        let watched = self.params.read().get(kind).map(Arc::clone);
        watched.map_or(0, |watched| watched.count(namespace, limit))
    }
}

fn stored(latest: &[ObjectsByName; 4]) -> StoredSet {
    let values = |objects: &ObjectsByName| objects.values().map(Arc::clone).collect();
    let [mutating, mutating_bindings, validating, validating_bindings] = latest;
    StoredSet {
        mutating: values(mutating),
        mutating_bindings: values(mutating_bindings),
        validating: values(validating),
        validating_bindings: values(validating_bindings),
    }
}

fn param_kinds(stored: &StoredSet) -> BTreeSet<ParamKind> {
    let all = stored.mutating.iter().chain(&stored.validating);
    all.filter_map(|policy| ParamKind::of(&policy["spec"]["paramKind"]))
        .collect()
}

/// Returns `kind` in the newest version that the hub serves; `None` if the hub does not serve the kind.
async fn find_served(client: &Client, kind: &str, plural: &str) -> Result<Option<ApiResource>, String> {
    for version in VERSIONS {
        let resource = ApiResource {
            group: GROUP.to_owned(),
            version: version.to_owned(),
            api_version: format!("{GROUP}/{version}"),
            kind: kind.to_owned(),
            plural: plural.to_owned(),
        };
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        match api.list(&ListParams::default().limit(1)).await {
            Ok(_) => return Ok(Some(resource)),
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(problem) => return Err(root_cause(&problem)),
        }
    }
    Ok(None)
}
