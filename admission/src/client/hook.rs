//! One webhook of a configuration, in parsed form.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_apimachinery::selector::{LabelSelector, Selector};
use berth_apimachinery::{Labels, Status};
use serde_json::Value;

use super::rounds::HookId;
use super::rules::{self, Rule, texts};
use super::subject::Subject;
use crate::request::{NAMESPACES, Request};

/// Timeout of a webhook without `timeoutSeconds`, in seconds.
const TIMEOUT: u64 = 10;
/// Port of a Service reference that names no port.
const PORT: u16 = 443;
/// Supported version of AdmissionReview, as in `admissionReviewVersions`.
const REVIEW_VERSION: &str = "v1";

/// Address of a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// Address of a webhook with a URL.
    Url(String),
    /// Address of a webhook behind a Service of the hub.
    Service {
        /// Namespace of the Service.
        namespace: String,
        /// Name of the Service.
        name: String,
        /// The path, `/` when there is none.
        path: String,
        /// Port of the Service.
        port: u16,
    },
}

/// A condition: an element of `matchConditions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Name of the condition.
    pub name: String,
    /// The CEL expression.
    pub expression: String,
}

/// One webhook.
#[derive(Clone, Debug, PartialEq)]
pub struct Hook {
    /// Name of the webhook configuration.
    pub configuration: Arc<str>,
    /// Index of the webhook in its configuration.
    pub index: usize,
    /// Name of the webhook.
    pub name: Arc<str>,
    /// Address of the webhook.
    pub endpoint: Endpoint,
    /// CAs that may have signed the webhook's certificate, in PEM; empty for the CAs of the system.
    pub ca_bundle: Vec<u8>,
    /// Whether a write is admitted when the webhook cannot be called (`failurePolicy: Ignore`).
    pub fails_open: bool,
    /// Whether the webhook may be called for a dry run.
    pub dry_runs: bool,
    /// Time limit of one call.
    pub timeout: Duration,
    /// Whether the webhook is called again when a later one changes the object (`reinvocationPolicy:
    /// IfNeeded`).
    pub again: bool,
    /// Conditions of a call, which are evaluated after rules and selectors match.
    pub conditions: Vec<Condition>,
    /// Reason why the webhook cannot be called about any subject.
    pub problem: Option<String>,
    rules: Vec<Rule>,
    exact: bool,
    namespaces: Selector,
    objects: Selector,
}

impl Hook {
    /// The webhooks of `configuration`, a `MutatingWebhookConfiguration` or a
    /// `ValidatingWebhookConfiguration`, in the order of the configuration. A webhook that cannot be parsed
    /// has a [problem](Hook::problem), so that it is treated like one that cannot be reached.
    #[must_use]
    pub fn all(configuration: &Value) -> Vec<Self> {
        let name: Arc<str> = configuration["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .into();
        let hooks = configuration["webhooks"].as_array().into_iter().flatten();
        hooks
            .enumerate()
            .map(|(index, hook)| Self::one(&name, index, hook))
            .collect()
    }

    fn one(configuration: &Arc<str>, index: usize, value: &Value) -> Self {
        let mut problems = Vec::new();
        let mut selector = |field: &str| match select(&value[field], field) {
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
                "admissionReviewVersions of the webhook do not contain {REVIEW_VERSION:?}, the only version that this server \
                 supports"
            ));
        }
        let rules = value["rules"]
            .as_array()
            .into_iter()
            .flatten()
            .map(Rule::of)
            .collect();
        let is = |field: &str, wanted: &str| value[field] == wanted;
        Self {
            configuration: Arc::clone(configuration),
            index,
            name: value["name"].as_str().unwrap_or_default().into(),
            endpoint,
            ca_bundle,
            fails_open: is("failurePolicy", "Ignore"),
            dry_runs: is("sideEffects", "None") || is("sideEffects", "NoneOnDryRun"),
            timeout: Duration::from_secs(value["timeoutSeconds"].as_u64().unwrap_or(TIMEOUT)),
            again: is("reinvocationPolicy", "IfNeeded"),
            conditions: conditions(&value["matchConditions"]),
            problem: (!problems.is_empty()).then(|| problems.join("; ")),
            rules,
            exact: is("matchPolicy", "Exact"),
            namespaces,
            objects,
        }
    }

    /// Identity of the webhook among all.
    #[must_use]
    pub fn id(&self) -> HookId {
        (Arc::clone(&self.configuration), self.index)
    }

    /// The version of the resource in which the webhook receives `subject`; `None` when the webhook is not
    /// called about `subject`. The webhook's [conditions](Hook::conditions) are not considered. `labels`
    /// returns the labels of a namespace.
    ///
    /// # Errors
    /// 404 when the webhook selects by labels of the write's namespace, and there is no such namespace.
    pub fn concerns<'a>(
        &self,
        subject: &Subject<'a>,
        object: Option<&Value>,
        labels: impl Fn(&str) -> Option<Labels>,
    ) -> Result<Option<&'a str>, Status> {
        let Some(version) = self.version(subject) else {
            return Ok(None);
        };
        let request = subject.request;
        let selected = self.selects(object) || self.selects(request.old);
        Ok((selected && self.is_in_namespace(request, object, labels)?).then_some(version))
    }

    /// The version in which the webhook receives `subject` according to the rules alone, without selectors.
    #[must_use]
    pub fn version<'a>(&self, subject: &Subject<'a>) -> Option<&'a str> {
        rules::version(&self.rules, self.exact, subject)
    }

    fn is_in_namespace(
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
        // Other cluster-scoped objects match every namespace selector.
        if namespace.is_empty() {
            return Ok(true);
        }
        match labels(namespace) {
            Some(labels) => Ok(self.namespaces.matches(&labels)),
            None => Err(Status::not_found(NAMESPACES, namespace)),
        }
    }

    /// Whether the webhook's object selector matches the labels of `object`. Without an object, only the
    /// empty selector matches.
    fn selects(&self, object: Option<&Value>) -> bool {
        self.objects.is_everything() || object.is_some_and(|object| has_labels(object, &self.objects))
    }
}

fn select(value: &Value, field: &str) -> Result<Selector, String> {
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

/// The address in a webhook's `clientConfig`: its `url`, or otherwise its `service`.
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
        Value::Null => PORT,
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
