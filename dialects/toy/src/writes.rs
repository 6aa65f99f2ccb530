//! Writes of a binding: the toy itself, with its box.

use berth_dialect_contract::{Decision, Verb, Write};
use serde_json::json;

use crate::detail::Detail;

/// The writes of a binding, in order.
pub(crate) fn writes(decision: &Decision) -> Vec<Write> {
    let (Some(change), Some(Detail { toy })) = (decision.changes.first(), decision.detail()) else {
        return Vec::new();
    };
    let mut object = toy.parse();
    object["spec"]["box"] = json!(*change.cluster_name);
    vec![Write {
        verb: Verb::Update,
        key: decision.demand.clone(),
        subresource: "",
        object,
        base: Some(toy.revision()),
    }]
}
