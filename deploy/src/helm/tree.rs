//! One object for all choices: where renderings differ, what of them is there when.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value};

use super::choices::{Chosen, Condition, Point, When};

/// A value that depends on choices.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// What it is when.
    Scalar(Vec<(When, Value)>),
    /// An object.
    Map(Vec<(String, When, Node)>),
    /// A list.
    List(Vec<(When, Node)>),
}

/// One rendering: at a point, or without one only for the order of what is in lists.
pub(super) type Rendering<'a> = (Option<Point>, &'a Value);

impl Node {
    /// What `renderings` come to.
    ///
    /// # Errors
    /// When they are of different kinds, or a list has the same thing twice.
    pub(super) fn merge(renderings: &[Rendering<'_>]) -> Result<Self> {
        let mut values = renderings.iter().map(|(_, value)| value);
        if values.all(|value| value.is_object()) {
            return Self::map(renderings);
        }
        let mut values = renderings.iter().map(|(_, value)| value);
        if values.all(|value| value.is_array()) {
            return Self::list(renderings);
        }
        let mut alternatives: Vec<(When, Value)> = Vec::new();
        for (point, value) in renderings {
            ensure!(
                !value.is_object() && !value.is_array(),
                "{value} is a scalar elsewhere"
            );
            let Some(point) = point else { continue };
            match alternatives.iter_mut().find(|(_, known)| known == *value) {
                Some((when, _)) => drop(when.insert(*point)),
                None => alternatives.push((When::from([*point]), (*value).clone())),
            }
        }
        Ok(Self::Scalar(alternatives))
    }

    fn map(renderings: &[Rendering<'_>]) -> Result<Self> {
        let mut by_key: BTreeMap<&str, Vec<Rendering<'_>>> = BTreeMap::new();
        for (point, value) in renderings {
            for (key, value) in value.as_object().into_iter().flatten() {
                by_key.entry(key).or_default().push((*point, value));
            }
        }
        let mut entries = Vec::new();
        for (key, renderings) in by_key {
            let node = Self::merge(&renderings).with_context(|| key.to_owned())?;
            entries.push((key.to_owned(), when(&renderings), node));
        }
        Ok(Self::Map(entries))
    }

    fn list(renderings: &[Rendering<'_>]) -> Result<Self> {
        let mut items: Vec<(String, Vec<Rendering<'_>>)> = Vec::new();
        for (point, value) in renderings {
            let identities: Vec<String> = value.as_array().into_iter().flatten().map(identity).collect();
            // New things stand behind what they stand behind here; the first before what is known, or last.
            let first = items.iter().position(|(known, _)| identities.contains(known));
            let mut place = first.unwrap_or(items.len());
            let mut seen = Vec::new();
            for (identity, item) in identities.iter().zip(value.as_array().into_iter().flatten()) {
                ensure!(!seen.contains(&identity), "{identity} is there twice");
                let known = items.iter().position(|(known, _)| known == identity);
                let at = known.unwrap_or_else(|| {
                    items.insert(place, (identity.clone(), Vec::new()));
                    place
                });
                items[at].1.push((*point, item));
                place = at + 1;
                seen.push(identity);
            }
        }
        let merged = items.iter().map(|(identity, renderings)| {
            let node = Self::merge(renderings).with_context(|| identity.clone())?;
            Ok((when(renderings), node))
        });
        Ok(Self::List(merged.collect::<Result<_>>()?))
    }

    /// The value for what was chosen. It is part of something that is there at `whole`.
    ///
    /// # Errors
    /// When no alternative is for that.
    pub(super) fn at(&self, chosen: &Chosen, whole: &When) -> Result<Value> {
        let holds = |part: &When| -> Result<bool> { Ok(Condition::between(whole, part)?.holds(chosen)) };
        match self {
            Self::Scalar(alternatives) => {
                for (when, value) in alternatives {
                    if holds(when)? {
                        return Ok(value.clone());
                    }
                }
                bail!("none of {alternatives:?}")
            }
            Self::Map(entries) => {
                let mut map = Map::new();
                for (key, when, node) in entries {
                    if holds(when)? {
                        map.insert(key.clone(), node.at(chosen, when)?);
                    }
                }
                Ok(Value::Object(map))
            }
            Self::List(items) => {
                let mut list = Vec::new();
                for (when, node) in items {
                    if holds(when)? {
                        list.push(node.at(chosen, when)?);
                    }
                }
                Ok(Value::Array(list))
            }
        }
    }
}

fn when(renderings: &[Rendering<'_>]) -> When {
    renderings.iter().filter_map(|(point, _)| *point).collect()
}

/// By what an item of a list is the same item in another rendering.
fn identity(item: &Value) -> String {
    match item {
        Value::String(text) if text.starts_with("--") => {
            let flag = text.rsplit_once('=').map(|(flag, _)| flag);
            flag.unwrap_or(text).to_owned()
        }
        Value::Object(_) if item["kind"].is_string() => {
            let metadata = &item["metadata"];
            format!(
                "{} {}/{}{}",
                item["kind"], metadata["namespace"], metadata["name"], item["name"]
            )
        }
        Value::Object(_) if item["name"].is_string() => item["name"].to_string(),
        // A rule about named objects has other names, and is the same rule.
        Value::Object(fields) => {
            let mut fields = fields.clone();
            fields.remove("resourceNames");
            Value::Object(fields).to_string()
        }
        other => other.to_string(),
    }
}
