//! Watch of the objects of one kind on the hub that policies use as parameters.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use berth_client::root_cause;
use berth_policies::{ParamError, ParamKind, Params};
use futures::StreamExt;
use kube::core::{DynamicObject, GroupVersionKind};
use kube::discovery::{self, ApiResource, Scope};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use parking_lot::RwLock;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::follow;

/// Delay before another attempt to watch a kind that the hub does not serve.
const UNSERVED_DELAY: Duration = Duration::from_secs(10);

/// Namespace and name of an object.
type NamespacedName = (String, String);

/// Objects of one kind, as far as they are known.
#[derive(Default)]
enum ParameterObjects {
    /// The objects are not listed yet.
    #[default]
    NotListed,
    /// The hub does not serve the kind.
    NotServed,
    /// All objects of the kind.
    Objects {
        namespaced: bool,
        objects: BTreeMap<NamespacedName, Arc<Value>>,
    },
}

/// Parameters of one kind, which are watched until this value is dropped.
pub(super) struct WatchedParameters {
    kind: ParamKind,
    known: Arc<RwLock<ParameterObjects>>,
    settled: watch::Receiver<bool>,
    task: JoinHandle<()>,
}

impl Drop for WatchedParameters {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl WatchedParameters {
    /// Starts to watch the parameters.
    pub(super) fn start(client: Client, kind: ParamKind) -> Arc<Self> {
        let known = Arc::default();
        let (report, settled) = watch::channel(false);
        let task = tokio::spawn(watch_kind(client, kind.clone(), Arc::clone(&known), report));
        Arc::new(Self {
            kind,
            known,
            settled,
            task,
        })
    }

    /// Waits until the parameters are listed, or the hub reports that it does not serve the kind.
    pub(super) async fn settled(&self) {
        // An error means that the task has ended, which happens only when `self` is dropped.
        self.settled.clone().wait_for(|settled| *settled).await.ok();
    }

    /// Checks that the hub serves the kind. Until the hub has answered, the kind counts as served.
    pub(super) fn find(&self) -> Result<(), ParamError> {
        match *self.known.read() {
            ParameterObjects::NotServed => Err(self.kind.unknown_error()),
            ParameterObjects::NotListed | ParameterObjects::Objects { .. } => Ok(()),
        }
    }

    /// Returns the parameters in `namespace` if the kind is namespaced; only the object `name` if a name is
    /// given.
    pub(super) fn params(&self, namespace: &str, name: Option<&str>) -> Result<Params, ParamError> {
        let known = self.known.read();
        let ParameterObjects::Objects { namespaced, objects } = &*known else {
            return Err(ParamError::NotSynced(self.kind.to_go_string()));
        };
        let namespace = if *namespaced { namespace } else { "" };
        let found = match name {
            Some(name) => {
                let key = (namespace.to_owned(), name.to_owned());
                objects.get(&key).map(Arc::clone).into_iter().collect()
            }
            None => in_namespace(objects, namespace).map(Arc::clone).collect(),
        };
        Ok(Params {
            namespaced: *namespaced,
            objects: found,
        })
    }

    /// Returns the number of objects in `namespace`, at most `limit`.
    pub(super) fn count(&self, namespace: &str, limit: usize) -> usize {
        let known = self.known.read();
        let ParameterObjects::Objects { namespaced, objects } = &*known else {
            return 0;
        };
        let namespace = if *namespaced { namespace } else { "" };
        in_namespace(objects, namespace).take(limit).count()
    }
}

/// Returns the objects in `namespace`, which is empty for a cluster-scoped kind.
fn in_namespace<'a>(
    objects: &'a BTreeMap<NamespacedName, Arc<Value>>,
    namespace: &'a str,
) -> impl Iterator<Item = &'a Arc<Value>> {
    let from = (namespace.to_owned(), String::new());
    let in_namespace = objects.range(from..);
    in_namespace
        .take_while(move |((own, _), _)| own == namespace)
        .map(|(_, object)| object)
}

/// Watches the objects of `kind` until the task is dropped. Reports when they are listed, or the kind is not
/// served.
async fn watch_kind(
    client: Client,
    kind: ParamKind,
    known: Arc<RwLock<ParameterObjects>>,
    report: watch::Sender<bool>,
) {
    let (group, version) = kind.group_version();
    let gvk = GroupVersionKind::gvk(group, version, &kind.kind);
    let mut last_problem = None;
    loop {
        let pause = match discovery::pinned_kind(&client, &gvk).await {
            Ok((resource, capabilities)) => {
                last_problem = None;
                let namespaced = capabilities.scope == Scope::Namespaced;
                watch_resource(&client, &resource, namespaced, &known, &report).await;
                follow::RETRY_DELAY
            }
            Err(problem) if is_unserved(&problem) => {
                last_problem = None;
                *known.write() = ParameterObjects::NotServed;
                report.send_replace(true);
                UNSERVED_DELAY
            }
            Err(problem) => {
                let problem = root_cause(&problem);
                // A lasting problem is logged once.
                if last_problem.as_ref() != Some(&problem) {
                    tracing::warn!(
                        kind = kind.to_go_string(),
                        problem,
                        "cannot find the kind of an admission policy's parameters; retrying"
                    );
                }
                last_problem = Some(problem);
                follow::RETRY_DELAY
            }
        };
        tokio::time::sleep(pause).await;
    }
}

/// Whether the hub does not serve the kind that discovery looked for.
fn is_unserved(problem: &kube::Error) -> bool {
    match problem {
        kube::Error::Api(status) => status.code == 404,
        kube::Error::Discovery(_) => true,
        _ => false,
    }
}

/// Keeps `known` up to date until the hub answers that it does not serve the resource.
async fn watch_resource(
    client: &Client,
    resource: &ApiResource,
    namespaced: bool,
    known: &RwLock<ParameterObjects>,
    report: &watch::Sender<bool>,
) {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), resource);
    let mut events = watcher(api, watcher::Config::default()).default_backoff().boxed();
    let mut listed = BTreeMap::new();
    let mut last_problem = None;
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => {
                // Init and the first pages of a list do not mean that the problem is solved.
                if !matches!(event, Event::Init | Event::InitApply(_)) {
                    last_problem = None;
                }
                apply_event(event, resource, namespaced, known, &mut listed);
                if matches!(*known.read(), ParameterObjects::Objects { .. }) {
                    report.send_replace(true);
                }
            }
            Err(problem) if follow::is_missing(&problem) => return,
            Err(problem) => {
                let problem = root_cause(&problem);
                if last_problem.as_ref() != Some(&problem) {
                    tracing::warn!(
                        resource = resource.plural,
                        group = resource.group,
                        problem,
                        "cannot watch the parameters of admission policies; if the hub forbids it, grant list and \
                         watch in a ClusterRole with the label rbac.berth.dev/aggregate-to-policy-params=true"
                    );
                }
                last_problem = Some(problem);
            }
        }
    }
}

fn apply_event(
    event: Event<DynamicObject>,
    resource: &ApiResource,
    namespaced: bool,
    known: &RwLock<ParameterObjects>,
    listed: &mut BTreeMap<NamespacedName, Arc<Value>>,
) {
    let key = |object: &DynamicObject| {
        let metadata = &object.metadata;
        let namespace = metadata.namespace.clone().unwrap_or_default();
        (namespace, metadata.name.clone().unwrap_or_default())
    };
    match event {
        Event::Init => listed.clear(),
        Event::InitApply(object) => {
            listed.insert(key(&object), value(object, resource));
        }
        Event::InitDone => {
            *known.write() = ParameterObjects::Objects {
                namespaced,
                objects: std::mem::take(listed),
            };
        }
        Event::Apply(object) => {
            if let ParameterObjects::Objects { objects, .. } = &mut *known.write() {
                objects.insert(key(&object), value(object, resource));
            }
        }
        Event::Delete(object) => {
            if let ParameterObjects::Objects { objects, .. } = &mut *known.write() {
                objects.remove(&key(&object));
            }
        }
    }
}

/// Converts a parameter to its form in expressions. Sets apiVersion and kind, which items of a list lack.
fn value(object: DynamicObject, resource: &ApiResource) -> Arc<Value> {
    let (mut metadata, mut value) = (object.metadata, object.data);
    metadata.managed_fields = None;
    value["metadata"] = json!(metadata);
    value["apiVersion"] = resource.api_version.as_str().into();
    value["kind"] = resource.kind.as_str().into();
    Arc::new(value)
}
