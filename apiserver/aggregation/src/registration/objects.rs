//! Objects that register this server on the hub: APIServices and webhook configurations, with their
//! caBundles.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use berth_client::root_cause;
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::{Service, Sources};
use crate::error::RegistrationError;

/// Annotations that make cert-manager set the caBundles of an object from a Certificate or a Secret.
const INJECT_CA_FROM: [&str; 2] = [
    "cert-manager.io/inject-ca-from",
    "cert-manager.io/inject-ca-from-secret",
];
/// Annotation whose value `true` makes cert-manager set the caBundles of an object to kube-apiserver's CA.
const INJECT_APISERVER_CA: &str = "cert-manager.io/inject-apiserver-ca";

/// An APIService or webhook configuration that registers this server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RegisteredObject {
    pub(super) kind: &'static str,
    pub(super) name: String,
    /// Desired form of the object, from which it is created.
    pub(super) template: Value,
    /// Field manager of the writes.
    manager: String,
    /// Sentence about how to create the object, for the message when it is missing; may be empty.
    source: String,
}

/// State of a registered object on the hub.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ObjectState {
    /// The object does not exist.
    Missing,
    /// This server does not set the caBundles of the object. The value is the reason why the hub does not
    /// find or trust this server through the object; `None` if it does.
    Foreign(Option<String>),
    /// This server sets the caBundles of the object.
    Ours(Value),
}

impl RegisteredObject {
    /// Creates a registered object from `template`; `None` when the kind of the template has no caBundle, or
    /// the template has no name.
    pub(super) fn of(template: Value, manager: &str, sources: &Sources) -> Option<Self> {
        let kinds = [
            "APIService",
            "MutatingWebhookConfiguration",
            "ValidatingWebhookConfiguration",
        ];
        let kind = kinds.into_iter().find(|kind| template["kind"] == *kind)?;
        let name = template["metadata"]["name"].as_str()?.to_owned();
        let source = match kind {
            "APIService" => &sources.api_services,
            _ => &sources.webhooks,
        };
        Some(Self {
            kind,
            name,
            template,
            manager: manager.to_owned(),
            source: source.clone(),
        })
    }

    /// Reads the object from the hub.
    pub(super) async fn find(
        &self,
        client: &Client,
        service: &Service,
    ) -> Result<ObjectState, RegistrationError> {
        let found = self.api(client).get_opt(&self.name).await;
        let found = found.map_err(|problem| self.failed("reading", &problem))?;
        let Some(object) = found else {
            return Ok(ObjectState::Missing);
        };
        let object = serde_json::to_value(object).map_err(|problem| self.malformed(&problem))?;
        Ok(self.classify(object, service))
    }

    /// Returns the state of `object`: whether this server sets its caBundles.
    fn classify(&self, object: Value, service: &Service) -> ObjectState {
        if let Some(problem) = service_mismatch(&object, service) {
            return ObjectState::Foreign(Some(format!("{self} {problem}")));
        }
        if is_injected(&object) {
            return ObjectState::Foreign(self.missing_bundles(&object, service));
        }
        if object["kind"] == "APIService" && object["spec"]["insecureSkipTLSVerify"] == true {
            // With `insecureSkipTLSVerify` an APIService must not have a caBundle.
            return ObjectState::Foreign(None);
        }
        ObjectState::Ours(object)
    }

    /// Returns the message that the object does not exist, with the way of creating it if that is known.
    pub(super) fn missing_message(&self) -> String {
        match self.source.as_str() {
            "" => format!("{self} does not exist"),
            source => format!("{self} does not exist; {source}"),
        }
    }

    /// Returns the message that `object` lacks a caBundle for `service`; `None` when no caBundle is missing.
    pub(super) fn missing_bundles(&self, object: &Value, service: &Service) -> Option<String> {
        let issuer = match is_injected(object) {
            true => "cert-manager",
            false => "the issuer of the certificate",
        };
        (!has_bundles(object, service))
            .then(|| format!("{self} has no caBundle, which {issuer} must fill in"))
    }

    /// Creates the object, unless it exists meanwhile.
    pub(super) async fn create(&self, client: &Client) -> Result<(), RegistrationError> {
        let object = serde_json::from_value(self.template.clone());
        let object: DynamicObject = object.map_err(|problem| self.malformed(&problem))?;
        let options = PostParams {
            field_manager: Some(self.manager.clone()),
            ..PostParams::default()
        };
        match self.api(client).create(&options, &object).await {
            Ok(_) => {
                tracing::info!(object = %self, "registration created");
                Ok(())
            }
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
            Err(problem) => Err(self.failed("creating", &problem)),
        }
    }

    /// Sets `bundle` as the caBundle of `object` for `service`, unless another client has changed the object
    /// since it was read. The next check then sets it.
    pub(super) async fn set_bundle(
        &self,
        client: &Client,
        object: &Value,
        service: &Service,
        bundle: &str,
    ) -> Result<(), RegistrationError> {
        let Some(mut patch) = ca_patch(object, service, bundle) else {
            return Ok(());
        };
        patch["metadata"] = json!({"resourceVersion": object["metadata"]["resourceVersion"]});
        let options = PatchParams {
            field_manager: Some(self.manager.clone()),
            ..PatchParams::default()
        };
        match self
            .api(client)
            .patch(&self.name, &options, &Patch::Merge(patch))
            .await
        {
            Ok(_) => {
                tracing::info!(object = %self, "caBundle updated");
                Ok(())
            }
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
            Err(problem) => Err(self.failed("setting the caBundle of", &problem)),
        }
    }

    fn failed(&self, doing: &'static str, problem: &kube::Error) -> RegistrationError {
        RegistrationError::Hub {
            doing,
            object: self.to_string(),
            cause: root_cause(problem),
        }
    }

    fn malformed(&self, problem: &serde_json::Error) -> RegistrationError {
        RegistrationError::Malformed {
            object: self.to_string(),
            cause: problem.to_string(),
        }
    }

    /// Returns the interface to objects of this kind on the hub of `client`.
    pub(super) fn api(&self, client: &Client) -> Api<DynamicObject> {
        let group = match self.kind {
            "APIService" => "apiregistration.k8s.io",
            _ => "admissionregistration.k8s.io",
        };
        let kind = GroupVersionKind::gvk(group, "v1", self.kind);
        Api::all_with(client.clone(), &ApiResource::from_gvk(&kind))
    }
}

impl std::fmt::Display for RegisteredObject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}

/// Whether cert-manager sets the caBundles of `object`.
fn is_injected(object: &Value) -> bool {
    let annotations = &object["metadata"]["annotations"];
    let has_source = INJECT_CA_FROM.iter().any(|name| annotations[name].is_string());
    has_source || annotations[INJECT_APISERVER_CA] == "true"
}

/// Returns the problem that the APIService `object` is for another Service than `service`; `None` if it is
/// for `service`, or `object` has another kind.
fn service_mismatch(object: &Value, service: &Service) -> Option<String> {
    let reference = &object["spec"]["service"];
    (object["kind"] == "APIService" && !is_for(reference, service)).then(|| {
        format!(
            "is for {}, not for the Service {}/{}",
            service_text(reference),
            service.namespace,
            service.name
        )
    })
}

/// Whether every client configuration for `service` in `object` has a caBundle.
fn has_bundles(object: &Value, service: &Service) -> bool {
    let is_set = |bundle: &Value| bundle.as_str().is_some_and(|text| !text.is_empty());
    if object["kind"] == "APIService" {
        return is_set(&object["spec"]["caBundle"]);
    }
    let configs = object["webhooks"].as_array().into_iter().flatten();
    let configs = configs.map(|webhook| &webhook["clientConfig"]);
    configs
        .filter(|config| is_for(&config["service"], service))
        .all(|config| is_set(&config["caBundle"]))
}

fn is_for(reference: &Value, service: &Service) -> bool {
    reference["namespace"] == service.namespace.as_str() && reference["name"] == service.name.as_str()
}

/// Describes the Service in the `spec.service` of an APIService; without a Service, kube-apiserver serves the
/// group itself.
#[must_use]
pub fn service_text(reference: &Value) -> String {
    match (reference["namespace"].as_str(), reference["name"].as_str()) {
        (Some(namespace), Some(name)) => format!("the Service {namespace}/{name}"),
        _ => "kube-apiserver itself (a CustomResourceDefinition)".to_owned(),
    }
}

/// Returns the merge patch that sets `bundle` as every caBundle for `service` in `object`; `None` when
/// `object` has it already.
fn ca_patch(object: &Value, service: &Service, bundle: &str) -> Option<Value> {
    let bundle = json!(STANDARD.encode(bundle));
    if object["kind"] == "APIService" {
        let current = &object["spec"]["caBundle"];
        return (*current != bundle).then(|| json!({"spec": {"caBundle": bundle}}));
    }
    let mut webhooks = object["webhooks"].as_array()?.clone();
    let mut changed = false;
    for webhook in &mut webhooks {
        let config = &mut webhook["clientConfig"];
        if is_for(&config["service"], service) && config["caBundle"] != bundle {
            config["caBundle"] = bundle.clone();
            changed = true;
        }
    }
    changed.then(|| json!({"webhooks": webhooks}))
}

/// Whether every caBundle for `service` in `object` is `bundle`.
pub(super) fn trusts(object: &Value, service: &Service, bundle: &str) -> bool {
    ca_patch(object, service, bundle).is_none()
}

#[cfg(test)]
mod tests;
