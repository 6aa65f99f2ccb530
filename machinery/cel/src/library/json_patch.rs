//! Functions for JSON Patches.

use super::{Function, function};
use crate::error::Error;
use crate::library::Outcome;
use crate::meter::Meter;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] =
    &[function("jsonpatch.escapeKey", &["(string) string"], escape_key)];

/// Escapes a key for use in a JSON Pointer.
fn escape_key<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let [Value::String(key)] = args else {
        return Err(Error::no_such_overload());
    };
    meter.charge_bytes(key.len())?;
    Ok(key.replace('~', "~0").replace('/', "~1").into())
}
