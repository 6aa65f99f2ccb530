//! ExposureClass: a way to expose the API servers of shoots, and the seeds that support this way
//! (docs/systems/gardener.md, "Exposure classes").

use berth_apimachinery::{
    Column, Definition, FieldError, Kind, KindInfo, Schema, Scope, Write, described_by,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kind::common::{SeedSelector, check_required};
use crate::kind::shoot::spec::Toleration;
use crate::kind::view;
use crate::names::{GROUP, VERSION};

/// The fields of an ExposureClass beside its metadata. An ExposureClass has no spec.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["handler"], "x-kubernetes-preserve-unknown-fields" = true))]
pub struct ExposureClass {
    /// The name of the handler on seeds that exposes the API servers of shoots of the class.
    pub handler: String,
    /// The seeds to which shoots of the class may be scheduled, and the taints that these shoots tolerate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<ExposureClassScheduling>,
}

/// The seeds to which shoots of a class may be scheduled, and the taints that these shoots tolerate.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct ExposureClassScheduling {
    /// The seeds to which shoots of the class may be scheduled. If absent, the class does not limit the
    /// seeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed_selector: Option<SeedSelector>,
    /// The taints of seeds that shoots of the class tolerate, in addition to their own tolerations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
}

static DEFINITION: Definition = Definition {
    columns: &[
        Column::NAME,
        Column::text("Handler", "The name of the handler on seeds").at(".handler"),
        Column::AGE,
    ],
    ..Definition::new(
        KindInfo {
            singular: "exposureclass",
            short_names: &["expclass", "expcls"],
            scope: Scope::Cluster,
            ..KindInfo::new(GROUP, &[VERSION], "ExposureClass", "exposureclasses")
        },
        Schema::of::<ExposureClass>,
    )
};

/// The kind ExposureClass.
#[derive(Clone, Copy, Debug)]
pub struct ExposureClassKind;

impl Kind for ExposureClassKind {
    described_by!(DEFINITION);

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        let class: ExposureClass = match view(self.schema(VERSION), new) {
            Ok(class) => class,
            Err(errors) => return errors,
        };
        let mut errors = Vec::new();
        check_required(
            &mut errors,
            "handler",
            &class.handler,
            "must be the name of the handler on seeds for the class",
        );
        let selector = class
            .scheduling
            .as_ref()
            .and_then(|scheduling| scheduling.seed_selector.as_ref());
        if let Some(selector) = selector {
            let compiled = selector.compile("scheduling.seedSelector");
            errors.extend(compiled.err().into_iter().flatten());
        }
        for field in ["handler", "scheduling"] {
            if write.old.is_some_and(|old| old[field] != new[field]) {
                errors.push(FieldError::invalid(
                    field,
                    new[field].clone(),
                    "field is immutable",
                ));
            }
        }
        errors
    }
}
