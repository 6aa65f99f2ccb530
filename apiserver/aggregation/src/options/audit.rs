//! Flags about auditing, with the names of kube-apiserver's flags.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use berth_apimachinery::Clock;
use berth_apimachinery::duration::parse_unsigned;
use berth_apiserver::audit::{
    Audit, AuditConfig, AuditError, AuditLog, BatchDestination, BatchLimits, DeliveryError, Policy, Rotation,
};
use berth_apiserver::metrics::Metrics;
use bytes::Bytes;
use clap::Args;
use http::{Request, Uri};
use kube::client::Body;

/// Timeout of sending a batch to the webhook.
const WEBHOOK_TIMEOUT: Duration = Duration::from_secs(30);

/// Reason why auditing cannot start with the flags.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditArgsError {
    /// A policy is given, but no backend for the events.
    #[error("--audit-policy-file needs a backend: set --audit-log-path or --audit-webhook-config-file")]
    NoBackend,
    /// The policy cannot be read, or has errors.
    #[error("--audit-policy-file: {}: {cause}", file.display())]
    Policy {
        /// Path of the file.
        file: PathBuf,
        /// Problems of the policy, each with the path of the field.
        cause: String,
    },
    /// The webhook's kubeconfig cannot be used.
    #[error("--audit-webhook-config-file: {}: {cause}", file.display())]
    Webhook {
        /// Path of the file.
        file: PathBuf,
        /// Problem of the kubeconfig.
        cause: String,
    },
    /// The file of the audit log cannot be opened.
    #[error(transparent)]
    Log(#[from] AuditError),
}

/// Arguments about auditing.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Auditing")]
pub struct AuditArgs {
    /// The file of the audit log; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub audit_log_path: Option<String>,
    /// Audit policy: kube-apiserver's Policy (audit.k8s.io/v1) [default: every request at level Metadata, at
    /// every stage except RequestReceived]. Bodies of Secrets, and of tokens that are issued or reviewed, are
    /// never logged, at any level.
    #[arg(long, value_name = "FILE")]
    pub audit_policy_file: Option<PathBuf>,
    /// Number of days to keep old log files; 0 keeps them regardless of their age.
    #[arg(long, value_name = "DAYS", default_value_t = 0)]
    pub audit_log_maxage: u32,
    /// Number of old log files to keep; 0 keeps all.
    #[arg(long, value_name = "FILES", default_value_t = 0)]
    pub audit_log_maxbackup: usize,
    /// Size in megabytes at which the log file is rotated; 0 never rotates the file.
    #[arg(long, value_name = "MEGABYTES", default_value_t = 100)]
    pub audit_log_maxsize: u64,
    /// Kubeconfig of the server that receives events in batches. The `server` of the cluster is the complete
    /// URL.
    #[arg(long, value_name = "FILE")]
    pub audit_webhook_config_file: Option<PathBuf>,
    /// Maximum number of events that wait for the webhook. Further events are dropped, and counted in
    /// apiserver_audit_error_total.
    #[arg(long, value_name = "EVENTS", default_value_t = BatchLimits::default().buffer_size)]
    pub audit_webhook_batch_buffer_size: usize,
    /// Maximum number of events in a batch.
    #[arg(long, value_name = "EVENTS", default_value_t = BatchLimits::default().max_size)]
    pub audit_webhook_batch_max_size: usize,
    /// Maximum time for which an event waits for further events of the same batch.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = parse_unsigned)]
    pub audit_webhook_batch_max_wait: Duration,
    /// Time to wait before a failed batch is sent again.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_unsigned)]
    pub audit_webhook_initial_backoff: Duration,
}

impl Default for AuditArgs {
    fn default() -> Self {
        let batching = BatchLimits::default();
        Self {
            audit_log_path: None,
            audit_policy_file: None,
            audit_log_maxage: 0,
            audit_log_maxbackup: 0,
            audit_log_maxsize: 100,
            audit_webhook_config_file: None,
            audit_webhook_batch_buffer_size: batching.buffer_size,
            audit_webhook_batch_max_size: batching.max_size,
            audit_webhook_batch_max_wait: batching.max_wait,
            audit_webhook_initial_backoff: batching.initial_backoff,
        }
    }
}

impl AuditArgs {
    /// Opens the backends for audit events; `None` if the flags configure none. Must be called in a Tokio
    /// runtime. `domain` is the prefix of the annotations that only this library adds.
    ///
    /// # Errors
    /// When a file cannot be read or opened, when the policy has errors, or when there is a policy but no
    /// backend.
    pub async fn open(
        &self,
        domain: &str,
        metrics: &Arc<Metrics>,
        clock: &Arc<dyn Clock>,
    ) -> Result<Option<Audit>, AuditArgsError> {
        let policy = self.policy()?;
        let webhook: Option<(Arc<dyn BatchDestination>, BatchLimits)> = match &self.audit_webhook_config_file
        {
            Some(file) => Some((Arc::new(Webhook::of(file).await?), self.batching())),
            None => None,
        };
        if self.audit_log_path.is_none() && webhook.is_none() {
            if self.audit_policy_file.is_some() {
                return Err(AuditArgsError::NoBackend);
            }
            return Ok(None);
        }
        let rotation = Rotation {
            max_size: self.audit_log_maxsize,
            max_backups: self.audit_log_maxbackup,
            max_age: self.audit_log_maxage,
        };
        let log = self
            .audit_log_path
            .clone()
            .map(|path| AuditLog { path, rotation });
        let config = AuditConfig {
            policy,
            log,
            webhook,
            domain: domain.to_owned(),
        };
        Ok(Some(Audit::open(config, Arc::clone(metrics), clock)?))
    }

    fn policy(&self) -> Result<Policy, AuditArgsError> {
        let Some(file) = &self.audit_policy_file else {
            return Ok(Policy::metadata());
        };
        let unusable = |cause: String| AuditArgsError::Policy {
            file: file.clone(),
            cause,
        };
        let text = std::fs::read_to_string(file).map_err(|problem| unusable(problem.to_string()))?;
        Policy::read(&text).map_err(|problem| unusable(problem.to_string()))
    }

    fn batching(&self) -> BatchLimits {
        BatchLimits {
            buffer_size: self.audit_webhook_batch_buffer_size,
            max_size: self.audit_webhook_batch_max_size,
            max_wait: self.audit_webhook_batch_max_wait,
            initial_backoff: self.audit_webhook_initial_backoff,
        }
    }
}

/// Client of the server that receives audit events.
struct Webhook {
    client: kube::Client,
    path: String,
}

impl Webhook {
    /// Creates a client for the server in the current context of the kubeconfig `file`.
    async fn of(file: &Path) -> Result<Self, AuditArgsError> {
        let unusable = |cause: String| AuditArgsError::Webhook {
            file: file.to_owned(),
            cause,
        };
        let config = berth_client::config(Some(file), None).await;
        let mut config = config.map_err(|problem| unusable(problem.to_string()))?;
        // The client appends a slash to the server's path, so it gets only the host.
        let mut parts = config.cluster_url.clone().into_parts();
        let path = parts.path_and_query.take();
        let path = path.map_or_else(|| "/".to_owned(), |path| path.as_str().to_owned());
        parts.path_and_query = Some(http::uri::PathAndQuery::from_static("/"));
        config.cluster_url = Uri::from_parts(parts).map_err(|problem| unusable(problem.to_string()))?;
        config.read_timeout = Some(WEBHOOK_TIMEOUT);
        // The audit buffer sends a failed batch again, so the client must not.
        let client = berth_client::connect(config).map_err(|problem| unusable(problem.to_string()))?;
        Ok(Self { client, path })
    }
}

#[async_trait]
impl BatchDestination for Webhook {
    async fn deliver(&self, events: Bytes) -> Result<(), DeliveryError> {
        let request = Request::post(&self.path)
            .header("content-type", "application/json")
            .body(Body::from(events.to_vec()))
            .map_err(|problem| DeliveryError(problem.to_string()))?;
        let answer = self
            .client
            .send(request)
            .await
            .map_err(|problem| DeliveryError(problem.to_string()))?;
        match answer.status() {
            code if code.is_success() => Ok(()),
            code => Err(DeliveryError(format!("the server answered {code}"))),
        }
    }
}
