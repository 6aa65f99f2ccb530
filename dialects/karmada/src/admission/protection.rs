//! Protection from deletion by a label, as in Karmada's webhook (docs/systems/karmada.md, "What is
//! guarded").

use berth_admission::{Denial, Operation, Plugin, Request};
use serde_json::Value;

use crate::names::{APPS_GROUP, CLUSTER_GROUP, DELETION_PROTECTED, POLICY_GROUP, WORK_GROUP};
use crate::template;

/// Value with which the label [`DELETION_PROTECTED`] protects an object.
const ALWAYS: &str = "Always";

/// Refuses the deletion of templates and Karmada objects that the label [`DELETION_PROTECTED`] protects.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DeletionProtection;

impl Plugin for DeletionProtection {
    fn name(&self) -> &'static str {
        "KarmadaDeletionProtection"
    }

    fn is_guard(&self) -> bool {
        true
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        let groups = [CLUSTER_GROUP, WORK_GROUP, POLICY_GROUP, APPS_GROUP];
        let resource = request.resource;
        request.operation == Operation::Delete
            && request.subresource.is_empty()
            && (groups.contains(&resource.group)
                || template::KINDS.iter().any(|kind| kind.resource == resource))
    }

    fn validate(
        &self,
        request: &Request<'_>,
        _object: Option<&Value>,
        _warnings: &mut Vec<String>,
    ) -> Result<(), Denial> {
        let labels = request.old.map(|old| &old["metadata"]["labels"]);
        match labels.is_some_and(|labels| labels[DELETION_PROTECTED] == ALWAYS) {
            false => Ok(()),
            true => Err(Denial::Forbidden(format!(
                "it is protected by the label {DELETION_PROTECTED}={ALWAYS}: remove the label first"
            ))),
        }
    }
}
