//! `v1` Secret.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use berth_apimachinery::{
    Cell, Column, Definition, FieldError, GroupResource, Kind, KindInfo, Schema, SelectableField, Write,
    described_by,
};
use schemars::JsonSchema;
use serde_json::Value;

use crate::core::config_map::data_schema::{Base64, Text};
use crate::core::{data, value};

/// Resource of Secrets.
pub const RESOURCE: GroupResource = GroupResource::new("", "secrets");

/// The fields of a Secret.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretFields {
    /// The secret data as base64, by key. A key consists of letters, digits, '-', '_' and '.'.
    pub data: Option<BTreeMap<String, Base64>>,
    /// Write-only: text by key, which is encoded into data and overrides the same keys there.
    pub string_data: Option<BTreeMap<String, Text>>,
    /// Type of the secret, which decides the required keys. Opaque if omitted; immutable.
    pub r#type: Option<String>,
    /// Whether data is immutable. Once true, the object must be deleted and created again to change it.
    pub immutable: Option<bool>,
}

/// The kind Secret: confidential data.
#[derive(Clone, Copy, Debug)]
pub struct Secret;

static DEFINITION: Definition = Definition {
    columns: &[
        Column::NAME,
        Column::text("Type", "The type of the secret").at(".type"),
        Column::text("Data", "Number of keys in data").computed(|secret| {
            let data = value::object(secret.value(), &["data"]);
            Cell::Value(data.map_or(0, serde_json::Map::len).into())
        }),
        Column::AGE,
    ],
    selectable: &[SelectableField::at("type")],
    ..Definition::new(
        KindInfo {
            singular: "secret",
            unconditional_update: true,
            strategic_merge_patch: true,
            ..KindInfo::new("", &["v1"], "Secret", "secrets")
        },
        Schema::of::<SecretFields>,
    )
};

/// Annotation with the name of the service account to which a token belongs.
const SERVICE_ACCOUNT_ANNOTATION: &str = "kubernetes.io/service-account.name";

impl Kind for Secret {
    described_by!(DEFINITION);

    /// Encodes stringData and sets the type, which an update may omit.
    fn normalize_body(&self, old: Option<&Value>, body: &mut Value) {
        encode_string_data(body);
        data::remove_line_breaks(body, "data");
        value::drop_empty(body, &["data"]);
        // Values that are not strings stay, and the schema rejects them.
        if body
            .get("type")
            .is_none_or(|secret_type| secret_type.is_null() || secret_type == "")
        {
            let stored = old.map_or("", |old| value::text(old, &["type"]));
            body["type"] = if stored.is_empty() { "Opaque" } else { stored }.into();
        }
    }

    /// Encodes stringData and sets the type in an object that server-side apply or admission has changed.
    fn prepare(&self, write: &Write<'_>, new: &mut Value) {
        self.normalize_body(write.old, new);
    }

    fn confidential(&self) -> &'static [&'static str] {
        &["data", "stringData"]
    }

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        let mut errors = data::key_errors(new, "data");
        errors.extend(data::encoding_errors(new, "data"));
        errors.extend(data::size_error(new, &[("data", true)]));
        errors.extend(type_errors(new));
        if let Some(old) = write.old {
            if old["type"] != new["type"] {
                errors.push(FieldError::invalid(
                    "type",
                    new["type"].clone(),
                    "field is immutable",
                ));
            }
            errors.extend(data::immutability_errors(old, new, &["data"]));
        }
        errors
    }
}

/// Moves stringData into data. If a value is not a string, all of stringData stays, and the schema rejects it.
fn encode_string_data(new: &mut Value) {
    let Some(Value::Object(texts)) = new.get("stringData") else {
        return;
    };
    if !texts.values().all(Value::is_string) {
        return;
    }
    let encoded: Vec<(String, Value)> = texts
        .iter()
        .map(|(key, text)| {
            (
                key.clone(),
                STANDARD.encode(text.as_str().unwrap_or_default()).into(),
            )
        })
        .collect();
    if let Some(fields) = new.as_object_mut() {
        fields.remove("stringData");
    }
    if let Some(data) = value::object_mut(new, "data") {
        data.extend(encoded);
    }
}

/// Errors of the type: a missing key or annotation that the type requires, or a value that must be a JSON
/// object and is not.
fn type_errors(new: &Value) -> Vec<FieldError> {
    let has = |key: &str| value::object(new, &["data"]).is_some_and(|data| data.contains_key(key));
    let required = |key: &str| (!has(key)).then(|| FieldError::required(format!("data[{key}]"), ""));
    let json = |key: &str| {
        let bytes = STANDARD.decode(value::text(new, &["data", key])).ok()?;
        let problem = match serde_json::from_slice::<serde::de::IgnoredAny>(&bytes) {
            // An object, or null, which kube-apiserver accepts, too. Errors of serde about another type would
            // show the secret.
            Ok(_) if matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'n')) => return None,
            Ok(_) => "must be a JSON object".to_owned(),
            Err(problem) => problem.to_string(),
        };
        let path = format!("data[{key}]");
        Some(FieldError::invalid(path, "<secret contents redacted>", problem))
    };
    match value::text(new, &["type"]) {
        "kubernetes.io/service-account-token" => {
            let path = format!("metadata.annotations[{SERVICE_ACCOUNT_ANNOTATION}]");
            let has_account =
                !value::text(new, &["metadata", "annotations", SERVICE_ACCOUNT_ANNOTATION]).is_empty();
            if has_account {
                Vec::new()
            } else {
                vec![FieldError::required(path, "")]
            }
        }
        "kubernetes.io/dockercfg" => required(".dockercfg")
            .or_else(|| json(".dockercfg"))
            .into_iter()
            .collect(),
        "kubernetes.io/dockerconfigjson" => required(".dockerconfigjson")
            .or_else(|| json(".dockerconfigjson"))
            .into_iter()
            .collect(),
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => ["username", "password"]
            .into_iter()
            .filter_map(required)
            .collect(),
        // Unlike the other keys, this one must not be empty.
        "kubernetes.io/ssh-auth" if value::text(new, &["data", "ssh-privatekey"]).is_empty() => {
            vec![FieldError::required("data[ssh-privatekey]", "")]
        }
        "kubernetes.io/tls" => ["tls.crt", "tls.key"].into_iter().filter_map(required).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::{Timestamp, WriteOperation};
    use serde_json::json;

    use super::*;

    fn write(old: Option<&Value>) -> Write<'_> {
        let operation = if old.is_some() {
            WriteOperation::Update
        } else {
            WriteOperation::Create
        };
        Write {
            operation,
            old,
            now: Timestamp::UNIX_EPOCH,
        }
    }

    fn errors(old: Option<&Value>, new: &Value) -> Vec<String> {
        Secret
            .validate(&write(old), new)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn string_data_overrides_data_and_a_missing_type_is_set() {
        let mut new = json!({"data": {"a": "b2xk", "b": "b2xk"}, "stringData": {"a": "new"}});
        Secret.prepare(&write(None), &mut new);
        assert_eq!(new, json!({"data": {"a": "bmV3", "b": "b2xk"}, "type": "Opaque"}));
        let old = json!({"type": "x/y"});
        let mut new = json!({});
        Secret.prepare(&write(Some(&old)), &mut new);
        assert_eq!(new["type"], "x/y");
        let mut new = json!({"type": 5});
        Secret.prepare(&write(None), &mut new);
        assert_eq!(
            Secret.schema("v1").validate(&new).len(),
            1,
            "a type that is no text is refused"
        );
    }

    #[test]
    fn string_data_of_a_body_becomes_data_so_that_its_manager_owns_data() {
        let mut sent = json!({"stringData": {"a": "new"}});
        Secret.normalize_body(None, &mut sent);
        assert_eq!(sent, json!({"data": {"a": "bmV3"}, "type": "Opaque"}));
        let mut empty = json!({"stringData": {}, "data": {}});
        Secret.normalize_body(Some(&json!({"type": "x/y"})), &mut empty);
        assert_eq!(empty, json!({"type": "x/y"}));
    }

    #[test]
    fn the_type_cannot_change() {
        let old = json!({"type": "Opaque"});
        assert_eq!(
            errors(Some(&old), &json!({"type": "x"})),
            ["type: Invalid value: \"x\": field is immutable"]
        );
    }

    #[test]
    fn types_require_their_keys() {
        for (kind, data, count) in [
            ("kubernetes.io/tls", json!({"tls.crt": ""}), 1),
            ("kubernetes.io/tls", json!({}), 2),
            ("kubernetes.io/tls", json!({"tls.crt": "", "tls.key": ""}), 0),
            ("kubernetes.io/basic-auth", json!({}), 2),
            ("kubernetes.io/basic-auth", json!({"username": ""}), 0),
            ("kubernetes.io/basic-auth", json!({"password": ""}), 0),
            ("kubernetes.io/ssh-auth", json!({}), 1),
            ("kubernetes.io/ssh-auth", json!({"ssh-privatekey": ""}), 1),
            ("kubernetes.io/ssh-auth", json!({"ssh-privatekey": "eA=="}), 0),
            (
                "kubernetes.io/dockerconfigjson",
                json!({".dockerconfigjson": "e30="}),
                0,
            ),
            (
                "kubernetes.io/dockerconfigjson",
                json!({".dockerconfigjson": "AA=="}),
                1,
            ),
            ("kubernetes.io/service-account-token", json!({}), 1),
            ("example.com/own", json!({}), 0),
        ] {
            let errors = errors(None, &json!({"type": kind, "data": data}));
            assert_eq!(errors.len(), count, "{kind} {data}: {errors:?}");
        }
    }

    #[test]
    fn docker_configurations_are_json_objects_and_errors_do_not_show_them() {
        for (config, is_accepted) in [
            (" {\"auths\": {}}", true),
            ("null", true),
            ("[]", false),
            ("5", false),
            ("\"hunter2\"", false),
            ("{", false),
        ] {
            let data = json!({".dockercfg": STANDARD.encode(config)});
            let errors = errors(None, &json!({"type": "kubernetes.io/dockercfg", "data": data}));
            assert_eq!(errors.is_empty(), is_accepted, "{config}: {errors:?}");
            assert!(!errors.concat().contains("hunter2"), "{errors:?}");
        }
    }

    #[test]
    fn data_that_is_not_base64_is_refused() {
        let errors = errors(None, &json!({"type": "Opaque", "data": {"a": "%"}}));
        assert!(
            errors[0].starts_with("data[a]: Invalid value: \"%\": must be base64"),
            "{errors:?}"
        );
    }
}
