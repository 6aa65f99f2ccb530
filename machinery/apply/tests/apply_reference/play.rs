//! Replay of sequences with our implementation.

use std::borrow::Cow;

use berth_apimachinery::Timestamp;
use berth_apply::{ApplyError, Managers, Reset, Types, Versions, Writer};
use serde_json::{Value, json};

use crate::generate::{Sequence, Step, VERSIONS};

/// An object and its owners.
pub(crate) struct World {
    schema: berth_apimachinery::Schema,
    types: Vec<Types>,
    /// Without managed fields.
    pub(crate) live: Option<Value>,
    pub(crate) managers: Managers,
}

/// Outcome of a step.
pub(crate) struct Outcome {
    pub(crate) error: Option<String>,
    conflicts: bool,
    pub(crate) object: Value,
}

impl Outcome {
    pub(crate) fn agrees(&self, theirs: &Value) -> bool {
        self.difference(theirs).is_empty()
    }

    pub(crate) fn difference(&self, theirs: &Value) -> &'static str {
        let error = theirs["error"].as_str();
        if self.error.is_some() != error.is_some() {
            return "one refused";
        }
        if (self.conflicts || error.is_some_and(|error| error.starts_with("Apply failed")))
            && self.error.as_deref() != error
        {
            return "conflicts differ";
        }
        let bare = |object: &Value| {
            let mut object = object.clone();
            let managers = object["metadata"]
                .as_object_mut()
                .and_then(|metadata| metadata.remove("managedFields"));
            if object["metadata"]
                .as_object()
                .is_none_or(serde_json::Map::is_empty)
            {
                object
                    .as_object_mut()
                    .and_then(|object| object.remove("metadata"));
            }
            (object, managers)
        };
        let (ours, theirs) = (bare(&self.object), bare(&theirs["object"]));
        if ours.0 != theirs.0 {
            return "objects differ";
        }
        if ours.1 != theirs.1 {
            return "managers differ";
        }
        ""
    }

    pub(crate) fn shown(&self) -> String {
        json!({"error": self.error, "object": self.object}).to_string()
    }
}

pub(crate) fn play(sequence: &Sequence) -> Vec<Outcome> {
    let mut world = World::new(&sequence.schema);
    sequence.steps.iter().map(|step| world.step(step)).collect()
}

/// The types of each version, or the types of both versions with the same shape.
struct Served<'a>(&'a [Types]);

impl Versions for Served<'_> {
    fn types(&self, api_version: &str) -> Option<&Types> {
        let index = VERSIONS.iter().position(|version| *version == api_version)?;
        self.0.get(index).or(self.0.first())
    }

    fn convert<'a>(&self, object: &'a Value, _: &str, to: &str) -> Cow<'a, Value> {
        if self.0.len() == 1 {
            return Cow::Borrowed(object);
        }
        let mut object = object.clone();
        object["apiVersion"] = to.into();
        Cow::Owned(object)
    }
}

impl World {
    pub(crate) fn new(schema: &Value) -> Self {
        let shared = schema.to_string().len().is_multiple_of(2);
        let schema = berth_apimachinery::Schema::from_value(schema.clone());
        Self {
            types: (0..2 - usize::from(shared)).map(|_| Types::of(&schema)).collect(),
            schema,
            live: None,
            managers: Managers::default(),
        }
    }

    pub(crate) fn step(&mut self, step: &Step) -> Outcome {
        let refused = self.write(step).err();
        let mut object = self.live.clone().unwrap_or_default();
        if let Some(managers) = self.managers.to_value() {
            object["metadata"]["managedFields"] = managers;
        }
        Outcome {
            conflicts: matches!(refused, Some(ApplyError::Conflicts(_))),
            error: refused.map(|refused| refused.to_string()),
            object,
        }
    }

    fn write(&mut self, step: &Step) -> Result<(), ApplyError> {
        let mut new = step.object.clone();
        let body = new["metadata"]
            .as_object_mut()
            .and_then(|metadata| metadata.remove("managedFields"));
        if step.operation == "seed" {
            self.live = Some(new);
            return Ok(());
        }
        let mut old = self
            .live
            .clone()
            .unwrap_or_else(|| json!({"apiVersion": step.version, "kind": "Widget"}));
        old["apiVersion"] = step.version.into();
        let reset = match step.subresource {
            "status" => Reset::all_but_status(),
            _ => Reset::status(),
        };
        let by = Writer {
            manager: &step.manager,
            subresource: step.subresource,
            api_version: step.version,
            now: Timestamp::from_second(step.time).expect("steps are few"),
            reset: &reset,
        };
        let managers = self.managers.clone();
        let versions = Served(&self.types);
        if step.operation == "apply" {
            let applied = managers.apply(&versions, &old, &new, &by, step.force)?;
            (new, self.managers) = (applied.object, applied.managers);
            self.schema.default(&mut new);
        } else {
            self.schema.default(&mut new);
            let managers = match step.subresource {
                "" => Managers::of_request(body.as_ref(), managers),
                _ => managers,
            };
            self.managers = managers.update(&versions, &old, &new, &by);
        }
        self.live = Some(kept(&old, new, step.subresource));
        if let Some(live) = &mut self.live {
            live["metadata"]["uid"] = "u1".into();
        }
        Ok(())
    }
}

/// `new`, with the fields that the write cannot change taken from `old`.
fn kept(old: &Value, mut new: Value, subresource: &str) -> Value {
    if subresource == "status" {
        let mut kept = old.clone();
        reset(&new, &mut kept);
        return kept;
    }
    reset(old, &mut new);
    new
}

fn reset(from: &Value, to: &mut Value) {
    match from.get("status") {
        Some(status) => to["status"] = status.clone(),
        None => {
            to.as_object_mut().and_then(|to| to.remove("status"));
        }
    }
}
