//! `--encryption-provider-config`: kube-apiserver's configuration file for encryption at rest, with resources
//! and keys.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use berth_apimachinery::GroupResource;
use berth_storage::encryption::{Encryption, Key, Rule};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// Accepted API versions of the file.
const API_VERSIONS: [&str; 2] = ["apiserver.config.k8s.io/v1", "v1"];
const KIND: &str = "EncryptionConfiguration";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct EncryptionConfiguration {
    api_version: String,
    kind: String,
    resources: Vec<ResourceRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResourceRule {
    resources: Vec<String>,
    providers: Vec<Provider>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Provider {
    aesgcm: Option<KeyList>,
    identity: Option<IgnoredAny>,
    aescbc: Option<IgnoredAny>,
    secretbox: Option<IgnoredAny>,
    kms: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyList {
    keys: Vec<NamedSecret>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedSecret {
    name: String,
    secret: String,
}

/// Reads the configuration in `file`. If there is no file, values are not encrypted.
///
/// # Errors
/// When the file cannot be read, or has an invalid or unsupported setting. The message names the field.
pub fn load(file: Option<&Path>) -> Result<Arc<Encryption>> {
    read_file(file).map(Arc::new)
}

/// Reads the configuration in `file` for a store that also has copies of objects on a hub. Resources in
/// `copies` that the file does not encrypt are encrypted with a key that only this process has
/// ([`Encryption::with_ephemeral`]).
///
/// # Errors
/// As [`load`].
pub fn load_for_copies(file: Option<&Path>, copies: &[GroupResource]) -> Result<Arc<Encryption>> {
    let encryption = read_file(file)?.with_ephemeral(copies);
    encryption.map(Arc::new).map_err(|problem| anyhow!(problem))
}

fn read_file(file: Option<&Path>) -> Result<Encryption> {
    let Some(file) = file else {
        return Ok(Encryption::default());
    };
    let context = || format!("--encryption-provider-config: {}", file.display());
    let text = std::fs::read_to_string(file).with_context(context)?;
    read(&text).with_context(context)
}

fn read(text: &str) -> Result<Encryption> {
    let file: EncryptionConfiguration = berth_yaml::from_str(text).map_err(|problem| anyhow!(problem))?;
    ensure!(
        API_VERSIONS.contains(&file.api_version.as_str()) && file.kind == KIND,
        "kind {KIND} of {} is expected, not {} of {}",
        API_VERSIONS[0],
        file.kind,
        file.api_version
    );
    ensure!(!file.resources.is_empty(), "resources: at least one is required");
    let rules = file.resources.into_iter().enumerate();
    let rules = rules.map(|(index, rule)| read_rule(rule).with_context(|| format!("resources[{index}]")));
    Ok(Encryption::new(rules.collect::<Result<_>>()?))
}

fn read_rule(rule: ResourceRule) -> Result<Rule> {
    ensure!(!rule.resources.is_empty(), "resources: at least one is required");
    ensure!(!rule.providers.is_empty(), "providers: at least one is required");
    let mut keys = Vec::new();
    let mut writes_encrypted = None;
    for (index, provider) in rule.providers.into_iter().enumerate() {
        let provider_keys = read_provider(provider).with_context(|| format!("providers[{index}]"))?;
        writes_encrypted.get_or_insert(!provider_keys.is_empty());
        keys.extend(provider_keys);
    }
    let mut names = HashSet::new();
    for name in keys.iter().map(Key::name) {
        ensure!(names.insert(name), "duplicate key name {name:?}");
    }
    Ok(Rule {
        resources: rule.resources.iter().map(|text| pattern(text)).collect(),
        writes_encrypted: writes_encrypted.unwrap_or_default(),
        keys,
    })
}

/// Returns the keys of the provider; `identity` has no keys.
fn read_provider(provider: Provider) -> Result<Vec<Key>> {
    if provider.aescbc.is_some() || provider.secretbox.is_some() || provider.kms.is_some() {
        bail!("unsupported provider: use aesgcm or identity (not aescbc, secretbox or kms)");
    }
    match (provider.aesgcm, provider.identity) {
        (None, Some(_)) => Ok(Vec::new()),
        (Some(KeyList { keys }), None) => {
            ensure!(!keys.is_empty(), "aesgcm.keys: at least one is required");
            let keys = keys.into_iter().enumerate();
            keys.map(|(index, key)| read_key(&key).with_context(|| format!("aesgcm.keys[{index}]")))
                .collect()
        }
        _ => bail!("one provider is expected: aesgcm, or identity: {{}}"),
    }
}

fn read_key(key: &NamedSecret) -> Result<Key> {
    let Ok(secret) = STANDARD.decode(&key.secret) else {
        // The message leaves out the text, which is a secret.
        bail!("key {:?}: the secret is not base64", key.name);
    };
    Key::aes_gcm(&key.name, &secret).map_err(|problem| anyhow::anyhow!("key {:?}: {problem}", key.name))
}

/// Parses a pattern, such as `secrets`, `deployments.apps`, `*.apps`, `*.` (the core group) or `*.*`. Returns
/// the group and the resource.
fn pattern(text: &str) -> (String, String) {
    let (resource, group) = text.split_once('.').unwrap_or((text, ""));
    (group.to_owned(), resource.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(resources: &str, providers: &str) -> String {
        format!(
            "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: {resources}\n  \
             providers: {providers}\n"
        )
    }

    fn key(name: &str, length: usize) -> String {
        format!("{{name: {name}, secret: {}}}", STANDARD.encode(vec![7; length]))
    }

    #[test]
    fn kube_apiservers_file_is_read() {
        let good = key("new", 32);
        let old = key("old", 16);
        for providers in [
            format!("[{{aesgcm: {{keys: [{good}, {old}]}}}}, {{identity: {{}}}}]"),
            format!("[{{identity: {{}}}}, {{aesgcm: {{keys: [{good}]}}}}]"),
            format!("[{{aesgcm: {{keys: [{good}]}}}}, {{aesgcm: {{keys: [{old}]}}}}]"),
        ] {
            read(&file("[secrets, \"*.apps\"]", &providers)).unwrap();
        }
        assert_eq!(pattern("secrets"), (String::new(), "secrets".to_owned()));
        assert_eq!(
            pattern("deployments.apps"),
            ("apps".to_owned(), "deployments".to_owned())
        );
        assert_eq!(pattern("*.*"), ("*".to_owned(), "*".to_owned()));
    }

    #[test]
    fn what_cannot_be_done_is_named_with_its_place_and_without_secrets() {
        let good = key("k", 32);
        for (resources, providers, expected) in [
            (
                "[secrets]",
                format!("[{{secretbox: {{keys: [{good}]}}}}]"),
                "providers[0]",
            ),
            ("[secrets]", "[{kms: {name: a}}]".to_owned(), "aesgcm"),
            (
                "[secrets]",
                format!("[{{aesgcm: {{keys: [{}]}}}}]", key("k", 24)),
                "16 or 32 bytes",
            ),
            (
                "[secrets]",
                format!("[{{aesgcm: {{keys: [{good}, {good}]}}}}]"),
                "duplicate",
            ),
            (
                "[secrets]",
                "[{aesgcm: {keys: [{name: k, secret: \"!hidden!\"}]}}]".to_owned(),
                "base64",
            ),
            ("[secrets]", "[{}]".to_owned(), "one provider"),
            ("[]", format!("[{{aesgcm: {{keys: [{good}]}}}}]"), "resources[0]"),
        ] {
            let problem = format!("{:#}", read(&file(resources, &providers)).unwrap_err());
            assert!(problem.contains(expected), "{problem}");
            assert!(!problem.contains("hidden"), "{problem}");
        }
        assert!(read("apiVersion: v1\nkind: Secret\nresources: []").is_err());
    }
}
