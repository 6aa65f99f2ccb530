//! The known differences: each has a reason, and is documented on the system's page in `docs/systems`. It
//! removes as little as possible from a comparison.

use serde_json::Value;

use crate::world::World;

/// A known difference.
pub(crate) struct KnownDifference {
    pub(crate) why: &'static str,
    /// Removes the difference, if it exists, from the original's and Berth's decision of one demand; the
    /// remaining differences are unknown.
    pub(crate) settle: fn(&Case<'_>, &mut Value, &mut Value),
}

/// The compared demand.
pub(crate) struct Case<'a> {
    pub(crate) world: &'a World,
    /// `<namespace>/<name>`, or the name.
    pub(crate) demand: &'a str,
}

impl Case<'_> {
    /// The objects of a kind.
    pub(crate) fn objects<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.world
            .objects
            .iter()
            .filter(move |object| object["kind"] == kind)
    }

    /// The demand's object, which has this kind.
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

/// Removes the known differences from both decisions, and returns those that existed.
pub(crate) fn settle(
    list: &'static [KnownDifference],
    case: &Case<'_>,
    theirs: &mut Value,
    ours: &mut Value,
) -> Vec<&'static str> {
    let mut found = Vec::new();
    for known in list {
        if theirs == ours {
            break;
        }
        let before = (theirs.clone(), ours.clone());
        (known.settle)(case, theirs, ours);
        if before != (theirs.clone(), ours.clone()) {
            found.push(known.why);
        }
    }
    found
}
