//! Check that users cannot read objects through a policy that they may not read themselves, as in
//! kube-apiserver. A user who writes a policy with a `paramKind` needs the right to get all objects of that
//! kind. A user who writes a binding with a `paramRef` needs the right to get the object that `paramRef`
//! names, or to list the objects that its selector matches.

use std::sync::Arc;

use berth_admission::rights::{RequiredRight, Right};
use berth_admission::{Denial, Operation, Plugin, Request, UserInfo};
use berth_apimachinery::{FieldError, GroupResource};
use berth_kubernetes::core::admission_policies::{
    GROUP, MUTATING, MUTATING_BINDINGS, VALIDATING, VALIDATING_BINDINGS,
};
use berth_policies::ParamKind;
use serde_json::Value;

use super::StoredPolicies;

/// Wildcard in the right to all objects, and in the right to objects of an unknown resource.
const ANY: &str = "*";

/// The admission plugin that requires rights for the parameters of policies.
pub(super) struct Parameters(Arc<StoredPolicies>);

impl Parameters {
    /// Creates the plugin for the policies, bindings and parameters of `policies`.
    pub(super) fn of(policies: &Arc<StoredPolicies>) -> Self {
        Self(Arc::clone(policies))
    }

    /// Returns the right that a policy with this `spec` needs; `None` if the policy has no `paramKind`.
    fn policy_right(&self, request: &Request<'_>, spec: &Value) -> Option<RequiredRight> {
        let kind = ParamKind::of(&spec["paramKind"])?;
        let right = Right {
            verb: "get".to_owned(),
            namespace: ANY.to_owned(),
            name: ANY.to_owned(),
            ..self.right(Some(&kind))
        };
        let text = format!(
            "user {} must have \"get\" permission on all objects of the referenced paramKind (kind={}, apiVersion={})",
            user_text(request.user),
            kind.kind,
            kind.api_version
        );
        Some(required_right(right, "spec.paramKind", text))
    }

    /// Returns the right that a binding with this `spec` needs; `None` if the binding has no `paramRef`. The
    /// policy of the binding is one of `policies`.
    fn binding_right(
        &self,
        request: &Request<'_>,
        spec: &Value,
        policies: GroupResource,
    ) -> Option<RequiredRight> {
        let param_ref = spec["paramRef"].as_object()?;
        let text = |field: &str| param_ref.get(field).and_then(Value::as_str).unwrap_or_default();
        let (name, user) = (text("name"), user_text(request.user));
        let verb = if name.is_empty() { "list" } else { "get" };
        let policy = spec["policyName"].as_str().unwrap_or_default();
        let found = self.0.policy(policies, policy);
        let kind = found
            .as_ref()
            .and_then(|policy| ParamKind::of(&policy["spec"]["paramKind"]));
        let right = Right {
            verb: verb.to_owned(),
            namespace: text("namespace").to_owned(),
            name: name.to_owned(),
            ..self.right(kind.as_ref())
        };
        let unknown = |subject: String| {
            format!(
                "{subject} to determine minimum required permissions and user {user} does not have \"{verb}\" permission for \
                 all groups, versions and resources"
            )
        };
        let text = match (&found, &kind) {
            (None, _) => unknown(format!("unable to get policy {policy}")),
            (_, Some(kind)) if self.0.resource(kind).is_none() => unknown(format!(
                "unable to resolve paramKind &{{{} {}}}",
                kind.api_version, kind.kind
            )),
            _ => format!(
                "user {user} does not have \"{verb}\" permission on the object referenced by paramRef"
            ),
        };
        Some(required_right(right, "spec.paramRef", text))
    }

    /// Returns a right to the resource of `kind`, with wildcards if the kind or the resource is unknown.
    fn right(&self, kind: Option<&ParamKind>) -> Right {
        let resource = kind.and_then(|kind| self.0.resource(kind));
        let group = kind.map_or(ANY, |kind| kind.group_version().0);
        Right {
            group: group.to_owned(),
            resource: resource.map_or(ANY, |resource| resource.resource).to_owned(),
            ..Right::default()
        }
    }
}

impl Plugin for Parameters {
    fn name(&self) -> &'static str {
        "PolicyParameters"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.resource.group == GROUP
            && request.subresource.is_empty()
            && matches!(request.operation, Operation::Create | Operation::Update)
    }

    fn needs(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<RequiredRight> {
        let Some(spec) = object.map(|object| &object["spec"]) else {
            return Vec::new();
        };
        let same = |fields: &[&str]| {
            let old = request.old.map(|old| &old["spec"]);
            old.is_some_and(|old| fields.iter().all(|field| old[*field] == spec[*field]))
        };
        let needed = match request.resource {
            VALIDATING | MUTATING if !same(&["paramKind"]) => self.policy_right(request, spec),
            VALIDATING_BINDINGS if !same(&["paramRef", "policyName"]) => {
                self.binding_right(request, spec, VALIDATING)
            }
            MUTATING_BINDINGS if !same(&["paramRef", "policyName"]) => {
                self.binding_right(request, spec, MUTATING)
            }
            _ => None,
        };
        needed.into_iter().collect()
    }
}

fn required_right(right: Right, field: &str, text: String) -> RequiredRight {
    let refusal = Denial::Invalid(vec![FieldError::forbidden(field, text)]);
    RequiredRight { right, refusal }
}

/// Returns `user` as Go prints it in kube-apiserver's messages.
fn user_text(user: &UserInfo) -> String {
    let extra: Vec<String> = user
        .extra
        .iter()
        .map(|(key, values)| format!("{key}:[{}]", values.join(" ")))
        .collect();
    format!(
        "&{{{} {} [{}] map[{}]}}",
        user.name,
        user.uid,
        user.groups.join(" "),
        extra.join(" ")
    )
}
