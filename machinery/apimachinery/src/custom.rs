//! A kind that is defined at run time, by a CustomResourceDefinition (`apiextensions.k8s.io/v1`) in a file:
//! its names, schemas, printer columns, selectable fields and the subresource `status`.
//!
//! Conversion, the subresource `scale`, JSON paths that this crate does not evaluate, and keywords and
//! formats of schemas that it does not check, such as rules in CEL, are errors.
//!
//! ```
//! use berth_apimachinery::{CustomKind, Kind};
//! use serde_json::json;
//!
//! let kind = CustomKind::read(&json!({
//!     "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
//!     "metadata": {"name": "gizmos.example.com"},
//!     "spec": {
//!         "group": "example.com", "scope": "Namespaced",
//!         "names": {"kind": "Gizmo", "plural": "gizmos", "shortNames": ["gz"]},
//!         "versions": [{
//!             "name": "v1", "served": true, "storage": true,
//!             "schema": {"openAPIV3Schema": {"type": "object", "properties": {
//!                 "spec": {"type": "object", "properties": {"size": {"type": "integer", "minimum": 1}}},
//!             }}},
//!             "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
//!         }],
//!     },
//! })).unwrap();
//! assert_eq!(kind.info().short_names, ["gz"]);
//! assert_eq!(kind.schema("v1").validate(&json!({"spec": {"size": 0}}))[0].path, "spec.size");
//! ```

use std::collections::BTreeSet;

use serde_json::Value;

use crate::column::Column;
use crate::field_error::FieldError;
use crate::json_path;
use crate::kind::{ALL_VERBS, Kind, KindInfo, Scope};
use crate::name;
use crate::schema::{self, Schema};
use crate::selectable::SelectableField;
use crate::symbol;

/// A kind of a CustomResourceDefinition.
#[derive(Clone, Debug)]
pub struct CustomKind {
    info: KindInfo,
    /// Schema of each version, in the order of the versions.
    schemas: Vec<Schema>,
    columns: Vec<Column>,
    selectable: &'static [SelectableField],
}

impl CustomKind {
    /// Parses a CustomResourceDefinition. Its storage version becomes the preferred one. The printer columns,
    /// the selectable fields and the subresource `status` of the storage version apply to all versions.
    ///
    /// # Errors
    /// Every error of the definition, and every use of conversion, of the subresource `scale`, of unsupported
    /// JSON paths, and of unsupported keywords and formats in schemas.
    pub fn read(definition: &Value) -> Result<Self, Vec<FieldError>> {
        let mut reader = Reader::default();
        let read = reader.definition(definition);
        match read {
            Some(read) if reader.errors.is_empty() => Ok(read),
            _ => Err(reader.errors),
        }
    }
}

impl Kind for CustomKind {
    fn info(&self) -> &KindInfo {
        &self.info
    }

    fn schema(&self, version: &str) -> &Schema {
        let index = self.info.versions.iter().position(|known| *known == version);
        &self.schemas[index.unwrap_or_default()]
    }

    fn counts_generation(&self) -> bool {
        true
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn selectable(&self) -> &'static [SelectableField] {
        self.selectable
    }
}

/// Reader of a definition that collects every error.
#[derive(Default)]
struct Reader {
    errors: Vec<FieldError>,
}

impl Reader {
    fn definition(&mut self, definition: &Value) -> Option<CustomKind> {
        if definition["kind"] != "CustomResourceDefinition"
            || definition["apiVersion"] != "apiextensions.k8s.io/v1"
        {
            let type_text = format!("{} {}", definition["apiVersion"], definition["kind"]);
            let detail = "must be an apiextensions.k8s.io/v1 CustomResourceDefinition";
            self.errors.push(FieldError::invalid("kind", type_text, detail));
            return None;
        }
        let spec = &definition["spec"];
        let group = self.name(&spec["group"], "spec.group", name::dns_subdomain);
        let plural = self.name(&spec["names"]["plural"], "spec.names.plural", name::dns_label);
        let kind = self.text(&spec["names"]["kind"], "spec.names.kind");
        let scope = match spec["scope"].as_str() {
            Some("Namespaced") => Scope::Namespaced,
            Some("Cluster") => Scope::Cluster,
            _ => {
                let detail = "must be Namespaced or Cluster";
                self.errors
                    .push(FieldError::invalid("spec.scope", spec["scope"].clone(), detail));
                Scope::Namespaced
            }
        };
        if spec["conversion"]["strategy"]
            .as_str()
            .is_some_and(|strategy| strategy != "None")
        {
            self.forbid(
                "spec.conversion.strategy",
                "conversion is not supported: set None, or remove the field",
            );
        }
        let versions = self.versions(&spec["versions"]);
        let names = symbol::intern_list(&versions.iter().map(|version| version.name).collect::<Vec<_>>());
        let preferred = versions.first()?;
        let optional = |name: &str| spec["names"][name].as_str().map_or("", symbol::intern);
        let info = KindInfo {
            singular: match optional("singular") {
                "" => symbol::intern(&kind.to_lowercase()),
                singular => singular,
            },
            short_names: texts(&spec["names"]["shortNames"]),
            categories: texts(&spec["names"]["categories"]),
            scope,
            verbs: ALL_VERBS,
            status_subresource: preferred.status,
            ..KindInfo::new(
                symbol::intern(group),
                names,
                symbol::intern(kind),
                symbol::intern(plural),
            )
        };
        Some(CustomKind {
            info,
            columns: preferred.columns.clone(),
            selectable: preferred.selectable,
            schemas: versions.into_iter().map(|version| version.schema).collect(),
        })
    }

    /// Parses the served versions, and moves the storage version to the front.
    fn versions(&mut self, versions: &Value) -> Vec<Version> {
        let mut read = Vec::new();
        let mut stored = 0;
        let mut names = BTreeSet::new();
        for (index, version) in versions.as_array().into_iter().flatten().enumerate() {
            let path = format!("spec.versions[{index}]");
            if let Some(name) = version["name"].as_str()
                && !names.insert(name)
            {
                self.errors
                    .push(FieldError::duplicate(format!("{path}.name"), name));
            }
            let is_stored = version["storage"] == true;
            stored += usize::from(is_stored);
            if version["served"] != true {
                if is_stored {
                    self.forbid(
                        &format!("{path}.served"),
                        "must be true, since this version has storage: true",
                    );
                }
                continue;
            }
            if let Some(version) = self.version(version, &path) {
                read.insert(if is_stored { 0 } else { read.len() }, version);
            }
        }
        if stored != 1 {
            let detail = "exactly one version must have storage: true";
            self.errors
                .push(FieldError::invalid("spec.versions", versions.clone(), detail));
        }
        read
    }

    fn version(&mut self, version: &Value, path: &str) -> Option<Version> {
        let name = self.name(&version["name"], &format!("{path}.name"), name::dns_label);
        let root = &version["schema"]["openAPIV3Schema"];
        let path_of_schema = format!("{path}.schema.openAPIV3Schema");
        if !root.is_object() {
            self.errors
                .push(FieldError::required(path_of_schema, "schemas are required"));
            return None;
        }
        let before = self.errors.len();
        self.errors.extend(schema::problems(root, &path_of_schema));
        if !version["subresources"]["scale"].is_null() {
            self.forbid(
                &format!("{path}.subresources.scale"),
                "the subresource scale is not supported: remove it",
            );
        }
        self.check_columns(&version["additionalPrinterColumns"], path);
        self.check_selectable(&version["selectableFields"], path);
        (self.errors.len() == before).then(|| Version {
            name: symbol::intern(name),
            schema: Schema::from_value(root.clone()),
            columns: columns(&version["additionalPrinterColumns"]),
            selectable: selectable(&version["selectableFields"]),
            status: !version["subresources"]["status"].is_null(),
        })
    }

    /// Checks the printer columns of the version at `path`.
    fn check_columns(&mut self, list: &Value, path: &str) {
        for (index, column) in list.as_array().into_iter().flatten().enumerate() {
            let path = format!("{path}.additionalPrinterColumns[{index}]");
            self.text(&column["name"], &format!("{path}.name"));
            let r#type = self.text(&column["type"], &format!("{path}.type"));
            if !r#type.is_empty() && !COLUMN_TYPES.contains(&r#type) {
                let detail = format!("must be one of {}", COLUMN_TYPES.join(", "));
                self.errors
                    .push(FieldError::invalid(format!("{path}.type"), r#type, detail));
            }
            let format = column["format"].as_str().unwrap_or_default();
            if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
                let detail = format!("must be one of {}", COLUMN_FORMATS.join(", "));
                self.errors
                    .push(FieldError::invalid(format!("{path}.format"), format, detail));
            }
            let json_path = self.text(&column["jsonPath"], &format!("{path}.jsonPath"));
            if !json_path::is_supported(json_path) {
                let detail = "this server only evaluates fields, as in .spec.size, and elements of lists, as \
                     in .spec.urls[*].url and .status.conditions[?(@.type==\"Ready\")].status";
                self.errors
                    .push(FieldError::invalid(format!("{path}.jsonPath"), json_path, detail));
            }
        }
    }

    /// Checks the selectable fields of the version at `path`.
    fn check_selectable(&mut self, list: &Value, path: &str) {
        for (index, field) in list.as_array().into_iter().flatten().enumerate() {
            let path = format!("{path}.selectableFields[{index}].jsonPath");
            let json_path = self.text(&field["jsonPath"], &path);
            let is_plain = |name: &str| !name.is_empty() && !name.contains(['[', '\\']);
            let names = json_path.strip_prefix('.');
            if !json_path.is_empty() && !names.is_some_and(|names| names.split('.').all(is_plain)) {
                let detail = "must be the path of a field outside of lists, as in .spec.color";
                self.errors.push(FieldError::invalid(path, json_path, detail));
            }
        }
    }

    fn text<'a>(&mut self, value: &'a Value, path: &str) -> &'a str {
        let text = value.as_str().unwrap_or_default();
        if text.is_empty() {
            self.errors.push(FieldError::required(path, ""));
        }
        text
    }

    fn name<'a>(
        &mut self,
        value: &'a Value,
        path: &str,
        rule: fn(&str) -> Result<(), name::NameError>,
    ) -> &'a str {
        let text = self.text(value, path);
        if !text.is_empty()
            && let Err(problem) = rule(text)
        {
            self.errors
                .push(FieldError::invalid(path, text, problem.to_string()));
        }
        text
    }

    fn forbid(&mut self, path: &str, detail: &str) {
        self.errors.push(FieldError::forbidden(path, detail));
    }
}

/// Types of the cells of printer columns.
const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];

/// Formats of the cells of printer columns.
const COLUMN_FORMATS: [&str; 8] = [
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
];

/// One served version.
struct Version {
    name: &'static str,
    schema: Schema,
    columns: Vec<Column>,
    selectable: &'static [SelectableField],
    status: bool,
}

fn texts(list: &Value) -> &'static [&'static str] {
    let texts = list.as_array().into_iter().flatten().filter_map(Value::as_str);
    symbol::intern_list(&texts.collect::<Vec<_>>())
}

/// The columns of custom resources, as in kube-apiserver: NAME, the columns of the definition, and AGE if the
/// definition has no columns.
fn columns(list: &Value) -> Vec<Column> {
    let text = |column: &Value, field: &str| column[field].as_str().map_or("", symbol::intern);
    let mut columns = vec![Column::NAME];
    columns.extend(list.as_array().into_iter().flatten().map(|column| {
        Column {
            r#type: text(column, "type"),
            format: text(column, "format"),
            priority: column["priority"]
                .as_i64()
                .and_then(|number| number.try_into().ok())
                .unwrap_or_default(),
            path: text(column, "jsonPath"),
            ..Column::text(text(column, "name"), text(column, "description"))
        }
    }));
    if columns.len() == 1 {
        columns.push(Column::AGE);
    }
    columns
}

fn selectable(list: &Value) -> &'static [SelectableField] {
    let paths = list.as_array().into_iter().flatten();
    let paths = paths.filter_map(|field| field["jsonPath"].as_str());
    SelectableField::list(
        &paths
            .filter_map(|path| path.strip_prefix('.'))
            .collect::<Vec<_>>(),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn gizmos() -> Value {
        let version = |name: &str, stored: bool| {
            json!({"name": name, "served": true, "storage": stored, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": {"color": {"type": "string"}}}},
            }}, "subresources": {"status": {}}, "selectableFields": [{"jsonPath": ".spec.color"}]})
        };
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "gizmos.example.com"},
            "spec": {
                "group": "example.com", "scope": "Cluster", "names": {"kind": "Gizmo", "plural": "gizmos"},
                "versions": [version("v1beta1", false), version("v1", true)],
            },
        })
    }

    #[test]
    fn the_storage_version_is_preferred_and_equal_names_are_stored_once() {
        let (first, again) = (
            CustomKind::read(&gizmos()).unwrap(),
            CustomKind::read(&gizmos()).unwrap(),
        );
        let info = first.info();
        assert_eq!(
            (info.versions, info.storage_version),
            (&["v1", "v1beta1"][..], "v1")
        );
        assert_eq!(
            (info.singular, info.scope, info.status_subresource),
            ("gizmo", Scope::Cluster, true)
        );
        assert_eq!(first.selectable()[0].path, "spec.color");
        assert!(std::ptr::eq(info.versions, again.info().versions));
        assert!(std::ptr::eq(first.selectable(), again.selectable()));
    }

    #[test]
    fn every_error_of_a_definition_is_reported() {
        let mut gizmos = gizmos();
        gizmos["spec"]["group"] = "Example".into();
        gizmos["spec"]["scope"] = "Everywhere".into();
        gizmos["spec"]["conversion"] = json!({"strategy": "Webhook"});
        gizmos["spec"]["versions"][0]["storage"] = true.into();
        gizmos["spec"]["versions"][1]["subresources"]["scale"] = json!({});
        let errors = CustomKind::read(&gizmos).unwrap_err();
        let paths: Vec<&str> = errors.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(
            paths,
            [
                "spec.group",
                "spec.scope",
                "spec.conversion.strategy",
                "spec.versions[1].subresources.scale",
                "spec.versions",
            ]
        );
    }

    #[test]
    fn parts_of_a_version_that_would_have_no_effect_are_reported() {
        let mut gizmos = gizmos();
        let version = &mut gizmos["spec"]["versions"][1];
        version["name"] = "v1beta1".into();
        version["additionalPrinterColumns"] = json!([
            {"name": "Size", "type": "number", "format": "double", "jsonPath": ".spec.size"},
            {"name": "First", "type": "string", "jsonPath": ".spec.list[0]"},
            {"name": "Text", "type": "text", "format": "name", "jsonPath": ".spec.text"},
            {"type": "string"},
        ]);
        version["selectableFields"] = json!([
            {"jsonPath": ".spec.list[0]"}, {"jsonPath": "spec.color"}, {"jsonPath": ".spec..color"}, {},
        ]);
        version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["color"]["format"] =
            "email".into();
        let errors = CustomKind::read(&gizmos).unwrap_err();
        let lines: Vec<String> = errors
            .iter()
            .map(|error| {
                format!(
                    "{} {:?}",
                    error.path.trim_start_matches("spec.versions[1]."),
                    error.kind
                )
            })
            .collect();
        assert_eq!(
            lines,
            [
                "name Duplicate",
                "schema.openAPIV3Schema.properties[spec].properties[color].format Invalid",
                "additionalPrinterColumns[1].jsonPath Invalid",
                "additionalPrinterColumns[2].type Invalid",
                "additionalPrinterColumns[2].format Invalid",
                "additionalPrinterColumns[3].name Required",
                "additionalPrinterColumns[3].jsonPath Required",
                "selectableFields[0].jsonPath Invalid",
                "selectableFields[1].jsonPath Invalid",
                "selectableFields[2].jsonPath Invalid",
                "selectableFields[3].jsonPath Required",
            ]
        );
    }

    #[test]
    fn a_subresource_of_null_is_absent() {
        let mut gizmos = gizmos();
        gizmos["spec"]["versions"][1]["subresources"] = json!({"status": null, "scale": null});
        assert!(!CustomKind::read(&gizmos).unwrap().info().status_subresource);
    }
}
