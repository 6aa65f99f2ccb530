//! Writes of a decision (docs/concepts.md, "Where objects are").

use berth_dialect_contract::rules::Rules;
use berth_dialect_contract::{Action, Decision, Outcome, Verb, Write};
use serde_json::Value;

use crate::domain;
use crate::fleet::Fleet;
use crate::fleet::seed::Row;
use crate::fleet::shoot::{Record, Requirements};
use crate::kind::shoot::BINDING;
use crate::kind::shoot::binding::{SeedDefaults, bind};
use crate::kind::{child, fill};
use crate::words;

/// The update of the shoot: its seed, through `shoots/binding`; or, by the current rules, the reason of a
/// failure, in its status. Empty if neither changes.
pub(crate) fn writes(fleet: &Fleet, decision: &Decision) -> Vec<Write> {
    let failed = matches!(decision.outcome, Outcome::Unschedulable | Outcome::Invalid);
    if failed && fleet.rules() == Rules::Current {
        return pending(fleet, decision).into_iter().collect();
    }
    let binding = decision
        .changes
        .iter()
        .find(|change| change.action == Action::Bind);
    let (Some(binding), Some(shoot)) = (binding, fleet.shoot(&decision.demand)) else {
        return Vec::new();
    };
    let Some((_, row)) = fleet.seed(&binding.cluster_name) else {
        return Vec::new();
    };
    let mut object = without_version(shoot);
    bind(&mut object, &row.name, &given(fleet, row, &shoot.wants));
    vec![Write {
        verb: Verb::Update,
        key: decision.demand.clone(),
        subresource: BINDING,
        object,
        base: Some(shoot.object.revision()),
    }]
}

fn without_version(shoot: &Record) -> Value {
    let mut object = shoot.object.parse();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
    }
    object
}

/// The update of `status.lastOperation` with the reason why the shoot is not created yet, which Gardener's
/// dashboard shows. `None` if the status has this reason already.
fn pending(fleet: &Fleet, decision: &Decision) -> Option<Write> {
    let shoot = fleet.shoot(&decision.demand)?;
    let description = format!("Failed to schedule Shoot: {}", words::message(fleet, decision));
    let mut object = without_version(shoot);
    let status = child(object.as_object_mut()?, "status")?;
    let operation = child(status, "lastOperation")?;
    let has = |field: &str, text: &str| operation.get(field).and_then(Value::as_str) == Some(text);
    if has("type", "Create") && has("state", "Pending") && has("description", &description) {
        return None;
    }
    operation.insert("type".to_owned(), "Create".into());
    operation.insert("state".to_owned(), "Pending".into());
    operation.insert("description".to_owned(), description.into());
    operation.insert(
        "lastUpdateTime".to_owned(),
        berth_apimachinery::time::rfc3339(decision.now).into(),
    );
    fill(operation, "progress", 0);
    Some(Write {
        verb: Verb::Update,
        key: decision.demand.clone(),
        subresource: "status",
        object,
        base: Some(shoot.object.revision()),
    })
}

/// The domain that a shoot without a domain gets below the first default domain of its seed, unless its DNS
/// records are unmanaged.
fn domain(fleet: &Fleet, row: &Row, wants: &Requirements) -> Option<String> {
    let default = row
        .facts
        .domains
        .first()
        .filter(|_| !wants.unmanaged && wants.domain.is_none())?;
    Some(domain::of(wants, fleet.project_name(&wants.namespace), default))
}

/// Values that a binding to the seed of `row` sets in a shoot with the requirements `wants`, if the shoot
/// does not have them.
pub(crate) fn given<'a>(fleet: &'a Fleet, row: &'a Row, wants: &Requirements) -> SeedDefaults<'a> {
    let defaults = row.record.seed.spec.networks.shoot_defaults.as_ref();
    SeedDefaults {
        pods: defaults.and_then(|defaults| defaults.pods.as_deref()),
        services: defaults.and_then(|defaults| defaults.services.as_deref()),
        domain: domain(fleet, row, wants),
        tolerations: fleet.default_tolerations(wants),
    }
}
