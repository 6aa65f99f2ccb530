//! What a decision writes (docs/api.md, "Where objects are").

use dialect_contract::{Action, Decision, Verb, Write};
use serde_json::Value;

use crate::fleet::Fleet;
use crate::fleet::seed::Row;
use crate::fleet::shoot::Wants;
use crate::kind::shoot::BINDING;
use crate::kind::shoot::binding::{Given, bind};

/// One update of the shoot through `shoots/binding`, or nothing when nothing is to be bound.
pub(crate) fn writes(fleet: &Fleet, decision: &Decision) -> Vec<Write> {
    let bound = decision
        .changes
        .iter()
        .find(|change| change.action == Action::Bind);
    let (Some(bound), Some(shoot)) = (bound, fleet.shoot(&decision.demand)) else {
        return Vec::new();
    };
    let Some((_, row)) = fleet.seed(&bound.cluster_name) else {
        return Vec::new();
    };
    let mut object = shoot.object.parse();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
    }
    bind(&mut object, &row.name, &given(fleet, row, &shoot.wants));
    vec![Write {
        verb: Verb::Update,
        key: decision.demand.clone(),
        subresource: BINDING,
        object,
        base: Some(shoot.object.revision()),
    }]
}

/// The values that a shoot that asks for `wants` gets with the seed of `row`, where it names none
/// itself.
pub(crate) fn given<'a>(fleet: &'a Fleet, row: &'a Row, wants: &Wants) -> Given<'a> {
    let defaults = row.record.seed.spec.networks.shoot_defaults.as_ref();
    Given {
        pods: defaults.and_then(|defaults| defaults.pods.as_deref()),
        services: defaults.and_then(|defaults| defaults.services.as_deref()),
        tolerations: fleet.default_tolerations(wants),
    }
}
