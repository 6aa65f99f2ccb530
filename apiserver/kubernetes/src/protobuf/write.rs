//! Encoder from JSON to messages.

use serde_json::{Map, Value};

use super::table::{Cardinality, Field, Form, Message, TABLE};
use super::wire;

/// Writes the fields of a message in the order of their numbers. Fields that the table does not have are left
/// out.
pub(super) fn write_message(message: &Message, object: &Map<String, Value>, out: &mut Vec<u8>) {
    for field in &message.fields {
        if field.cardinality == Cardinality::Inline {
            write_inline(field, object, out);
        } else if let Some(value) = object.get(field.name) {
            write_field(field, value, out);
        }
    }
}

fn write_inline(field: &Field, object: &Map<String, Value>, out: &mut Vec<u8>) {
    let Form::Message(index) = field.form else {
        return;
    };
    let mut inner = Vec::new();
    write_message(TABLE.message(index), object, &mut inner);
    wire::bytes(field.number, &inner, out);
}

fn write_field(field: &Field, value: &Value, out: &mut Vec<u8>) {
    match (field.cardinality, value) {
        (Cardinality::List, Value::Array(list)) => {
            list.iter()
                .for_each(|value| write_value(field.form, field.number, value, out));
        }
        (Cardinality::Map, Value::Object(entries)) => {
            for (key, value) in entries {
                let mut entry = Vec::new();
                wire::bytes(1, key.as_bytes(), &mut entry);
                write_value(field.form, 2, value, &mut entry);
                wire::bytes(field.number, &entry, out);
            }
        }
        (Cardinality::List | Cardinality::Map, _) | (_, Value::Null) => {}
        (_, value) => write_value(field.form, field.number, value, out),
    }
}

fn write_value(form: Form, number: u32, value: &Value, out: &mut Vec<u8>) {
    match (form, value) {
        (Form::Scalar(scalar), value) => scalar.write(number, value, out),
        (Form::Message(index), Value::Object(object)) => {
            let mut inner = Vec::new();
            write_message(TABLE.message(index), object, &mut inner);
            wire::bytes(number, &inner, out);
        }
        (Form::Message(_), _) => {}
    }
}
