//! Queue of Workloads: a Workload is handled when it or its decision changes, and all of them are when
//! Kueue's clusters and checks change.

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
use super::{DECISION, Ends, Place};

/// Number of Workloads that are handled at once.
const PARALLEL: u16 = 8;
/// Delays before a failed attempt is repeated: after a conflict, and after other errors.
const RETRY: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(5));

/// Handles Workloads, for ever.
pub(super) async fn run(ends: Ends, workloads: ApiResource, configuration: Place) {
    let all = |served: &ApiResource| Api::<DynamicObject>::all_with(ends.kueue.clone(), served);
    let mut controller = Controller::new_with(all(&workloads), watcher::Config::default(), workloads.clone());
    let shown = WorkloadIndex {
        store: controller.store(),
        served: workloads.clone(),
    };
    for (kind, plural) in [("Decision", "decisions"), ("ClusterDecision", "clusterdecisions")] {
        let (served, shown) = (read::ours(kind, plural), shown.clone());
        let decisions = Api::<DynamicObject>::all_with(ends.decisions.clone(), &served);
        controller =
            controller.watches_with(decisions, served, watcher::Config::default(), move |decision| {
                shown.about(&decision)
            });
    }
    for (kind, plural) in [
        ("AdmissionCheck", "admissionchecks"),
        ("MultiKueueConfig", "multikueueconfigs"),
        ("MultiKueueCluster", "multikueueclusters"),
    ] {
        let (served, shown) = (read::kueues(&workloads.version, kind, plural), shown.clone());
        controller = controller.watches_with(all(&served), served, watcher::Config::default(), move |_| {
            shown.pick(|_| true)
        });
    }
    let dispatcher = Arc::new(Dispatcher::new(ends, workloads, configuration));
    let look = |workload: Arc<DynamicObject>, dispatcher: Arc<Dispatcher>| async move {
        dispatcher.look(&workload).await
    };
    controller
        .with_config(Config::default().concurrency(PARALLEL))
        .run(
            look,
            |_, trouble: &Trouble, _| Action::requeue(pause(trouble)),
            dispatcher,
        )
        .for_each(|outcome| {
            if let Err(error) = outcome {
                tell(error);
            }
            std::future::ready(())
        })
        .await;
}

/// Index of the existing Workloads.
#[derive(Clone)]
struct WorkloadIndex {
    store: Store<DynamicObject>,
    served: ApiResource,
}

impl WorkloadIndex {
    /// The Workloads that name `decision`.
    fn about(&self, decision: &DynamicObject) -> Vec<ObjectRef<DynamicObject>> {
        let (name, namespace) = (decision.name_any(), decision.namespace());
        self.pick(|workload| {
            let is_beside = namespace.is_none() || workload.namespace() == namespace;
            let names = [
                workload.labels().get(DECISION),
                workload.annotations().get(DECISION),
            ];
            is_beside && names.into_iter().flatten().any(|named| *named == name)
        })
    }

    fn pick(&self, wanted: impl Fn(&DynamicObject) -> bool) -> Vec<ObjectRef<DynamicObject>> {
        let all = self.store.state();
        let wanted = all.iter().filter(|workload| wanted(workload));
        wanted
            .map(|workload| ObjectRef::from_obj_with(&**workload, self.served.clone()))
            .collect()
    }
}

fn pause(trouble: &Trouble) -> Duration {
    match trouble {
        Trouble::Asked(kube::Error::Api(status)) if status.code == 409 => RETRY.0,
        _ => RETRY.1,
    }
}

fn tell(error: Error<Trouble, watcher::Error>) {
    match error {
        // The Workload was deleted.
        Error::ObjectNotFound(_) => {}
        Error::ReconcilerFailed(Trouble::Asked(kube::Error::Api(status)), workload) if status.code == 409 => {
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
