//! A SchedulingReview as a pure function of a world, additional objects and a demand. The command `simulate`
//! decides in the same way.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_apimachinery::{FieldError, Key, Object, Timestamp, budget};
use berth_engine::{Catalog, UnreadableObject, World};
use serde_json::Value;

/// One question of a review.
pub struct Question {
    /// The world before anything is added.
    pub world: World,
    /// The configuration of the decision, if it is not the world's.
    pub config: Option<Value>,
    /// The objects to add or to replace.
    pub objects: Vec<Value>,
    /// The demand to decide.
    pub demand: Key,
    /// The demand's object, which `objects` must not have as well. `None` if it is in the world or in
    /// `objects`.
    pub object: Option<Arc<Object>>,
    /// The instant of the decision.
    pub now: Timestamp,
}

/// Answers with the report as JSON, which is the status of the review, and with the world of the decision.
///
/// # Errors
/// All problems of the input, with their paths in the review.
pub fn answer(catalog: &Catalog, question: Question) -> Result<(Value, World), Vec<FieldError>> {
    let Question {
        mut world,
        config,
        objects,
        demand,
        object,
        now,
    } = question;
    let mut errors = Vec::new();
    if let Some(config) = config {
        errors.extend(
            world
                .configure(&config, "spec.config")
                .err()
                .into_iter()
                .flatten(),
        );
    }
    let given = object.as_ref().map(|_| &demand);
    errors.extend(add(catalog, &mut world, given, objects, now));
    if let Some(object) = object
        && let Err(UnreadableObject(problem)) = world.put(&demand, Arc::clone(&object))
    {
        errors.push(FieldError::invalid("spec.object", object.meta().name(), problem));
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let snapshot = world.snapshot();
    match snapshot.decide(&demand, None, now) {
        Some(Ok(decision)) => match serde_json::to_value(snapshot.report(&decision)) {
            Ok(report) => Ok((report, world)),
            Err(error) => Err(vec![FieldError::invalid("spec", Value::Null, error.to_string())]),
        },
        Some(Err(refused)) => Err(refused.errors),
        None => Err(vec![FieldError::not_found(
            "spec.reference",
            demand.name.to_string(),
        )]),
    }
}

/// Adds `objects` to `world`; returns the problems of all objects. `given` is the key of the object that the
/// review has beside `objects`, which must not have another one at this key.
fn add(
    catalog: &Catalog,
    world: &mut World,
    given: Option<&Key>,
    objects: Vec<Value>,
    now: Timestamp,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut added: BTreeSet<Key> = given.cloned().into_iter().collect();
    for (index, value) in objects.into_iter().enumerate() {
        let path = format!("spec.objects[{index}]");
        if budget::check_needed().is_err() {
            // The caller no longer waits for the answer.
            break;
        }
        let kind = value["kind"].clone();
        match catalog.read(value, &path, now) {
            Err(problems) => errors.extend(problems),
            Ok((key, _)) if !world.reads(key.resource) => {
                let dialect = world.snapshot().dialect.name();
                let detail = format!("the scheduler of {dialect} does not read objects of this kind");
                errors.push(FieldError::invalid(format!("{path}.kind"), kind, detail));
            }
            Ok((key, _)) if added.contains(&key) => {
                errors.push(FieldError::duplicate(
                    format!("{path}.metadata.name"),
                    key.name.to_string(),
                ));
            }
            Ok((key, object)) => {
                if let Err(UnreadableObject(problem)) = world.put(&key, object) {
                    errors.push(FieldError::invalid(path, key.to_string(), problem));
                }
                added.insert(key);
            }
        }
    }
    errors
}
