//! Remedies for refusals, as data: a dialect proposes remedies ([`crate::Advisor::remedies`]), and the
//! engine's advice tries them (docs/adding-a-system.md, "Advice").

pub mod labels;
#[cfg(test)]
mod tests;

use berth_apimachinery::{Key, Object};
use serde_json::{Map, Value};

use crate::edit::Edit;

/// The person who can make a change. Advice is sorted in the order of the variants: changes that the user can
/// make alone come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeOwner {
    /// The user, who can change the request and other objects in the namespace of the request.
    Request,
    /// The owner of the target, who can change the target.
    Target,
    /// The administrator, who can change the settings of all requests and targets.
    Fleet,
}

impl ChangeOwner {
    /// The owner as a token.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Request => "Request",
            Self::Target => "Target",
            Self::Fleet => "Fleet",
        }
    }
}

/// A proposal of changes that may lift one refusal. The caller tries the changes with another decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Remedy {
    /// The proposal, as a sentence in the imperative: `tolerate the taint gpu:NoSelect`. Without edits, the
    /// reason why no change helps: `the cluster's own agent reports condition Ready`.
    pub text: String,
    /// The person who can make the changes.
    pub owner: ChangeOwner,
    /// The changes. Empty where no change of an object helps.
    pub edits: Vec<Edit>,
}

impl Remedy {
    /// Returns a remedy of one `edit`, which `owner` can make.
    #[must_use]
    pub fn new(owner: ChangeOwner, text: impl Into<String>, edit: Edit) -> Self {
        Self {
            text: text.into(),
            owner,
            edits: vec![edit],
        }
    }

    /// Returns a remedy without an edit; `text` is the reason why no change helps.
    #[must_use]
    pub fn none(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            owner: ChangeOwner::Target,
            edits: Vec::new(),
        }
    }
}

impl Edit {
    /// Returns the edit that applies `change` to `object`, which is at `key`.
    #[must_use]
    pub fn of(key: Key, object: &Object, change: impl FnOnce(&mut Value)) -> Self {
        let old = object.parse();
        let mut new = old.clone();
        change(&mut new);
        Self::Merge {
            key,
            patch: merge_patch(&old, &new),
        }
    }
}

/// Adds `item` to `list`. A `list` that is not an array becomes an array with only `item`.
pub fn push(list: &mut Value, item: Value) {
    match list {
        Value::Array(items) => items.push(item),
        _ => *list = Value::Array(vec![item]),
    }
}

/// The JSON merge patch (RFC 7386) that turns `old` into `new`.
fn merge_patch(old: &Value, new: &Value) -> Value {
    let (Some(before), Some(after)) = (old.as_object(), new.as_object()) else {
        return new.clone();
    };
    let mut patch = Map::new();
    for (key, value) in after {
        match before.get(key) {
            Some(known) if known == value => {}
            Some(known) => {
                patch.insert(key.clone(), merge_patch(known, value));
            }
            None => {
                patch.insert(key.clone(), value.clone());
            }
        }
    }
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    Value::Object(patch)
}
