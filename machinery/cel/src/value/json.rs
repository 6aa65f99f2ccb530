//! Conversion of values to JSON, for results of expressions.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map as Fields, Number, Value as Json};

use super::{Key, Map, Message, Value};
use crate::error::Error;

impl Value<'_> {
    /// Converts the value to JSON. Bytes become base64 text; durations and timestamps become text that
    /// `duration` and `timestamp` can parse.
    ///
    /// # Errors
    /// When the value, or a part of it, has no JSON form.
    pub fn to_json(&self) -> Result<Json, Error> {
        Ok(match self {
            Self::Null => Json::Null,
            Self::Bool(flag) => Json::Bool(*flag),
            Self::Int(number) => Json::from(*number),
            Self::Uint(number) => Json::from(*number),
            Self::Double(number) => match Number::from_f64(*number) {
                Some(number) => Json::Number(number),
                None => return Err(Error::failed(format!("{number} cannot be written as JSON"))),
            },
            Self::String(text) => Json::String(text.to_string()),
            Self::Bytes(bytes) => Json::String(STANDARD.encode(bytes)),
            Self::Duration(nanoseconds) => Json::String(super::format_duration(*nanoseconds)),
            Self::Timestamp(moment) => Json::String(moment.to_string()),
            Self::List(list) => Json::Array(list.iter().map(|one| one.to_json()).collect::<Result<_, _>>()?),
            Self::Map(Map::Json(fields)) => Json::Object((*fields).clone()),
            Self::Map(Map::Values(entries)) => {
                let entries = entries.iter().map(|(key, value)| match key {
                    Key::String(name) => Ok((name.to_string(), value.to_json()?)),
                    other => Err(Error::failed(format!("map key {other:?} is not a string"))),
                });
                Json::Object(entries.collect::<Result<_, Error>>()?)
            }
            Self::Message(message) => message.to_json()?,
            Self::Optional(Some(value)) => value.to_json()?,
            Self::Quantity(_)
            | Self::Optional(None)
            | Self::Type(_)
            | Self::Ip(_)
            | Self::Cidr(..)
            | Self::Url(_)
            | Self::Semver(_)
            | Self::Format(_)
            | Self::Access(_)
            | Self::Unavailable(_) => {
                return Err(Error::failed(format!(
                    "a value of type {} cannot be written as JSON",
                    self.type_name()
                )));
            }
        })
    }

    /// Returns a message about the first nested object with a wrong type name, if there is one. The name must
    /// be the path of fields to the object: `Object.spec` for the field `spec` of an `Object`. Lists and maps
    /// on the path add no name.
    #[must_use]
    pub fn type_name_problem(&self) -> Option<String> {
        self.type_name_problem_under(None)
    }

    /// Checks the objects in a value at `path`, which is their required type name. `None` accepts any name.
    fn type_name_problem_under(&self, path: Option<&str>) -> Option<String> {
        match self {
            Self::Message(message) => message.type_name_problem(path),
            Self::List(super::List::Values(list)) => {
                list.iter().find_map(|one| one.type_name_problem_under(path))
            }
            Self::Map(Map::Values(entries)) => {
                entries.values().find_map(|one| one.type_name_problem_under(path))
            }
            _ => None,
        }
    }
}

impl Message<'_> {
    fn to_json(&self) -> Result<Json, Error> {
        let fields = self.fields.iter();
        let fields = fields.map(|(name, value)| Ok((name.clone(), value.to_json()?)));
        Ok(Json::Object(fields.collect::<Result<Fields<_, _>, Error>>()?))
    }

    fn type_name_problem(&self, path: Option<&str>) -> Option<String> {
        let path = path.unwrap_or(&self.name);
        if *self.name != *path {
            return Some(format!(
                "unexpected type name {:?}, expected {path:?}, which matches field name path from root Object type",
                self.name
            ));
        }
        // The value of a JSON patch is an object whose name does not depend on the path.
        let within = |name: &str| (path != "JSONPatch").then(|| format!("{path}.{name}"));
        self.fields
            .iter()
            .find_map(|(name, value)| value.type_name_problem_under(within(name).as_deref()))
    }
}
