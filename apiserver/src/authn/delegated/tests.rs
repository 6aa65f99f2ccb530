//! Keys of the ConfigMap.

use super::*;

fn pem() -> String {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.self_signed(&key).unwrap().pem()
}

fn data(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|&(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

#[test]
fn everything_a_hub_publishes_is_taken() {
    let pem = pem();
    let data = data(&[
        (CLIENT_CA, &pem),
        (PROXY_CA, &pem),
        (ALLOWED_NAMES, r#"["front-proxy-client"]"#),
        (USERNAME_HEADERS, r#"["X-Remote-User"]"#),
        (GROUP_HEADERS, r#"["X-Remote-Group"]"#),
        (UID_HEADERS, r#"["X-Remote-Uid"]"#),
        (EXTRA_PREFIXES, r#"["X-Remote-Extra-"]"#),
    ]);
    let read = HubTrust::read(&data).unwrap();
    assert!(!read.client.is_empty());
    let trust = read.request_header.unwrap();
    assert_eq!(trust.allowed_names, ["front-proxy-client"]);
    assert_eq!(
        (
            trust.username_headers[0].as_str(),
            trust.group_headers[0].as_str()
        ),
        ("x-remote-user", "x-remote-group")
    );
    assert_eq!(trust.uid_headers[0].as_str(), "x-remote-uid");
    assert_eq!(trust.extra_prefixes, ["x-remote-extra-"]);
}

#[test]
fn a_hub_without_client_ca_or_aggregator_is_no_mistake() {
    let read = HubTrust::read(&data(&[(CLIENT_CA, ""), (ALLOWED_NAMES, "")])).unwrap();
    assert!(read.client.is_empty() && read.request_header.is_none());
}

#[test]
fn every_bad_key_is_named() {
    let pem = pem();
    let errors = HubTrust::read(&data(&[
        (CLIENT_CA, "not a certificate"),
        (PROXY_CA, &pem),
        (ALLOWED_NAMES, "front-proxy-client"),
        (GROUP_HEADERS, r#"["two words"]"#),
    ]))
    .unwrap_err();
    let keys: Vec<&str> = errors.iter().map(|error| error.key).collect();
    assert_eq!(keys, [CLIENT_CA, ALLOWED_NAMES, USERNAME_HEADERS, GROUP_HEADERS]);
    assert!(
        errors[1]
            .to_string()
            .contains("a JSON array of strings is expected")
    );
    assert!(
        errors[1]
            .to_string()
            .contains("kube-system/extension-apiserver-authentication")
    );
}
