//! Defaults and validation of a Service, beyond the schema.

use std::collections::BTreeSet;

use berth_apimachinery::name::NameError;
use berth_apimachinery::{FieldError, name as names};
use serde_json::Value;

use crate::core::value;

/// Sets each missing targetPort to the number of the service's port.
pub(super) fn default_target_ports(new: &mut Value) {
    let ports = new.pointer_mut("/spec/ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten() {
        let number = port.get("port").filter(|number| number.is_i64()).cloned();
        if let (Some(number), Some(fields)) = (number, port.as_object_mut()) {
            let target = fields.entry("targetPort").or_insert(Value::Null);
            if target.is_null() || *target == 0 || *target == "" {
                *target = number;
            }
        }
    }
}

/// Checks that `name` is a DNS label that begins with a letter, as older DNS resolvers require.
pub(super) fn validate_name(name: &str) -> Result<(), NameError> {
    names::dns_label(name)?;
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        return Err(NameError::Own(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
             validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
                .to_owned(),
        ));
    }
    Ok(())
}

/// Returns the errors of a service that the schema does not find.
pub(super) fn validate(new: &Value) -> Vec<FieldError> {
    if value::object(new, &["spec"]).is_none() {
        return vec![FieldError::required("spec", "")];
    }
    let service_type = value::text(new, &["spec", "type"]);
    let headless = value::text(new, &["spec", "clusterIP"]) == "None";
    let ports = value::list(new, &["spec", "ports"]);
    let mut errors = Vec::new();
    if service_type == "ExternalName" {
        errors.extend(external_name_error(value::text(new, &["spec", "externalName"])));
        if !value::text(new, &["spec", "clusterIP"]).is_empty() {
            errors.push(FieldError::forbidden(
                "spec.clusterIP",
                "may not be set for ExternalName services",
            ));
        }
    } else if ports.is_empty() && !headless {
        errors.push(FieldError::required("spec.ports", ""));
    }
    if headless && matches!(service_type, "NodePort" | "LoadBalancer") {
        let detail = format!("may not be set to 'None' for {service_type} services");
        errors.push(FieldError::invalid("spec.clusterIP", "None", detail));
    }
    errors.extend(port_errors(ports, service_type));
    errors.extend(selector_errors(new));
    errors
}

fn external_name_error(name: &str) -> Option<FieldError> {
    if name.is_empty() {
        return Some(FieldError::required("spec.externalName", ""));
    }
    let problem = names::dns_subdomain(name.trim_end_matches('.')).err()?;
    Some(FieldError::invalid("spec.externalName", name, problem))
}

fn port_errors(ports: &[Value], service_type: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut known_names = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let path = format!("spec.ports[{index}]");
        let own_name = value::text(port, &["name"]);
        if own_name.is_empty() && ports.len() > 1 {
            errors.push(FieldError::required(format!("{path}.name"), ""));
        } else if !own_name.is_empty() {
            if let Err(problem) = names::dns_label(own_name) {
                errors.push(FieldError::invalid(format!("{path}.name"), own_name, problem));
            } else if !known_names.insert(own_name) {
                errors.push(FieldError::duplicate(format!("{path}.name"), own_name));
            }
        }
        errors.extend(port_number_error(port, "port", &path));
        errors.extend(target_port_error(port, &path));
        errors.extend(node_port_error(port, service_type, &path));
    }
    errors
}

const PORT_RANGE_DETAIL: &str = "must be between 1 and 65535, inclusive";

fn port_number_error(port: &Value, field: &str, path: &str) -> Option<FieldError> {
    let number = port.get(field)?.as_i64()?;
    (!(1..=65535).contains(&number))
        .then(|| FieldError::invalid(format!("{path}.{field}"), number, PORT_RANGE_DETAIL))
}

fn target_port_error(port: &Value, path: &str) -> Option<FieldError> {
    match port.get("targetPort")? {
        Value::String(text) => {
            let is_short = text.len() <= 15;
            let has_letter = text.bytes().any(|byte| byte.is_ascii_lowercase());
            let problem = match names::dns_label(text) {
                Err(problem) => problem.to_string(),
                Ok(()) if !is_short => "must be no more than 15 characters".to_owned(),
                Ok(()) if !has_letter => "must contain at least one letter (a-z)".to_owned(),
                Ok(()) if text.contains("--") => "must not contain consecutive hyphens".to_owned(),
                Ok(()) => return None,
            };
            Some(FieldError::invalid(
                format!("{path}.targetPort"),
                text.as_str(),
                problem,
            ))
        }
        _ => port_number_error(port, "targetPort", path),
    }
}

fn node_port_error(port: &Value, service_type: &str, path: &str) -> Option<FieldError> {
    port.get("nodePort")?.as_i64().filter(|node| *node != 0)?;
    if matches!(service_type, "ClusterIP" | "") {
        let detail = "may not be used when `type` is 'ClusterIP'";
        return Some(FieldError::forbidden(format!("{path}.nodePort"), detail));
    }
    port_number_error(port, "nodePort", path)
}

/// Errors of labels in the selector that are not valid as labels of workloads.
fn selector_errors(new: &Value) -> Vec<FieldError> {
    let labels = value::object(new, &["spec", "selector"]).into_iter().flatten();
    let labels = labels.filter_map(|(key, value)| Some((key, value.as_str()?)));
    berth_apimachinery::selector::validate_labels(labels, "spec.selector")
}
