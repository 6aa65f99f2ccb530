//! Description of the field with an object's place, for systems that write this field through a `binding`
//! subresource, such as `shoots/binding`.

use berth_apimachinery::GroupResource;
use serde_json::Value;

/// The field with the place of an object, and the verb that a write of this field requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnPlace {
    /// The resource of the objects.
    pub resource: GroupResource,
    /// The name of the parent field, and the name of the field in it.
    pub place: [&'static str; 2],
    /// The verb on `binding` that every binding requires, whichever request writes it.
    pub verb: &'static str,
}

impl OwnPlace {
    /// The path of the field, such as `spec.seedName`.
    #[must_use]
    pub fn field(&self) -> String {
        self.place.join(".")
    }

    /// Returns the place of `object`; `None` when it has none.
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
