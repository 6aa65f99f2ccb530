//! The objects of a test at one instant, as plain JSON.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::{Key, Object, Revision, Timestamp, field};
use berth_dialect_contract::Dialect;
use berth_engine::Catalog;
use berth_tests::differential::{members, without};
use serde_json::{Value, json};

/// The instant of all decisions.
pub(crate) const NOW: &str = "2021-10-28T09:00:00Z";

/// The objects of a test, and a configuration.
#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    pub(crate) objects: Vec<Value>,
    /// The dialect's part of a SchedulerConfiguration; null where there is none.
    pub(crate) configuration: Value,
}

/// A world as an API server stores it: with the kinds' defaults, in the order of keys.
pub(crate) struct Stored {
    pub(crate) objects: BTreeMap<Key, Arc<Object>>,
    pub(crate) configuration: Value,
}

/// The instant of all decisions.
pub(crate) fn now() -> Timestamp {
    NOW.parse().expect("it is a time")
}

impl World {
    /// Reads every object as an API server stores it.
    pub(crate) fn stored(&self, dialect: &dyn Dialect) -> Result<Stored, String> {
        let catalog = Catalog::new(dialect.kinds());
        let mut objects = BTreeMap::new();
        for value in &self.objects {
            let (key, object) = read(dialect, &catalog, value)?;
            if objects.insert(key.clone(), object).is_some() {
                return Err(format!("{key} is there twice"));
            }
        }
        Ok(Stored {
            objects,
            configuration: self.configuration.clone(),
        })
    }

    /// The reduction with this number: first without one of the objects, then without one of the items of a
    /// list, then without one of the members of an object.
    pub(crate) fn smaller(&self, place: usize) -> Option<Self> {
        let mut fewer = self.clone();
        if place < self.objects.len() {
            fewer.objects.remove(place);
            return Some(fewer);
        }
        let mut left = place - self.objects.len();
        let configuration = std::iter::once(&mut fewer.configuration);
        for value in fewer.objects.iter_mut().chain(configuration) {
            let items = items(value);
            if let Some((list, index)) = items.get(left) {
                if let Some(Value::Array(list)) = value.pointer_mut(list) {
                    list.remove(*index);
                }
                return Some(fewer);
            }
            left -= items.len();
            let members = members(value);
            if let Some(member) = members.get(left) {
                *value = without(value.take(), member);
                return Some(fewer);
            }
            left -= members.len();
        }
        None
    }

    /// The world as YAML, for `berth simulate` and for reports.
    pub(crate) fn shown(&self) -> String {
        let configuration =
            (!self.configuration.is_null()).then(|| json!({"configuration": self.configuration}));
        let documents = self.objects.iter().cloned().chain(configuration);
        documents
            .map(|value| format!("---\n{}", serde_saphyr::to_string(&value).expect("JSON is YAML")))
            .collect()
    }
}

impl Stored {
    /// The input line of the originals.
    pub(crate) fn line(&self) -> String {
        let objects: Vec<Value> = self.objects.values().map(|object| object.parse()).collect();
        let mut world = json!({"now": NOW, "objects": objects});
        if !self.configuration.is_null() {
            world["configuration"] = self.configuration.clone();
        }
        world.to_string()
    }
}

/// An object as it is stored; one of a kind that the dialect reads but does not serve is not changed.
fn read(dialect: &dyn Dialect, catalog: &Catalog, value: &Value) -> Result<(Key, Arc<Object>), String> {
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("/apiVersion"), text("/kind"));
    if catalog.find(api_version, kind).is_some() {
        return catalog.read(value.clone(), "", now()).map_err(|errors| {
            let name = text("/metadata/name");
            format!("{kind} {name:?}: {}", field::aggregate(&errors))
        });
    }
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    let plural = format!("{}s", kind.to_lowercase());
    let mut reads = dialect.reads().into_iter();
    let resource = reads
        .find(|resource| resource.group == group && resource.resource == plural)
        .ok_or_else(|| format!("nobody reads {api_version} {kind}"))?;
    let key = Key::new(resource, text("/metadata/namespace"), text("/metadata/name"));
    let object = Object::new(value, Revision::default()).map_err(|problem| problem.to_string())?;
    Ok((key, Arc::new(object)))
}

/// Every item of every list, as the JSON pointer of the list and the item's index.
fn items(value: &Value) -> Vec<(String, usize)> {
    let mut into = Vec::new();
    collect(value, "", &mut into);
    into
}

fn collect(value: &Value, path: &str, into: &mut Vec<(String, usize)>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let escaped = key.replace('~', "~0").replace('/', "~1");
                collect(value, &format!("{path}/{escaped}"), into);
            }
        }
        Value::Array(list) => {
            into.extend((0..list.len()).map(|index| (path.to_owned(), index)));
            for (index, value) in list.iter().enumerate() {
                collect(value, &format!("{path}/{index}"), into);
            }
        }
        _ => {}
    }
}
