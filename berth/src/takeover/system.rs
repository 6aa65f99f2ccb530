//! Requests about one system to the hub or to the standalone server.

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
use crate::check::{CONFIGURATIONS, Checker, ReadResult, SchedulerState, ServerArguments};

/// Client for one system on a hub or on a standalone server.
pub(super) struct SystemClient {
    pub(super) client: Client,
    dialect: Arc<dyn Dialect>,
}

impl SystemClient {
    /// Creates the client for the system named `system` on the server that `server` specifies.
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

    /// The name of the system.
    pub(super) fn name(&self) -> &'static str {
        self.dialect.name()
    }

    /// The system's own scheduler; `None` if the system has none.
    pub(super) fn scheduler(&self) -> Option<OwnScheduler> {
        self.dialect.on_hub().scheduler
    }

    fn checker(&self) -> Checker<'_> {
        Checker {
            client: &self.client,
            now: SystemClock.now(),
        }
    }

    /// The state of the system's own scheduler. A system without a scheduler counts as stopped.
    pub(super) async fn scheduler_state(&self) -> Result<SchedulerState> {
        match self.scheduler() {
            Some(scheduler) => self.checker().scheduler_state(&scheduler).await,
            None => Ok(SchedulerState::Stopped),
        }
    }

    fn path(&self) -> String {
        format!("{CONFIGURATIONS}/{}", self.name())
    }

    /// Reads the stored SchedulerConfiguration of the system, which may be absent.
    ///
    /// # Errors
    /// When the configuration may not be read.
    pub(super) async fn configuration(&self) -> Result<StoredConfiguration> {
        match self.checker().read(&self.path()).await? {
            ReadResult::Object(object) => Ok(StoredConfiguration::new(object)),
            ReadResult::Absent => Ok(StoredConfiguration::default()),
            ReadResult::Refused(message) => bail!(message),
        }
    }

    /// Applies `change` to the SchedulerConfiguration of the system, and returns the stored result. A missing
    /// configuration is created.
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

    /// Finds the obstacles to `change`: Berth is not installed, is installed without the system or only to
    /// observe, or rights of the user are missing. Each obstacle is a sentence, with the remedy if there is
    /// one.
    pub(super) async fn obstacles(
        &self,
        change: &Change,
        stored: &StoredConfiguration,
    ) -> Result<Vec<String>> {
        let mut problems = Vec::new();
        let checker = self.checker();
        let is_absent = matches!(
            checker.read(&format!("/apis/{API_VERSION}")).await?,
            ReadResult::Absent
        );
        match change.mode {
            Mode::Observe if is_absent => {
                problems.push("Berth is not installed there, so that it decides nothing".to_owned());
            }
            Mode::Observe => {}
            Mode::Decide => problems.extend(self.installation_problem(&checker, is_absent).await?),
        }
        let mut verbs = vec!["patch"];
        if !stored.exists() {
            verbs.push("create");
        }
        for verb in verbs {
            let right = json!({
                "group": config::GROUP, "resource": config::RESOURCE.resource, "name": self.name(), "verb": verb,
            });
            let review =
                checker.review_access("selfsubjectaccessreviews", json!({"resourceAttributes": right}));
            if review.await?.is_ok_and(|is_allowed| !is_allowed) {
                problems.push(format!(
                    "you may not {verb} schedulerconfigurations.{}: ask an administrator of the server for the right",
                    config::GROUP
                ));
            }
        }
        Ok(problems)
    }

    /// Reason why Berth cannot decide the system with any configuration: Berth is not installed
    /// (`is_absent`), or is installed without the system or only to observe. `None` if Berth can decide, or
    /// the installation cannot be read.
    async fn installation_problem(&self, checker: &Checker<'_>, is_absent: bool) -> Result<Option<String>> {
        let name = self.name();
        let problem = match is_absent {
            true => "Berth is not installed there",
            false => {
                let service = checker.service().await?;
                let ReadResult::Object(deployment) = checker.deployment(&service).await? else {
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
            "{problem}: run berth manifests --mode=decide --source={name}=hub (with a --source for each other system that is to \
             stay) | kubectl apply --server-side -f -; Berth then observes until the system's own scheduler is stopped"
        )))
    }
}
