//! Kubernetes' protobuf, for the kinds and messages that clients send: kubectl creates namespaces,
//! configmaps, secrets, serviceaccounts, services, deployments, RBAC objects and reviews with it, and
//! client libraries may delete with it.
//!
//! A body is the four bytes `k8s\0` and an envelope (runtime.Unknown) that names apiVersion and kind and
//! holds the message. Go writes every field that is not a pointer, empty ones too, so empty texts, zeros and
//! empty messages read as absent. Answers are JSON: the clients accept both.

mod authorization;
mod coordination;
mod core;
mod fields;
mod metadata;
mod rbac;
mod workload;

use berth_apiserver::decode::BodyDecoder;
use k8s_pb::api::apps::v1 as apps_v1;
use k8s_pb::api::authentication::v1 as authentication_v1;
use k8s_pb::api::authorization::v1 as authorization_v1;
use k8s_pb::api::coordination::v1 as coordination_v1;
use k8s_pb::api::core::v1 as core_v1;
use k8s_pb::api::events::v1 as events_v1;
use k8s_pb::api::rbac::v1 as rbac_v1;
use k8s_pb::apimachinery::pkg::apis::meta::v1 as meta_v1;
use k8s_pb::apimachinery::pkg::runtime::Unknown;
use prost::Message;
use serde_json::Value;

use fields::Fields;

/// First bytes of every body.
const MAGIC: &[u8] = b"k8s\0";

/// The decoder of request bodies.
#[derive(Clone, Copy, Debug, Default)]
pub struct Protobuf;

impl BodyDecoder for Protobuf {
    fn decode(&self, bytes: &[u8]) -> Option<Result<Value, String>> {
        let Some(envelope) = bytes.strip_prefix(MAGIC) else {
            return Some(Err(
                "provided data does not appear to be a protobuf message, expected prefix 6b 38 73 00"
                    .to_owned(),
            ));
        };
        let envelope = match Unknown::decode(envelope) {
            Ok(envelope) => envelope,
            Err(problem) => return Some(Err(format!("reading the protobuf envelope: {problem}"))),
        };
        let named = envelope.type_meta.unwrap_or_default();
        let (version, kind) = (
            named.api_version.unwrap_or_default(),
            named.kind.unwrap_or_default(),
        );
        let raw = envelope.raw.unwrap_or_default();
        let fields = message(&version, &kind, &raw)?;
        Some(
            fields
                .map_err(|problem| format!("reading protobuf {version} {kind}: {problem}"))
                .map(|mut fields| {
                    fields.text("apiVersion", Some(version));
                    fields.text("kind", Some(kind));
                    fields.into_value()
                }),
        )
    }
}

/// A message that has a JSON form.
trait ToJson: Message + Default {
    /// Its fields, empty ones left out.
    fn to_json(self) -> Fields;

    /// Whether it has content that [`ToJson::to_json`] would leave out.
    fn unread(&self) -> bool {
        false
    }
}

/// The fields of a message by its apiVersion and kind; `None` for unknown kinds.
fn message(version: &str, kind: &str, raw: &[u8]) -> Option<Result<Fields, String>> {
    fn read<T: ToJson>(raw: &[u8]) -> Option<Result<Fields, String>> {
        Some(
            T::decode(raw)
                .map(ToJson::to_json)
                .map_err(|problem| problem.to_string()),
        )
    }
    match (version, kind) {
        // Every group knows DeleteOptions by its own name.
        (_, "DeleteOptions") => read::<meta_v1::DeleteOptions>(raw),
        ("v1", "Namespace") => read::<core_v1::Namespace>(raw),
        ("v1", "ConfigMap") => read::<core_v1::ConfigMap>(raw),
        ("v1", "Secret") => read::<core_v1::Secret>(raw),
        ("v1", "ServiceAccount") => read::<core_v1::ServiceAccount>(raw),
        ("v1", "ResourceQuota") => read::<core_v1::ResourceQuota>(raw),
        ("v1", "Event") => read::<core_v1::Event>(raw),
        ("v1", "Service") => whole_message::<core_v1::Service>(version, kind, raw),
        ("apps/v1", "Deployment") => whole_message::<apps_v1::Deployment>(version, kind, raw),
        ("coordination.k8s.io/v1", "Lease") => read::<coordination_v1::Lease>(raw),
        ("events.k8s.io/v1", "Event") => read::<events_v1::Event>(raw),
        ("rbac.authorization.k8s.io/v1", kind) => match kind {
            "Role" => read::<rbac_v1::Role>(raw),
            "ClusterRole" => read::<rbac_v1::ClusterRole>(raw),
            "RoleBinding" => read::<rbac_v1::RoleBinding>(raw),
            "ClusterRoleBinding" => read::<rbac_v1::ClusterRoleBinding>(raw),
            _ => None,
        },
        ("authorization.k8s.io/v1", kind) => match kind {
            "SelfSubjectAccessReview" => read::<authorization_v1::SelfSubjectAccessReview>(raw),
            "SelfSubjectRulesReview" => read::<authorization_v1::SelfSubjectRulesReview>(raw),
            "SubjectAccessReview" => read::<authorization_v1::SubjectAccessReview>(raw),
            "LocalSubjectAccessReview" => read::<authorization_v1::LocalSubjectAccessReview>(raw),
            _ => None,
        },
        ("authentication.k8s.io/v1", "SelfSubjectReview") => {
            read::<authentication_v1::SelfSubjectReview>(raw)
        }
        _ => None,
    }
}

/// The fields of a message, or the refusal of a message with further fields.
fn whole_message<T: ToJson>(version: &str, kind: &str, raw: &[u8]) -> Option<Result<Fields, String>> {
    let message = T::decode(raw).map_err(|problem| problem.to_string());
    Some(message.and_then(|message| match message.unread() {
        true => Err(workload::refusal(version, kind)),
        false => Ok(message.to_json()),
    }))
}

#[cfg(test)]
mod tests;
