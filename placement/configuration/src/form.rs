//! The schema of a dialect's own field in SchedulerConfiguration. Defaults apply when the configuration is
//! read, not when it is written, so a changed default also affects stored objects. Therefore the schema has
//! no defaults, and the description of each field states its default.

use berth_dialect_contract::Dialect;
use serde_json::Value;

/// Returns the schema of `dialect`'s configuration as it is stored.
pub(super) fn stored_schema(dialect: &dyn Dialect) -> Value {
    let mut form = dialect.configuration().schema().openapi().clone();
    describe_defaults(&mut form);
    let name = dialect.name();
    let description = form["description"].as_str().unwrap_or_default();
    form["description"] = format!(
        "The configuration of {name}, in the system's own form. Only in the object named {name}. Defaults apply when it \
         is read. {description}"
    )
    .into();
    form
}

/// Moves every default in `schema` to the description of the field.
fn describe_defaults(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    if let Some(default) = fields.remove("default") {
        let description = fields
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let default = default
            .as_str()
            .map_or_else(|| default.to_string(), str::to_owned);
        let text = format!("{description} Default: {default}.");
        fields.insert("description".to_owned(), text.trim_start().into());
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(describe_defaults);
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(inner) = fields.get_mut(inner) {
            describe_defaults(inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_said_and_not_stored() {
        for dialect in berth_dialect_registry::all() {
            let text = stored_schema(&*dialect).to_string();
            assert!(!text.contains("\"default\":"), "{}: {text}", dialect.name());
        }
        let gardener = berth_dialect_registry::by_name("gardener").unwrap();
        let form = stored_schema(&*gardener);
        let shoot = &form["properties"]["schedulers"]["properties"]["shoot"]["properties"];
        let description = |field: &str| shoot[field]["description"].as_str().unwrap().to_owned();
        assert!(description("retrySyncPeriod").ends_with(" Default: 15s."));
        assert!(description("concurrentSyncs").ends_with(" Default: 5."));
        assert!(description("candidateDeterminationStrategy").ends_with(" Default: SameRegion."));
    }
}
