//! Sentences and remedies for taints that keep a request from a target, for every system with taints.

use std::fmt;

use berth_apimachinery::{Key, Object};
use serde_json::{Value, json};

use crate::edit::Edit;
use crate::remedy::{ChangeOwner, Remedy};
use crate::view::Taint;

/// Highest number of taints that a sentence names.
const MAX_NAMED: usize = 10;

impl fmt::Display for Taint {
    /// Writes `key=value:effect` as `kubectl taint` does, without empty parts.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.key)?;
        if !self.value.is_empty() {
            write!(formatter, "={}", self.value)?;
        }
        if !self.effect.is_empty() {
            write!(formatter, ":{}", self.effect)?;
        }
        Ok(())
    }
}

/// The sentence that `taints` are not tolerated. It names the first ten taints; without `taints`, it only
/// states that a taint is not tolerated.
#[must_use]
pub fn untolerated(taints: impl IntoIterator<Item = Taint>) -> String {
    let named: Vec<String> = taints
        .into_iter()
        .take(MAX_NAMED)
        .map(|taint| taint.to_string())
        .collect();
    match named.as_slice() {
        [] => "a taint is not tolerated".to_owned(),
        [one] => format!("the taint {one} is not tolerated"),
        many => format!("the taints {} are not tolerated", many.join(", ")),
    }
}

/// The text of the remedy that tolerates `taint`.
#[must_use]
pub fn tolerate(taint: &Taint) -> String {
    format!("tolerate the taint {taint}")
}

/// Returns a toleration of `taint`, for systems whose tolerations have operators and effects.
#[must_use]
pub fn toleration(taint: &Taint) -> Value {
    let mut toleration = json!({"key": taint.key, "operator": "Exists", "effect": taint.effect});
    if !taint.value.is_empty() {
        toleration["operator"] = "Equal".into();
        toleration["value"] = taint.value.as_str().into();
    }
    toleration
}

/// Returns the remedy that removes `taint` from the target `object`, which is at `key` and of `kind`. `index`
/// is the index of the taint among the entries of `spec.taints` for which `is_counted` is true.
#[must_use]
pub fn removal(
    taint: &Taint,
    (kind, key, object): (&str, Key, &Object),
    index: usize,
    is_counted: impl Fn(&Value) -> bool,
) -> Remedy {
    let text = format!("take the taint {taint} off {kind} {}", key.name);
    let edit = Edit::of(key, object, |target| {
        let Some(taints) = target["spec"]["taints"].as_array_mut() else {
            return;
        };
        let place = (0..taints.len()).filter(|&at| is_counted(&taints[at])).nth(index);
        if let Some(at) = place {
            taints.remove(at);
        }
    });
    Remedy::new(ChangeOwner::Target, text, edit)
}

/// Returns the edit that adds the raw `taint` to `spec.taints` of the target `object`, which is at `key`. A
/// target that has a taint with this key and effect stays as it is, since no taint may be there twice.
#[must_use]
pub fn addition(key: Key, object: &Object, taint: Value) -> Edit {
    let known = object.value().pointer("/spec/taints").and_then(Value::as_array);
    let mut taints = known.cloned().unwrap_or_default();
    let is_equal = |known: &Value| ["key", "effect"].iter().all(|part| known[part] == taint[part]);
    if !taints.iter().any(is_equal) {
        taints.push(taint);
    }
    let patch = json!({"spec": {"taints": taints}});
    Edit::Merge { key, patch }
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::{GroupResource, Revision};

    use super::*;

    fn taint(key: &str, value: &str, effect: &str) -> Taint {
        Taint {
            key: key.to_owned(),
            value: value.to_owned(),
            effect: effect.to_owned(),
        }
    }

    #[test]
    fn taints_are_written_as_kubectl_writes_them() {
        for (taint, expected) in [
            (taint("gpu", "", ""), "gpu"),
            (taint("gpu", "yes", ""), "gpu=yes"),
            (taint("gpu", "", "NoSchedule"), "gpu:NoSchedule"),
            (taint("gpu", "yes", "NoSelect"), "gpu=yes:NoSelect"),
        ] {
            assert_eq!(taint.to_string(), expected);
        }
    }

    #[test]
    fn a_sentence_names_no_more_than_ten_taints() {
        let many = |count: usize| (0..count).map(|number| taint(&format!("t{number}"), "", ""));
        assert_eq!(untolerated(many(0)), "a taint is not tolerated");
        assert_eq!(untolerated(many(1)), "the taint t0 is not tolerated");
        assert_eq!(untolerated(many(2)), "the taints t0, t1 are not tolerated");
        assert!(untolerated(many(99)).ends_with("t8, t9 are not tolerated"));
    }

    #[test]
    fn a_toleration_has_the_value_of_the_taint() {
        let of_value = json!({"key": "gpu", "operator": "Equal", "value": "yes", "effect": "NoSelect"});
        assert_eq!(toleration(&taint("gpu", "yes", "NoSelect")), of_value);
        let of_key = json!({"key": "gpu", "operator": "Exists", "effect": "NoSelect"});
        assert_eq!(toleration(&taint("gpu", "", "NoSelect")), of_key);
    }

    #[test]
    fn a_taint_is_added_once() {
        let taint = |time: &str| json!({"key": "drain", "effect": "NoSchedule", "timeAdded": time});
        let other = json!({"key": "drain", "effect": "NoExecute"});
        for (before, after) in [
            (json!({}), json!([taint("now")])),
            (json!("not an object"), json!([taint("now")])),
            (json!({"taints": [other]}), json!([other, taint("now")])),
            (json!({"taints": [taint("before")]}), json!([taint("before")])),
        ] {
            let target = json!({
                "apiVersion": "x.example/v1", "kind": "Cluster", "metadata": {"name": "a"}, "spec": before,
            });
            let object = Object::new(&target, Revision(1)).unwrap();
            let key = Key::new(GroupResource::new("x.example", "clusters"), "", "a");
            let edit = addition(key.clone(), &object, taint("now"));
            let patch = json!({"spec": {"taints": after}});
            assert_eq!(edit, Edit::Merge { key, patch }, "{before}");
        }
    }

    #[test]
    fn the_removed_taint_is_found_among_the_counted_taints() {
        let target = json!({
            "apiVersion": "x.example/v1", "kind": "Cluster", "metadata": {"name": "a"},
            "spec": {"taints": [{"key": "special"}, {"key": "gpu"}, {"key": "other"}]},
        });
        let object = Object::new(&target, Revision(1)).unwrap();
        let key = Key::new(GroupResource::new("x.example", "clusters"), "", "a");
        let counts = |taint: &Value| taint["key"] != "special";
        let remedy = removal(
            &taint("other", "", ""),
            ("Cluster", key.clone(), &object),
            1,
            counts,
        );
        assert_eq!(remedy.text, "take the taint other off Cluster a");
        let patch = json!({"spec": {"taints": [{"key": "special"}, {"key": "gpu"}]}});
        assert_eq!(remedy.edits, [Edit::Merge { key, patch }]);
    }
}
