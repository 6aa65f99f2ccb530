//! `autoBind: OnCreate` as a webhook, for objects whose binding is a field of their own (a Shoot's `spec.seedName`):
//! the place the scheduler picks is patched in when it is empty (CONTRACT.md section 5).
//!
//! Without side effects, and idempotent: asked again about its own result it finds the place filled.

use std::sync::Arc;

use admission::{Denied, Plugin, Ready, Request};
use dialect_contract::Outcome;
use engine::Catalog;
use serde_json::{Map, Value};

use super::auto_bind::is_on;
use super::forecast::{self, Forecast, forecast};
use super::knowledge::Knowledge;
use super::placed_on_create;
use crate::virtual_api::own_places::{self, OwnPlace};

/// The plugin.
pub(super) struct PatchPlace {
    knowledge: Knowledge,
    catalog: Arc<Catalog>,
}

impl PatchPlace {
    pub(super) fn new(knowledge: Knowledge, catalog: Arc<Catalog>) -> Self {
        Self { knowledge, catalog }
    }

    /// What binding the object would make of it: the object as read, and as it would be. `None` where it stays as it is.
    fn forecast(
        &self,
        request: &Request<'_>,
        object: &Value,
        dialect: &str,
    ) -> Result<Option<(Value, Forecast)>, String> {
        let Ok(snapshot) = self.knowledge.snapshot(dialect) else {
            return Ok(None);
        };
        let key = forecast::key(request, object);
        let named = forecast::provisional(object, &key)?.parse();
        let now = self.knowledge.now();
        let (_, read) = self
            .catalog
            .read(named, "", now)
            .map_err(|errors| meta::field::aggregate(&errors))?;
        let source = self.knowledge.engine().source();
        let forecast = forecast(snapshot, &**source, &key, &read, now)?;
        Ok(forecast.map(|forecast| (read.parse(), forecast)))
    }
}

impl Plugin for PatchPlace {
    fn name(&self) -> &'static str {
        "AutoBind"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        placed_on_create::handles(request)
    }

    fn ready<'a>(&'a self, _: &Request<'_>) -> Option<Ready<'a>> {
        Some(self.knowledge.ready())
    }

    fn mutate(
        &self,
        request: &Request<'_>,
        object: &mut Value,
        warnings: &mut Vec<String>,
    ) -> Result<(), Denied> {
        let engine = self.knowledge.engine();
        let Some((own, dialect)) = own_places::find(engine, request.resource) else {
            return Ok(());
        };
        if own.read(object).is_some() || !is_on(&**engine.source(), dialect.name()) {
            return Ok(());
        }
        match self.forecast(request, object, dialect.name()) {
            Ok(Some((before, forecast))) => {
                warnings.extend(forecast.warning);
                if forecast.outcome == Outcome::Scheduled {
                    place(own, object, &before, forecast.object.value());
                }
            }
            Ok(None) => {}
            // Whoever owns the kind refuses what is wrong with it; here it only means that nothing can be picked yet.
            Err(problem) => warnings.push(format!("not bound: {problem}")),
        }
        Ok(())
    }
}

/// Makes in `object` the changes that binding made between `before` and `after`, outside what the server owns.
fn place(own: &OwnPlace, object: &mut Value, before: &Value, after: &Value) {
    let mut change = Map::new();
    for part in [own.place[0], "metadata"] {
        if let Some(part_change) = merge_patch(&before[part], &after[part]) {
            change.insert(part.to_owned(), part_change);
        }
    }
    json_patch::merge(object, &Value::Object(change));
}

/// The merge patch that adds to `before` what `after` has; binding takes nothing away.
fn merge_patch(before: &Value, after: &Value) -> Option<Value> {
    let (Some(old), Some(new)) = (before.as_object(), after.as_object()) else {
        return (before != after).then(|| after.clone());
    };
    let changes: Map<String, Value> = new
        .iter()
        .filter(|(name, _)| *name != "resourceVersion")
        .filter_map(|(name, value)| {
            let known = old.get(name).unwrap_or(&Value::Null);
            Some((name.clone(), merge_patch(known, value)?))
        })
        .collect();
    (!changes.is_empty()).then_some(Value::Object(changes))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_binding_added_reaches_the_object_as_it_was_sent() {
        let own = own_places::of(meta::GroupResource::new("core.gardener.cloud", "shoots")).unwrap();
        let mut sent = json!({"metadata": {"name": "a"}, "spec": {"region": "r"}});
        let read = json!({"metadata": {"name": "a"}, "spec": {"region": "r", "purpose": "evaluation"}});
        let bound = json!({
            "metadata": {"name": "a", "resourceVersion": "7", "labels": {"name.seed.gardener.cloud/s": "true"}},
            "spec": {"region": "r", "purpose": "evaluation", "seedName": "s", "networking": {"pods": "10.0.0.0/8"}},
        });
        place(own, &mut sent, &read, &bound);
        let expected = json!({
            "metadata": {"name": "a", "labels": {"name.seed.gardener.cloud/s": "true"}},
            "spec": {"region": "r", "seedName": "s", "networking": {"pods": "10.0.0.0/8"}},
        });
        assert_eq!(sent, expected, "no default of the kind, no resource version");
        let before = sent.clone();
        place(own, &mut sent, &bound, &bound);
        assert_eq!(sent, before);
    }
}
