//! The differences that are meant: each says why, and stands on the system's page in `docs/systems`. What it
//! takes away from a comparison is as little as can be.

use serde_json::Value;

use crate::world::World;

/// A difference that is meant.
pub(crate) struct Meant {
    pub(crate) why: &'static str,
    /// Takes it away from what the original and we say about one demand, where it is there; what differs
    /// after that is not meant.
    pub(crate) settle: fn(&Case<'_>, &mut Value, &mut Value),
}

/// The demand that is looked at.
pub(crate) struct Case<'a> {
    pub(crate) world: &'a World,
    /// `<namespace>/<name>`, or the name.
    pub(crate) demand: &'a str,
}

impl Case<'_> {
    /// The objects of that kind.
    pub(crate) fn objects<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.world
            .objects
            .iter()
            .filter(move |object| object["kind"] == kind)
    }

    /// The demand's object, which is of that kind.
    pub(crate) fn object(&self, kind: &str) -> &Value {
        let (namespace, name) = self.demand.split_once('/').unwrap_or(("", self.demand));
        let mut found = self.world.objects.iter().filter(|object| {
            let metadata = &object["metadata"];
            object["kind"] == kind
                && metadata["name"] == name
                && (namespace.is_empty() || metadata["namespace"].as_str().unwrap_or("default") == namespace)
        });
        found.next().unwrap_or(&Value::Null)
    }
}

/// Takes what is meant away from both, and says which ones were there.
pub(crate) fn settle(
    list: &'static [Meant],
    case: &Case<'_>,
    theirs: &mut Value,
    ours: &mut Value,
) -> Vec<&'static str> {
    let mut found = Vec::new();
    for meant in list {
        if theirs == ours {
            break;
        }
        let before = (theirs.clone(), ours.clone());
        (meant.settle)(case, theirs, ours);
        if before != (theirs.clone(), ours.clone()) {
            found.push(meant.why);
        }
    }
    found
}
