//! Decoding of `metadata.managedFields`.

use berth_apimachinery::Timestamp;
use berth_apimachinery::time;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{Entry, Identity, Managers, Operation};
use crate::fields::{InvalidFields, Set};

/// Highest number of bytes of `metadata.managedFields`: as many as a whole stored object has at most.
pub const MAX_BYTES: usize = 4 << 20;

/// An entry of `metadata.managedFields` as it is serialized.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SerializedEntry {
    #[serde(default, deserialize_with = "nullable")]
    manager: String,
    #[serde(default, deserialize_with = "nullable")]
    operation: String,
    #[serde(default, deserialize_with = "nullable")]
    api_version: String,
    #[serde(default)]
    time: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    fields_type: String,
    #[serde(default)]
    fields_v1: Set,
    #[serde(default, deserialize_with = "nullable")]
    subresource: String,
}

/// Deserializes a text; `null` is the empty text.
fn nullable<'de, D: Deserializer<'de>>(text: D) -> Result<String, D::Error> {
    Option::<String>::deserialize(text).map(Option::unwrap_or_default)
}

impl Managers {
    /// Decodes the JSON of `metadata.managedFields`. Empty bytes mean no managers.
    ///
    /// # Errors
    /// When any entry is invalid: a list is decoded completely or not at all. Lists of more than
    /// [`MAX_BYTES`] are refused without decoding.
    pub fn decode(list: &[u8]) -> Result<Self, InvalidFields> {
        if list.is_empty() {
            return Ok(Self::default());
        }
        if list.len() > MAX_BYTES {
            return Err(InvalidFields::new(format!(
                "invalid managedFields: more than {MAX_BYTES} bytes"
            )));
        }
        let list = serde_json::from_slice(list).map_err(|error| InvalidFields::new(error.to_string()))?;
        Self::from_entries(list)
    }

    /// Decodes the value of `metadata.managedFields`. `null` means no managers.
    ///
    /// # Errors
    /// When any entry is invalid.
    pub fn decode_value(list: &Value) -> Result<Self, InvalidFields> {
        let list = Option::<Vec<SerializedEntry>>::deserialize(list)
            .map_err(|error| InvalidFields::new(error.to_string()))?;
        Self::from_entries(list)
    }

    fn from_entries(list: Option<Vec<SerializedEntry>>) -> Result<Self, InvalidFields> {
        let mut managers = Self::default();
        for (index, entry) in list.into_iter().flatten().enumerate() {
            let (identity, entry) = entry.decode().map_err(|problem| {
                InvalidFields::new(format!("invalid managedFields: entry {index}: {problem}"))
            })?;
            managers.entries.insert(identity, entry);
        }
        Ok(managers)
    }
}

impl SerializedEntry {
    fn decode(self) -> Result<(Identity, Entry), String> {
        let operation = match self.operation.as_str() {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return Err("operation must be `Apply` or `Update`".to_owned()),
        };
        if self.api_version.is_empty() {
            return Err("apiVersion must not be empty".to_owned());
        }
        match self.fields_type.as_str() {
            "FieldsV1" => {}
            "" => return Err("missing fieldsType".to_owned()),
            other => return Err(format!("invalid fieldsType {other:?}")),
        }
        let identity = Identity {
            manager: self.manager,
            operation,
            api_version: match operation {
                Operation::Apply => String::new(),
                Operation::Update => self.api_version.clone(),
            },
            subresource: self.subresource,
        };
        let entry = Entry {
            api_version: self.api_version,
            time: self.time.as_deref().map(instant).transpose()?,
            set: self.fields_v1,
        };
        Ok((identity, entry))
    }
}

fn instant(text: &str) -> Result<Timestamp, String> {
    time::parse(text)
        .and_then(whole_seconds)
        .ok_or_else(|| format!("{text:?} is not a time"))
}

/// Returns the instant without the fraction of the second, which is not stored.
pub(crate) fn whole_seconds(timestamp: Timestamp) -> Option<Timestamp> {
    Timestamp::from_second(timestamp.as_second()).ok()
}
