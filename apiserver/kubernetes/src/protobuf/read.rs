//! Decoder from messages to JSON.

use serde_json::{Map, Value};

use super::table::{Count, Field, Form, Message, TABLE};
use super::wire::{Reader, Wire};

/// Decodes a top-level object. Unlike in nested messages, an empty metadata or spec is kept, since every
/// object has these fields.
pub(super) fn object(message: &Message, bytes: &[u8], out: &mut Map<String, Value>) -> Result<(), String> {
    let mut reader = Reader::new(bytes);
    while let Some((number, value)) = reader.next()? {
        if let Some(field) = message.field(number) {
            read_field(field, value, out)?;
            if matches!(field.name, "metadata" | "spec") && matches!(field.form, Form::Message(_)) {
                out.entry(field.name).or_insert_with(|| Map::new().into());
            }
        }
    }
    Ok(())
}

/// Decodes the fields of a message into `out`, without fields that the table does not have.
fn fields(message: &Message, bytes: &[u8], out: &mut Map<String, Value>) -> Result<(), String> {
    let mut reader = Reader::new(bytes);
    while let Some((number, value)) = reader.next()? {
        if let Some(field) = message.field(number) {
            read_field(field, value, out)?;
        }
    }
    Ok(())
}

fn read_field(field: &Field, wire: Wire<'_>, out: &mut Map<String, Value>) -> Result<(), String> {
    let at = |problem: String| format!("{}: {problem}", field.name);
    match (field.count, field.form) {
        (Count::Inline, Form::Message(place)) => fields(TABLE.message(place), wire.bytes()?, out),
        (Count::List, form) => {
            let value = one(form, wire).map_err(at)?;
            list(out, field.name).push(value);
            Ok(())
        }
        (Count::Map, form) => {
            let (key, value) = entry(form, wire).map_err(at)?;
            map(out, field.name).insert(key, value);
            Ok(())
        }
        (count, Form::Message(place)) => {
            // A message that is split into several parts is merged.
            let mut inner = match out.remove(field.name) {
                Some(Value::Object(inner)) => inner,
                _ => Map::new(),
            };
            fields(TABLE.message(place), wire.bytes().map_err(at)?, &mut inner).map_err(at)?;
            if count == Count::Pointer || !inner.is_empty() {
                out.insert(field.name.to_owned(), inner.into());
            }
            Ok(())
        }
        (count, Form::Scalar(scalar)) => {
            let value = scalar.read(wire).map_err(at)?;
            match value.filter(|value| count == Count::Pointer || *value != scalar.zero()) {
                Some(value) => out.insert(field.name.to_owned(), value),
                None => out.remove(field.name),
            };
            Ok(())
        }
    }
}

/// Decodes an element of a list or the value of a map.
fn one(form: Form, wire: Wire<'_>) -> Result<Value, String> {
    match form {
        Form::Scalar(scalar) => Ok(scalar.read(wire)?.unwrap_or(Value::Null)),
        Form::Message(place) => {
            let mut inner = Map::new();
            fields(TABLE.message(place), wire.bytes()?, &mut inner)?;
            Ok(inner.into())
        }
    }
}

/// Decodes an entry of a map: a message with a key and a value.
fn entry(form: Form, wire: Wire<'_>) -> Result<(String, Value), String> {
    let absent = match form {
        Form::Scalar(scalar) => scalar.zero(),
        Form::Message(_) => Map::new().into(),
    };
    let (mut key, mut value) = (String::new(), absent);
    let mut reader = Reader::new(wire.bytes()?);
    while let Some((number, wire)) = reader.next()? {
        match number {
            1 => wire.text()?.clone_into(&mut key),
            2 => value = one(form, wire)?,
            _ => {}
        }
    }
    Ok((key, value))
}

fn list<'a>(out: &'a mut Map<String, Value>, name: &str) -> &'a mut Vec<Value> {
    let slot = out.entry(name).or_insert_with(|| Value::Array(Vec::new()));
    slot.as_array_mut().expect("a field of the table has one form")
}

fn map<'a>(out: &'a mut Map<String, Value>, name: &str) -> &'a mut Map<String, Value> {
    let slot = out.entry(name).or_insert_with(|| Map::new().into());
    slot.as_object_mut().expect("a field of the table has one form")
}
