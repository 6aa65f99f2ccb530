//! A further controller: every toy in a namespace gets the color of that namespace as a label, until it fades.

use std::sync::Arc;

use dialect_contract::{Follower, Sight, Step, Verb, Write};
use meta::{Change, GroupResource, Key, Object, Timestamp};
use serde_json::Value;

use crate::names::{COLORS, PAINTER, TOYS};

/// The controller.
pub(crate) struct Painter {
    /// What stands before the color; by the configuration.
    pub(crate) prefix: String,
}

impl Painter {
    /// The color of a namespace, and when it fades.
    fn color(&self, namespace: &str, sight: &Sight<'_>) -> Option<(String, Option<Timestamp>)> {
        let object = sight.objects.get(&Key::new(COLORS, "", namespace))?;
        let spec = &object.value()["spec"];
        let fades = spec["fadesAt"]
            .as_i64()
            .and_then(|second| Timestamp::from_second(second).ok());
        let name = match fades {
            Some(at) if at <= sight.now => "faded",
            _ => spec["color"].as_str()?,
        };
        Some((
            format!("{}{name}", self.prefix),
            fades.filter(|&at| at > sight.now),
        ))
    }

    fn painted(&self, toy: &Object, sight: &Sight<'_>) -> Option<Value> {
        let (color, _) = self.color(&toy.meta().namespace, sight)?;
        let mut value = toy.parse();
        value["metadata"]["labels"]["color"] = color.as_str().into();
        (toy.meta().labels.get("color") != Some(&color)).then_some(value)
    }

    fn unpainted(&self, toys: &mut dyn Iterator<Item = &Arc<Object>>, sight: &Sight<'_>) -> Vec<Key> {
        toys.filter(|toy| self.painted(toy, sight).is_some())
            .map(|toy| Key::new(TOYS, &toy.meta().namespace, &toy.meta().name))
            .collect()
    }
}

impl Follower for Painter {
    fn name(&self) -> &'static str {
        "toy-painter"
    }

    fn actor(&self) -> &'static str {
        PAINTER
    }

    fn watches(&self) -> Vec<GroupResource> {
        vec![TOYS, COLORS]
    }

    fn writes(&self) -> Vec<GroupResource> {
        vec![TOYS]
    }

    fn due(&self, change: &Change, sight: &Sight<'_>) -> Vec<Key> {
        if change.key.resource == COLORS {
            return self.unpainted(&mut sight.objects.list(TOYS, Some(&change.key.name)), sight);
        }
        self.unpainted(&mut sight.objects.get(&change.key).into_iter(), sight)
    }

    fn all(&self, sight: &Sight<'_>) -> Vec<Key> {
        self.unpainted(&mut sight.objects.list(TOYS, None), sight)
    }

    fn step(&self, key: &Key, sight: &Sight<'_>) -> Step {
        let Some(toy) = sight.objects.get(key) else {
            return Step::default();
        };
        let write = self.painted(toy, sight).map(|object| Write {
            verb: Verb::Update,
            key: key.clone(),
            subresource: "",
            object,
            base: Some(toy.revision()),
        });
        Step {
            writes: write.into_iter().collect(),
            due_at: self.color(&key.namespace, sight).and_then(|(_, fades)| fades),
        }
    }
}
