//! Encoder from JSON to messages.

use serde_json::{Map, Value};

use super::table::{Count, Field, Form, Message, TABLE};
use super::wire;

/// Writes the fields of an object in the order of their numbers, without fields that the table does not have.
pub(super) fn message(message: &Message, object: &Map<String, Value>, out: &mut Vec<u8>) {
    for field in &message.fields {
        if field.count == Count::Inline {
            write_inline(field, object, out);
        } else if let Some(value) = object.get(field.name) {
            write_field(field, value, out);
        }
    }
}

fn write_inline(field: &Field, object: &Map<String, Value>, out: &mut Vec<u8>) {
    let Form::Message(place) = field.form else {
        return;
    };
    let mut inner = Vec::new();
    message(TABLE.message(place), object, &mut inner);
    wire::bytes(field.number, &inner, out);
}

fn write_field(field: &Field, value: &Value, out: &mut Vec<u8>) {
    match (field.count, value) {
        (Count::List, Value::Array(list)) => {
            list.iter()
                .for_each(|value| one(field.form, field.number, value, out));
        }
        (Count::Map, Value::Object(entries)) => {
            for (key, value) in entries {
                let mut entry = Vec::new();
                wire::bytes(1, key.as_bytes(), &mut entry);
                one(field.form, 2, value, &mut entry);
                wire::bytes(field.number, &entry, out);
            }
        }
        (Count::List | Count::Map, _) | (_, Value::Null) => {}
        (_, value) => one(field.form, field.number, value, out),
    }
}

fn one(form: Form, number: u32, value: &Value, out: &mut Vec<u8>) {
    match (form, value) {
        (Form::Scalar(scalar), value) => scalar.write(number, value, out),
        (Form::Message(place), Value::Object(object)) => {
            let mut inner = Vec::new();
            message(TABLE.message(place), object, &mut inner);
            wire::bytes(number, &inner, out);
        }
        (Form::Message(_), _) => {}
    }
}
