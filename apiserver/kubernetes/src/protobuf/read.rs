//! Decoder from messages to JSON.

use serde_json::{Map, Value};

use super::table::{Cardinality, Field, Form, Message, TABLE};
use super::wire::{Reader, WireValue};

/// Decodes the message of a whole object into `out`. Unlike in nested messages, an empty metadata or spec is
/// kept, as in the JSON that Go writes.
pub(super) fn read_object(
    message: &Message,
    bytes: &[u8],
    out: &mut Map<String, Value>,
) -> Result<(), String> {
    let mut reader = Reader::new(bytes);
    while let Some((number, value)) = reader.next()? {
        if let Some(field) = message.field_numbered(number) {
            read_field(field, value, out)?;
            if matches!(field.name, "metadata" | "spec") && matches!(field.form, Form::Message(_)) {
                out.entry(field.name).or_insert_with(|| Map::new().into());
            }
        }
    }
    Ok(())
}

/// Decodes the fields of a nested message into `out`. Fields that the table does not have are skipped.
fn read_fields(message: &Message, bytes: &[u8], out: &mut Map<String, Value>) -> Result<(), String> {
    let mut reader = Reader::new(bytes);
    while let Some((number, value)) = reader.next()? {
        if let Some(field) = message.field_numbered(number) {
            read_field(field, value, out)?;
        }
    }
    Ok(())
}

fn read_field(field: &Field, wire: WireValue<'_>, out: &mut Map<String, Value>) -> Result<(), String> {
    let at = |problem: String| format!("{}: {problem}", field.name);
    match (field.cardinality, field.form) {
        (Cardinality::Inline, Form::Message(index)) => read_fields(TABLE.message(index), wire.bytes()?, out),
        (Cardinality::List, form) => {
            let value = read_value(form, wire).map_err(at)?;
            list_of(out, field.name).push(value);
            Ok(())
        }
        (Cardinality::Map, form) => {
            let (key, value) = read_map_entry(form, wire).map_err(at)?;
            map_of(out, field.name).insert(key, value);
            Ok(())
        }
        (cardinality, Form::Message(index)) => {
            // A message that is split into several parts is merged.
            let mut inner = match out.remove(field.name) {
                Some(Value::Object(inner)) => inner,
                _ => Map::new(),
            };
            read_fields(TABLE.message(index), wire.bytes().map_err(at)?, &mut inner).map_err(at)?;
            if cardinality == Cardinality::Pointer || !inner.is_empty() {
                out.insert(field.name.to_owned(), inner.into());
            }
            Ok(())
        }
        (cardinality, Form::Scalar(scalar)) => {
            let value = scalar.read(wire).map_err(at)?;
            match value.filter(|value| cardinality == Cardinality::Pointer || *value != scalar.zero()) {
                Some(value) => out.insert(field.name.to_owned(), value),
                None => out.remove(field.name),
            };
            Ok(())
        }
    }
}

/// Decodes an element of a list or the value of a map.
fn read_value(form: Form, wire: WireValue<'_>) -> Result<Value, String> {
    match form {
        Form::Scalar(scalar) => Ok(scalar.read(wire)?.unwrap_or(Value::Null)),
        Form::Message(index) => {
            let mut inner = Map::new();
            read_fields(TABLE.message(index), wire.bytes()?, &mut inner)?;
            Ok(inner.into())
        }
    }
}

/// Decodes an entry of a map: a message with a key and a value.
fn read_map_entry(form: Form, wire: WireValue<'_>) -> Result<(String, Value), String> {
    let absent = match form {
        Form::Scalar(scalar) => scalar.zero(),
        Form::Message(_) => Map::new().into(),
    };
    let (mut key, mut value) = (String::new(), absent);
    let mut reader = Reader::new(wire.bytes()?);
    while let Some((number, wire)) = reader.next()? {
        match number {
            1 => wire.text()?.clone_into(&mut key),
            2 => value = read_value(form, wire)?,
            _ => {}
        }
    }
    Ok((key, value))
}

/// Returns the list in field `name`, which is created if it is missing.
fn list_of<'a>(out: &'a mut Map<String, Value>, name: &str) -> &'a mut Vec<Value> {
    let slot = out.entry(name).or_insert_with(|| Value::Array(Vec::new()));
    slot.as_array_mut().expect("a field of the table has one form")
}

/// Returns the map in field `name`, which is created if it is missing.
fn map_of<'a>(out: &'a mut Map<String, Value>, name: &str) -> &'a mut Map<String, Value> {
    let slot = out.entry(name).or_insert_with(|| Map::new().into());
    slot.as_object_mut().expect("a field of the table has one form")
}
