//! Fields whose values each cluster allocates by itself, such as the address of a Service
//! (docs/systems/kcp.md, "Downstream copies"). Values that the hub has allocated are not copied, since they
//! have no meaning on a workload cluster, and may be in use there. Values that the workload cluster has
//! allocated are kept.

use serde_json::{Map, Value, json};

use crate::edit::{ANNOTATIONS, set};

/// The type of Secrets that the token controller of a cluster manages. This controller deletes Secrets whose
/// service account does not exist on the cluster.
const ACCOUNT_TOKEN: &str = "kubernetes.io/service-account-token";
/// Annotations that name the service account of a Secret of the type [`ACCOUNT_TOKEN`].
const ACCOUNT_ANNOTATIONS: [&str; 2] = [
    "kubernetes.io/service-account.name",
    "kubernetes.io/service-account.uid",
];
/// Annotations that the controllers of a cluster write about objects on this cluster.
const CONTROLLER_ANNOTATIONS: [&str; 4] = [
    "deployment.kubernetes.io/revision",
    "pv.kubernetes.io/bind-completed",
    "pv.kubernetes.io/bound-by-controller",
    "volume.kubernetes.io/selected-node",
];

/// The fields of `spec` that a cluster allocates for objects of `kind`.
fn allocated_spec_fields(kind: &str) -> &'static [&'static str] {
    match kind {
        "Service" => &["clusterIP", "clusterIPs", "ipFamilies", "healthCheckNodePort"],
        "Pod" => &["nodeName"],
        "PersistentVolumeClaim" => &["volumeName"],
        _ => &[],
    }
}

/// Removes the fields that each cluster allocates by itself from `copy`.
pub(super) fn remove_allocated(copy: &mut Value) {
    for key in CONTROLLER_ANNOTATIONS {
        set(copy, ANNOTATIONS, key, None);
    }
    let kind = copy["kind"].as_str().unwrap_or_default().to_owned();
    // `None` is not an allocated address: the owner has chosen a headless Service.
    let headless = copy["spec"]["clusterIP"] == "None";
    if let Some(spec) = copy.get_mut("spec").and_then(Value::as_object_mut) {
        spec.retain(|field, _| !allocated_spec_fields(&kind).contains(&field.as_str()));
        if kind == "Service" {
            if headless {
                spec.insert("clusterIP".to_owned(), "None".into());
            }
            // The default policy is not copied: each cluster sets its own default.
            if spec
                .get("ipFamilyPolicy")
                .is_some_and(|policy| policy == "SingleStack")
            {
                spec.remove("ipFamilyPolicy");
            }
            for port in ports(spec) {
                port.remove("nodePort");
            }
        }
    }
    match kind.as_str() {
        // The field has the names of token Secrets, which each cluster creates by itself.
        "ServiceAccount" => {
            if let Some(fields) = copy.as_object_mut() {
                fields.remove("secrets");
            }
        }
        "Secret" if copy["type"] == ACCOUNT_TOKEN => {
            copy["type"] = "Opaque".into();
            for key in ACCOUNT_ANNOTATIONS {
                set(copy, ANNOTATIONS, key, None);
            }
        }
        _ => {}
    }
}

/// Copies the values in `down` that the workload cluster has allocated into `next`, which will replace
/// `down`.
pub(super) fn keep_allocated(next: &mut Value, down: &Value) {
    let kind = down["kind"].as_str().unwrap_or_default();
    let Some(spec) = next.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    let old_spec = &down["spec"];
    let is_service = kind == "Service";
    for field in allocated_spec_fields(kind).iter().chain(&["ipFamilyPolicy"]) {
        let is_free = match is_service {
            true => !spec.contains_key(*field) && may_keep(spec, field, old_spec),
            false => !spec.contains_key(*field) && *field != "ipFamilyPolicy",
        };
        if let Some(value) = old_spec.get(field).filter(|_| is_free) {
            spec.insert((*field).to_owned(), value.clone());
        }
    }
    if is_service && may_keep(spec, "nodePort", old_spec) {
        let port_key = |port: &Map<String, Value>| ["port", "protocol"].map(|field| port.get(field).cloned());
        let old_ports = old_spec["ports"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_object);
        let old_ports: Vec<_> = old_ports
            .map(|port| (port_key(port), port.get("nodePort")))
            .collect();
        let tcp = Some(json!("TCP"));
        for port in ports(spec) {
            let [number, protocol] = port_key(port);
            let key = [number, protocol.or_else(|| tcp.clone())];
            let found = old_ports.iter().find(|([number, protocol], _)| {
                *number == key[0] && protocol.as_ref().or(tcp.as_ref()) == key[1].as_ref()
            });
            if let Some((_, Some(allocated))) = found {
                port.insert("nodePort".to_owned(), (*allocated).clone());
            }
        }
    }
}

/// Whether a Service with this `spec` may keep `field` of its former spec `old_spec`. Some fields only exist
/// for some types of Services, and `clusterIPs` must agree with `clusterIP`.
fn may_keep(spec: &Map<String, Value>, field: &str, old_spec: &Value) -> bool {
    let text = |field: &str| spec.get(field).and_then(Value::as_str);
    let service_type = text("type").unwrap_or("ClusterIP");
    match field {
        "nodePort" => matches!(service_type, "NodePort" | "LoadBalancer"),
        "healthCheckNodePort" => {
            service_type == "LoadBalancer" && text("externalTrafficPolicy") == Some("Local")
        }
        "clusterIPs" if spec.contains_key("clusterIP") => {
            spec.get("clusterIP") == old_spec.pointer("/clusterIPs/0")
        }
        _ => service_type != "ExternalName",
    }
}

fn ports(spec: &mut Map<String, Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
    ports.into_iter().flatten().filter_map(Value::as_object_mut)
}

/// Whether `down` must be recreated to become `copy`. The type of a Secret is immutable, and a Service cannot
/// change between having an address and being headless, unless it becomes or was of type ExternalName.
pub(super) fn must_recreate(copy: &Value, down: &Value) -> bool {
    match copy["kind"].as_str() {
        Some("Secret") => down.get("type").is_some() && down["type"] != copy["type"],
        Some("Service") => {
            let (new, old) = (&copy["spec"], &down["spec"]);
            let has_cluster_ips = |spec: &Value| spec["type"] != "ExternalName";
            let has_address = old["clusterIP"]
                .as_str()
                .is_some_and(|address| !address.is_empty());
            let is_headless = |spec: &Value| spec["clusterIP"] == "None";
            has_address
                && has_cluster_ips(new)
                && has_cluster_ips(old)
                && is_headless(new) != is_headless(old)
        }
        _ => false,
    }
}
