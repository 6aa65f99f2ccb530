//! Bindings of policies: the writes for which a policy is in force, its parameters, and the consequences of a
//! failed validation.

use serde_json::Value;

use crate::constraints::Constraints;
use crate::params::ParamRef;

/// A ValidatingAdmissionPolicyBinding or MutatingAdmissionPolicyBinding.
#[derive(Clone, Debug)]
pub struct Binding {
    /// Name of the binding.
    pub name: String,
    /// Name of the policy.
    pub policy: String,
    /// Consequences of a failed validation (`validationActions`): `Deny`, `Warn`, `Audit`.
    pub actions: Vec<String>,
    pub(crate) constraints: Option<Constraints>,
    pub(crate) params: Option<ParamRef>,
}

impl Binding {
    /// Reads a binding from its object.
    #[must_use]
    pub fn of(value: &Value) -> Self {
        let spec = &value["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let actions = spec["validationActions"].as_array().into_iter().flatten();
        Self {
            name: text(&value["metadata"]["name"]),
            policy: text(&spec["policyName"]),
            actions: actions.map(text).collect(),
            constraints: spec["matchResources"]
                .is_object()
                .then(|| Constraints::of(&spec["matchResources"])),
            params: ParamRef::of(&spec["paramRef"]),
        }
    }

    pub(crate) fn has_action(&self, action: &str) -> bool {
        self.actions.iter().any(|listed| listed == action)
    }
}
