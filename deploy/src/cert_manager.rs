//! Objects for cert-manager, which then issues the serving certificate: a CA in Berth's namespace, a
//! certificate that this CA issues, and the annotation with which cert-manager makes the hub trust the CA.

use serde_json::{Value, json};

use super::Service;

/// The annotation of an APIService or webhook configuration whose caBundle cert-manager sets. The value names
/// the Certificate.
pub const ANNOTATION: &str = "cert-manager.io/inject-ca-from";
/// The version of cert-manager's API.
const API: &str = "cert-manager.io/v1";

/// The name of the Secret with the serving certificate.
pub(super) fn secret_name(service: &Service) -> String {
    format!("{}-tls", service.name)
}

/// The annotations of Berth's registrations on the hub.
pub(super) fn annotation(service: &Service) -> Value {
    json!({ANNOTATION: format!("{}/{}", service.namespace, service.name)})
}

/// The issuers and certificates for cert-manager: of a CA with a self-signed certificate, and of the serving
/// certificate.
#[must_use]
pub fn certificates(service: &Service) -> Vec<Value> {
    let (name, ca) = (&service.name, format!("{}-ca", service.name));
    let (root, issuer) = (format!("{name}-root"), format!("{name}-issuer"));
    let object = |kind: &str, name: &str, spec: Value| {
        let metadata = json!({"name": name, "namespace": service.namespace});
        json!({"apiVersion": API, "kind": kind, "metadata": metadata, "spec": spec})
    };
    let key = json!({"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"});
    vec![
        object("Issuer", &root, json!({"selfSigned": {}})),
        object(
            "Certificate",
            &ca,
            json!({
                "isCA": true,
                "commonName": ca,
                "secretName": ca,
                "privateKey": key,
                "issuerRef": {"kind": "Issuer", "name": root},
            }),
        ),
        object("Issuer", &issuer, json!({"ca": {"secretName": ca}})),
        object(
            "Certificate",
            name,
            json!({
                "dnsNames": [service.host()],
                "secretName": secret_name(service),
                "privateKey": key,
                "issuerRef": {"kind": "Issuer", "name": issuer},
            }),
        ),
    ]
}
