//! NamespacedCloudProfile: a cloud profile of one project, which extends a CloudProfile.

use berth_apimachinery::{Column, Definition, FieldError, Kind, KindInfo, Schema, Write, described_by};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kind::cloud_profile::CloudProfileSpec;
use crate::kind::common::check_required;
use crate::kind::shoot::spec::CLOUD_PROFILE;
use crate::kind::{child, fill, view};
use crate::names::{GROUP, VERSION};

/// The fields of a NamespacedCloudProfile beside its metadata.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct NamespacedCloudProfile {
    /// The parent of the profile, and the changes to the parent.
    pub spec: NamespacedCloudProfileSpec,
    /// Status of the profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<NamespacedCloudProfileStatus>,
}

/// The parent of a profile, and the changes to the parent.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct NamespacedCloudProfileSpec {
    /// The CloudProfile that the profile extends. Cannot be changed.
    pub parent: Parent,
}

/// Reference to the CloudProfile that a profile extends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["name"]))]
pub struct Parent {
    /// The kind of the parent: CloudProfile, which is the default.
    #[schemars(extend("enum" = ["CloudProfile"]))]
    pub kind: String,
    /// The name of the parent.
    pub name: String,
}

/// Status of a profile.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct NamespacedCloudProfileStatus {
    /// The parent merged with the changes of the profile. If absent or without a type, decisions use the
    /// parent instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cloud_profile_spec: Option<CloudProfileSpec>,
}

static DEFINITION: Definition = Definition {
    columns: &[
        Column::NAME,
        Column::text("Parent Name", "The name of the parent profile").at(".spec.parent.name"),
        Column::text("Parent Kind", "The kind of the parent profile").at(".spec.parent.kind"),
        Column::AGE,
    ],
    ..Definition::new(
        KindInfo {
            singular: "namespacedcloudprofile",
            short_names: &["nsprofile", "nscpfl"],
            status_subresource: true,
            unconditional_update: true,
            ..KindInfo::new(
                GROUP,
                &[VERSION],
                "NamespacedCloudProfile",
                "namespacedcloudprofiles",
            )
        },
        Schema::of::<NamespacedCloudProfile>,
    )
};

/// The kind NamespacedCloudProfile.
#[derive(Clone, Copy, Debug)]
pub struct NamespacedCloudProfileKind;

impl Kind for NamespacedCloudProfileKind {
    described_by!(DEFINITION);

    fn prepare(&self, _write: &Write<'_>, new: &mut Value) {
        let spec = new.get_mut("spec").and_then(Value::as_object_mut);
        if let Some(parent) = spec.and_then(|spec| child(spec, "parent")) {
            fill(parent, "kind", CLOUD_PROFILE);
        }
    }

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        let profile: NamespacedCloudProfile = match view(self.schema(VERSION), new) {
            Ok(profile) => profile,
            Err(errors) => return errors,
        };
        let mut errors = Vec::new();
        let parent = &profile.spec.parent;
        check_required(
            &mut errors,
            "spec.parent.name",
            &parent.name,
            "must be the name of the CloudProfile that this profile extends",
        );
        let old: Option<NamespacedCloudProfile> =
            write.old.and_then(|old| view(self.schema(VERSION), old).ok());
        if old.is_some_and(|old| old.spec.parent != *parent) {
            errors.push(FieldError::invalid(
                "spec.parent",
                parent.name.as_str(),
                "field is immutable",
            ));
        }
        let merged = profile.status.and_then(|status| status.cloud_profile_spec);
        if let Some(selector) = merged.and_then(|merged| merged.seed_selector) {
            let path = "status.cloudProfileSpec.seedSelector";
            errors.extend(selector.compile(path).err().into_iter().flatten());
        }
        errors
    }
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::{Timestamp, WriteOperation};
    use serde_json::json;

    use super::*;

    fn profile(parent: &Value) -> Value {
        json!({"metadata": {"name": "mine", "namespace": "garden-dev"}, "spec": {"parent": parent}})
    }

    fn errors_of(old: Option<&Value>, new: &Value) -> Vec<String> {
        let write = Write {
            operation: if old.is_some() {
                WriteOperation::Update
            } else {
                WriteOperation::Create
            },
            old,
            now: Timestamp::UNIX_EPOCH,
        };
        let kind = NamespacedCloudProfileKind;
        let mut new = new.clone();
        kind.prepare(&write, &mut new);
        let mut errors = kind.schema(VERSION).validate(&new);
        errors.extend(kind.validate(&write, &new));
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_parent_is_a_cloud_profile_and_immutable() {
        let aws = profile(&json!({"name": "aws"}));
        assert!(errors_of(None, &aws).is_empty());
        let with_kind = profile(&json!({"kind": "CloudProfile", "name": "aws"}));
        assert!(
            errors_of(Some(&with_kind), &aws).is_empty(),
            "the kind is the default"
        );
        assert_eq!(
            errors_of(Some(&with_kind), &profile(&json!({"name": "gcp"}))),
            ["spec.parent: Invalid value: \"gcp\": field is immutable"]
        );
        for bad in [
            json!({}),
            json!({"name": ""}),
            json!({"kind": "NamespacedCloudProfile", "name": "other"}),
        ] {
            assert!(!errors_of(None, &profile(&bad)).is_empty(), "{bad}");
        }
    }

    #[test]
    fn a_status_that_gardener_has_not_merged_yet_is_valid() {
        let mut new = profile(&json!({"kind": "CloudProfile", "name": "aws"}));
        new["status"] = json!({"cloudProfileSpec": {
            "kubernetes": {}, "machineImages": null, "machineTypes": null, "regions": null, "type": "",
        }});
        assert_eq!(errors_of(None, &new), [""; 0]);
    }
}
