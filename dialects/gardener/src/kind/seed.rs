//! Seed: a cluster that runs the control planes of shoots.

mod columns;
mod rules;
pub mod spec;

use berth_apimachinery::{
    Definition, FieldError, Kind, KindInfo, Schema, Scope, Write, WriteOperation, described_by,
};
use serde_json::Value;

use crate::kind::{child, fill, view};
use crate::names::{GROUP, INVISIBLE_TAINT, PROVIDER_LABEL, REGION_LABEL, VERSION};
use spec::Seed;

static DEFINITION: Definition = Definition {
    columns: columns::COLUMNS,
    ..Definition::new(
        KindInfo {
            singular: "seed",
            scope: Scope::Cluster,
            status_subresource: true,
            unconditional_update: true,
            ..KindInfo::new(GROUP, &[VERSION], "Seed", "seeds")
        },
        Schema::of::<Seed>,
    )
};

/// The kind Seed.
#[derive(Clone, Copy, Debug)]
pub struct SeedKind;

impl Kind for SeedKind {
    described_by!(DEFINITION);

    fn prepare(&self, write: &Write<'_>, new: &mut Value) {
        let Some(root) = new.as_object_mut() else { return };
        if write.operation != WriteOperation::Subresource("status") {
            default_visibility(root);
        }
        default_labels(root);
    }

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        let seed: Seed = match view(self.schema(VERSION), new) {
            Ok(seed) => seed,
            Err(errors) => return errors,
        };
        // A stored object that cannot be parsed is not compared.
        let old: Option<Seed> = write.old.and_then(|old| view(self.schema(VERSION), old).ok());
        rules::check(&seed, old.as_ref())
    }
}

/// Makes a seed without scheduling settings visible to the scheduler. A seed with the taint
/// [`INVISIBLE_TAINT`] is not changed: the rules in force decide whether the seed is visible
/// (docs/systems/gardener.md, "Seed").
fn default_visibility(root: &mut serde_json::Map<String, Value>) {
    let Some(spec) = root.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    let has_taint = spec
        .get("taints")
        .and_then(Value::as_array)
        .is_some_and(|taints| {
            taints
                .iter()
                .any(|taint| taint.get("key").and_then(Value::as_str) == Some(INVISIBLE_TAINT))
        });
    if has_taint {
        return;
    }
    let Some(settings) = child(spec, "settings") else {
        return;
    };
    let has_no_setting = settings.get("scheduling").is_none_or(Value::is_null);
    if has_no_setting && let Some(scheduling) = child(settings, "scheduling") {
        fill(scheduling, "visible", true);
    }
}

/// Sets the labels for the provider type and the region, by which selectors can select the seed.
fn default_labels(root: &mut serde_json::Map<String, Value>) {
    let text = |field| {
        root.get("spec")?
            .get("provider")?
            .get(field)?
            .as_str()
            .map(str::to_owned)
    };
    let (provider, region) = (text("type"), text("region"));
    let Some(labels) = child(root, "metadata").and_then(|metadata| child(metadata, "labels")) else {
        return;
    };
    for (label, value) in [(PROVIDER_LABEL, provider), (REGION_LABEL, region)] {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            labels.insert(label.to_owned(), value.into());
        }
    }
}

#[cfg(test)]
mod tests;
