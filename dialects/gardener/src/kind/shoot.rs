//! Shoot: a cluster that a user requests. The scheduler picks a seed for its control plane.

pub mod binding;
mod columns;
mod defaults;
mod immutable;
pub(crate) mod rules;
pub mod spec;

use berth_apimachinery::{
    Definition, FieldError, Kind, KindInfo, Schema, SelectableField, Write, WriteOperation, described_by,
};
use serde_json::Value;

use crate::kind::view;
use crate::names::{GROUP, VERSION};
use spec::Shoot;

static DEFINITION: Definition = Definition {
    columns: columns::COLUMNS,
    selectable: &[
        SelectableField::at("spec.seedName"),
        SelectableField::at("status.seedName"),
        SelectableField::at("spec.cloudProfileName"),
        SelectableField::at("spec.cloudProfile.name"),
        SelectableField::at("spec.cloudProfile.kind"),
    ],
    ..Definition::new(
        KindInfo {
            singular: "shoot",
            categories: &["all"],
            status_subresource: true,
            ..KindInfo::new(GROUP, &[VERSION], "Shoot", "shoots")
        },
        Schema::of::<Shoot>,
    )
};

/// The subresource that changes `spec.seedName`.
pub const BINDING: &str = "binding";

/// The text at the JSON pointer `path`; empty if there is none.
fn text(object: &Value, path: &str) -> String {
    object
        .pointer(path)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// The kind Shoot.
#[derive(Clone, Copy, Debug)]
pub struct ShootKind;

impl Kind for ShootKind {
    described_by!(DEFINITION);

    fn prepare(&self, write: &Write<'_>, new: &mut Value) {
        let Some(root) = new.as_object_mut() else { return };
        match write.operation {
            WriteOperation::Create | WriteOperation::Update => defaults::set_defaults(root, write.old),
            WriteOperation::Subresource(BINDING) => {
                defaults::set_defaults(root, write.old);
                if let Some(old) = write.old {
                    binding::keep_status(old, root);
                }
            }
            WriteOperation::Subresource(_) => {}
        }
        defaults::label_seeds(root);
    }

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        let shoot: Shoot = match view(self.schema(VERSION), new) {
            Ok(shoot) => shoot,
            Err(errors) => return errors,
        };
        let namespace = text(new, "/metadata/namespace");
        let mut errors = rules::check(&shoot, &namespace);
        // The ranges in a binding are not checked: they may be defaults of the seed, for which a binding must
        // not be refused.
        let ranges = |value: &Value| value.pointer("/spec/networking").cloned();
        let ranges_change = matches!(write.operation, WriteOperation::Create | WriteOperation::Update)
            && write.old.is_none_or(|old| ranges(old) != ranges(new));
        if let Some(networking) = shoot.spec.networking.as_ref().filter(|_| ranges_change) {
            errors.extend(rules::range_errors(networking));
        }
        // A stored object that cannot be parsed is not compared.
        let old: Option<(Shoot, &Value)> = write
            .old
            .and_then(|value| Some((view(self.schema(VERSION), value).ok()?, value)));
        errors.extend(rules::old_profile_field_error(
            &shoot,
            old.as_ref().map(|(old, _)| old),
        ));
        if let Some((old, old_value)) = old {
            let update = immutable::ShootUpdate {
                old: &old,
                new: &shoot,
                old_value,
                new_value: new,
            };
            errors.extend(immutable::check(write.operation, &update));
        }
        errors
    }
}

#[cfg(test)]
mod tests;
