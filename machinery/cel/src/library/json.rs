//! The function `parseJSON` of Open Cluster Management.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use super::{Function, Outcome, function, strings};
use crate::error::Error;
use crate::meter::Meter;
use crate::value::{Key, Map, Text, Value};

pub(super) const FUNCTIONS: &[Function] = &[function("parseJSON", &["string.() dyn"], |meter, args| {
    let text = strings::text(args, 0)?;
    meter.charge_bytes(text.len())?;
    // The charge is about the highest number of values that JSON of this length can have.
    meter.charge(text.len() / 2)?;
    let json: Json = serde_json::from_str(text)
        .map_err(|error| Error::failed(format!("failed to parse json: {error}")))?;
    to_value(meter, json)
})];

/// Converts JSON. Every number becomes a double, as when Go decodes JSON without a target type.
fn to_value<'a>(meter: &mut Meter, json: Json) -> Outcome<'a> {
    meter.charge(1)?;
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(flag) => Value::Bool(flag),
        Json::Number(number) => Value::Double(number.as_f64().unwrap_or_default()),
        Json::String(text) => text.into(),
        Json::Array(list) => {
            let mut values = Vec::with_capacity(list.len());
            for element in list {
                values.push(to_value(meter, element)?);
            }
            values.into()
        }
        Json::Object(fields) => {
            let mut map = BTreeMap::new();
            for (name, field) in fields {
                map.insert(Key::String(Text::Shared(name.into())), to_value(meter, field)?);
            }
            Value::Map(Map::Values(Arc::new(map)))
        }
    })
}
