//! SchedulerConfiguration (docs/concepts.md, "Configuration"): one object per dialect, named after the
//! dialect, with the system's own configuration, which the dialect interprets. This crate has the kind
//! [`SchedulerConfiguration`]; [`Modes`], which derives from the objects whether Berth decides each system;
//! and [`validity`], which sets the conditions of the objects.
//!
//! ```
//! use berth_configuration::AutoBindMode;
//! use serde_json::json;
//!
//! assert_eq!(AutoBindMode::of(&json!({"spec": {"autoBind": "Off"}})), AutoBindMode::Off);
//! assert_eq!(AutoBindMode::of(&json!({"spec": {}})), AutoBindMode::OnCreate);
//! ```

mod deciding;
mod form;
mod mode;
mod own_schedulers;
mod requests;
pub mod validity;

use std::sync::Arc;

use berth_apimachinery::{
    Cell, Column, FieldError, Kind, KindInfo, Object, Schema, Scope, Timestamp, Write, WriteOperation,
};
use berth_apiserver::{Backing, Group, Resource};
use berth_dialect_contract::rules::RulesChoice;
use berth_dialect_contract::{Dialect, config, system_users};
use berth_engine::Engine;
use berth_storage::Store;
use serde_json::{Map, Value, json};

pub use deciding::{DECIDING, DecidingCondition, WAITING, deciding_condition};
pub use mode::{DecidingState, Mode, Modes};
pub use own_schedulers::{OwnSchedulerEvidence, OwnSchedulerPolicy};

/// The value of `spec.autoBind`: the component that binds new objects of a system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AutoBindMode {
    /// The server binds new objects that it stores before it answers the create, and objects on a hub right
    /// after the create.
    #[default]
    OnCreate,
    /// The controllers bind new objects, after the create was answered.
    Controller,
    /// Only Bindings bind objects.
    Off,
}

impl AutoBindMode {
    const ALL: [Self; 3] = [Self::OnCreate, Self::Controller, Self::Off];

    /// Returns the value as in `spec.autoBind`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OnCreate => "OnCreate",
            Self::Controller => "Controller",
            Self::Off => "Off",
        }
    }

    /// Returns the mode of a stored SchedulerConfiguration; the default for a missing or unknown value.
    #[must_use]
    pub fn of(configuration: &Value) -> Self {
        let token = configuration["spec"]["autoBind"].as_str();
        Self::ALL
            .into_iter()
            .find(|mode| token == Some(mode.as_str()))
            .unwrap_or_default()
    }

    /// Returns the mode that is in force for `dialect`, a dialect of `engine`.
    #[must_use]
    pub fn in_force(engine: &Engine, dialect: &str) -> Self {
        let in_force = engine.configuration(dialect);
        in_force
            .object()
            .map_or(Self::default(), |object| Self::of(object.value()))
    }
}

/// The kind of `schedulerconfigurations`.
pub struct SchedulerConfiguration {
    info: KindInfo,
    schema: Schema,
    columns: Vec<Column>,
    dialects: Vec<Arc<dyn Dialect>>,
}

impl SchedulerConfiguration {
    /// Creates the kind for configurations of `dialects`.
    #[must_use]
    pub fn new(dialects: Vec<Arc<dyn Dialect>>) -> Self {
        Self {
            info: KindInfo {
                singular: "schedulerconfiguration",
                scope: Scope::Cluster,
                status_subresource: true,
                ..KindInfo::new(
                    config::GROUP,
                    &[config::VERSION],
                    config::KIND,
                    config::RESOURCE.resource,
                )
            },
            schema: schema(&dialects),
            columns: vec![
                Column::NAME,
                Column::text("Mode", "Observe or Decide, if the configuration states a mode")
                    .computed(|object| text(object.value()["spec"].get("mode"))),
                Column::text("AutoBind", "The way in which new objects are bound")
                    .computed(|object| auto_bind(object.value()).into()),
                Column::text("Deciding", "Whether Berth decides the system")
                    .computed(|object| status_of(object, DECIDING)),
                Column::text("Valid", "Whether the configuration is in force")
                    .computed(|object| status_of(object, "Valid")),
                Column::AGE,
            ],
            dialects,
        }
    }

    /// Returns all errors of `configuration`, a whole object, except errors of the status, which is not part
    /// of the configuration. An unknown field of `spec` is not an error in a stored object.
    #[must_use]
    pub fn problems(&self, configuration: &Value, now: Timestamp) -> Vec<FieldError> {
        let write = Write {
            operation: WriteOperation::Update,
            old: None,
            now,
        };
        let mut errors = self.schema(config::VERSION).validate(configuration);
        errors.extend(self.validate(&write, configuration));
        errors.retain(|error| !error.path.starts_with("status"));
        errors
    }

    fn dialect(&self, name: &str) -> Option<&Arc<dyn Dialect>> {
        self.dialects.iter().find(|dialect| dialect.name() == name)
    }
}

/// Returns the API group of configurations of `dialects`, which are stored in `store`.
#[must_use]
pub fn group(dialects: Vec<Arc<dyn Dialect>>, store: Arc<dyn Store>) -> Group {
    let kind = Arc::new(SchedulerConfiguration::new(dialects));
    let resource = Resource::new(kind, Backing::Stored(store));
    Group {
        name: config::GROUP,
        resources: vec![resource],
    }
}

/// Returns the schema of the fields of `spec`.
fn spec_fields(dialects: &[Arc<dyn Dialect>]) -> Map<String, Value> {
    let mut spec = Map::new();
    spec.insert(
        "mode".to_owned(),
        json!({
            "type": "string",
            "enum": Mode::ALL.map(Mode::as_str),
            "description": "Whether Berth decides the system. Observe: Berth reads, explains and plans, but writes and refuses nothing. Decide: Berth decides and binds, and refuses other clients' writes to its decisions. If omitted, the value of berth serve --mode; if that is not set either, a system with its objects on a hub is observed, and a system that Berth stores is decided.",
        }),
    );
    spec.insert(
        own_schedulers::FIELD.to_owned(),
        json!({
            "type": "string",
            "enum": OwnSchedulerPolicy::ALL.map(OwnSchedulerPolicy::as_str),
            "description": "Behavior of mode Decide on a hub while the system's own scheduler runs, as its Lease shows. Wait, the default: Berth observes until the Lease is no longer renewed, and reports this in the condition Deciding. Ignore: Berth decides beside the other scheduler, whose writes to Berth's decisions are refused. Ignore is for requests that the other scheduler is known to skip (requests), and for systems whose scheduler cannot be stopped alone.",
        }),
    );
    spec.insert(requests::FIELD.to_owned(), requests::SCHEMA.openapi().clone());
    spec.insert(
        system_users::FIELD.to_owned(),
        json!({
            "type": "array",
            "items": {"type": "string", "minLength": 1, "description": "The name of a user, or a prefix of names if it ends in *."},
            "maxItems": 100,
            "x-kubernetes-list-type": "set",
            "description": "The users of the system's own programs, such as a rollout's hub agent. Guards refuse writes of these users only if the writes change Berth's decisions. If omitted, the users of the system's usual installation, which the system's page lists.",
        }),
    );
    spec.insert(
        "autoBind".to_owned(),
        json!({
            "type": "string",
            "enum": AutoBindMode::ALL.map(AutoBindMode::as_str),
            "description": "The way in which new objects of a decided system (mode) are bound. Quote the value: an unquoted Off is a boolean in YAML. OnCreate, the default, binds in the create request; an object that fits no cluster is created unbound, with a warning; objects on a hub are bound right after the create. Controller leaves new objects to the controllers, as the systems themselves do. With both, the \
                            controllers keep decisions current. Off: Berth binds only when users create Bindings; its guards still refuse other schedulers' writes, unless mode is Observe.",
        }),
    );
    spec.insert(
        RulesChoice::FIELD.to_owned(),
        json!({
            "type": "string",
            "enum": RulesChoice::ALL.map(RulesChoice::as_str),
            "description": "The rules in force, where the system's newest release contradicts the documentation that docs/systems names. Documented: the rules of the documentation. Current: the rules of the newest release. Auto, the default: Current for the objects of a hub on which the system runs, and where objects show that they are of a release with these rules; Documented otherwise.",
        }),
    );
    for dialect in dialects {
        spec.insert(dialect.name().to_owned(), form::stored_schema(&**dialect));
    }
    spec
}

fn schema(dialects: &[Arc<dyn Dialect>]) -> Schema {
    Schema::from_value(json!({
        "type": "object",
        "description": "The configuration of one scheduling system. There is one object per system, with the system's name.",
        "properties": {
            "spec": {
                "type": "object",
                "description": "The configuration.",
                "properties": spec_fields(dialects),
            },
            "status": {
                "type": "object",
                "description": "Status of the configuration.",
                "properties": {
                    "conditions": {
                        "type": "array",
                        "description": "Condition Valid is False while the stored configuration is invalid and the \
                                        last valid one is in force. Condition Deciding reports whether Berth decides the \
                                        system, and if not, why.",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["type"],
                        "items": condition(),
                    },
                },
            },
        },
    }))
}

fn condition() -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    json!({
        "type": "object",
        "description": "A standard Kubernetes condition.",
        "required": ["type", "status"],
        "properties": {
            "type": text("The type of the condition."),
            "status": text("True, False or Unknown."),
            "reason": text("The reason, as one CamelCase word."),
            "message": text("The reason, as a sentence."),
            "lastTransitionTime": {
                "type": "string",
                "format": "date-time",
                "description": "Time of the last change of the status.",
            },
            "observedGeneration": {
                "type": "integer",
                "format": "int64",
                "description": "The generation for which the condition was computed.",
            },
        },
    })
}

/// Returns `spec.autoBind` of a configuration, or the default.
fn auto_bind(value: &Value) -> &str {
    let stored = value["spec"]["autoBind"].as_str();
    stored.unwrap_or(AutoBindMode::default().as_str())
}

fn text(value: Option<&Value>) -> Cell {
    value.and_then(Value::as_str).unwrap_or("<none>").into()
}

/// Returns the cell with the status of the condition `type`.
fn status_of(object: &Object, r#type: &str) -> Cell {
    let conditions = object.value()["status"]["conditions"].as_array();
    let condition = conditions.and_then(|list| list.iter().find(|condition| condition["type"] == r#type));
    text(condition.and_then(|condition| condition.get("status")))
}

impl Kind for SchedulerConfiguration {
    fn info(&self) -> &KindInfo {
        &self.info
    }

    fn schema(&self, _version: &str) -> &Schema {
        &self.schema
    }

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        // The status of an invalid object has to be writable, to report that it is invalid.
        if matches!(write.operation, WriteOperation::Subresource(_)) {
            return Vec::new();
        }
        let name = new["metadata"]["name"].as_str().unwrap_or_default();
        let Some(dialect) = self.dialect(name) else {
            let known: Vec<&str> = self.dialects.iter().map(|dialect| dialect.name()).collect();
            return vec![FieldError::not_supported("metadata.name", name, &known)];
        };
        let mut errors = Vec::new();
        // The dialect finds errors that the schema has already reported, too. Each error is reported once.
        let reported = self.schema.validate(new);
        errors.extend(requests::problems(&**dialect, new, &reported));
        let spec = new["spec"].as_object();
        for (field, value) in spec.into_iter().flatten() {
            if field == "autoBind" && value.is_boolean() {
                let detail =
                    "an unquoted On or Off is a boolean in YAML: write autoBind: \"Off\", with the quotes";
                errors.push(FieldError::misread("spec.autoBind", value.clone(), detail));
            } else if field == name {
                let found = dialect
                    .configuration()
                    .validate(value, &format!("spec.{name}"))
                    .into_iter();
                errors.extend(found.filter(|error| !reported.contains(error)));
            } else if self.dialect(field).is_some() {
                let detail = format!("belongs in the SchedulerConfiguration named {field}, not in {name}");
                errors.push(FieldError::forbidden(format!("spec.{field}"), detail));
            }
        }
        errors
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }
}
