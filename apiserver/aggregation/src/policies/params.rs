//! Watched objects of one kind on the hub that policies use as parameters.

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
const AGAIN: Duration = Duration::from_secs(10);

/// Namespace and name.
type Place = (String, String);

/// Known objects.
#[derive(Default)]
enum ParameterObjects {
    /// The objects are not listed yet.
    #[default]
    Nothing,
    /// The hub does not serve the kind.
    Unserved,
    /// All objects, as the hub has them.
    Objects {
        namespaced: bool,
        objects: BTreeMap<Place, Arc<Value>>,
    },
}

/// Parameters of one kind; they are watched until this value is dropped.
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
        let task = tokio::spawn(keep(client, kind.clone(), Arc::clone(&known), report));
        Arc::new(Self {
            kind,
            known,
            settled,
            task,
        })
    }

    /// Waits until the parameters are listed, or the hub answers that it does not serve the kind.
    pub(super) async fn settled(&self) {
        // An error means that the task has ended, which happens only when `self` is dropped.
        self.settled.clone().wait_for(|settled| *settled).await.ok();
    }

    /// Checks that the hub serves the kind, which is assumed until the hub answers otherwise.
    pub(super) fn find(&self) -> Result<(), ParamError> {
        match *self.known.read() {
            ParameterObjects::Unserved => Err(self.kind.unknown()),
            ParameterObjects::Nothing | ParameterObjects::Objects { .. } => Ok(()),
        }
    }

    /// Parameters in `namespace`, where the kind is namespaced, and with `name` if there is one.
    pub(super) fn params(&self, namespace: &str, name: Option<&str>) -> Result<Params, ParamError> {
        let known = self.known.read();
        let ParameterObjects::Objects { namespaced, objects } = &*known else {
            return Err(ParamError::NotSynced(self.kind.shown()));
        };
        let namespace = if *namespaced { namespace } else { "" };
        let found = match name {
            Some(name) => {
                let place = (namespace.to_owned(), name.to_owned());
                objects.get(&place).map(Arc::clone).into_iter().collect()
            }
            None => in_namespace(objects, namespace).map(Arc::clone).collect(),
        };
        Ok(Params {
            namespaced: *namespaced,
            objects: found,
        })
    }

    /// Number of objects in `namespace`, up to `most`.
    pub(super) fn count(&self, namespace: &str, most: usize) -> usize {
        let known = self.known.read();
        let ParameterObjects::Objects { namespaced, objects } = &*known else {
            return 0;
        };
        let namespace = if *namespaced { namespace } else { "" };
        in_namespace(objects, namespace).take(most).count()
    }
}

/// Objects in `namespace`, which is empty for a cluster-scoped kind.
fn in_namespace<'a>(
    objects: &'a BTreeMap<Place, Arc<Value>>,
    namespace: &'a str,
) -> impl Iterator<Item = &'a Arc<Value>> {
    let from = (namespace.to_owned(), String::new());
    let in_namespace = objects.range(from..);
    in_namespace
        .take_while(move |((own, _), _)| own == namespace)
        .map(|(_, object)| object)
}

async fn keep(
    client: Client,
    kind: ParamKind,
    known: Arc<RwLock<ParameterObjects>>,
    report: watch::Sender<bool>,
) {
    let (group, version) = kind.group_version();
    let gvk = GroupVersionKind::gvk(group, version, &kind.kind);
    loop {
        match discovery::pinned_kind(&client, &gvk).await {
            Ok((resource, capabilities)) => {
                let namespaced = capabilities.scope == Scope::Namespaced;
                follow(&client, &resource, namespaced, &known, &report).await;
            }
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(kube::Error::Discovery(_)) => {}
            Err(problem) => {
                let problem = root_cause(&problem);
                tracing::warn!(
                    kind = kind.shown(),
                    problem,
                    "cannot find the kind of an admission policy's parameters; retrying"
                );
                tokio::time::sleep(follow::PAUSE).await;
                continue;
            }
        }
        *known.write() = ParameterObjects::Unserved;
        report.send_replace(true);
        tokio::time::sleep(AGAIN).await;
    }
}

/// Keeps `known` current until the hub no longer serves the resource.
async fn follow(
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
                // Each attempt at a list begins with Init and its first pages, whatever the hub answers then.
                if !matches!(event, Event::Init | Event::InitApply(_)) {
                    last_problem = None;
                }
                take(event, resource, namespaced, known, &mut listed);
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
                        "cannot follow the parameters of admission policies; grant list and watch in a ClusterRole with the \
                         label rbac.berth.dev/aggregate-to-policy-params=true"
                    );
                }
                last_problem = Some(problem);
            }
        }
    }
}

fn take(
    event: Event<DynamicObject>,
    resource: &ApiResource,
    namespaced: bool,
    known: &RwLock<ParameterObjects>,
    listed: &mut BTreeMap<Place, Arc<Value>>,
) {
    let place = |object: &DynamicObject| {
        let metadata = &object.metadata;
        let namespace = metadata.namespace.clone().unwrap_or_default();
        (namespace, metadata.name.clone().unwrap_or_default())
    };
    match event {
        Event::Init => listed.clear(),
        Event::InitApply(object) => {
            listed.insert(place(&object), value(object, resource));
        }
        Event::InitDone => {
            *known.write() = ParameterObjects::Objects {
                namespaced,
                objects: std::mem::take(listed),
            };
        }
        Event::Apply(object) => {
            if let ParameterObjects::Objects { objects, .. } = &mut *known.write() {
                objects.insert(place(&object), value(object, resource));
            }
        }
        Event::Delete(object) => {
            if let ParameterObjects::Objects { objects, .. } = &mut *known.write() {
                objects.remove(&place(&object));
            }
        }
    }
}

/// Converts a parameter to its form in expressions. Items of a list have no apiVersion and kind.
fn value(object: DynamicObject, resource: &ApiResource) -> Arc<Value> {
    let (mut metadata, mut value) = (object.metadata, object.data);
    metadata.managed_fields = None;
    value["metadata"] = json!(metadata);
    value["apiVersion"] = resource.api_version.as_str().into();
    value["kind"] = resource.kind.as_str().into();
    Arc::new(value)
}
