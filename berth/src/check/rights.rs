//! Rights of the user, and the rights that Berth needs on a hub according to its manifests.

use std::collections::BTreeMap;

use anyhow::Result;
use berth_commands::why::missing::cluster_role_binding_command;
use berth_deploy::{Installation, Set, default_service, objects};
use http::Method;
use serde_json::{Value, json};

use super::Checker;
use super::finding::{Finding, Verdict};

/// Rights to read, explain and bind decisions. Each entry has the ClusterRole that grants the right, and the
/// verb, resource and subresource of the right.
const USER_RIGHTS: [(&str, &str, &str, &str); 6] = [
    ("berth:decision-viewer", "list", "decisions", ""),
    ("berth:decision-viewer", "list", "clusterdecisions", ""),
    ("berth:target-viewer", "list", "targets", ""),
    ("berth:explainer", "get", "decisions", "scheduling"),
    ("berth:explainer", "create", "schedulingreviews", ""),
    ("berth:binder", "create", "decisions", "binding"),
];

/// One right, in the form of an access review.
pub(super) type Right = Value;

/// Rights that a user needs, and that one RoleBinding or ClusterRoleBinding grants.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RequiredRights {
    /// Name of the role in the binding.
    pub(super) role: String,
    /// The user name.
    pub(super) user: String,
    /// The user's groups.
    pub(super) groups: Vec<String>,
    /// Rights of the role.
    pub(super) rights: Vec<Right>,
}

/// Rights that Berth needs in an installation, according to the manifests of the installation.
pub(super) fn required_rights(installation: &Installation) -> Vec<RequiredRights> {
    let all = objects(installation, Set::Rbac);
    let roles: BTreeMap<(&str, &str, &str), &Value> = all
        .iter()
        .map(|object| {
            let meta = &object["metadata"];
            let key = (
                text(&object["kind"]),
                text(&meta["namespace"]),
                text(&meta["name"]),
            );
            (key, object)
        })
        .collect();
    let mut needed = Vec::new();
    for object in &all {
        let namespace = text(&object["metadata"]["namespace"]);
        let reference = &object["roleRef"];
        let kind = text(&reference["kind"]);
        let role_namespace = if kind == "Role" { namespace } else { "" };
        let Some(role) = roles.get(&(kind, role_namespace, text(&reference["name"]))) else {
            continue;
        };
        let rights: Vec<Right> = list(&role["rules"])
            .iter()
            .flat_map(|rule| rights(rule, namespace))
            .collect();
        for subject in list(&object["subjects"]) {
            let (user, groups) = match text(&subject["kind"]) {
                "ServiceAccount" => {
                    let (account_namespace, name) = (text(&subject["namespace"]), text(&subject["name"]));
                    (
                        format!("system:serviceaccount:{account_namespace}:{name}"),
                        vec![
                            "system:serviceaccounts".to_owned(),
                            format!("system:serviceaccounts:{account_namespace}"),
                            "system:authenticated".to_owned(),
                        ],
                    )
                }
                "User" => (
                    text(&subject["name"]).to_owned(),
                    vec!["system:authenticated".to_owned()],
                ),
                _ => continue,
            };
            needed.push(RequiredRights {
                role: text(&reference["name"]).to_owned(),
                user,
                groups,
                rights: rights.clone(),
            });
        }
    }
    needed
}

/// The rights that `rule` of a role grants: in `namespace`, or in all namespaces if `namespace` is empty. If
/// the rule has resource names, each name is a right of its own.
fn rights(rule: &Value, namespace: &str) -> Vec<Right> {
    let mut all = Vec::new();
    for group in list(&rule["apiGroups"]) {
        for resource in list(&rule["resources"]) {
            for verb in list(&rule["verbs"]) {
                let (resource, subresource) = text(resource).split_once('/').unwrap_or((text(resource), ""));
                let right = json!({
                    "group": group, "resource": resource, "subresource": subresource, "verb": verb,
                    "namespace": namespace,
                });
                match list(&rule["resourceNames"]) {
                    [] => all.push(right),
                    names => all.extend(names.iter().map(|name| with_name(&right, name))),
                }
            }
        }
    }
    all
}

fn with_name(right: &Right, name: &Value) -> Right {
    let mut right = right.clone();
    right["name"] = name.clone();
    right
}

/// Text of a right: `list seeds.core.gardener.cloud`, or `impersonate users berth:scheduler` for a right with
/// a resource name.
pub(super) fn right_text(right: &Right) -> String {
    let mut shown = format!("{} {}", text(&right["verb"]), text(&right["resource"]));
    for (before, field) in [('/', "subresource"), ('.', "group")] {
        match text(&right[field]) {
            "" => {}
            part => {
                shown.push(before);
                shown.push_str(part);
            }
        }
    }
    match text(&right["name"]) {
        "" => shown,
        name => format!("{shown} {name}"),
    }
}

impl Checker<'_> {
    /// Findings about missing rights of the caller: notes, since few users need all rights.
    pub(super) async fn own_rights(&self) -> Result<Vec<Finding>> {
        let mut missing: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (role, verb, resource, subresource) in USER_RIGHTS {
            let right = json!({
                "group": "scheduling.berth.dev", "resource": resource, "subresource": subresource, "verb": verb,
            });
            match self
                .review_access("selfsubjectaccessreviews", json!({"resourceAttributes": right}))
                .await?
            {
                Ok(true) => {}
                Ok(false) => missing.entry(role).or_default().push(right_text(&right)),
                Err(message) => {
                    let finding = Finding::ok("rights", "yours", message);
                    return Ok(vec![
                        finding.with_verdict(Verdict::Unknown, "kubectl auth can-i --list"),
                    ]);
                }
            }
        }
        if missing.is_empty() {
            return Ok(vec![Finding::ok(
                "rights",
                "yours",
                "decisions may be read, explained and bound",
            )]);
        }
        let user = self.user().await?;
        let findings = missing.into_iter().map(|(role, rights)| {
            Finding::ok("rights", "yours", format!("you may not {}", rights.join(", ")))
                .with_verdict(Verdict::Note, cluster_role_binding_command(role, &user))
        });
        Ok(findings.collect())
    }

    /// The name of the caller; `NAME` where the server does not tell.
    pub(super) async fn user(&self) -> Result<String> {
        Ok(self.client.user().await?.unwrap_or_else(|| "NAME".to_owned()))
    }

    /// Findings about the rights of Berth on a hub, one for each role.
    pub(super) async fn server_rights(&self, installation: &Installation) -> Result<Vec<Finding>> {
        let mut findings = Vec::new();
        for needed in required_rights(installation) {
            let mut missing = Vec::new();
            for right in &needed.rights {
                let spec = json!({"user": needed.user, "groups": needed.groups, "resourceAttributes": right});
                match self.review_access("subjectaccessreviews", spec).await? {
                    Ok(true) => {}
                    Ok(false) => missing.push(right_text(right)),
                    Err(message) => {
                        findings.push(Finding::unknown("rights", "Berth's", message));
                        return Ok(findings);
                    }
                }
            }
            findings.push(role_finding(&needed, &missing, installation));
        }
        Ok(findings)
    }

    /// Creates an access review of the type `resource` with `spec`. Returns whether the right is granted, or
    /// the message of the refusal if the review may not be created.
    pub(crate) async fn review_access(
        &self,
        resource: &str,
        spec: Value,
    ) -> Result<std::result::Result<bool, String>> {
        let kind = match resource {
            "subjectaccessreviews" => "SubjectAccessReview",
            _ => "SelfSubjectAccessReview",
        };
        let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec});
        let path = format!("/apis/authorization.k8s.io/v1/{resource}");
        let answer = self
            .client
            .send(Method::POST, &path, Some(("application/json", &review)))
            .await?;
        Ok(answer
            .map(|answer| answer["status"]["allowed"] == true)
            .map_err(|status| status.message))
    }
}

/// Finding about the role in `needed`, of which the rights `missing` are not granted.
fn role_finding(needed: &RequiredRights, missing: &[String], installation: &Installation) -> Finding {
    let subject = format!("{} of {}", needed.role, needed.user);
    if missing.is_empty() {
        return Finding::ok("rights", subject, format!("all {}", needed.rights.len()));
    }
    let some = missing.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
    let more = match missing.len() {
        0..=5 => String::new(),
        count => format!(" and {} more", count - 5),
    };
    Finding::ok("rights", subject, format!("missing: {some}{more}")).with_verdict(
        Verdict::Wrong,
        format!(
            "berth manifests rbac{} | kubectl apply --server-side -f -",
            flags(installation)
        ),
    )
}

/// The flags with which `berth manifests` prints the manifests of `installation`.
pub(super) fn flags(installation: &Installation) -> String {
    let mut flags = match installation.is_observer() {
        true => " --mode=observe".to_owned(),
        false => " --mode=decide".to_owned(),
    };
    // A system without a flag is off.
    for dialect in &installation.dialects {
        let place = match installation.on_hub.contains(dialect.name()) {
            true => "hub",
            false => "owned",
        };
        flags.push_str(&format!(" --source={}={place}", dialect.name()));
    }
    let service = &installation.service;
    for (flag, value, default) in [
        ("namespace", &service.namespace, "berth-system"),
        ("service", &service.name, "berth"),
    ] {
        if value != default {
            flags.push_str(&format!(" --{flag}={value}"));
        }
    }
    if service.port != default_service().port {
        flags.push_str(&format!(" --port={}", service.port));
    }
    // Of a server's arguments, a check keeps only those that `berth manifests` takes, too.
    for argument in &installation.arguments {
        flags.push_str(&format!(" {}", quoted(argument)));
    }
    flags
}

/// `argument` as a shell reads it: in quotes, unless all of its characters are plain.
fn quoted(argument: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,:/".contains(c);
    match argument.chars().all(is_plain) {
        true => argument.to_owned(),
        false => format!("'{}'", argument.replace('\'', r"'\''")),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests;
