//! Parser of a policy file: reports all problems at once, with the paths of the fields.

use std::collections::BTreeSet;

use berth_apimachinery::FieldError;
use serde_json::{Map, Value};

use super::{Policy, Resources, Rule};
use crate::audit::level::{Level, Stage};

const API_VERSION: &str = "audit.k8s.io/v1";
const LEVELS: [(&str, Level); 4] = [
    ("None", Level::None),
    ("Metadata", Level::Metadata),
    ("Request", Level::Request),
    ("RequestResponse", Level::RequestResponse),
];
const STAGES: [(&str, Stage); 4] = [
    ("RequestReceived", Stage::RequestReceived),
    ("ResponseStarted", Stage::ResponseStarted),
    ("ResponseComplete", Stage::ResponseComplete),
    ("Panic", Stage::Panic),
];

/// All problems of a policy file.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyErrors(pub Vec<FieldError>);

impl std::fmt::Display for PolicyErrors {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let all: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        formatter.write_str(&all.join("; "))
    }
}

impl std::error::Error for PolicyErrors {}

/// Parses a policy file.
pub(super) fn policy(text: &str) -> Result<Policy, PolicyErrors> {
    let value = crate::yaml::strict(text)
        .map_err(|problem| PolicyErrors(vec![FieldError::invalid("", "", problem)]))?;
    let mut reader = Reader::default();
    let policy = reader.policy(&value);
    match reader.errors.is_empty() {
        true => Ok(policy),
        false => Err(PolicyErrors(reader.errors)),
    }
}

/// Reader of the fields, which collects the problems.
#[derive(Default)]
struct Reader {
    errors: Vec<FieldError>,
}

/// Allowed fields of a policy.
const POLICY_FIELDS: [&str; 6] = [
    "apiVersion",
    "kind",
    "metadata",
    "rules",
    "omitStages",
    "omitManagedFields",
];
/// Allowed fields of a rule.
const RULE_FIELDS: [&str; 9] = [
    "level",
    "users",
    "userGroups",
    "verbs",
    "resources",
    "namespaces",
    "nonResourceURLs",
    "omitStages",
    "omitManagedFields",
];
/// Allowed fields of an element of `resources`.
const RESOURCES_FIELDS: [&str; 3] = ["group", "resources", "resourceNames"];

impl Reader {
    fn policy(&mut self, value: &Value) -> Policy {
        let empty = Map::new();
        let fields = self.fields(value, "", &POLICY_FIELDS).unwrap_or(&empty);
        for (field, expected) in [("apiVersion", API_VERSION), ("kind", "Policy")] {
            if fields.get(field).and_then(Value::as_str) != Some(expected) {
                let found = fields.get(field).cloned().unwrap_or_default();
                self.errors
                    .push(FieldError::not_supported(field, found, &[expected]));
            }
        }
        let rules = self.list(fields, "", "rules");
        if rules.is_empty() {
            self.errors
                .push(FieldError::required("rules", "at least one rule is needed"));
        }
        let rules = rules.iter().enumerate();
        Policy {
            rules: rules
                .map(|(index, rule)| self.rule(rule, &format!("rules[{index}]")))
                .collect(),
            omit_stages: self.stages(fields, ""),
            omit_managed_fields: self.omit_managed_fields(fields, "").unwrap_or_default(),
        }
    }

    fn rule(&mut self, value: &Value, path: &str) -> Rule {
        let empty = Map::new();
        let fields = self.fields(value, path, &RULE_FIELDS).unwrap_or(&empty);
        let rule = Rule {
            level: self.level(fields, path),
            users: self.texts(fields, path, "users"),
            groups: self.texts(fields, path, "userGroups"),
            verbs: self.texts(fields, path, "verbs"),
            resources: self.resources(fields, path),
            namespaces: self.texts(fields, path, "namespaces"),
            paths: self.texts(fields, path, "nonResourceURLs"),
            omit_stages: self.stages(fields, path),
            omit_managed_fields: self.omit_managed_fields(fields, path),
        };
        let is_for_resources = !rule.resources.is_empty() || !rule.namespaces.is_empty();
        if is_for_resources && !rule.paths.is_empty() {
            self.errors.push(FieldError::invalid(
                field_path(path, "nonResourceURLs"),
                rule.paths.clone(),
                "rules cannot apply to both regular resources and non-resource URLs",
            ));
        }
        for (index, url) in rule.paths.iter().enumerate() {
            let path = format!("{}[{index}]", field_path(path, "nonResourceURLs"));
            if url == "*" {
                continue;
            }
            if !url.starts_with('/') {
                let detail = "non-resource URL rules must begin with a '/' character";
                self.errors.push(FieldError::invalid(&path, url.as_str(), detail));
            }
            if url.find('*').is_some_and(|at| at + 1 < url.len()) {
                let detail = "non-resource URL wildcards '*' must be the final character of the rule";
                self.errors.push(FieldError::invalid(&path, url.as_str(), detail));
            }
        }
        rule
    }

    fn level(&mut self, fields: &Map<String, Value>, path: &str) -> Level {
        let path = field_path(path, "level");
        let Some(value) = fields.get("level") else {
            self.errors.push(FieldError::required(path, ""));
            return Level::None;
        };
        let known = LEVELS.iter().find(|(name, _)| value.as_str() == Some(name));
        known.map_or_else(
            || {
                let names = LEVELS.map(|(name, _)| name);
                self.errors
                    .push(FieldError::not_supported(path, value.clone(), &names));
                Level::None
            },
            |(_, level)| *level,
        )
    }

    fn stages(&mut self, fields: &Map<String, Value>, path: &str) -> BTreeSet<Stage> {
        let mut stages = BTreeSet::new();
        for (index, text) in self.texts(fields, path, "omitStages").into_iter().enumerate() {
            match STAGES.iter().find(|(name, _)| *name == text) {
                Some((_, stage)) => drop(stages.insert(*stage)),
                None => {
                    let path = format!("{}[{index}]", field_path(path, "omitStages"));
                    let names = STAGES.map(|(name, _)| name);
                    self.errors.push(FieldError::not_supported(path, text, &names));
                }
            }
        }
        stages
    }

    fn resources(&mut self, fields: &Map<String, Value>, path: &str) -> Vec<Resources> {
        let mut all = Vec::new();
        for (index, value) in self.list(fields, path, "resources").iter().enumerate() {
            let path = format!("{}[{index}]", field_path(path, "resources"));
            let Some(fields) = self.fields(value, &path, &RESOURCES_FIELDS) else {
                continue;
            };
            let group = match fields.get("group") {
                None | Some(Value::Null) => String::new(),
                Some(value) => self.text(value, &field_path(&path, "group")),
            };
            if !group.is_empty()
                && let Err(detail) = berth_apimachinery::name::dns_subdomain(&group)
            {
                self.errors.push(FieldError::invalid(
                    field_path(&path, "group"),
                    group.as_str(),
                    detail,
                ));
            }
            let resources = Resources {
                group,
                resources: self.texts(fields, &path, "resources"),
                names: self.texts(fields, &path, "resourceNames"),
            };
            if !resources.names.is_empty() && resources.resources.is_empty() {
                let detail = "using resourceNames requires at least one resource";
                let path = field_path(&path, "resourceNames");
                self.errors
                    .push(FieldError::invalid(path, resources.names.clone(), detail));
            }
            all.push(resources);
        }
        all
    }

    /// Returns the fields of an object. Every field that is not `known` is an error.
    fn fields<'a>(&mut self, value: &'a Value, path: &str, known: &[&str]) -> Option<&'a Map<String, Value>> {
        let Some(fields) = value.as_object() else {
            self.errors
                .push(FieldError::type_invalid(path, value.clone(), "must be an object"));
            return None;
        };
        for name in fields.keys().filter(|name| !known.contains(&name.as_str())) {
            self.errors
                .push(FieldError::forbidden(field_path(path, name), "unknown field"));
        }
        Some(fields)
    }

    fn list<'a>(&mut self, fields: &'a Map<String, Value>, path: &str, name: &str) -> &'a [Value] {
        match fields.get(name) {
            None | Some(Value::Null) => &[],
            Some(Value::Array(items)) => items,
            Some(other) => {
                let path = field_path(path, name);
                self.errors
                    .push(FieldError::type_invalid(path, other.clone(), "must be a list"));
                &[]
            }
        }
    }

    fn texts(&mut self, fields: &Map<String, Value>, path: &str, name: &str) -> Vec<String> {
        let items = self.list(fields, path, name).iter().enumerate();
        items
            .map(|(index, item)| self.text(item, &format!("{}[{index}]", field_path(path, name))))
            .collect()
    }

    fn text(&mut self, value: &Value, path: &str) -> String {
        let Some(text) = value.as_str() else {
            self.errors
                .push(FieldError::type_invalid(path, value.clone(), "must be a string"));
            return String::new();
        };
        text.to_owned()
    }

    fn omit_managed_fields(&mut self, fields: &Map<String, Value>, path: &str) -> Option<bool> {
        let value = fields.get("omitManagedFields").filter(|value| !value.is_null())?;
        if !value.is_boolean() {
            let path = field_path(path, "omitManagedFields");
            self.errors
                .push(FieldError::type_invalid(path, value.clone(), "must be a boolean"));
        }
        value.as_bool()
    }
}

/// Returns the path of `field` in the object at `path`.
fn field_path(path: &str, field: &str) -> String {
    match path {
        "" => field.to_owned(),
        path => format!("{path}.{field}"),
    }
}
