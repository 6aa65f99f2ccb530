//! A reconciler that labels each toy with the color of the toy's namespace, or with `faded` once that color
//! has faded.

use std::sync::Arc;

use berth_apimachinery::{Change, GroupResource, Key, Object, Timestamp};
use berth_dialect_contract::{Context, Reconciler, Step, Verb, Write};
use serde_json::Value;

use crate::names::{COLORS, PAINTER, TOYS};

/// Reconciler that keeps the label `color` of toys up to date.
pub(crate) struct Painter {
    /// Prefix of every color, from the configuration.
    pub(crate) prefix: String,
}

impl Painter {
    /// The color of a namespace with the prefix, and the time at which the color will fade; `None` for a
    /// namespace without a color.
    fn color(&self, namespace: &str, context: &Context<'_>) -> Option<(String, Option<Timestamp>)> {
        let object = context.objects.get(&Key::new(COLORS, "", namespace))?;
        let spec = &object.value()["spec"];
        let fades = spec["fadesAt"]
            .as_i64()
            .and_then(|second| Timestamp::from_second(second).ok());
        let name = match fades {
            Some(at) if at <= context.now => "faded",
            _ => spec["color"].as_str()?,
        };
        Some((
            format!("{}{name}", self.prefix),
            fades.filter(|&at| at > context.now),
        ))
    }

    /// The toy with its color as a label; `None` if it has this label already, or there is no color.
    fn paint(&self, toy: &Object, context: &Context<'_>) -> Option<Value> {
        let (color, _) = self.color(toy.meta().namespace(), context)?;
        let mut value = toy.parse();
        value["metadata"]["labels"]["color"] = color.as_str().into();
        (toy.meta().labels().get("color") != Some(&color)).then_some(value)
    }

    /// Whether the color of the namespace will fade.
    fn will_fade(&self, namespace: &str, context: &Context<'_>) -> bool {
        self.color(namespace, context)
            .is_some_and(|(_, fades)| fades.is_some())
    }

    /// The keys of the toys that need another label and, with `fading`, also of those whose color will fade:
    /// the step on such a toy says when it is due.
    fn keys_to_paint(
        &self,
        toys: &mut dyn Iterator<Item = &Arc<Object>>,
        fading: bool,
        context: &Context<'_>,
    ) -> Vec<Key> {
        toys.filter(|toy| {
            self.paint(toy, context).is_some() || fading && self.will_fade(toy.meta().namespace(), context)
        })
        .map(|toy| Key::new(TOYS, toy.meta().namespace(), toy.meta().name()))
        .collect()
    }
}

impl Reconciler for Painter {
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

    /// The keys of the toys of a changed color, or the key of a changed toy. A toy that already has its label
    /// is due too if its color has changed or the toy is new, since only a step sets the time at which the
    /// color fades. The painter itself only updates toys, so its own writes make no key due.
    fn due(&self, change: &Change, context: &Context<'_>) -> Vec<Key> {
        if change.key.resource == COLORS {
            let toys = &mut context.objects.list(TOYS, Some(&change.key.name));
            return self.keys_to_paint(toys, true, context);
        }
        let is_new = change.old.is_none();
        self.keys_to_paint(&mut context.objects.get(&change.key).into_iter(), is_new, context)
    }

    fn all(&self, context: &Context<'_>) -> Vec<Key> {
        self.keys_to_paint(&mut context.objects.list(TOYS, None), true, context)
    }

    fn step(&self, key: &Key, context: &Context<'_>) -> Step {
        let Some(toy) = context.objects.get(key) else {
            return Step::default();
        };
        let write = self.paint(toy, context).map(|object| Write {
            verb: Verb::Update,
            key: key.clone(),
            subresource: "",
            object,
            base: Some(toy.revision()),
        });
        Step {
            writes: write.into_iter().collect(),
            due_at: self.color(&key.namespace, context).and_then(|(_, fades)| fades),
        }
    }
}
