//! Handling of one Workload: reading of the involved objects, and computing and writing of the nomination.

use std::time::{Duration, Instant};

use berth_dialect_contract::names;
use berth_scheduling_api::decision::Decision;
use berth_scheduling_api::shared::Manifest;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject, Status};
use kube::runtime::controller::Action;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;

use super::events::EventReporter;
use super::nominate::{self, DecidedCluster, NominationFacts};
use super::problem::Problem;
use super::read::{self, DispatchError};
use super::recent::{NominationTime, RecentNominations};
use super::{DISPATCHER, NamespacedName, Servers, body, configuration, kueue, managed_fields};

/// Longest time for which Kueue's configuration is cached.
const CACHE_TTL: Duration = Duration::from_secs(10);
/// Interval of checks of a waiting Workload without changes.
const CHECK_INTERVAL: Duration = Duration::from_mins(1);

/// Clusters to nominate.
struct Nomination {
    /// The Decision or ClusterDecision.
    decision: Value,
    /// The clusters of the decision, the best first.
    clusters: Vec<DecidedCluster>,
    /// Kueue's names of the clusters, the best first.
    names: Vec<String>,
}

/// Part of Kueue's configuration that concerns dispatching.
#[derive(Clone)]
struct KueueConfiguration {
    /// Whether Berth is the configured dispatcher.
    is_ours: bool,
    /// Highest number of nominated clusters of a Workload.
    limit: usize,
}

/// Dispatcher that nominates clusters for Workloads.
pub(super) struct Dispatcher {
    servers: Servers,
    /// The resource of Workloads.
    pub(super) workloads: ApiResource,
    /// The ConfigMap with Kueue's configuration.
    configuration: NamespacedName,
    reporter: EventReporter,
    recent: Mutex<RecentNominations>,
    cached_configuration: tokio::sync::Mutex<Option<(Instant, KueueConfiguration)>>,
    start: Instant,
}

impl Dispatcher {
    pub(super) fn new(servers: Servers, workloads: ApiResource, configuration: NamespacedName) -> Self {
        Self {
            reporter: EventReporter::new(servers.kueue.clone()),
            servers,
            workloads,
            configuration,
            recent: Mutex::default(),
            cached_configuration: tokio::sync::Mutex::default(),
            start: Instant::now(),
        }
    }

    /// Nominates clusters for `workload` if it waits for a cluster, and returns the time of the next check.
    pub(super) async fn handle(&self, workload: &DynamicObject) -> Result<Action, DispatchError> {
        let workload = read::value(workload, &self.workloads)?;
        let Some(config) = self.awaited_config(&workload).await? else {
            return Ok(Action::await_change());
        };
        let kueue_configuration = self.kueue_configuration().await?;
        if !kueue_configuration.is_ours {
            return Ok(Action::requeue(CACHE_TTL));
        }
        let nomination = self
            .nomination(&workload, &config, kueue_configuration.limit)
            .await;
        let result = match nomination {
            Ok(nomination) => self.nominate(&workload, &nomination).await,
            Err(error) => Err(error),
        };
        match result {
            Err(DispatchError::Reported(problem)) => {
                self.reporter.report_problem(&workload, &problem).await;
                Ok(Action::requeue(CHECK_INTERVAL))
            }
            other => other,
        }
    }

    /// The MultiKueueConfig of the admission check that `workload` waits for; `None` if it waits for none.
    async fn awaited_config(&self, workload: &Value) -> Result<Option<String>, DispatchError> {
        let checks = read::kueue_resource(&self.workloads.version, "AdmissionCheck", "admissionchecks");
        for name in kueue::pending_checks(workload) {
            let check = read::kueue_object(&self.servers.kueue, &checks, name).await?;
            if let Some(config) = check.as_ref().and_then(kueue::configuration) {
                return Ok(Some(config.to_owned()));
            }
        }
        Ok(None)
    }

    /// The configuration of Kueue, from the cache if that is younger than [`CACHE_TTL`].
    async fn kueue_configuration(&self) -> Result<KueueConfiguration, DispatchError> {
        let mut last = self.cached_configuration.lock().await;
        if let Some((at, cached)) = &*last
            && at.elapsed() < CACHE_TTL
        {
            return Ok(cached.clone());
        }
        let current = self.read_configuration().await?;
        let was_ours = last.take().is_none_or(|(_, earlier)| earlier.is_ours);
        if was_ours && !current.is_ours {
            let NamespacedName { namespace, name } = &self.configuration;
            tracing::warn!(
                "there is no ConfigMap {namespace}/{name} with {DISPATCHER} as multiKueue.dispatcherName: nothing is nominated"
            );
        }
        *last = Some((Instant::now(), current.clone()));
        Ok(current)
    }

    async fn read_configuration(&self) -> Result<KueueConfiguration, DispatchError> {
        let NamespacedName { namespace, name } = &self.configuration;
        let maps: Api<ConfigMap> = Api::namespaced(self.servers.kueue.clone(), namespace);
        let map = maps.get_opt(name).await?;
        let map = serde_json::to_value(map).map_err(|error| DispatchError::Unreadable(error.to_string()))?;
        let is_ours = match map {
            Value::Null => false,
            map => {
                let named = configuration::dispatcher(&map).map_err(|problem| {
                    DispatchError::Unreadable(format!("the ConfigMap {namespace}/{name}: {problem}"))
                })?;
                named.as_deref() == Some(DISPATCHER)
            }
        };
        let definitions: Api<CustomResourceDefinition> = Api::all(self.servers.kueue.clone());
        let definition = definitions.get(&format!("workloads.{}", super::GROUP)).await?;
        let definition =
            serde_json::to_value(definition).map_err(|error| DispatchError::Unreadable(error.to_string()))?;
        Ok(KueueConfiguration {
            is_ours,
            limit: configuration::limit(&definition, &self.workloads.version)
                .unwrap_or(configuration::DEFAULT_LIMIT),
        })
    }

    /// Computes the nomination for `workload`, from the clusters of the MultiKueueConfig `config`.
    async fn nomination(
        &self,
        workload: &Value,
        config: &str,
        limit: usize,
    ) -> Result<Nomination, DispatchError> {
        let name = kueue::decision(workload)?;
        let namespace = workload["metadata"]["namespace"].as_str().unwrap_or_default();
        let decision = read::decision(&self.servers.decisions, namespace, name).await?;
        let parsed = Manifest::<Decision>::deserialize(&decision);
        let parsed =
            parsed.map_err(|error| DispatchError::Unreadable(format!("decision {name}: {error}")))?;
        let clusters = nominate::ranked(&parsed)?;
        // Each cluster takes a request, so their number is checked first.
        nominate::check_count(name, &clusters, limit)?;
        let workers = read::workers(&self.servers.kueue, &self.workloads.version, config).await?;
        let (_, system) = names::split(name).unwrap_or_default();
        let targets = read::targets(&self.servers.decisions, system, &clusters).await?;
        let facts = NominationFacts {
            decision: name,
            targets: &targets,
            config,
            workers: &workers,
            namespace: &self.configuration.namespace,
        };
        let names = nominate::nominations(&clusters, &facts)?;
        Ok(Nomination {
            decision,
            clusters,
            names,
        })
    }

    /// Writes the nomination, unless `workload` already has it.
    async fn nominate(&self, workload: &Value, nomination: &Nomination) -> Result<Action, DispatchError> {
        let (current, names) = (kueue::nominated(workload), &nomination.names);
        if current == *names {
            return Ok(Action::requeue(CHECK_INTERVAL));
        }
        let uid = workload["metadata"]["uid"].as_str().unwrap_or_default();
        let time = self
            .recent
            .lock()
            .nomination_time(uid, names, self.start.elapsed());
        if let NominationTime::After { delay, is_contested } = time {
            if is_contested {
                let replaced = current.into_iter().map(str::to_owned).collect();
                self.reporter
                    .report_problem(workload, &Problem::Replaced(replaced))
                    .await;
            }
            return Ok(Action::requeue(delay));
        }
        let written = self.write(workload, names).await;
        // An attempt that another manager's fields prevent counts, so that it is repeated more and more
        // slowly.
        if matches!(written, Ok(()) | Err(DispatchError::Reported(_))) {
            self.recent.lock().record(uid, names, self.start.elapsed());
        }
        written?;
        self.reporter
            .report_nomination(workload, event_text(workload, nomination))
            .await;
        Ok(Action::requeue(CHECK_INTERVAL))
    }

    /// Applies the nomination of `names` as Kueue's own field manager, in the API version of Kueue's last
    /// apply.
    async fn write(&self, workload: &Value, names: &[String]) -> Result<(), DispatchError> {
        let metadata = &workload["metadata"];
        let text = |field: &str| metadata[field].as_str().unwrap_or_default();
        let (namespace, name) = (text("namespace"), text("name"));
        let mut resource = self.workloads.clone();
        let version = body::applied_version(workload)
            .and_then(|version| version.strip_prefix(super::GROUP)?.strip_prefix('/'));
        let other_version = version.filter(|version| *version != resource.version);
        if let Some(version) = other_version {
            resource = read::kueue_resource(version, &resource.kind, &resource.plural);
        }
        let all: Api<DynamicObject> = Api::namespaced_with(self.servers.kueue.clone(), namespace, &resource);
        let body = match other_version {
            Some(_) => body::nomination(workload, &read::value(&all.get(name).await?, &resource)?, names),
            None => body::nomination(workload, workload, names),
        };
        let body = body.map_err(DispatchError::Unreadable)?;
        // The apply is not forced, so that it fails instead of overriding fields of other managers.
        let params = PatchParams {
            field_manager: Some(managed_fields::MANAGER.to_owned()),
            ..PatchParams::default()
        };
        match all.patch_status(name, &params, &Patch::Apply(&body)).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if is_field_conflict(&status) => {
                tracing::info!(
                    namespace,
                    workload = name,
                    problem = status.message,
                    "another manager owns the nominated clusters"
                );
                let current = kueue::nominated(workload).into_iter().map(str::to_owned);
                Err(Problem::Replaced(current.collect()).into())
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether an apply was refused since another field manager owns the nominated clusters. Conflicts about other
/// fields, which the apply only repeats, end when the object is read again.
fn is_field_conflict(status: &Status) -> bool {
    let mut causes = status.details.iter().flat_map(|details| &details.causes);
    let is_nomination = |field: &str| field.starts_with(".status.nominatedClusterNames");
    status.code == 409
        && causes.any(|cause| cause.reason == "FieldManagerConflict" && is_nomination(&cause.field))
}

/// Text of the Event about a nomination: the clusters in order, each with the reason, and the command that
/// shows why other clusters are not in the decision.
fn event_text(workload: &Value, nomination: &Nomination) -> String {
    let decision = &nomination.decision;
    let name = decision["metadata"]["name"].as_str().unwrap_or_default();
    let command = match decision["kind"].as_str() {
        Some("ClusterDecision") => "get clusterdecision".to_owned(),
        _ => {
            let namespace = workload["metadata"]["namespace"].as_str().unwrap_or_default();
            format!("-n {namespace} get decision")
        }
    };
    let reasons: Vec<String> = nomination
        .clusters
        .iter()
        .map(|decided| match decided.explanation.as_str() {
            "" => decided.cluster.clone(),
            explanation => format!("{} ({explanation})", decided.cluster),
        })
        .collect();
    format!(
        "{} nominated by decision {name}: {}; why not others: kubectl {command} {name} --subresource=scheduling",
        nomination.names.join(", "),
        reasons.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use kube::Client;
    use kube::client::Body;
    use serde_json::json;
    use tower::service_fn;

    use super::*;

    #[tokio::test]
    async fn nothing_is_read_for_the_clusters_of_a_decision_that_has_too_many() {
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&requests);
        let service = service_fn(move |request: http::Request<Body>| {
            seen.lock().push(request.uri().path().to_owned());
            let clusters = ["a", "b", "c"].map(|name| json!({"clusterName": name, "reason": ""}));
            let decision = json!({
                "apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "Decision",
                "metadata": {"name": "p.ocm", "namespace": "team"},
                "status": {"phase": "Bound", "decisions": clusters},
            });
            let body = Body::from(decision.to_string().into_bytes());
            async move { Ok::<_, std::io::Error>(http::Response::new(body)) }
        });
        let client = Client::new(service, "default");
        let servers = Servers {
            kueue: client.clone(),
            decisions: client,
        };
        let configuration = NamespacedName {
            namespace: "kueue-system".to_owned(),
            name: "kueue-manager-config".to_owned(),
        };
        let workloads = read::kueue_resource("v1beta2", "Workload", "workloads");
        let dispatcher = Dispatcher::new(servers, workloads, configuration);
        let workload = json!({"metadata": {
            "name": "w", "namespace": "team", "labels": {"scheduling.berth.dev/decision": "p.ocm"},
        }});
        let nomination = dispatcher.nomination(&workload, "workers", 2).await;
        let Some(DispatchError::Reported(problem)) = nomination.err() else {
            panic!("there are too many clusters");
        };
        assert_eq!(problem.reason(), "TooManyClusters");
        let decision = "/apis/scheduling.berth.dev/v1alpha1/namespaces/team/decisions/p.ocm";
        assert_eq!(*requests.lock(), [decision]);
    }

    #[test]
    fn only_a_conflict_of_field_managers_lasts() {
        let status = |causes: Value| {
            let details = json!({"name": "w", "causes": causes});
            let status = json!({"code": 409, "reason": "Conflict", "details": details});
            serde_json::from_value::<Status>(status).unwrap()
        };
        let owned = json!([{
            "reason": "FieldManagerConflict", "field": ".status.nominatedClusterNames",
            "message": "conflict with \"other\" using kueue.x-k8s.io/v1beta2",
        }]);
        assert!(is_field_conflict(&status(owned)));
        assert!(!is_field_conflict(&status(json!([]))));
        let modified = json!({"code": 409, "reason": "Conflict", "message": "the object has been modified"});
        assert!(!is_field_conflict(&serde_json::from_value(modified).unwrap()));
    }
}
