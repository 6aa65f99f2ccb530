//! Objects whose place is a field of their own, written through a `binding` subresource of their system's
//! own, as data.

use berth_apimachinery::GroupResource;
use serde_json::Value;

/// Field with the place of such an object, and the right for writing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnPlace {
    /// The resource.
    pub resource: GroupResource,
    /// The field, below its parent.
    pub place: [&'static str; 2],
    /// The verb on `binding` that every binding of it takes, whichever way.
    pub verb: &'static str,
}

impl OwnPlace {
    /// The field as people write it.
    #[must_use]
    pub fn field(&self) -> String {
        self.place.join(".")
    }

    /// Returns where `object` is; `None` when it is nowhere.
    #[must_use]
    pub fn read<'a>(&self, object: &'a Value) -> Option<&'a str> {
        let [parent, field] = self.place;
        object[parent][field].as_str().filter(|name| !name.is_empty())
    }

    /// Returns the object without its place.
    #[must_use]
    pub fn without(&self, object: &Value) -> Value {
        let [parent, field] = self.place;
        let mut object = object.clone();
        if let Some(parent) = object.get_mut(parent).and_then(Value::as_object_mut) {
            parent.remove(field);
        }
        object
    }
}
