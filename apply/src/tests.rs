//! Two or more managers at one object, step by step, as kube-apiserver does it; and what holds for any of them.

mod encoding;
mod lists;
mod properties;
mod rows;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{Set, Types};

/// The schema of the kind that the tests apply.
fn schema() -> meta::Schema {
    let text = json!({"type": "string"});
    let preserve = "x-kubernetes-preserve-unknown-fields";
    let mut schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "replicas": {"type": "integer", "default": 1},
        "image": text,
        "note": {"type": "string", "nullable": true},
        "size": {"x-kubernetes-int-or-string": true},
        "tags": {"type": "array", "items": text, "x-kubernetes-list-type": "set"},
        "args": {"type": "array", "items": text},
        "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"],
            "items": {"type": "object", "properties": {"port": {"type": "integer"},
                "protocol": {"type": "string", "default": "TCP"}, "name": text, "weight": {"type": "integer"}}}},
        "env": {"type": "array", "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name",
            "items": {"type": "object", "properties": {"name": text, "value": text,
                "from": {"type": "object", "properties": {"key": text}}}}},
        "selector": {"type": "object", "x-kubernetes-map-type": "atomic",
            "properties": {"matchLabels": {"type": "object", "additionalProperties": text}}},
        "template": {"type": "object", "properties": {"a": text, "b": {"type": "string", "default": "bb"},
            "inner": {"type": "object", "properties": {"x": {"type": "integer"}}}}},
        "open": {"type": "object"},
        "data": {"type": "object", "additionalProperties": text},
        "pools": {"type": "object", "additionalProperties": {"type": "object",
            "properties": {"min": {"type": "integer"}, "max": {"type": "integer"}}}},
    }}}});
    schema["properties"]["spec"]["properties"]["open"][preserve] = true.into();
    schema["properties"]["spec"]["properties"]["any"] = json!({});
    schema["properties"]["spec"]["properties"]["any"][preserve] = true.into();
    schema["properties"]["spec"]["properties"]["pod"] =
        json!({"type": "object", "x-kubernetes-embedded-resource": true});
    meta::Schema::from_value(schema)
}

/// An object, and what each manager owns in it.
struct World {
    schema: meta::Schema,
    types: Types,
    live: Value,
    sets: BTreeMap<String, Set>,
}

impl World {
    fn new() -> Self {
        let schema = schema();
        Self {
            types: Types::of(&schema),
            schema,
            live: json!({}),
            sets: BTreeMap::new(),
        }
    }

    /// Applies `config`; the conflicts, each as `manager path`.
    fn apply_all(&mut self, manager: &str, config: &Value, force: bool) -> Result<(), Vec<String>> {
        let fits =
            |problems: Vec<crate::Mismatch>| problems.iter().map(ToString::to_string).collect::<Vec<_>>();
        let mine = self.types.paths(config).map_err(fits)?;
        let merged = self.types.merge(&self.live, config);
        let mut sets = self.sets.clone();
        let last = sets.insert(manager.to_owned(), mine);
        let owned = sets.values().fold(Set::default(), |all, set| all.union(set));
        let outcome = match last {
            Some(last) => self.types.prune(&merged, &last, &owned).map_err(fits)?,
            None => merged,
        };
        let comparison = self.types.compare(&self.live, &outcome);
        let changed = comparison.modified.clone().union(&comparison.added);
        let mut conflicts = Vec::new();
        for (other, set) in sets.iter_mut().filter(|(other, _)| *other != manager) {
            let lost = set.intersection(&changed).paths();
            conflicts.extend(lost.into_iter().map(|path| format!("{other} {path}")));
            *set = set.difference(&changed).difference(&comparison.removed);
        }
        if !force && !conflicts.is_empty() {
            return Err(conflicts);
        }
        sets.retain(|_, set| !set.is_empty());
        self.sets = sets;
        self.live = outcome;
        self.schema.default(&mut self.live);
        Ok(())
    }

    /// Applies `spec` without force.
    fn try_apply(&mut self, manager: &str, spec: Value) -> Result<(), Vec<String>> {
        self.apply_all(manager, &json!({"spec": spec}), false)
    }

    fn apply(&mut self, manager: &str, spec: Value) -> &mut Self {
        self.try_apply(manager, spec).expect("nobody minds");
        self
    }

    fn force(&mut self, manager: &str, spec: Value) -> &mut Self {
        self.apply_all(manager, &json!({"spec": spec}), true)
            .expect("it fits");
        self
    }

    /// Writes `spec` as an update.
    fn update(&mut self, manager: &str, spec: Value) -> &mut Self {
        let mut new = json!({"spec": spec});
        self.schema.default(&mut new);
        let found = self.types.compare(&self.live, &new);
        let changed = found.modified.union(&found.added);
        for set in self.sets.values_mut() {
            *set = set.difference(&changed).difference(&found.removed);
        }
        let mine = self.sets.remove(manager).unwrap_or_default().union(&changed);
        self.sets.insert(manager.to_owned(), mine);
        self.sets.retain(|_, set| !set.is_empty());
        self.live = new;
        self
    }

    /// The value at `pointer` in spec; null where there is none.
    fn at(&self, pointer: &str) -> Value {
        self.live["spec"].pointer(pointer).cloned().unwrap_or_default()
    }

    /// What `manager` owns of spec.
    fn owned(&self, manager: &str) -> Value {
        let text = self.sets.get(manager).map(Set::encode).unwrap_or_default();
        serde_json::from_str::<Value>(&text).map_or(Value::Null, |set| set["f:spec"].clone())
    }
}
