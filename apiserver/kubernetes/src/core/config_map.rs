//! The kind ConfigMap of `v1`.

use std::collections::BTreeMap;

use berth_apimachinery::{
    Cell, Column, Definition, FieldError, Kind, KindInfo, Object, Schema, Write, described_by,
};
use schemars::JsonSchema;
use serde_json::Value;

use crate::core::{data, value};

/// The fields of a ConfigMap.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigMapFields {
    /// Configuration as text, by key. A key consists of letters, digits, '-', '_' and '.', and must not be in
    /// both data and binaryData.
    pub data: Option<BTreeMap<String, data_schema::Text>>,
    /// Configuration that is not UTF-8 text, as base64, by key. A key must not be in both data and
    /// binaryData.
    pub binary_data: Option<BTreeMap<String, data_schema::Base64>>,
    /// Whether data and binaryData are immutable. If true, the object must be deleted and created again to
    /// change data or binaryData.
    pub immutable: Option<bool>,
}

/// Schemas of the values. A null value, such as a key without a value in YAML, is stored as the empty text.
pub mod data_schema {
    use schemars::JsonSchema;

    /// Bytes as base64.
    #[derive(JsonSchema)]
    #[schemars(inline, extend("format" = "byte", "x-default" = ""))]
    pub struct Base64(pub String);

    /// Text.
    #[derive(JsonSchema)]
    #[schemars(inline, extend("x-default" = ""))]
    pub struct Text(pub String);
}

/// The kind ConfigMap: configuration for programs that read it.
#[derive(Clone, Copy, Debug)]
pub struct ConfigMap;

static DEFINITION: Definition = Definition {
    columns: &[
        Column::NAME,
        Column::text("Data", "Number of keys in data and binaryData").computed(key_count),
        Column::AGE,
    ],
    ..Definition::new(
        KindInfo {
            singular: "configmap",
            short_names: &["cm"],
            unconditional_update: true,
            strategic_merge_patch: true,
            ..KindInfo::new("", &["v1"], "ConfigMap", "configmaps")
        },
        Schema::of::<ConfigMapFields>,
    )
};

impl Kind for ConfigMap {
    described_by!(DEFINITION);

    fn normalize_body(&self, _: Option<&Value>, body: &mut Value) {
        data::remove_line_breaks(body, "binaryData");
        value::drop_empty(body, &["data", "binaryData"]);
    }

    fn prepare(&self, write: &Write<'_>, new: &mut Value) {
        self.normalize_body(write.old, new);
    }

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        let mut errors = data::key_errors(new, "data");
        errors.extend(data::key_errors(new, "binaryData"));
        errors.extend(data::encoding_errors(new, "binaryData"));
        errors.extend(duplicate_key_errors(new));
        errors.extend(data::size_error(new, &[("data", false), ("binaryData", true)]));
        if let Some(old) = write.old {
            errors.extend(data::immutability_errors(old, new, &["data", "binaryData"]));
        }
        errors
    }
}

fn key_count(map: &Object) -> Cell {
    let count = |field| value::object(map.value(), &[field]).map_or(0, serde_json::Map::len);
    let count = count("data") + count("binaryData");
    Cell::Value(count.into())
}

/// Errors for keys that are both in `data` and in `binaryData`.
fn duplicate_key_errors(new: &Value) -> Vec<FieldError> {
    let Some(binary) = value::object(new, &["binaryData"]) else {
        return Vec::new();
    };
    let keys = value::object(new, &["data"])
        .into_iter()
        .flat_map(|entries| entries.keys());
    keys.filter(|key| binary.contains_key(*key))
        .map(|key| {
            FieldError::invalid(
                format!("data[{key}]"),
                key.as_str(),
                "duplicate of key present in binaryData",
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::{Timestamp, WriteOperation};
    use serde_json::json;

    use super::*;

    fn errors(old: Option<&Value>, new: &Value) -> Vec<String> {
        let operation = if old.is_some() {
            WriteOperation::Update
        } else {
            WriteOperation::Create
        };
        let write = Write {
            operation,
            old,
            now: Timestamp::UNIX_EPOCH,
        };
        ConfigMap
            .validate(&write, new)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn bad_keys_encodings_and_duplicates_are_reported() {
        let new = json!({"data": {"a b": "x", "twice": "y"}, "binaryData": {"twice": "AA==", "bad": "!"}});
        let errors = errors(None, &new);
        assert_eq!(errors.len(), 3, "{errors:?}");
        assert!(errors[0].starts_with("data[a b]: Invalid value: \"a b\": a valid config key"));
        assert!(errors[1].starts_with("binaryData[bad]: Invalid value: \"!\": must be base64"));
        assert_eq!(
            errors[2],
            "data[twice]: Invalid value: \"twice\": duplicate of key present in binaryData"
        );
    }

    #[test]
    fn null_values_and_line_breaks_of_manifests_are_accepted() {
        let mut new = json!({"data": {"a": null}, "binaryData": {"b": "AAEC\nAwQF\n"}});
        let write = Write {
            operation: WriteOperation::Create,
            old: None,
            now: Timestamp::UNIX_EPOCH,
        };
        ConfigMap.schema("v1").default(&mut new);
        ConfigMap.prepare(&write, &mut new);
        assert_eq!(new, json!({"data": {"a": ""}, "binaryData": {"b": "AAECAwQF"}}));
        assert!(errors(None, &new).is_empty());
    }

    #[test]
    fn empty_maps_are_not_stored() {
        let mut new = json!({"data": {}, "binaryData": {}, "immutable": false});
        ConfigMap.normalize_body(None, &mut new);
        assert_eq!(new, json!({"immutable": false}));
    }

    #[test]
    fn a_megabyte_is_the_limit() {
        assert!(errors(None, &json!({"data": {"a": "x".repeat(1024 * 1024)}})).is_empty());
        let errors_above_limit = errors(None, &json!({"data": {"a": "x".repeat(1024 * 1024), "b": "y"}}));
        assert_eq!(
            errors_above_limit,
            ["data: Too long: may not be more than 1048576 bytes"]
        );
    }

    #[test]
    fn an_immutable_config_map_cannot_be_changed() {
        let old = json!({"immutable": true, "data": {"a": "x"}});
        assert!(errors(Some(&old), &old).is_empty());
        let changed = errors(Some(&old), &json!({"data": {"a": "y"}}));
        assert_eq!(changed.len(), 2, "{changed:?}");
        assert_eq!(
            changed[0],
            "immutable: Forbidden: field is immutable when `immutable` is set"
        );
        let old = json!({"immutable": false, "data": {"a": "x"}});
        assert!(errors(Some(&old), &json!({"immutable": true, "data": {"a": "y"}})).is_empty());
    }

    #[test]
    fn the_row_counts_the_keys() {
        let value = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "n"},
            "data": {"a": "1", "b": "2"}, "binaryData": {"c": ""}});
        let row = ConfigMap.row(&Object::new(&value, berth_apimachinery::Revision(1)).unwrap());
        assert_eq!(row, [Cell::from("x"), Cell::from(3), Cell::Age(None)]);
    }
}
