//! Handling of one Workload: reads its state, computes a nomination, and writes it.

use std::time::{Duration, Instant};

use berth_dialect_contract::names;
use berth_scheduling_api::decision::Decision;
use berth_scheduling_api::shared::Manifest;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject};
use kube::runtime::controller::Action;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;

use super::again::{Again, NominationTime};
use super::nominate::{self, NominationFacts, Place as Cluster};
use super::problem::Problem;
use super::read::{self, Trouble};
use super::tell::Teller;
use super::{DISPATCHER, Ends, Place, body, configured, kueue, owned};

/// Time for which the read configuration of Kueue is cached.
const FRESH: Duration = Duration::from_secs(10);
/// Interval at which a waiting Workload is checked although nothing has changed.
const LOOK: Duration = Duration::from_mins(1);

/// Clusters to nominate.
struct Nomination {
    /// The decision.
    decision: Value,
    /// The decision's clusters, the best first.
    places: Vec<Cluster>,
    /// Kueue's names of the clusters.
    names: Vec<String>,
}

/// The relevant part of Kueue's configuration.
#[derive(Clone)]
struct KueueConfiguration {
    /// Whether Berth is the configured dispatcher.
    is_ours: bool,
    /// Highest number of nominated clusters of a Workload.
    limit: usize,
}

/// Nominates clusters for Workloads.
pub(super) struct Dispatcher {
    ends: Ends,
    /// Resource of Workloads.
    pub(super) workloads: ApiResource,
    configuration: Place,
    teller: Teller,
    again: Mutex<Again>,
    configured: tokio::sync::Mutex<Option<(Instant, KueueConfiguration)>>,
    begun: Instant,
}

impl Dispatcher {
    pub(super) fn new(ends: Ends, workloads: ApiResource, configuration: Place) -> Self {
        Self {
            teller: Teller::new(ends.kueue.clone()),
            ends,
            workloads,
            configuration,
            again: Mutex::default(),
            configured: tokio::sync::Mutex::default(),
            begun: Instant::now(),
        }
    }

    /// Handles `workload`, and returns the time of the next check.
    pub(super) async fn look(&self, workload: &DynamicObject) -> Result<Action, Trouble> {
        let workload = read::value(workload, &self.workloads)?;
        let Some(config) = self.waits_for(&workload).await? else {
            return Ok(Action::await_change());
        };
        let configured = self.configured().await?;
        if !configured.is_ours {
            return Ok(Action::requeue(FRESH));
        }
        let judged = self.judge(&workload, &config, configured.limit).await;
        let nominated = match judged {
            Ok(nomination) => self.nominate(&workload, &nomination).await,
            Err(trouble) => Err(trouble),
        };
        match nominated {
            Err(Trouble::Told(problem)) => {
                self.teller.problem(&workload, &problem).await;
                Ok(Action::requeue(LOOK))
            }
            other => other,
        }
    }

    /// The MultiKueueConfig whose clusters `workload` waits for, if any.
    async fn waits_for(&self, workload: &Value) -> Result<Option<String>, Trouble> {
        let checks = read::kueues(&self.workloads.version, "AdmissionCheck", "admissionchecks");
        for name in kueue::pending_checks(workload) {
            let check = read::kueue_object(&self.ends.kueue, &checks, name).await?;
            if let Some(config) = check.as_ref().and_then(kueue::configuration) {
                return Ok(Some(config.to_owned()));
            }
        }
        Ok(None)
    }

    /// The configuration of Kueue, read again after [`FRESH`].
    async fn configured(&self) -> Result<KueueConfiguration, Trouble> {
        let mut last = self.configured.lock().await;
        if let Some((at, configured)) = &*last
            && at.elapsed() < FRESH
        {
            return Ok(configured.clone());
        }
        let read = self.read_configured().await?;
        let was_ours = last.take().is_none_or(|(_, configured)| configured.is_ours);
        if was_ours && !read.is_ours {
            let Place { namespace, name } = &self.configuration;
            tracing::warn!(
                "the ConfigMap {namespace}/{name} does not have {DISPATCHER} as multiKueue.dispatcherName: nothing is nominated"
            );
        }
        *last = Some((Instant::now(), read.clone()));
        Ok(read)
    }

    async fn read_configured(&self) -> Result<KueueConfiguration, Trouble> {
        let Place { namespace, name } = &self.configuration;
        let maps: Api<ConfigMap> = Api::namespaced(self.ends.kueue.clone(), namespace);
        let map = maps.get_opt(name).await?;
        let map = serde_json::to_value(map).map_err(|error| Trouble::Unreadable(error.to_string()))?;
        let is_ours = match map {
            Value::Null => false,
            map => {
                let named = configured::dispatcher(&map).map_err(|problem| {
                    Trouble::Unreadable(format!("the ConfigMap {namespace}/{name}: {problem}"))
                })?;
                named.as_deref() == Some(DISPATCHER)
            }
        };
        let definitions: Api<CustomResourceDefinition> = Api::all(self.ends.kueue.clone());
        let definition = definitions.get(&format!("workloads.{}", super::GROUP)).await?;
        let definition =
            serde_json::to_value(definition).map_err(|error| Trouble::Unreadable(error.to_string()))?;
        Ok(KueueConfiguration {
            is_ours,
            limit: configured::limit(&definition, &self.workloads.version).unwrap_or(configured::LIMIT),
        })
    }

    /// Computes the nomination for `workload`, from the clusters of the MultiKueueConfig `config`.
    async fn judge(&self, workload: &Value, config: &str, limit: usize) -> Result<Nomination, Trouble> {
        let name = kueue::decision(workload)?;
        let namespace = workload["metadata"]["namespace"].as_str().unwrap_or_default();
        let decision = read::decision(&self.ends.decisions, namespace, name).await?;
        let shown = Manifest::<Decision>::deserialize(&decision);
        let shown = shown.map_err(|error| Trouble::Unreadable(format!("decision {name}: {error}")))?;
        let places = nominate::ranked(&shown)?;
        let workers = read::workers(&self.ends.kueue, &self.workloads.version, config).await?;
        let (_, system) = names::split(name).unwrap_or_default();
        let targets = read::targets(&self.ends.decisions, system, &places).await?;
        let known = NominationFacts {
            decision: name,
            targets: &targets,
            config,
            workers: &workers,
            namespace: &self.configuration.namespace,
            limit,
        };
        let names = nominate::nominations(&places, &known)?;
        Ok(Nomination {
            decision,
            places,
            names,
        })
    }

    /// Writes the nomination, unless `workload` already has it.
    async fn nominate(&self, workload: &Value, nomination: &Nomination) -> Result<Action, Trouble> {
        let (now, names) = (kueue::nominated(workload), &nomination.names);
        if now == *names {
            return Ok(Action::requeue(LOOK));
        }
        let uid = workload["metadata"]["uid"].as_str().unwrap_or_default();
        let when = self.again.lock().when(uid, names, self.begun.elapsed());
        if let NominationTime::After(pause, is_fight) = when {
            if is_fight {
                let replaced = now.into_iter().map(str::to_owned).collect();
                self.teller.problem(workload, &Problem::Replaced(replaced)).await;
            }
            return Ok(Action::requeue(pause));
        }
        self.write(workload, names).await?;
        self.again.lock().done(uid, names, self.begun.elapsed());
        self.teller.nominated(workload, note(workload, nomination)).await;
        Ok(Action::requeue(LOOK))
    }

    /// Applies `names` as Kueue's own field manager, in the API version of Kueue's last apply.
    async fn write(&self, workload: &Value, names: &[String]) -> Result<(), Trouble> {
        let metadata = &workload["metadata"];
        let text = |field: &str| metadata[field].as_str().unwrap_or_default();
        let (namespace, name) = (text("namespace"), text("name"));
        let mut served = self.workloads.clone();
        let version = body::applied_in(workload)
            .and_then(|version| version.strip_prefix(super::GROUP)?.strip_prefix('/'));
        let other = version.filter(|version| *version != served.version);
        if let Some(version) = other {
            served = read::kueues(version, &served.kind, &served.plural);
        }
        let all: Api<DynamicObject> = Api::namespaced_with(self.ends.kueue.clone(), namespace, &served);
        let body = match other {
            Some(_) => body::body(&read::value(&all.get(name).await?, &served)?, names),
            None => body::body(workload, names),
        };
        let body = body.map_err(Trouble::Unreadable)?;
        // The apply is not forced: this dispatcher does not override other managers' fields of the
        // status.
        let params = PatchParams {
            field_manager: Some(owned::MANAGER.to_owned()),
            ..PatchParams::default()
        };
        all.patch_status(name, &params, &Patch::Apply(&body)).await?;
        Ok(())
    }
}

/// Text of the Event about a nomination: the clusters in their order, each with the reason, and the
/// command that shows more.
fn note(workload: &Value, nomination: &Nomination) -> String {
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
        .places
        .iter()
        .map(|place| match place.why.as_str() {
            "" => place.cluster.clone(),
            why => format!("{} ({why})", place.cluster),
        })
        .collect();
    format!(
        "{} nominated by decision {name}: {}; why not others: kubectl {command} {name} --subresource=scheduling",
        nomination.names.join(", "),
        reasons.join(", ")
    )
}
