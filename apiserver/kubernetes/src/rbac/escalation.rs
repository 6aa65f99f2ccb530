//! Admission plugin against privilege escalation: users cannot grant rights that they do not have. A user who
//! writes a role needs all rights in the role, or the verb `escalate` on it; a user who writes a binding
//! needs all rights in the bound role, or the verb `bind` on it.

use std::fmt::Write as _;
use std::sync::Arc;

use berth_admission::{Denial, Operation, Plugin, Request};
use berth_apimachinery::{FieldError, GroupResource, Status};
use berth_apiserver::Attributes;
use serde::Deserialize;
use serde_json::Value;

use crate::core::rbac::{CLUSTER_ROLES, GROUP, PolicyRule, ROLES, RoleRef};
use crate::rbac::covering::UncoveredRules;
use crate::rbac::{MASTERS, Rbac};

/// Highest number of missing rules that a refusal lists.
const MAX_LISTED_RULES: usize = 50;

/// The admission plugin that refuses grants of rights that the user does not have.
pub struct EscalationGuard {
    rbac: Arc<Rbac>,
}

impl EscalationGuard {
    /// Creates the plugin, which gets the rights of users from `rbac`.
    #[must_use]
    pub fn new(rbac: Arc<Rbac>) -> Self {
        Self { rbac }
    }

    fn check_role(&self, request: &Request<'_>, role: &Value) -> Result<(), Denial> {
        let right = Attributes {
            verb: "escalate".to_owned(),
            name: request.name.to_owned(),
            ..attributes(request, request.resource)
        };
        if self.rbac.allow_reason(&right).is_some() {
            return Ok(());
        }
        let mut required: Vec<PolicyRule> = Option::deserialize(&role["rules"])
            .map_err(|problem| malformed(&problem))?
            .unwrap_or_default();
        let mut states = [Some(role), request.old].into_iter().flatten();
        if states.any(|state| state["aggregationRule"].is_object()) {
            // Roles with any rules can be selected later. A role whose aggregation is removed keeps rights
            // that the selected roles lose later. So the user needs all rights.
            required.extend(all_rights());
        }
        self.check_held(request, &required, "rules")
    }

    fn check_binding(&self, request: &Request<'_>, binding: &Value) -> Result<(), Denial> {
        let role = RoleRef::deserialize(&binding["roleRef"]).map_err(|problem| malformed(&problem))?;
        let resource = if role.kind == "Role" { ROLES } else { CLUSTER_ROLES };
        let right = Attributes {
            verb: "bind".to_owned(),
            name: role.name.clone(),
            ..attributes(request, resource)
        };
        if self.rbac.allow_reason(&right).is_some() {
            return Ok(());
        }
        let Some(required) = self.rbac.rules_of(&role, request.namespace) else {
            return Err(Denial::Status(Box::new(Status::not_found(resource, &role.name))));
        };
        self.check_held(request, &required, "roleRef")
    }

    /// Checks that the user holds the rules `wanted`, which the field `path` grants.
    fn check_held(&self, request: &Request<'_>, wanted: &[PolicyRule], path: &str) -> Result<(), Denial> {
        let missing = self
            .rbac
            .uncovered(request.user, request.namespace, wanted, MAX_LISTED_RULES);
        match missing {
            Ok(missing) if missing.rules.is_empty() => Ok(()),
            Ok(missing) => Err(Denial::Forbidden(refusal(request, &missing))),
            Err(problem) => Err(Denial::Invalid(vec![FieldError::forbidden(path, problem)])),
        }
    }
}

impl Plugin for EscalationGuard {
    fn name(&self) -> &'static str {
        "RBACEscalation"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.resource.group == GROUP
            && request.subresource.is_empty()
            && matches!(request.operation, Operation::Create | Operation::Update)
            && !request.user.is_in(MASTERS)
    }

    fn validate(
        &self,
        request: &Request<'_>,
        object: Option<&Value>,
        _: &mut Vec<String>,
    ) -> Result<(), Denial> {
        let Some(object) = object else { return Ok(()) };
        // Any other change may grant rights: a label of a role can select it for an aggregated role.
        if request.changes_only_collector_fields(Some(object)) {
            return Ok(());
        }
        match request.resource.resource {
            "roles" | "clusterroles" => self.check_role(request, object),
            _ => self.check_binding(request, object),
        }
    }
}

fn attributes(request: &Request<'_>, resource: GroupResource) -> Attributes {
    Attributes {
        user: request.user.clone(),
        is_resource: true,
        group: resource.group.to_owned(),
        version: "v1".to_owned(),
        resource: resource.resource.to_owned(),
        namespace: request.namespace.to_owned(),
        ..Attributes::default()
    }
}

fn all_rights() -> [PolicyRule; 2] {
    let all = || vec!["*".to_owned()];
    [
        PolicyRule {
            verbs: all(),
            api_groups: all(),
            resources: all(),
            ..PolicyRule::default()
        },
        PolicyRule {
            verbs: all(),
            non_resource_urls: all(),
            ..PolicyRule::default()
        },
    ]
}

fn malformed(problem: &serde_json::Error) -> Denial {
    Denial::Status(Box::new(Status::bad_request(problem.to_string())))
}

/// Returns the refusal in kube-apiserver's form, with one line for each missing rule.
fn refusal(request: &Request<'_>, missing: &UncoveredRules) -> String {
    let quoted = |list: &[String]| list.iter().map(|text| format!("{text:?}")).collect::<Vec<_>>();
    let groups = quoted(&request.user.groups).join(" ");
    let mut text = format!(
        "user {:?} (groups=[{groups}]) is attempting to grant RBAC permissions not currently held:",
        request.user.name
    );
    for rule in &missing.rules {
        let parts = [
            ("APIGroups", &rule.api_groups),
            ("Resources", &rule.resources),
            ("ResourceNames", &rule.resource_names),
            ("NonResourceURLs", &rule.non_resource_urls),
            ("Verbs", &rule.verbs),
        ];
        let non_empty = parts.iter().filter(|(_, list)| !list.is_empty());
        let lines: Vec<String> = non_empty
            .map(|(name, list)| format!("{name}:[{}]", quoted(list).join(" ")))
            .collect();
        // Writing to a string cannot fail.
        let _: std::fmt::Result = write!(text, "\n{{{}}}", lines.join(", "));
    }
    if missing.more {
        text.push_str("\n(and more)");
    }
    text
}
