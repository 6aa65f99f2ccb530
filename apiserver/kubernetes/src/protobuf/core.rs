//! Messages of `core/v1` and `events.k8s.io/v1`.

use std::collections::BTreeMap;

use k8s_pb::api::core::v1 as core_v1;
use k8s_pb::api::events::v1 as events_v1;
use k8s_pb::apimachinery::pkg::api::resource::Quantity;
use serde_json::Value;

use super::ToJson;
use super::fields::Fields;

impl ToJson for core_v1::Namespace {
    fn to_json(self) -> Fields {
        let spec = self.spec.map(|spec| {
            let mut fields = Fields::default();
            fields.texts("finalizers", spec.finalizers);
            fields
        });
        let status = self.status.map(|status| {
            let conditions = status.conditions.into_iter().map(|condition| {
                let mut fields = Fields::default();
                fields
                    .text("type", condition.r#type)
                    .text("status", condition.status)
                    .time("lastTransitionTime", condition.last_transition_time)
                    .text("reason", condition.reason)
                    .text("message", condition.message);
                fields
            });
            let mut fields = Fields::default();
            fields
                .text("phase", status.phase)
                .objects("conditions", conditions);
            fields
        });
        let mut fields = Fields::default();
        fields
            .present("metadata", self.metadata.map(ToJson::to_json))
            .object("spec", spec)
            .object("status", status);
        fields
    }
}

impl ToJson for core_v1::ConfigMap {
    fn to_json(self) -> Fields {
        let mut fields = Fields::default();
        fields
            .present("metadata", self.metadata.map(ToJson::to_json))
            .map("data", self.data)
            .bytes("binaryData", self.binary_data)
            .flag("immutable", self.immutable);
        fields
    }
}

impl ToJson for core_v1::ResourceQuota {
    fn to_json(self) -> Fields {
        let quantities = |map: BTreeMap<String, Quantity>| {
            map.into_iter()
                .map(|(name, quantity)| (name, Value::from(quantity.string.unwrap_or_default())))
        };
        let spec = self.spec.map(|spec| {
            let mut fields = Fields::default();
            fields
                .values("hard", quantities(spec.hard))
                .texts("scopes", spec.scopes);
            fields
        });
        let status = self.status.map(|status| {
            let mut fields = Fields::default();
            fields
                .values("hard", quantities(status.hard))
                .values("used", quantities(status.used));
            fields
        });
        let mut fields = Fields::default();
        fields
            .present("metadata", self.metadata.map(ToJson::to_json))
            .object("spec", spec)
            .object("status", status);
        fields
    }
}

impl ToJson for core_v1::Secret {
    fn to_json(self) -> Fields {
        let mut fields = Fields::default();
        fields
            .present("metadata", self.metadata.map(ToJson::to_json))
            .bytes("data", self.data)
            .map("stringData", self.string_data)
            .text("type", self.r#type)
            .flag("immutable", self.immutable);
        fields
    }
}

impl ToJson for core_v1::ServiceAccount {
    fn to_json(self) -> Fields {
        let pull = self.image_pull_secrets.into_iter().map(|secret| {
            let mut fields = Fields::default();
            fields.text("name", secret.name);
            fields
        });
        let mut fields = Fields::default();
        fields
            .present("metadata", self.metadata.map(ToJson::to_json))
            .objects("secrets", self.secrets.into_iter().map(ToJson::to_json))
            .objects("imagePullSecrets", pull)
            .flag(
                "automountServiceAccountToken",
                self.automount_service_account_token,
            );
        fields
    }
}

impl ToJson for core_v1::ObjectReference {
    fn to_json(self) -> Fields {
        let mut fields = Fields::default();
        fields
            .text("kind", self.kind)
            .text("namespace", self.namespace)
            .text("name", self.name)
            .text("uid", self.uid)
            .text("apiVersion", self.api_version)
            .text("resourceVersion", self.resource_version)
            .text("fieldPath", self.field_path);
        fields
    }
}

impl ToJson for core_v1::EventSource {
    fn to_json(self) -> Fields {
        let mut fields = Fields::default();
        fields.text("component", self.component).text("host", self.host);
        fields
    }
}

impl ToJson for core_v1::EventSeries {
    fn to_json(self) -> Fields {
        let mut fields = Fields::default();
        fields
            .count("count", self.count)
            .micro_time("lastObservedTime", self.last_observed_time);
        fields
    }
}

impl ToJson for events_v1::EventSeries {
    fn to_json(self) -> Fields {
        let mut fields = Fields::default();
        fields
            .count("count", self.count)
            .micro_time("lastObservedTime", self.last_observed_time);
        fields
    }
}

impl ToJson for core_v1::Event {
    fn to_json(self) -> Fields {
        let mut fields = Fields::default();
        fields
            .present("metadata", self.metadata.map(ToJson::to_json))
            .object("involvedObject", self.involved_object.map(ToJson::to_json))
            .text("reason", self.reason)
            .text("message", self.message)
            .object("source", self.source.map(ToJson::to_json))
            .time("firstTimestamp", self.first_timestamp)
            .time("lastTimestamp", self.last_timestamp)
            .count("count", self.count)
            .text("type", self.r#type)
            .micro_time("eventTime", self.event_time)
            .object("series", self.series.map(ToJson::to_json))
            .text("action", self.action)
            .object("related", self.related.map(ToJson::to_json))
            .text("reportingComponent", self.reporting_component)
            .text("reportingInstance", self.reporting_instance);
        fields
    }
}

impl ToJson for events_v1::Event {
    fn to_json(self) -> Fields {
        let mut fields = Fields::default();
        fields
            .present("metadata", self.metadata.map(ToJson::to_json))
            .micro_time("eventTime", self.event_time)
            .object("series", self.series.map(ToJson::to_json))
            .text("reportingController", self.reporting_controller)
            .text("reportingInstance", self.reporting_instance)
            .text("action", self.action)
            .text("reason", self.reason)
            .object("regarding", self.regarding.map(ToJson::to_json))
            .object("related", self.related.map(ToJson::to_json))
            .text("note", self.note)
            .text("type", self.r#type)
            .object("deprecatedSource", self.deprecated_source.map(ToJson::to_json))
            .time("deprecatedFirstTimestamp", self.deprecated_first_timestamp)
            .time("deprecatedLastTimestamp", self.deprecated_last_timestamp)
            .count("deprecatedCount", self.deprecated_count);
        fields
    }
}
