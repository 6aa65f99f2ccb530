//! Defaults of policies beyond the schema, as Karmada's webhooks set them (docs/systems/karmada.md,
//! "Defaults"): the defaults that decisions read.

use serde_json::Value;

/// Sets the defaults of the placement in `policy`.
pub(super) fn set(policy: &mut Value) {
    let Some(placement) = policy.pointer_mut("/spec/placement") else {
        return;
    };
    let constraints = placement
        .get_mut("spreadConstraints")
        .and_then(Value::as_array_mut);
    for constraint in constraints.into_iter().flatten() {
        if is_unset(&constraint["spreadByField"]) && is_unset(&constraint["spreadByLabel"]) {
            set_field(constraint, "spreadByField", "cluster".into());
        }
        if is_unset(&constraint["minGroups"]) {
            set_field(constraint, "minGroups", 1.into());
        }
    }
    if let Some(scheduling) = placement.get_mut("replicaScheduling")
        && scheduling["replicaSchedulingType"] == "Divided"
        && is_unset(&scheduling["replicaDivisionPreference"])
    {
        set_field(scheduling, "replicaDivisionPreference", "Weighted".into());
    }
}

/// Whether `value` is absent, or the zero value of its type, which Karmada cannot tell from an absent one.
fn is_unset(value: &Value) -> bool {
    value.is_null() || *value == "" || *value == 0
}

/// Sets the field `name` of `parent`. A parent that is not an object stays: the schema refuses it.
fn set_field(parent: &mut Value, name: &str, value: Value) {
    if let Some(fields) = parent.as_object_mut() {
        fields.insert(name.to_owned(), value);
    }
}
