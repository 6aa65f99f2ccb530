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
use super::read::{self, Trouble};
use super::{DECISION, Place, Servers};

/// Highest number of Workloads that are handled at once.
const PARALLEL: u16 = 8;
/// Delays before a failed attempt is repeated: after a conflict, and after another error.
const RETRY: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(5));

/// Handles Workloads, for ever.
pub(super) async fn run(servers: Servers, workloads: ApiResource, configuration: Place) {
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
                index.naming(&decision)
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
                index.pick(|_| true)
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
            |_, trouble: &Trouble, _| Action::requeue(pause(trouble)),
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
    fn naming(&self, decision: &DynamicObject) -> Vec<ObjectRef<DynamicObject>> {
        let (name, namespace) = (decision.name_any(), decision.namespace());
        self.pick(|workload| {
            let is_in_scope = namespace.is_none() || workload.namespace() == namespace;
            let names = [
                workload.labels().get(DECISION),
                workload.annotations().get(DECISION),
            ];
            is_in_scope && names.into_iter().flatten().any(|named| *named == name)
        })
    }

    fn pick(&self, is_picked: impl Fn(&DynamicObject) -> bool) -> Vec<ObjectRef<DynamicObject>> {
        let all = self.store.state();
        let picked = all.iter().filter(|workload| is_picked(workload));
        picked
            .map(|workload| ObjectRef::from_obj_with(&**workload, self.resource.clone()))
            .collect()
    }
}

fn pause(trouble: &Trouble) -> Duration {
    match trouble {
        Trouble::Request(kube::Error::Api(status)) if status.code == 409 => RETRY.0,
        _ => RETRY.1,
    }
}

fn log(error: Error<Trouble, watcher::Error>) {
    match error {
        // The Workload was deleted.
        Error::ObjectNotFound(_) => {}
        Error::ReconcilerFailed(Trouble::Request(kube::Error::Api(status)), workload)
            if status.code == 409 =>
        {
            tracing::debug!(%workload, "it has changed meanwhile; looking again");
        }
        Error::ReconcilerFailed(trouble, workload) => {
            let trouble = format!("{:#}", anyhow::Error::new(trouble));
            tracing::warn!(%workload, trouble, "nothing is nominated; trying again");
        }
        other => {
            let error = format!("{:#}", anyhow::Error::new(other));
            tracing::warn!(error, "cannot follow the Workloads or the decisions; retrying");
        }
    }
}
