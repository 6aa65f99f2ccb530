//! Application of edits to a world as an API server would write them for a user: with the defaults and rules
//! of the kind, with immutable fields, without a change of the status, and with a higher generation.

use std::sync::Arc;

use berth_apimachinery::{Key, Object, Timestamp, Write, WriteOperation, field};
use berth_dialect_contract::{Edit, config};
use serde_json::Value;

use crate::plan::content_fields;
use crate::what_if::{Catalog, World};

/// Applies `edits` to `world`, in order.
///
/// # Errors
/// The reason why a server would refuse an edit. The world must not be used after an error.
pub(super) fn apply_edits(
    world: &mut World,
    catalog: &Catalog,
    edits: &[Edit],
    now: Timestamp,
) -> Result<(), String> {
    for edit in edits {
        match edit {
            Edit::Merge { key, patch } => {
                let stored = world.get(key).ok_or_else(|| format!("{key} not found"))?;
                let mut value = stored.parse();
                json_patch::merge(&mut value, patch);
                store(world, catalog, key, value, now)?;
            }
            Edit::Create { key, .. } if world.get(key).is_some() => {
                return Err(format!("{key} already exists"));
            }
            Edit::Create { key, object } => store(world, catalog, key, object.clone(), now)?,
            Edit::Delete(key) => world
                .delete(key, now)
                .map_err(|malformed| malformed.to_string())?,
        }
    }
    Ok(())
}

/// Stores `value` at `key`, as a create or an update.
///
/// # Errors
/// The reason why a server would refuse `value`.
pub(super) fn store(
    world: &mut World,
    catalog: &Catalog,
    key: &Key,
    mut value: Value,
    now: Timestamp,
) -> Result<(), String> {
    let old = world.get(key).map(|stored| stored.parse());
    if key.resource == config::RESOURCE {
        let dialect = &world.snapshot().dialect;
        let errors = dialect
            .configuration()
            .validate(&value["spec"][dialect.name()], "spec");
        return put(world, key, &value, &errors);
    }
    let Some(kind) = catalog.stored_in(key.resource) else {
        return Err(format!("unknown kind of {key}"));
    };
    let schema = kind.schema(kind.info().storage_version);
    if kind.info().status_subresource
        && let Some(fields) = value.as_object_mut()
    {
        match old.as_ref().and_then(|old| old.get("status")) {
            Some(status) => fields.insert("status".to_owned(), status.clone()),
            None => fields.remove("status"),
        };
    }
    schema.default(&mut value);
    let write = Write {
        operation: if old.is_some() {
            WriteOperation::Update
        } else {
            WriteOperation::Create
        },
        old: old.as_ref(),
        now,
    };
    kind.prepare(&write, &mut value);
    let mut errors = schema.validate(&value);
    errors.extend(kind.validate(&write, &value));
    errors.extend(kind.own_rules(&write, &value));
    let changed = old
        .as_ref()
        .is_none_or(|old| content_fields(old) != content_fields(&value));
    if changed && world.snapshot().dialect.guarded().judges.contains(&key.resource) {
        let inventory = &world.snapshot().inventory;
        errors.extend(inventory.guarding().judge(key.resource, old.as_ref(), &value));
    }
    if changed
        && let Some(generation) = old
            .as_ref()
            .and_then(|old| old["metadata"]["generation"].as_i64())
    {
        value["metadata"]["generation"] = generation.saturating_add(1).into();
    }
    put(world, key, &value, &errors)
}

/// Puts `value` at `key` into the world, unless there are `errors`.
fn put(
    world: &mut World,
    key: &Key,
    value: &Value,
    errors: &[berth_apimachinery::FieldError],
) -> Result<(), String> {
    if !errors.is_empty() {
        return Err(field::aggregate(errors));
    }
    let object = Object::new(value, world.snapshot().revision).map_err(|malformed| malformed.to_string())?;
    world
        .put(key, Arc::new(object))
        .map_err(|problem| problem.to_string())
}
