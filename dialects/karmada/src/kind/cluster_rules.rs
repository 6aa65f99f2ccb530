//! Rules for Clusters beyond the schema, as in Karmada's API server.

use std::collections::BTreeSet;

use berth_apimachinery::FieldError;

use super::cluster::ClusterSpec;

/// All errors in `spec` of a Cluster.
pub(super) fn errors(spec: &ClusterSpec) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if !spec.zone.is_empty() && !spec.zones.is_empty() && spec.zones != [spec.zone.clone()] {
        errors.push(FieldError::forbidden(
            "spec.zones",
            "may not be set together with spec.zone, which is deprecated: remove spec.zone",
        ));
    }
    let mut seen = BTreeSet::new();
    for (index, taint) in spec.taints.iter().enumerate() {
        let path = format!("spec.taints[{index}]");
        if !["NoSchedule", "NoExecute"].contains(&taint.effect.as_str()) {
            let supported = ["NoExecute", "NoSchedule"];
            errors.push(FieldError::not_supported(
                format!("{path}.effect"),
                taint.effect.as_str(),
                &supported,
            ));
        }
        if !seen.insert((&taint.key, &taint.effect)) {
            errors.push(FieldError::duplicate(
                path,
                format!("{}:{}", taint.key, taint.effect),
            ));
        }
    }
    errors
}
