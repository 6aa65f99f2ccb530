//! Parsing of a part of an object, such as a system's configuration, by its schema: it returns every error
//! with its path, and the rest as a typed value, so that further rules can be checked in the same pass.

use jiff::SignedDuration;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::node::Type;
use super::path::Path;
use super::unknown::Search;
use super::{Node, Schema, defaults, validate};
use crate::duration;
use crate::field::below;
use crate::field_error::FieldError;

/// Highest number of unknown fields that are reported separately.
const MAX_UNKNOWN: usize = 100;

/// A parsed value with its errors.
#[derive(Debug)]
pub struct ReadValue<T> {
    /// The value without parts that have a wrong type or an unsupported value. Such a field counts as absent.
    /// Such an element of a list is replaced by its first allowed value or an empty value, so that the
    /// indexes of the other elements stay.
    pub value: T,
    path: String,
    errors: Vec<FieldError>,
    /// Number of errors from the schema.
    schema_errors: usize,
}

impl<T> ReadValue<T> {
    /// Adds `error`, the error of a rule that the schema cannot express, with a path relative to the value.
    /// The error is dropped if the schema already reports an error at this path, or above it. An error of a
    /// whole document (with an empty path) does not count as above.
    pub fn refuse(&mut self, error: FieldError) {
        let path = below(&self.path, &error.path);
        if self.reported().all(|reported| !is_within(&path, &reported.path)) {
            self.errors.push(FieldError { path, ..error });
        }
    }

    /// Whether the schema reports no error at `path` or below it.
    #[must_use]
    pub fn is_valid_at(&self, path: &str) -> bool {
        let path = below(&self.path, path);
        self.reported().all(|reported| !is_within(&reported.path, &path))
    }

    /// Errors from the schema.
    fn reported(&self) -> impl Iterator<Item = &FieldError> {
        self.errors.iter().take(self.schema_errors)
    }

    /// Parses the duration `text` of the field `path`, in Kubernetes' notation (`300s`, `1h30m`). An invalid
    /// or negative duration adds an error, and counts as zero.
    pub fn duration(&mut self, path: &str, text: &str) -> SignedDuration {
        self.checked_duration(path, text, |length| {
            (!length.is_negative())
                .then_some(())
                .ok_or("must be greater than or equal to 0")
        })
    }

    /// Parses a duration like [`ReadValue::duration`], with an error also for zero.
    pub fn positive_duration(&mut self, path: &str, text: &str) -> SignedDuration {
        self.checked_duration(path, text, |length| {
            length.is_positive().then_some(()).ok_or("must be greater than 0")
        })
    }

    /// Parses a duration, and adds an error if the text or the parsed duration is invalid.
    fn checked_duration(
        &mut self,
        path: &str,
        text: &str,
        check: impl Fn(SignedDuration) -> Result<(), &'static str>,
    ) -> SignedDuration {
        let length = duration::parse(text).map_err(|problem| problem.to_string());
        match length.and_then(|length| check(length).map(|()| length).map_err(str::to_owned)) {
            Ok(length) => length,
            Err(problem) => {
                self.refuse(FieldError::invalid(path, text, problem));
                SignedDuration::ZERO
            }
        }
    }

    /// Returns every error, in this order: errors of the schema in document order, unknown fields, added
    /// errors.
    #[must_use]
    pub fn into_errors(self) -> Vec<FieldError> {
        self.errors
    }

    /// Returns the result of `convert` for a value without errors.
    ///
    /// # Errors
    /// Every error of the value.
    pub fn finish<U>(self, convert: impl FnOnce(T) -> U) -> Result<U, Vec<FieldError>> {
        if self.errors.is_empty() {
            Ok(convert(self.value))
        } else {
            Err(self.errors)
        }
    }
}

impl Schema {
    /// Parses `value` at `path` (empty for a whole document), with the defaults of this schema and of `T`. A
    /// `null` counts as an empty object. Unknown fields are errors, except below
    /// `x-kubernetes-preserve-unknown-fields`.
    ///
    /// `T` must accept every value that the schema allows. This is the case if the schema is derived from `T`
    /// and every field has a default.
    #[must_use]
    pub fn read<T: DeserializeOwned + Default>(&self, value: &Value, path: &str) -> ReadValue<T> {
        let (mut reading, unknown) = self.read_known(value, path);
        reading.errors.extend(unknown);
        reading.schema_errors = reading.errors.len();
        reading
    }

    /// Parses `value` like [`Schema::read`], and returns its unknown fields separately, for types that accept
    /// fields of newer releases.
    #[must_use]
    pub fn read_known<T: DeserializeOwned + Default>(
        &self,
        value: &Value,
        path: &str,
    ) -> (ReadValue<T>, Vec<FieldError>) {
        let empty = json!({});
        let value = if value.is_null() { &empty } else { value };
        let root = match path {
            "" => Path::Root,
            path => Path::Field(&Path::Root, path),
        };
        let mut errors = Vec::new();
        validate::check(&self.node, value, &root, &mut errors);
        let unknown = unknown_field_errors(&self.node, value, &root);
        let mut value = value.clone();
        if fits(&self.node, &value) {
            drop_invalid(&self.node, &mut value);
        } else {
            value = replacement(&self.node);
        }
        defaults::apply(&self.node, &mut value);
        let value = T::deserialize(&value).unwrap_or_else(|error| {
            errors.push(FieldError::invalid(path, value, error.to_string()));
            T::default()
        });
        let reading = ReadValue {
            value,
            path: path.to_owned(),
            schema_errors: errors.len(),
            errors,
        };
        (reading, unknown)
    }
}

/// Whether `path` is `ancestor`, or below it. No path counts as below the empty path.
fn is_within(path: &str, ancestor: &str) -> bool {
    path.strip_prefix(ancestor)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Returns an error for each unknown field, up to a limit, and one error with the number of the others.
fn unknown_field_errors(node: &Node, value: &Value, root: &Path<'_>) -> Vec<FieldError> {
    let mut search = Search::new(MAX_UNKNOWN);
    search.find(node, value, None, root);
    let reported = search.found.paths.into_iter();
    let mut errors: Vec<FieldError> = reported
        .map(|path| FieldError::forbidden(path, "unknown field"))
        .collect();
    if search.found.more > 0 {
        let detail = format!("{} more unknown fields", search.found.more);
        errors.push(FieldError::forbidden(root.to_string(), detail));
    }
    errors
}

/// Whether `value` has the type of `node`, and is an allowed value.
fn fits(node: &Node, value: &Value) -> bool {
    if value.is_null() {
        return node.nullable || node.kind == Type::Any;
    }
    let chosen = |choices: &Vec<Value>| choices.contains(value);
    validate::has_type(node.kind, value) && node.choices.as_ref().is_none_or(chosen)
}

/// Removes the fields below `value` that do not fit `node`, and replaces elements of lists that do not fit.
fn drop_invalid(node: &Node, value: &mut Value) {
    match value {
        Value::Object(fields) => fields.retain(|name, field| {
            let Some(child) = node.field(name) else {
                return true;
            };
            let is_valid = fits(child, field);
            if is_valid {
                drop_invalid(child, field);
            }
            is_valid
        }),
        Value::Array(elements) => {
            let Some(items) = &node.items else { return };
            for element in elements {
                if fits(items, element) {
                    drop_invalid(items, element);
                } else {
                    *element = replacement(items);
                }
            }
        }
        _ => {}
    }
}

/// Returns the replacement of a list element that does not fit `node`.
fn replacement(node: &Node) -> Value {
    if let Some(first) = node.choices.as_ref().and_then(|choices| choices.first()) {
        return first.clone();
    }
    match node.kind {
        Type::Object => json!({}),
        Type::Array => json!([]),
        Type::String | Type::IntOrString => "".into(),
        Type::Integer | Type::Number => 0.into(),
        Type::Boolean => false.into(),
        Type::Any => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    use super::*;

    /// A garden.
    #[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(default)]
    struct Garden {
        /// Source of its water.
        #[schemars(extend("enum" = ["Rain", "Can"]))]
        water: String,
        /// The beds.
        beds: Vec<Bed>,
        /// The names of trees.
        trees: Vec<String>,
        /// Anything.
        shed: serde_json::Map<String, Value>,
    }

    impl Default for Garden {
        fn default() -> Self {
            Self {
                water: "Rain".to_owned(),
                beds: Vec::new(),
                trees: Vec::new(),
                shed: serde_json::Map::new(),
            }
        }
    }

    /// A bed.
    #[derive(Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(default)]
    struct Bed {
        /// Number of rows.
        #[schemars(range(min = 1))]
        rows: i64,
    }

    fn read(value: &Value, path: &str) -> ReadValue<Garden> {
        Schema::part::<Garden>().read(value, path)
    }

    fn texts(reading: ReadValue<Garden>) -> Vec<String> {
        let errors = reading.into_errors();
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn absent_fields_have_defaults() {
        for value in [json!({}), Value::Null, json!({"water": null, "beds": null})] {
            let garden = read(&value, "spec").finish(|garden| garden);
            assert_eq!(garden, Ok(Garden::default()));
        }
        let garden = read(
            &json!({"beds": [{"rows": 2}], "shed": {"x": [null]}, "water": "Can"}),
            "spec",
        );
        let garden = garden.finish(|garden| garden).unwrap();
        assert_eq!(
            (garden.water.as_str(), garden.beds[0].rows, garden.shed.len()),
            ("Can", 2, 1)
        );
    }

    #[test]
    fn every_error_is_reported_and_the_rest_is_parsed() {
        let value = json!({
            "water": "Hose", "beds": [{"rows": 0, "depth": 1}, 7, {"rows": "x"}], "trees": ["oak", 1, "elm"], "pond": {},
        });
        let mut reading = read(&value, "spec.garden");
        assert_eq!(reading.value.water, "Rain");
        let rows: Vec<i64> = reading.value.beds.iter().map(|bed| bed.rows).collect();
        assert_eq!(rows, [0, 0, 0]);
        assert_eq!(reading.value.trees, ["oak", "", "elm"]);
        for (index, tree) in reading.value.trees.clone().iter().enumerate() {
            assert_eq!(reading.is_valid_at(&format!("trees[{index}]")), index != 1);
            if tree != "oak" {
                reading.refuse(FieldError::invalid(
                    format!("trees[{index}]"),
                    tree.as_str(),
                    "no oak",
                ));
            }
        }
        reading.refuse(FieldError::required("beds[1].rows", ""));
        assert!(reading.is_valid_at("tree") && !reading.is_valid_at("trees") && !reading.is_valid_at(""));
        let expected = [
            "spec.garden.beds[0].rows: Invalid value: 0: spec.garden.beds[0].rows in body should be greater than or equal to 1",
            "spec.garden.beds[1]: Invalid value: \"integer\": spec.garden.beds[1] in body must be of type object: \"integer\"",
            "spec.garden.beds[2].rows: Invalid value: \"string\": spec.garden.beds[2].rows in body must be of type integer: \
             \"string\"",
            "spec.garden.trees[1]: Invalid value: \"integer\": spec.garden.trees[1] in body must be of type string: \
             \"integer\"",
            "spec.garden.water: Unsupported value: \"Hose\": supported values: \"Rain\", \"Can\"",
            "spec.garden.beds[0].depth: Forbidden: unknown field",
            "spec.garden.pond: Forbidden: unknown field",
            "spec.garden.trees[2]: Invalid value: \"elm\": no oak",
        ];
        let mut found = texts(reading);
        let mut expected: Vec<String> = expected.map(str::to_owned).to_vec();
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_whole_document_has_paths_from_its_root() {
        assert_eq!(
            texts(read(&json!({"pond": 1}), "")),
            ["pond: Forbidden: unknown field"]
        );
        let mut reading = read(&json!([]), "");
        reading.refuse(FieldError::required("trees", ""));
        assert_eq!(
            texts(reading),
            [
                ": Invalid value: \"array\":  in body must be of type object: \"array\"",
                "trees: Required value"
            ]
        );
    }

    #[test]
    fn durations_are_read_as_kubernetes_writes_them() {
        let mut reading = read(&json!({}), "spec");
        assert_eq!(reading.duration("a", "1h30m"), SignedDuration::from_mins(90));
        assert_eq!(reading.duration("a", "0s"), SignedDuration::ZERO);
        for text in ["", "0s", "-5m", "5", "5d", "soon"] {
            reading.positive_duration("b", text);
        }
        reading.duration("c", "-1s");
        let found = texts(reading);
        assert_eq!(found.len(), 7);
        assert_eq!(found[1], "spec.b: Invalid value: \"0s\": must be greater than 0");
        assert_eq!(
            found[6],
            "spec.c: Invalid value: \"-1s\": must be greater than or equal to 0"
        );
    }

    #[test]
    fn the_number_of_reported_unknown_fields_is_limited() {
        let fields: serde_json::Map<String, Value> =
            (0..150).map(|number| (format!("x{number}"), json!(1))).collect();
        let found = texts(read(&Value::Object(fields), "spec"));
        assert_eq!(found.len(), 101);
        assert_eq!(found[100], "spec: Forbidden: 50 more unknown fields");
    }
}
