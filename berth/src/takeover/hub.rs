//! Requests to the hub, or to the standalone server.

use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use berth_apimachinery::Clock;
use berth_apiserver::SystemClock;
use berth_client::Client;
use berth_commands::args::ServerArgs;
use berth_configuration::Mode;
use berth_dialect_contract::{Dialect, OwnScheduler, config};
use berth_scheduling_api::API_VERSION;
use http::Method;
use serde_json::json;

use super::configuration::{Change, StoredConfiguration};
use crate::check::{CONFIGURATIONS, CheckSubject, Read, SchedulerKnowledge, ServerArguments};

/// A system of a hub, with the client of the hub.
pub(super) struct Hub {
    pub(super) client: Client,
    dialect: Arc<dyn Dialect>,
}

impl Hub {
    /// The system named `system`, at the server of `server`.
    ///
    /// # Errors
    /// When the system is unknown, or the kubeconfig cannot be used.
    pub(super) async fn of(system: &str, server: &ServerArgs) -> Result<Self> {
        let all = berth_dialect_registry::all();
        let names: Vec<&str> = all.iter().map(|dialect| dialect.name()).collect();
        let found = all.iter().find(|dialect| dialect.name() == system);
        let dialect =
            found.ok_or_else(|| anyhow!("unknown system {system:?}; known: {}", names.join(", ")))?;
        Ok(Self {
            client: server.client().await?,
            dialect: Arc::clone(dialect),
        })
    }

    pub(super) fn name(&self) -> &'static str {
        self.dialect.name()
    }

    /// The scheduler that the system brings along.
    pub(super) fn scheduler(&self) -> Option<OwnScheduler> {
        self.dialect.on_hub().scheduler
    }

    fn subject(&self) -> CheckSubject<'_> {
        CheckSubject {
            client: &self.client,
            now: SystemClock.now(),
        }
    }

    /// The state of the system's own scheduler. A system without a scheduler counts as stopped.
    pub(super) async fn scheduler_state(&self) -> Result<SchedulerKnowledge> {
        match self.scheduler() {
            Some(scheduler) => self.subject().scheduler_state(&scheduler).await,
            None => Ok(SchedulerKnowledge::Stopped),
        }
    }

    fn path(&self) -> String {
        format!("{CONFIGURATIONS}/{}", self.name())
    }

    /// The stored configuration, or its absence.
    ///
    /// # Errors
    /// When the configuration may not be read.
    pub(super) async fn configuration(&self) -> Result<StoredConfiguration> {
        match self.subject().read(&self.path()).await? {
            Read::Object(object) => Ok(StoredConfiguration::new(object)),
            Read::Absent => Ok(StoredConfiguration::default()),
            Read::Refused(message) => bail!(message),
        }
    }

    /// Applies the change, and returns the stored configuration.
    ///
    /// # Errors
    /// When the server refuses the change.
    pub(super) async fn change(&self, change: &Change) -> Result<StoredConfiguration> {
        let patch = change.patch();
        let merge = Some(("application/merge-patch+json", &patch));
        let answer = match self.client.send(Method::PATCH, &self.path(), merge).await? {
            Err(status) if status.code == 404 => {
                let object = change.object(self.name());
                let body = Some(("application/json", &object));
                self.client.send(Method::POST, CONFIGURATIONS, body).await?
            }
            answer => answer,
        };
        answer
            .map(StoredConfiguration::new)
            .map_err(|status| anyhow!("{}: {}", self.path(), status.message))
    }

    /// Obstacles to `change`: Berth is not installed, is installed without the system or only to observe, or
    /// rights are missing. Each obstacle is a sentence, with its remedy if there is one.
    pub(super) async fn obstacles(
        &self,
        change: &Change,
        stored: &StoredConfiguration,
    ) -> Result<Vec<String>> {
        let mut problems = Vec::new();
        let subject = self.subject();
        let is_absent = matches!(subject.read(&format!("/apis/{API_VERSION}")).await?, Read::Absent);
        match change.mode {
            Mode::Observe if is_absent => {
                problems.push("Berth is not installed there, and decides nothing".to_owned());
            }
            Mode::Observe => {}
            Mode::Decide => problems.extend(self.undecidable(&subject, is_absent).await?),
        }
        let mut verbs = vec!["patch"];
        if !stored.exists() {
            verbs.push("create");
        }
        for verb in verbs {
            let right = json!({
                "group": config::GROUP, "resource": config::RESOURCE.resource, "name": self.name(), "verb": verb,
            });
            let may = subject.may("selfsubjectaccessreviews", json!({"resourceAttributes": right}));
            if may.await?.is_ok_and(|may| !may) {
                problems.push(format!(
                    "you may not {verb} schedulerconfigurations.{}: ask for the right",
                    config::GROUP
                ));
            }
        }
        Ok(problems)
    }

    /// Reason why Berth cannot decide the system under any configuration: it is not installed
    /// (`is_absent`), or installed without the system or only to observe.
    async fn undecidable(&self, subject: &CheckSubject<'_>, is_absent: bool) -> Result<Option<String>> {
        let name = self.name();
        let problem = match is_absent {
            true => "Berth is not installed there",
            false => {
                let service = subject.service().await?;
                let Read::Object(deployment) = subject.deployment(&service).await? else {
                    return Ok(None);
                };
                let arguments = ServerArguments::of(&deployment);
                if arguments.is_off(name) {
                    "Berth is installed there without this system"
                } else if arguments.mode == Some(Mode::Observe) {
                    "Berth is installed there to observe, without the rights and webhooks that deciding takes"
                } else {
                    return Ok(None);
                }
            }
        };
        Ok(Some(format!(
            "{problem}: berth manifests --mode=decide --source={name}=hub (with a --source for each other system that is to stay) \
             | kubectl apply --server-side -f -; it observes until the system's own scheduler is stopped"
        )))
    }
}
