//! A webhook of a webhook configuration, in parsed form.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_apimachinery::selector::{LabelSelector, Selector};
use berth_apimachinery::{Labels, Status};
use serde_json::Value;

use super::rounds::HookId;
use super::rules::{self, Rule, texts};
use super::versioned_write::VersionedWrite;
use crate::request::{NAMESPACES, Request};

/// Timeout in seconds of a webhook without `timeoutSeconds`.
const DEFAULT_TIMEOUT: u64 = 10;
/// Port of a Service reference without `port`.
const DEFAULT_PORT: u16 = 443;
/// Supported version of AdmissionReview, as in `admissionReviewVersions`.
const REVIEW_VERSION: &str = "v1";

/// Address of a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A URL.
    Url(String),
    /// A Service of the hub.
    Service {
        /// Namespace of the Service.
        namespace: String,
        /// Name of the Service.
        name: String,
        /// Path of the URL; `/` if the configuration has none.
        path: String,
        /// Port of the Service.
        port: u16,
    },
}

/// A match condition: an element of `matchConditions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Name of the condition.
    pub name: String,
    /// The CEL expression.
    pub expression: String,
}

/// One webhook of a MutatingWebhookConfiguration or ValidatingWebhookConfiguration.
#[derive(Clone, Debug, PartialEq)]
pub struct Hook {
    /// Name of the webhook configuration.
    pub configuration: Arc<str>,
    /// Index of the webhook in the configuration.
    pub index: usize,
    /// Name of the webhook.
    pub name: Arc<str>,
    /// Address of the webhook.
    pub endpoint: Endpoint,
    /// CAs that may have signed the webhook's certificate, in PEM; empty for the CAs of the system.
    pub ca_bundle: Vec<u8>,
    /// Whether a write is admitted when the webhook cannot be called (`failurePolicy: Ignore`).
    pub fails_open: bool,
    /// Whether the webhook may be called for a dry run: its calls have no side effects then.
    pub supports_dry_run: bool,
    /// Time limit of one call.
    pub timeout: Duration,
    /// Whether the webhook is called again when a later one changes the object (`reinvocationPolicy:
    /// IfNeeded`).
    pub reinvoked: bool,
    /// Match conditions, which are evaluated after rules and selectors match.
    pub conditions: Vec<Condition>,
    /// Reason why the webhook can never be called; `None` if its configuration is valid.
    pub problem: Option<String>,
    rules: Vec<Rule>,
    exact: bool,
    namespaces: Selector,
    objects: Selector,
}

impl Hook {
    /// Reads the webhooks of `configuration`, a MutatingWebhookConfiguration or a
    /// ValidatingWebhookConfiguration, in order. An invalid webhook has a [problem](Hook::problem): calling
    /// it fails, like calling an unreachable webhook.
    #[must_use]
    pub fn all(configuration: &Value) -> Vec<Self> {
        let name: Arc<str> = configuration["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .into();
        let hooks = configuration["webhooks"].as_array().into_iter().flatten();
        hooks
            .enumerate()
            .map(|(index, hook)| Self::new(&name, index, hook))
            .collect()
    }

    fn new(configuration: &Arc<str>, index: usize, value: &Value) -> Self {
        let mut problems = Vec::new();
        let mut selector = |field: &str| match compile_selector(&value[field], field) {
            Ok(selector) => selector,
            Err(problem) => {
                problems.push(problem);
                Selector::default()
            }
        };
        let (namespaces, objects) = (selector("namespaceSelector"), selector("objectSelector"));
        let client = &value["clientConfig"];
        let bundle = client["caBundle"].as_str().unwrap_or_default();
        let ca_bundle = STANDARD.decode(bundle).unwrap_or_else(|problem| {
            problems.push(format!("clientConfig.caBundle is not base64: {problem}"));
            Vec::new()
        });
        let endpoint = endpoint(client).unwrap_or_else(|problem| {
            problems.push(problem);
            Endpoint::Url(String::new())
        });
        if !texts(&value["admissionReviewVersions"])
            .iter()
            .any(|version| version == REVIEW_VERSION)
        {
            problems.push(format!(
                "admissionReviewVersions does not contain {REVIEW_VERSION:?}, the only version that this server \
                 supports"
            ));
        }
        let rules = value["rules"]
            .as_array()
            .into_iter()
            .flatten()
            .map(Rule::of)
            .collect();
        let is = |field: &str, expected: &str| value[field] == expected;
        Self {
            configuration: Arc::clone(configuration),
            index,
            name: value["name"].as_str().unwrap_or_default().into(),
            endpoint,
            ca_bundle,
            fails_open: is("failurePolicy", "Ignore"),
            supports_dry_run: is("sideEffects", "None") || is("sideEffects", "NoneOnDryRun"),
            timeout: Duration::from_secs(value["timeoutSeconds"].as_u64().unwrap_or(DEFAULT_TIMEOUT)),
            reinvoked: is("reinvocationPolicy", "IfNeeded"),
            conditions: conditions(&value["matchConditions"]),
            problem: (!problems.is_empty()).then(|| problems.join("; ")),
            rules,
            exact: is("matchPolicy", "Exact"),
            namespaces,
            objects,
        }
    }

    /// Returns the identity of the webhook among the hub's webhooks of the same type: a mutating and a
    /// validating configuration may have the same name.
    #[must_use]
    pub fn id(&self) -> HookId {
        (Arc::clone(&self.configuration), self.index)
    }

    /// Version of the resource in which the webhook receives the write of `object`; `None` when the rules or
    /// selectors do not match the write. The [conditions](Hook::conditions) are not considered. `labels`
    /// returns the labels of a namespace, if the namespace exists.
    ///
    /// # Errors
    /// 404 when the namespace selector needs the namespace of the write, and this namespace does not exist.
    pub fn matching_version<'a>(
        &self,
        write: &VersionedWrite<'a>,
        object: Option<&Value>,
        labels: impl Fn(&str) -> Option<Labels>,
    ) -> Result<Option<&'a str>, Status> {
        let Some(version) = self.version(write) else {
            return Ok(None);
        };
        let request = write.request;
        let selected = self.selects_object(object) || self.selects_object(request.old);
        Ok((selected && self.selects_namespace(request, object, labels)?).then_some(version))
    }

    /// Version in which the webhook receives `write`, by the rules alone, without the selectors; `None`
    /// when no rule matches.
    #[must_use]
    pub fn version<'a>(&self, write: &VersionedWrite<'a>) -> Option<&'a str> {
        rules::version(&self.rules, self.exact, write)
    }

    fn selects_namespace(
        &self,
        request: &Request<'_>,
        object: Option<&Value>,
        labels: impl Fn(&str) -> Option<Labels>,
    ) -> Result<bool, Status> {
        if self.namespaces.is_everything() {
            return Ok(true);
        }
        if let Some(namespace) = request.own_namespace(object) {
            return Ok(has_labels(namespace, &self.namespaces));
        }
        let namespace = request.namespace;
        // Cluster-scoped objects, except for Namespaces, match every namespace selector.
        if namespace.is_empty() {
            return Ok(true);
        }
        match labels(namespace) {
            Some(labels) => Ok(self.namespaces.matches(&labels)),
            None => Err(Status::not_found(NAMESPACES, namespace)),
        }
    }

    /// Whether the object selector matches the labels of `object`. Without an object, only an empty selector
    /// matches.
    fn selects_object(&self, object: Option<&Value>) -> bool {
        self.objects.is_everything() || object.is_some_and(|object| has_labels(object, &self.objects))
    }
}

/// Compiles the label selector in `field`; an absent selector matches everything.
fn compile_selector(value: &Value, field: &str) -> Result<Selector, String> {
    if value.is_null() {
        return Ok(Selector::default());
    }
    let selector: LabelSelector =
        serde_json::from_value(value.clone()).map_err(|problem| format!("{field}: {problem}"))?;
    Selector::compile(&selector, field).map_err(|errors| {
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        texts.join("; ")
    })
}

/// Address in the `clientConfig` of a webhook: the `url`, or otherwise the `service`.
///
/// # Errors
/// When the port of the Service is not a number from 1 to 65535.
fn endpoint(client: &Value) -> Result<Endpoint, String> {
    if let Some(url) = client["url"].as_str() {
        return Ok(Endpoint::Url(url.to_owned()));
    }
    let service = &client["service"];
    let text = |field: &str| service[field].as_str().unwrap_or_default().to_owned();
    let path = text("path");
    let slash = if path.starts_with('/') { "" } else { "/" };
    let port = match &service["port"] {
        Value::Null => DEFAULT_PORT,
        port => {
            let number = port.as_u64().and_then(|port| u16::try_from(port).ok());
            let number = number.filter(|port| *port != 0);
            number
                .ok_or_else(|| format!("clientConfig.service.port is {port}, not a number from 1 to 65535"))?
        }
    };
    Ok(Endpoint::Service {
        namespace: text("namespace"),
        name: text("name"),
        path: format!("{slash}{path}"),
        port,
    })
}

/// Whether `selector` matches the labels of `object`.
fn has_labels(object: &Value, selector: &Selector) -> bool {
    let labels = &object["metadata"]["labels"];
    selector.matches_with(|key| labels[key].as_str())
}

fn conditions(value: &Value) -> Vec<Condition> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = value.as_array().into_iter().flatten();
    all.map(|condition| Condition {
        name: text(&condition["name"]),
        expression: text(&condition["expression"]),
    })
    .collect()
}
