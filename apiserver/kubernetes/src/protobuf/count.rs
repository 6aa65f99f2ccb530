//! Count of the values that a message is decoded to, before it is decoded: the tree may take more than a
//! hundred times the memory of the message. The count follows the decoder ([`super::read`]).

use berth_apiserver::memory::Values;

use super::table::{Cardinality, Field, Form, Message, TABLE};
use super::wire::{Reader, WireValue};

/// Counts the values in the message of a whole object. An error ends the count where it ends the decoder,
/// which reports it.
pub(super) fn count_object(message: &Message, bytes: &[u8]) -> Values {
    let mut values = Values::default();
    values.add_map();
    count_fields(message, bytes, &mut values).ok();
    values
}

fn count_fields(message: &Message, bytes: &[u8], values: &mut Values) -> Result<(), String> {
    let mut reader = Reader::new(bytes);
    let mut previous = None;
    while let Some((number, wire)) = reader.next()? {
        if let Some(field) = message.field_numbered(number) {
            // The items of a list stand one after the other. If they do not, several lists are counted.
            let is_first = previous.replace(number) != Some(number);
            count_field(field, wire, is_first, values)?;
        }
    }
    Ok(())
}

/// Counts a field. `is_first` is false for a further item of a list, and a further entry of a map.
fn count_field(
    field: &Field,
    wire: WireValue<'_>,
    is_first: bool,
    values: &mut Values,
) -> Result<(), String> {
    match (field.cardinality, field.form) {
        (Cardinality::Inline, Form::Message(index)) => {
            count_fields(TABLE.message(index), wire.bytes()?, values)
        }
        // Go writes such zeros, and the decoder leaves them out.
        (Cardinality::One, _) if wire.is_zero() => Ok(()),
        (Cardinality::List, form) => {
            if is_first {
                values.add_field();
                values.add_list();
            }
            values.add_item();
            count_value(form, wire, values)
        }
        (Cardinality::Map, form) => {
            if is_first {
                values.add_field();
                values.add_map();
            }
            values.add_field();
            count_entry(form, wire, values)
        }
        (_, form) => {
            values.add_field();
            count_value(form, wire, values)
        }
    }
}

/// Counts the values inside of the value of a field, of an item or of an entry.
fn count_value(form: Form, wire: WireValue<'_>, values: &mut Values) -> Result<(), String> {
    match form {
        Form::Scalar(scalar) => scalar.count_inner(wire, values),
        Form::Message(index) => {
            let bytes = wire.bytes()?;
            if !bytes.is_empty() {
                values.add_map();
            }
            count_fields(TABLE.message(index), bytes, values)
        }
    }
}

/// Counts the values inside of an entry of a map.
fn count_entry(form: Form, wire: WireValue<'_>, values: &mut Values) -> Result<(), String> {
    let mut reader = Reader::new(wire.bytes()?);
    while let Some((number, wire)) = reader.next()? {
        if number == 2 {
            count_value(form, wire, values)?;
        }
    }
    Ok(())
}
