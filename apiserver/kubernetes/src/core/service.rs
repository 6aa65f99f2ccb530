//! `v1` Service. A standalone server has no load balancing, and assigns no addresses. It stores the Service
//! for programs that sync it to a cluster with both, such as kcp's syncers.

mod rules;

use std::collections::BTreeMap;

use berth_apimachinery::name::NameError;
use berth_apimachinery::types::{Condition, IntOrString};
use berth_apimachinery::{
    Column, Definition, FieldError, Kind, KindInfo, Schema, SelectableField, StatusMetadata, Write,
    described_by,
};
use k8s_openapi::api::core::v1;
use schemars::JsonSchema;
use serde_json::Value;

use crate::core::{typed, value};

/// The fields of a Service.
#[derive(JsonSchema)]
pub struct ServiceFields {
    /// The desired behavior of the service: its workloads, ports and addresses.
    pub spec: Option<ServiceSpec>,
    /// Status of the service, as the cluster that runs it reports it.
    pub status: Option<ServiceStatus>,
}

/// The desired behavior of a service: its workloads, ports and addresses.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct ServiceSpec {
    /// ClusterIP, NodePort, LoadBalancer or ExternalName.
    #[schemars(extend("x-default" = "ClusterIP", "enum" = ["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"]))]
    pub r#type: Option<String>,
    /// Labels of the workloads; without a selector, another controller manages the endpoints.
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub selector: Option<BTreeMap<String, String>>,
    /// The ports of the service.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "port",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["port", "protocol"],
    ))]
    pub ports: Option<Vec<ServicePort>>,
    /// The virtual address; "None" for a headless service. If empty, the cluster that runs the service
    /// assigns an address.
    #[schemars(rename = "clusterIP")]
    pub cluster_ip: Option<String>,
    /// The DNS name to which a service of type ExternalName refers.
    pub external_name: Option<String>,
    /// Session affinity: with ClientIP, all connections of a client reach the same workload; with None, any.
    #[schemars(extend("x-default" = "None", "enum" = ["None", "ClientIP"]))]
    pub session_affinity: Option<String>,
    /// The virtual addresses, of one family or of both.
    #[schemars(rename = "clusterIPs", extend("x-kubernetes-list-type" = "atomic"))]
    pub cluster_ips: Option<Vec<String>>,
    /// Further addresses at which nodes accept traffic for the service.
    #[schemars(rename = "externalIPs", extend("x-kubernetes-list-type" = "atomic"))]
    pub external_ips: Option<Vec<String>>,
    /// The address families: IPv4, IPv6.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub ip_families: Option<Vec<String>>,
    /// Source addresses that the load balancer admits, as CIDRs.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub load_balancer_source_ranges: Option<Vec<String>>,
}

/// A port of a service.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct ServicePort {
    /// The name of the port, which may be omitted if the service has only one.
    pub name: Option<String>,
    /// TCP, UDP or SCTP.
    #[schemars(extend("x-default" = "TCP", "enum" = ["TCP", "UDP", "SCTP"]))]
    pub protocol: Option<String>,
    /// The port that clients use.
    pub port: i32,
    /// The number or the name of the workloads' port; defaults to the number in port.
    pub target_port: Option<IntOrString>,
    /// The port on every node, for the types NodePort and LoadBalancer.
    pub node_port: Option<i32>,
}

/// Status of the service, as the cluster that runs it reports it.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct ServiceStatus {
    /// Addresses of a service of type LoadBalancer.
    pub load_balancer: Option<LoadBalancer>,
    /// Conditions of the service.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "type",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["type"],
    ))]
    pub conditions: Option<Vec<Condition>>,
}

/// Addresses of a load balancer.
#[derive(JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct LoadBalancer {
    /// The addresses of the load balancer.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub ingress: Option<Vec<Ingress>>,
}

/// An address of a load balancer.
#[derive(JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Ingress {
    /// The IP address, if the load balancer has one.
    pub ip: Option<String>,
    /// The DNS name, if the load balancer has one.
    pub hostname: Option<String>,
}

/// The kind Service: a name under which clients reach workloads.
#[derive(Clone, Copy, Debug)]
pub struct Service;

static DEFINITION: Definition = Definition {
    columns: &[
        Column::NAME,
        Column::text("Type", "ClusterIP, NodePort, LoadBalancer or ExternalName").at(".spec.type"),
        Column::text("Cluster-IP", "The virtual address")
            .at(".spec.clusterIP")
            .or_none(),
        Column::text("External-IP", "The external addresses")
            .computed(|service| external_addresses(service.value()).into()),
        Column::text("Port(s)", "The ports and their protocols")
            .computed(|service| ports(service.value()).into()),
        Column::AGE,
        Column::text("Selector", "The labels of the workloads")
            .computed(|service| selector(service.value()).into())
            .wide(),
    ],
    selectable: &[
        SelectableField::at("spec.type"),
        SelectableField::at("spec.clusterIP"),
    ],
    ..Definition::new(
        KindInfo {
            singular: "service",
            short_names: &["svc"],
            categories: &["all"],
            status_subresource: true,
            unconditional_update: true,
            strategic_merge_patch: true,
            ..KindInfo::new("", &["v1"], "Service", "services")
        },
        Schema::of::<ServiceFields>,
    )
};

/// Fields of the spec that are omitted when they are empty.
const OMITTED_IF_EMPTY: &[&str] = &[
    "clusterIPs",
    "externalIPs",
    "ipFamilies",
    "loadBalancerSourceRanges",
    "ports",
    "selector",
];

impl Kind for Service {
    described_by!(DEFINITION);

    fn status_metadata(&self) -> StatusMetadata {
        StatusMetadata::Written
    }

    fn normalize_body(&self, _: Option<&Value>, body: &mut Value) {
        if let Some(spec) = body.get_mut("spec") {
            value::drop_empty(spec, OMITTED_IF_EMPTY);
        }
    }

    /// Sets the default that the schema cannot state: the target port is the service's port.
    fn prepare(&self, write: &Write<'_>, new: &mut Value) {
        self.normalize_body(write.old, new);
        rules::default_target_ports(new);
    }

    fn validate(&self, _: &Write<'_>, new: &Value) -> Vec<FieldError> {
        let mut errors = rules::validate(new);
        errors.extend(typed::errors::<v1::Service>(self.schema("v1"), new));
        errors
    }

    fn creates_on_update(&self) -> bool {
        true
    }

    fn validate_name(&self, name: &str) -> Result<(), NameError> {
        rules::validate_name(name)
    }
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "<none>" } else { text }
}

fn external_addresses(service: &Value) -> String {
    let kind = value::text(service, &["spec", "type"]);
    if kind == "ExternalName" {
        return value::text(service, &["spec", "externalName"]).to_owned();
    }
    let ingress = value::list(service, &["status", "loadBalancer", "ingress"]);
    let address = |entry: &Value| {
        let ip = value::text(entry, &["ip"]);
        let host = value::text(entry, &["hostname"]);
        (if ip.is_empty() { host } else { ip }).to_owned()
    };
    let mut addresses: Vec<String> = ingress.iter().map(address).collect();
    addresses.extend(
        value::texts(service, &["spec", "externalIPs"])
            .into_iter()
            .map(str::to_owned),
    );
    match (addresses.is_empty(), kind) {
        (false, _) => addresses.join(","),
        (true, "LoadBalancer") => "<pending>".to_owned(),
        (true, _) => "<none>".to_owned(),
    }
}

fn ports(service: &Value) -> String {
    let format_port = |port: &Value| {
        let number = |field: &str| {
            port.get(field)
                .and_then(Value::as_i64)
                .filter(|number| *number != 0)
        };
        let node = number("nodePort").map_or_else(String::new, |node| format!(":{node}"));
        let protocol = value::text(port, &["protocol"]);
        format!("{}{node}/{protocol}", number("port").unwrap_or_default())
    };
    let ports: Vec<String> = value::list(service, &["spec", "ports"])
        .iter()
        .map(format_port)
        .collect();
    or_none(&ports.join(",")).to_owned()
}

fn selector(service: &Value) -> String {
    let labels = value::object(service, &["spec", "selector"])
        .into_iter()
        .flatten();
    let labels = labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()));
    or_none(&labels.collect::<Vec<_>>().join(",")).to_owned()
}

#[cfg(test)]
mod tests;
