//! Services and Deployments, with the fields that `kubectl create` sets. Their messages have hundreds
//! of fields. A message with any other field is refused, with its kind; no field is dropped.

use k8s_pb::api::apps::v1 as apps_v1;
use k8s_pb::api::core::v1 as core_v1;
use k8s_pb::apimachinery::pkg::util::intstr::IntOrString;
use prost::Message;

use super::ToJson;
use super::fields::Fields;

impl ToJson for core_v1::Service {
    fn unread(&self) -> bool {
        let mut rest = self.clone();
        rest.metadata = None;
        if let Some(spec) = &mut rest.spec {
            for port in &mut spec.ports {
                *port = core_v1::ServicePort {
                    app_protocol: port.app_protocol.take(),
                    ..core_v1::ServicePort::default()
                };
            }
            spec.selector.clear();
            spec.cluster_ip = None;
            spec.r#type = None;
            spec.session_affinity = None;
            spec.external_name = None;
        }
        says_something(&rest.encode_to_vec())
    }

    fn to_json(self) -> Fields {
        let spec = self.spec.map(|spec| {
            let ports = spec.ports.into_iter().map(|port| {
                let mut fields = Fields::default();
                fields
                    .text("name", port.name)
                    .text("protocol", port.protocol)
                    .number("port", port.port)
                    .count("nodePort", port.node_port)
                    .either("targetPort", port.target_port);
                fields
            });
            let mut fields = Fields::default();
            fields
                .objects("ports", ports)
                .map("selector", spec.selector)
                .text("clusterIP", spec.cluster_ip)
                .text("type", spec.r#type)
                .text("sessionAffinity", spec.session_affinity)
                .text("externalName", spec.external_name);
            fields
        });
        let mut fields = Fields::default();
        fields
            .present("metadata", self.metadata.map(ToJson::to_json))
            .object("spec", spec);
        fields
    }
}

impl ToJson for apps_v1::Deployment {
    fn unread(&self) -> bool {
        let mut rest = self.clone();
        rest.metadata = None;
        if let Some(spec) = &mut rest.spec {
            spec.replicas = None;
            spec.selector = None;
            spec.min_ready_seconds = None;
            spec.revision_history_limit = None;
            spec.paused = None;
            spec.progress_deadline_seconds = None;
            if let Some(template) = &mut spec.template {
                template.metadata = None;
                for container in template.spec.iter_mut().flat_map(|spec| &mut spec.containers) {
                    container.name = None;
                    container.image = None;
                    container.command.clear();
                    container.args.clear();
                    for port in &mut container.ports {
                        (port.name, port.container_port, port.protocol) = (None, None, None);
                    }
                }
            }
        }
        says_something(&rest.encode_to_vec())
    }

    fn to_json(self) -> Fields {
        let spec = self.spec.map(|spec| {
            let mut fields = Fields::default();
            fields
                .number("replicas", spec.replicas)
                .object("selector", spec.selector.map(ToJson::to_json))
                .object("template", spec.template.map(template))
                .count("minReadySeconds", spec.min_ready_seconds)
                .number("revisionHistoryLimit", spec.revision_history_limit)
                .flag("paused", spec.paused.filter(|paused| *paused))
                .number("progressDeadlineSeconds", spec.progress_deadline_seconds);
            fields
        });
        let mut fields = Fields::default();
        fields
            .present("metadata", self.metadata.map(ToJson::to_json))
            .object("spec", spec);
        fields
    }
}

fn template(template: core_v1::PodTemplateSpec) -> Fields {
    let spec = template.spec.map(|spec| {
        let mut fields = Fields::default();
        fields.objects("containers", spec.containers.into_iter().map(container));
        fields
    });
    let mut fields = Fields::default();
    fields
        .object("metadata", template.metadata.map(ToJson::to_json))
        .object("spec", spec);
    fields
}

fn container(container: core_v1::Container) -> Fields {
    let ports = container.ports.into_iter().map(|port| {
        let mut fields = Fields::default();
        fields
            .text("name", port.name)
            .number("containerPort", port.container_port)
            .text("protocol", port.protocol);
        fields
    });
    let mut fields = Fields::default();
    fields
        .text("name", container.name)
        .text("image", container.image)
        .texts("command", container.command)
        .texts("args", container.args)
        .objects("ports", ports);
    fields
}

impl Fields {
    /// A number or a text; a zero that was not set is absent.
    fn either(&mut self, name: &str, value: Option<IntOrString>) -> &mut Self {
        match value {
            Some(value) if value.r#type.unwrap_or_default() == 1 => self.text(name, value.str_val),
            Some(value) => self.count(name, value.int_val),
            None => self,
        }
    }
}

/// Whether a message sets any field to more than zero, false, an empty text or an empty message. Go writes
/// those too.
fn says_something(mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        let Some(key) = varint(&mut bytes) else {
            return true;
        };
        let said = match key & 7 {
            0 => varint(&mut bytes).is_none_or(|value| value != 0),
            1 => take(&mut bytes, 8).is_none_or(|value| value.iter().any(|byte| *byte != 0)),
            2 => {
                let length = varint(&mut bytes).and_then(|length| usize::try_from(length).ok());
                let inner = length.and_then(|length| take(&mut bytes, length));
                // No text of a Kubernetes field has the bytes of a message of zeros.
                inner.is_none_or(says_something)
            }
            5 => take(&mut bytes, 4).is_none_or(|value| value.iter().any(|byte| *byte != 0)),
            _ => true,
        };
        if said {
            return true;
        }
    }
    false
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = take(bytes, 1)?[0];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// Message to a sender of a field that is not read.
pub(super) fn refusal(version: &str, kind: &str) -> String {
    format!(
        "the protobuf form of {version} {kind} is read only as far as `kubectl create` makes it, and this one says more: \
         send it as JSON or YAML (Content-Type: application/json)"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn deployment() -> apps_v1::Deployment {
        let container = core_v1::Container {
            name: Some("web".to_owned()),
            image: Some("web:1".to_owned()),
            resources: Some(core_v1::ResourceRequirements::default()),
            stdin: Some(false),
            working_dir: Some(String::new()),
            ..core_v1::Container::default()
        };
        let pod = core_v1::PodSpec {
            containers: vec![container],
            host_network: Some(false),
            ..core_v1::PodSpec::default()
        };
        apps_v1::Deployment {
            spec: Some(apps_v1::DeploymentSpec {
                replicas: Some(2),
                template: Some(core_v1::PodTemplateSpec {
                    spec: Some(pod),
                    ..core_v1::PodTemplateSpec::default()
                }),
                strategy: Some(apps_v1::DeploymentStrategy::default()),
                paused: Some(false),
                ..apps_v1::DeploymentSpec::default()
            }),
            status: Some(apps_v1::DeploymentStatus::default()),
            ..apps_v1::Deployment::default()
        }
    }

    #[test]
    fn a_deployment_is_read_as_kubectl_makes_it() {
        let made = deployment();
        assert!(!made.unread(), "zeros that Go writes say nothing");
        let wanted: Value = json!({"spec": {"replicas": 2,
            "template": {"spec": {"containers": [{"name": "web", "image": "web:1"}]}}}});
        assert_eq!(made.to_json().into_value(), wanted);
    }

    #[test]
    fn a_field_that_is_not_read_is_never_lost() {
        let mut made = deployment();
        let spec = made
            .spec
            .as_mut()
            .unwrap()
            .template
            .as_mut()
            .unwrap()
            .spec
            .as_mut()
            .unwrap();
        spec.containers[0].tty = Some(true);
        assert!(made.unread());
        let mut service = core_v1::Service {
            spec: Some(core_v1::ServiceSpec {
                ports: vec![core_v1::ServicePort {
                    port: Some(80),
                    target_port: Some(IntOrString {
                        r#type: Some(0),
                        int_val: Some(8080),
                        str_val: None,
                    }),
                    ..core_v1::ServicePort::default()
                }],
                ..core_v1::ServiceSpec::default()
            }),
            ..core_v1::Service::default()
        };
        assert!(!service.unread());
        let wanted = json!({"spec": {"ports": [{"port": 80, "targetPort": 8080}]}});
        assert_eq!(service.clone().to_json().into_value(), wanted);
        service.spec.as_mut().unwrap().ports[0].app_protocol = Some("http".to_owned());
        assert!(service.unread());
    }
}
