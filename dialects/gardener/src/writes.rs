//! The writes of a decision (docs/concepts.md, "Where objects are").

use berth_dialect_contract::rules::Rules;
use berth_dialect_contract::{Action, Decision, Outcome, Verb, Write};
use serde_json::Value;

use crate::domain;
use crate::fleet::Fleet;
use crate::fleet::seed::Row;
use crate::fleet::shoot::{Requirements, ShootRecord};
use crate::kind::shoot::BINDING;
use crate::kind::shoot::binding::{SeedDefaults, bind};
use crate::kind::{child, fill};
use crate::words;

/// The write of `decision`: the update of the shoot with its seed through `shoots/binding`, or, by the
/// current rules, the update of the status with the reason of a failure. Empty if there is nothing to write.
pub(crate) fn writes(fleet: &Fleet, decision: &Decision) -> Vec<Write> {
    let failed = matches!(decision.outcome, Outcome::Unschedulable | Outcome::Invalid);
    if failed && fleet.rules() == Rules::Current {
        return failure_update(fleet, decision).into_iter().collect();
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
    bind(
        &mut object,
        &row.name,
        &seed_defaults(fleet, row, &shoot.requirements),
    );
    vec![Write {
        verb: Verb::Update,
        key: decision.demand.clone(),
        subresource: BINDING,
        object,
        base: Some(shoot.object.revision()),
    }]
}

/// The raw shoot without its resourceVersion.
fn without_version(shoot: &ShootRecord) -> Value {
    let mut object = shoot.object.parse();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
    }
    object
}

/// The update of `status.lastOperation` with the reason why the shoot has no seed yet, which Gardener's
/// dashboard shows. `None` if the status already has this reason.
fn failure_update(fleet: &Fleet, decision: &Decision) -> Option<Write> {
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

/// The domain that a shoot without a domain gets below the first default domain of its seed. `None` if the
/// shoot has a domain, its DNS records are unmanaged, or the seed has no default domain.
fn domain(fleet: &Fleet, row: &Row, requirements: &Requirements) -> Option<String> {
    let default = row
        .facts
        .domains
        .first()
        .filter(|_| !requirements.unmanaged && requirements.domain.is_none())?;
    Some(domain::derived(
        requirements,
        fleet.project_name(&requirements.namespace),
        default,
    ))
}

/// The values that a binding to the seed in `row` sets in a shoot with these `requirements`, if the shoot
/// does not have them.
pub(crate) fn seed_defaults<'a>(
    fleet: &'a Fleet,
    row: &'a Row,
    requirements: &Requirements,
) -> SeedDefaults<'a> {
    let defaults = row.record.seed.spec.networks.shoot_defaults.as_ref();
    SeedDefaults {
        pods: defaults.and_then(|defaults| defaults.pods.as_deref()),
        services: defaults.and_then(|defaults| defaults.services.as_deref()),
        domain: domain(fleet, row, requirements),
        tolerations: fleet.default_tolerations(requirements),
    }
}
