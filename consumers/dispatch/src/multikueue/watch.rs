//! Queue of Workloads: a Workload is handled when it or its decision changes, and all Workloads are handled
//! when an AdmissionCheck, a MultiKueueConfig or a MultiKueueCluster changes.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use kube::core::{ApiResource, DynamicObject};
use kube::runtime::controller::{Action, Config, Controller, Error};
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::watcher;
use kube::{Api, ResourceExt};

use super::dispatcher::Dispatcher;
use super::read::{self, DispatchError};
use super::{DECISION, NamespacedName, Servers};

/// Highest number of Workloads that are handled at once.
const PARALLEL: u16 = 8;
/// Delay before a retry after a conflict.
const CONFLICT_DELAY: Duration = Duration::from_millis(500);
/// Delay before a retry after another error.
const ERROR_DELAY: Duration = Duration::from_secs(5);

/// Handles Workloads until the future is dropped.
pub(super) async fn run(servers: Servers, workloads: ApiResource, configuration: NamespacedName) {
    let all = |resource: &ApiResource| Api::<DynamicObject>::all_with(servers.kueue.clone(), resource);
    let mut controller = Controller::new_with(all(&workloads), watcher::Config::default(), workloads.clone());
    let index = WorkloadIndex {
        store: controller.store(),
        resource: workloads.clone(),
    };
    for (kind, plural) in [("Decision", "decisions"), ("ClusterDecision", "clusterdecisions")] {
        let (resource, index) = (read::berth_resource(kind, plural), index.clone());
        let decisions = Api::<DynamicObject>::all_with(servers.decisions.clone(), &resource);
        controller =
            controller.watches_with(decisions, resource, watcher::Config::default(), move |decision| {
                index.workloads_of(&decision)
            });
    }
    for (kind, plural) in [
        ("AdmissionCheck", "admissionchecks"),
        ("MultiKueueConfig", "multikueueconfigs"),
        ("MultiKueueCluster", "multikueueclusters"),
    ] {
        let (resource, index) = (
            read::kueue_resource(&workloads.version, kind, plural),
            index.clone(),
        );
        controller =
            controller.watches_with(all(&resource), resource, watcher::Config::default(), move |_| {
                index.select(|_| true)
            });
    }
    let dispatcher = Arc::new(Dispatcher::new(servers, workloads, configuration));
    let handle = |workload: Arc<DynamicObject>, dispatcher: Arc<Dispatcher>| async move {
        dispatcher.handle(&workload).await
    };
    controller
        .with_config(Config::default().concurrency(PARALLEL))
        .run(
            handle,
            |_, error: &DispatchError, _| Action::requeue(retry_delay(error)),
            dispatcher,
        )
        .for_each(|outcome| {
            if let Err(error) = outcome {
                log(error);
            }
            std::future::ready(())
        })
        .await;
}

/// Index of the existing Workloads.
#[derive(Clone)]
struct WorkloadIndex {
    store: Store<DynamicObject>,
    resource: ApiResource,
}

impl WorkloadIndex {
    /// The Workloads that name `decision`.
    fn workloads_of(&self, decision: &DynamicObject) -> Vec<ObjectRef<DynamicObject>> {
        let (name, namespace) = (decision.name_any(), decision.namespace());
        self.select(|workload| {
            let is_in_scope = namespace.is_none() || workload.namespace() == namespace;
            let names = [
                workload.labels().get(DECISION),
                workload.annotations().get(DECISION),
            ];
            is_in_scope && names.into_iter().flatten().any(|named| *named == name)
        })
    }

    fn select(&self, is_selected: impl Fn(&DynamicObject) -> bool) -> Vec<ObjectRef<DynamicObject>> {
        let all = self.store.state();
        let selected = all.iter().filter(|workload| is_selected(workload));
        selected
            .map(|workload| ObjectRef::from_obj_with(&**workload, self.resource.clone()))
            .collect()
    }
}

fn retry_delay(error: &DispatchError) -> Duration {
    match error {
        DispatchError::Request(kube::Error::Api(status)) if status.code == 409 => CONFLICT_DELAY,
        _ => ERROR_DELAY,
    }
}

fn log(error: Error<DispatchError, watcher::Error>) {
    match error {
        // The Workload was deleted.
        Error::ObjectNotFound(_) => {}
        Error::ReconcilerFailed(DispatchError::Request(kube::Error::Api(status)), workload)
            if status.code == 409 =>
        {
            tracing::debug!(%workload, "the Workload has changed in the meantime; retrying");
        }
        Error::ReconcilerFailed(trouble, workload) => {
            let trouble = format!("{:#}", anyhow::Error::new(trouble));
            tracing::warn!(%workload, trouble, "no cluster is nominated; retrying");
        }
        other => {
            let error = format!("{:#}", anyhow::Error::new(other));
            tracing::warn!(error, "cannot watch Kueue's objects or the decisions; retrying");
        }
    }
}
