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
const MOST_UNKNOWN: usize = 100;

/// A parsed value with its errors.
#[derive(Debug)]
pub struct ReadValue<T> {
    /// The value without parts that have a wrong type or an unsupported value: such a field counts as absent,
    /// and such a list element is replaced by its first choice or an empty value, so that the indexes of the
    /// other elements stay.
    pub value: T,
    path: String,
    errors: Vec<FieldError>,
    /// Number of errors from the schema.
    schema_errors: usize,
}

impl<T> ReadValue<T> {
    /// Adds an error of a rule that the schema cannot express; its path is relative to the part. It is
    /// dropped if the schema already reports the same path, or one above it.
    pub fn refuse(&mut self, error: FieldError) {
        let path = below(&self.path, &error.path);
        if self.reported().all(|reported| !is_within(&path, &reported.path)) {
            self.errors.push(FieldError { path, ..error });
        }
    }

    /// Whether the schema reports no error at `path`, or below it.
    #[must_use]
    pub fn is_sound(&self, path: &str) -> bool {
        let path = below(&self.path, path);
        self.reported().all(|reported| !is_within(&reported.path, &path))
    }

    /// Errors from the schema.
    fn reported(&self) -> impl Iterator<Item = &FieldError> {
        self.errors.iter().take(self.schema_errors)
    }

    /// Parses the duration in `text` at `path`, in Kubernetes' notation (`300s`, `1h30m`): zero or more.
    /// An invalid duration is an error, and counts as zero.
    pub fn duration(&mut self, path: &str, text: &str) -> SignedDuration {
        self.duration_where(path, text, |length| {
            (!length.is_negative())
                .then_some(())
                .ok_or("must be greater than or equal to 0")
        })
    }

    /// Parses a duration like [`ReadValue::duration`]; zero is an error, too.
    pub fn positive_duration(&mut self, path: &str, text: &str) -> SignedDuration {
        self.duration_where(path, text, |length| {
            length.is_positive().then_some(()).ok_or("must be greater than 0")
        })
    }

    fn duration_where(
        &mut self,
        path: &str,
        text: &str,
        judge: impl Fn(SignedDuration) -> Result<(), &'static str>,
    ) -> SignedDuration {
        let length = duration::parse(text).map_err(|problem| problem.to_string());
        match length.and_then(|length| judge(length).map(|()| length).map_err(str::to_owned)) {
            Ok(length) => length,
            Err(problem) => {
                self.refuse(FieldError::invalid(path, text, problem));
                SignedDuration::ZERO
            }
        }
    }

    /// Returns every error: errors of the schema in document order, unknown fields, and added errors.
    #[must_use]
    pub fn into_errors(self) -> Vec<FieldError> {
        self.errors
    }

    /// Returns the result of `make` for the value.
    ///
    /// # Errors
    /// Every error of the value.
    pub fn finish<U>(self, make: impl FnOnce(T) -> U) -> Result<U, Vec<FieldError>> {
        if self.errors.is_empty() {
            Ok(make(self.value))
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
        let unknown = unknown(&self.node, value, &root);
        let mut value = value.clone();
        if fits(&self.node, &value) {
            mend(&self.node, &mut value);
        } else {
            value = neutral(&self.node);
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

/// Whether `path` is `whole`, or below it.
fn is_within(path: &str, whole: &str) -> bool {
    path.strip_prefix(whole)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

fn unknown(node: &Node, value: &Value, root: &Path<'_>) -> Vec<FieldError> {
    let mut search = Search::of(MOST_UNKNOWN);
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

/// Whether `value` fits `node`: by its type, and as one of its choices.
fn fits(node: &Node, value: &Value) -> bool {
    if value.is_null() {
        return node.nullable || node.kind == Type::Any;
    }
    let chosen = |choices: &Vec<Value>| choices.contains(value);
    validate::has_type(node.kind, value) && node.choices.as_ref().is_none_or(chosen)
}

/// Removes the fields below `value` that do not fit `node`, and replaces such elements of lists.
fn mend(node: &Node, value: &mut Value) {
    match value {
        Value::Object(fields) => fields.retain(|name, field| {
            let Some(child) = node.field(name) else {
                return true;
            };
            let is_valid = fits(child, field);
            if is_valid {
                mend(child, field);
            }
            is_valid
        }),
        Value::Array(elements) => {
            let Some(items) = &node.items else { return };
            for element in elements {
                if fits(items, element) {
                    mend(items, element);
                } else {
                    *element = neutral(items);
                }
            }
        }
        _ => {}
    }
}

/// Replacement of an element that does not fit.
fn neutral(node: &Node) -> Value {
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
    fn what_is_absent_has_its_default() {
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
    fn every_mistake_is_told_and_what_is_left_is_judged_too() {
        let value = json!({
            "water": "Hose", "beds": [{"rows": 0, "depth": 1}, 7, {"rows": "x"}], "trees": ["oak", 1, "elm"], "pond": {},
        });
        let mut reading = read(&value, "spec.garden");
        assert_eq!(reading.value.water, "Rain");
        let rows: Vec<i64> = reading.value.beds.iter().map(|bed| bed.rows).collect();
        assert_eq!(rows, [0, 0, 0]);
        assert_eq!(reading.value.trees, ["oak", "", "elm"]);
        for (index, tree) in reading.value.trees.clone().iter().enumerate() {
            assert_eq!(reading.is_sound(&format!("trees[{index}]")), index != 1);
            if tree != "oak" {
                reading.refuse(FieldError::invalid(
                    format!("trees[{index}]"),
                    tree.as_str(),
                    "no oak",
                ));
            }
        }
        reading.refuse(FieldError::required("beds[1].rows", ""));
        assert!(reading.is_sound("tree") && !reading.is_sound("trees") && !reading.is_sound(""));
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
    fn a_document_of_its_own_has_paths_from_its_root() {
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
    fn of_very_many_unknown_fields_some_are_told_and_the_others_counted() {
        let fields: serde_json::Map<String, Value> =
            (0..150).map(|number| (format!("x{number}"), json!(1))).collect();
        let found = texts(read(&Value::Object(fields), "spec"));
        assert_eq!(found.len(), 101);
        assert_eq!(found[100], "spec: Forbidden: 50 more unknown fields");
    }
}
