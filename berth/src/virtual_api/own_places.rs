//! Objects whose place is a field of their own, written through a `binding` subresource of their system's own: the one
//! table that says which, and the right it takes.

use std::sync::Arc;

use admission::Right;
use apiserver::Attributes;
use dialect_contract::Dialect;
use engine::Engine;
use meta::GroupResource;
use serde_json::Value;

/// One such resource.
#[derive(Debug)]
pub(crate) struct OwnPlace {
    /// The resource.
    pub(crate) resource: GroupResource,
    /// The field, below its parent.
    pub(crate) place: [&'static str; 2],
    /// The verb on `binding` that every binding of it takes, whichever way.
    verb: &'static str,
}

/// All of them: Gardener's Shoots (docs/systems/gardener.md, "Binding").
const ALL: &[OwnPlace] = &[OwnPlace {
    resource: GroupResource::new("core.gardener.cloud", "shoots"),
    place: ["spec", "seedName"],
    verb: "update",
}];

/// The entry of `resource`.
pub(crate) fn of(resource: GroupResource) -> Option<&'static OwnPlace> {
    ALL.iter().find(|own| own.resource == resource)
}

/// The entry of `resource`, and the dialect that places it.
pub(crate) fn find(
    engine: &Engine,
    resource: GroupResource,
) -> Option<(&'static OwnPlace, &Arc<dyn Dialect>)> {
    let own = of(resource)?;
    let places = |dialect: &&Arc<dyn Dialect>| {
        let mut demands = dialect.demands().iter();
        demands.any(|demand| demand.resource == resource)
    };
    Some((own, engine.dialects().find(places)?))
}

impl OwnPlace {
    /// The field as people write it.
    pub(crate) fn field(&self) -> String {
        self.place.join(".")
    }

    /// Where `object` is; `None` when it is nowhere.
    pub(crate) fn read<'a>(&self, object: &'a Value) -> Option<&'a str> {
        let [parent, field] = self.place;
        object[parent][field].as_str().filter(|name| !name.is_empty())
    }

    /// The same object, nowhere.
    pub(crate) fn without(&self, object: &Value) -> Value {
        let [parent, field] = self.place;
        let mut object = object.clone();
        if let Some(parent) = object.get_mut(parent).and_then(Value::as_object_mut) {
            parent.remove(field);
        }
        object
    }

    /// The same right, as admission asks for it.
    pub(crate) fn needed(&self) -> Right {
        let Attributes {
            verb,
            group,
            resource,
            subresource,
            ..
        } = self.right();
        Right {
            verb,
            group,
            resource,
            subresource,
            ..Right::default()
        }
    }

    /// The right to write it; user, namespace and name are the caller's to fill in.
    pub(crate) fn right(&self) -> Attributes {
        Attributes {
            verb: self.verb.to_owned(),
            is_resource: true,
            group: self.resource.group.to_owned(),
            resource: self.resource.resource.to_owned(),
            subresource: "binding".to_owned(),
            ..Attributes::default()
        }
    }
}
