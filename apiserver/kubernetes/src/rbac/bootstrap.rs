//! The default roles and bindings of a standalone server, and the roles of Berth's users on a hub
//! (docs/reference.md, "Rights").

use std::sync::Arc;

use berth_apimachinery::write::Verb;
use berth_apimachinery::{Clock, Draft, GroupResource, Key};
use berth_storage::{At, Expect, Step, Store, StoreError};
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::core::rbac::{CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, GROUP, PolicyRule};
use crate::rbac::covering;

/// Berth's own API group.
const BERTH: &str = "scheduling.berth.dev";
/// Annotation of a default role: with the value `false`, the role is not updated.
const AUTOUPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";
/// Highest number of attempts to update a role that other clients change concurrently.
const MAX_ATTEMPTS: usize = 8;

const READ: [&str; 3] = ["get", "list", "watch"];
const WRITE: [&str; 5] = ["create", "delete", "deletecollection", "patch", "update"];

/// Resources of the systems for which the default roles have rules.
#[derive(Clone, Debug, Default)]
pub struct RoleResources {
    /// Namespaced resources that systems place: `view` may read them, and `edit` may write them.
    pub placeable: Vec<GroupResource>,
    /// Cluster-scoped resources that systems place: `view` may read them if it is granted cluster-wide.
    /// `edit` may not write them, since they are placed onto a whole fleet.
    pub fleet_wide: Vec<GroupResource>,
    /// Further resources that users of a system may read (kcp's Locations).
    pub readable: Vec<GroupResource>,
    /// Whether `berth:binder` has rules for the subresource `binding` of the placeable resources. False for
    /// an observer: it accepts no Binding, and on the hub the rules would allow a system's own subresource.
    pub accepts_bindings: bool,
}

/// One default cluster role.
struct DefaultRole {
    name: &'static str,
    /// Name of the role that aggregates the rules of this role: `admin`, `edit` or `view`.
    aggregates_to: Option<&'static str>,
    rules: Vec<Value>,
    /// Last part of the label by which this role selects the roles to aggregate.
    aggregates: Option<&'static str>,
}

/// Creates missing roles and bindings, and adds the rules of a newer version to existing roles.
///
/// # Errors
/// When the store rejects the write.
pub async fn ensure(
    store: &Arc<dyn Store>,
    clock: &dyn Clock,
    resources: &RoleResources,
) -> Result<(), StoreError> {
    for role in default_roles(resources) {
        ensure_role(store, clock, &role).await?;
    }
    for (role, groups) in BINDINGS {
        let key = Key::new(CLUSTER_ROLE_BINDINGS, "", role);
        // A start must be possible without a write, since the disk may be full.
        if store.cached(CLUSTER_ROLE_BINDINGS).get("", role).is_some() {
            continue;
        }
        create(store, key, &binding(role, groups, clock)).await?;
    }
    Ok(())
}

/// Returns manifests of the cluster roles for Berth's users, for a hub: names, rules, and labels for
/// aggregation. A standalone server creates these roles with [`ensure`], which adds the fields of stored
/// objects (uid, time) and the label and annotation of default roles.
#[must_use]
pub fn manifests(resources: &RoleResources) -> Vec<Value> {
    berth_roles(resources).iter().map(role_manifest).collect()
}

/// Returns manifests of all default cluster roles.
#[cfg(test)]
pub(super) fn all_manifests(resources: &RoleResources) -> Vec<Value> {
    default_roles(resources).iter().map(role_manifest).collect()
}

const BINDINGS: [(&str, &[&str]); 4] = [
    ("cluster-admin", &["system:masters"]),
    ("system:discovery", &["system:authenticated"]),
    ("system:basic-user", &["system:authenticated"]),
    (
        "system:public-info-viewer",
        &["system:authenticated", "system:unauthenticated"],
    ),
];

fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
}

fn path_rule(urls: &[&str]) -> Value {
    json!({"nonResourceURLs": urls, "verbs": ["get"]})
}

/// Role without aggregation.
fn plain_role(name: &'static str, rules: Vec<Value>) -> DefaultRole {
    DefaultRole {
        name,
        aggregates_to: None,
        rules,
        aggregates: None,
    }
}

/// Role that aggregates other roles.
fn aggregating_role(name: &'static str) -> DefaultRole {
    DefaultRole {
        aggregates: Some(name),
        ..plain_role(name, Vec::new())
    }
}

/// Role whose rules the role `into` aggregates.
fn aggregated_role(name: &'static str, into: &'static str, rules: Vec<Value>) -> DefaultRole {
    DefaultRole {
        aggregates_to: Some(into),
        ..plain_role(name, rules)
    }
}

fn default_roles(resources: &RoleResources) -> Vec<DefaultRole> {
    let mut list = vec![
        plain_role(
            "cluster-admin",
            vec![
                rule("*", &["*"], &["*"]),
                json!({"nonResourceURLs": ["*"], "verbs": ["*"]}),
            ],
        ),
        plain_role(
            "system:discovery",
            vec![path_rule(&[
                "/api",
                "/api/*",
                "/apis",
                "/apis/*",
                "/healthz",
                "/livez",
                "/openapi",
                "/openapi/*",
                "/readyz",
                "/version",
                "/version/",
            ])],
        ),
        plain_role(
            "system:basic-user",
            vec![
                rule(
                    "authorization.k8s.io",
                    &["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
                    &["create"],
                ),
                rule("authentication.k8s.io", &["selfsubjectreviews"], &["create"]),
            ],
        ),
        plain_role(
            "system:public-info-viewer",
            vec![path_rule(&[
                "/healthz",
                "/livez",
                "/readyz",
                "/version",
                "/version/",
            ])],
        ),
        aggregating_role("admin"),
        aggregating_role("edit"),
        aggregating_role("view"),
        aggregated_role("system:aggregate-to-admin", "admin", admin_rules()),
        aggregated_role(
            "system:aggregate-to-edit",
            "edit",
            edit_rules(&resources.placeable),
        ),
        aggregated_role("system:aggregate-to-view", "view", view_rules(resources)),
    ];
    list.extend(berth_roles(resources));
    list
}

fn admin_rules() -> Vec<Value> {
    let all = [&READ[..], &WRITE[..]].concat();
    vec![
        rule(GROUP, &["roles", "rolebindings"], &all),
        rule(
            "authorization.k8s.io",
            &["localsubjectaccessreviews"],
            &["create"],
        ),
    ]
}

fn edit_rules(placeable: &[GroupResource]) -> Vec<Value> {
    let mut rules = vec![
        rule(
            "",
            &["configmaps", "secrets", "serviceaccounts", "services"],
            &WRITE,
        ),
        rule(
            "apps",
            &["deployments", "deployments/scale", "statefulsets"],
            &WRITE,
        ),
        rule("batch", &["jobs"], &WRITE),
        rule("coordination.k8s.io", &["leases"], &WRITE),
        rule("", &["secrets"], &READ),
        rule("", &["serviceaccounts"], &["impersonate"]),
    ];
    rules.extend(
        placeable
            .iter()
            .map(|resource| rule(resource.group, &[resource.resource], &WRITE)),
    );
    rules
}

fn view_rules(resources: &RoleResources) -> Vec<Value> {
    let mut rules = vec![
        rule(
            "",
            &[
                "configmaps",
                "events",
                "namespaces",
                "resourcequotas",
                "resourcequotas/status",
                "serviceaccounts",
                "services",
                "services/status",
            ],
            &READ,
        ),
        rule(
            "apps",
            &[
                "deployments",
                "deployments/scale",
                "deployments/status",
                "statefulsets",
                "statefulsets/status",
            ],
            &READ,
        ),
        rule("batch", &["jobs", "jobs/status"], &READ),
        rule("coordination.k8s.io", &["leases"], &READ),
        rule("events.k8s.io", &["events"], &READ),
    ];
    for resource in resources.placeable.iter().chain(&resources.fleet_wide) {
        let status = format!("{}/status", resource.resource);
        rules.push(rule(resource.group, &[resource.resource, &status], &READ));
    }
    for resource in &resources.readable {
        rules.push(rule(resource.group, &[resource.resource], &READ));
    }
    rules
}

/// Returns the roles for Berth's own API. Every viewer may read decisions; separate roles allow reading
/// reasons and targets, and writing bindings.
fn berth_roles(resources: &RoleResources) -> Vec<DefaultRole> {
    let decisions = || rule(BERTH, &["decisions", "clusterdecisions"], &READ);
    let of_placeable = |subresource: &str, verbs: &[&str]| {
        let rules = resources
            .placeable
            .iter()
            .chain(&resources.fleet_wide)
            .map(|resource| {
                rule(
                    resource.group,
                    &[&format!("{}/{subresource}", resource.resource)],
                    verbs,
                )
            });
        rules.collect::<Vec<_>>()
    };
    let mut explainer = vec![
        decisions(),
        rule(
            BERTH,
            &[
                "decisions/scheduling",
                "clusterdecisions/scheduling",
                "decisions/advice",
                "clusterdecisions/advice",
            ],
            &["get"],
        ),
        // A user with the right to the scheduler's present reasons also has the right to earlier ones.
        rule(
            BERTH,
            &["decisions/history", "clusterdecisions/history"],
            &["get"],
        ),
        rule(BERTH, &["decisionrecords", "clusterdecisionrecords"], &READ),
        rule(BERTH, &["candidates", "clustercandidates"], &["get", "list"]),
        rule(
            BERTH,
            &["schedulingreviews", "localschedulingreviews"],
            &["create"],
        ),
    ];
    explainer.extend(of_placeable("scheduling", &["get"]));
    let mut binder = vec![
        decisions(),
        rule(
            BERTH,
            &["decisions/binding", "clusterdecisions/binding"],
            &["get", "create"],
        ),
        rule(BERTH, &["bindings", "clusterbindings"], &["create"]),
    ];
    if resources.accepts_bindings {
        binder.extend(of_placeable("binding", &["get", "create", "update", "patch"]));
    }
    vec![
        aggregated_role("berth:decision-viewer", "view", vec![decisions()]),
        plain_role("berth:explainer", explainer),
        plain_role("berth:binder", binder),
        plain_role("berth:target-viewer", vec![rule(BERTH, &["targets"], &READ)]),
    ]
}

fn metadata(name: &str, clock: &dyn Clock) -> Value {
    json!({
        "name": name,
        "uid": uuid::Uuid::new_v4().to_string(),
        "creationTimestamp": berth_apimachinery::time::rfc3339(clock.now()),
        "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
        "annotations": {AUTOUPDATE: "true"},
    })
}

/// Returns the role to store: the manifest with uid, time, and the label and annotation of default roles.
fn role_object(role: &DefaultRole, clock: &dyn Clock) -> Value {
    let mut object = role_manifest(role);
    let mut stored = metadata(role.name, clock);
    if let (Some(labels), Some(more)) = (
        stored["labels"].as_object_mut(),
        object["metadata"]["labels"].as_object(),
    ) {
        labels.extend(more.clone());
    }
    object["metadata"] = stored;
    object
}

fn role_manifest(role: &DefaultRole) -> Value {
    let mut object = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": role.name},
        "rules": role.rules,
    });
    if let Some(to) = role.aggregates_to {
        object["metadata"]["labels"][aggregate_label(to)] = "true".into();
    }
    if let Some(of) = role.aggregates {
        let labels = json!({"matchLabels": {aggregate_label(of): "true"}});
        object["aggregationRule"] = json!({"clusterRoleSelectors": [labels]});
    }
    // The administrators of a namespace have the rights of the editors, and the editors have the rights of
    // the viewers.
    let aggregates_also_to: &[&str] = match role.name {
        "edit" => &["admin"],
        "view" => &["edit"],
        _ => &[],
    };
    for to in aggregates_also_to {
        object["metadata"]["labels"][aggregate_label(to)] = "true".into();
    }
    object
}

fn aggregate_label(to: &str) -> String {
    format!("rbac.authorization.k8s.io/aggregate-to-{to}")
}

fn binding(role: &str, groups: &[&str], clock: &dyn Clock) -> Value {
    let subjects = groups
        .iter()
        .map(|group| json!({"kind": "Group", "apiGroup": GROUP, "name": group}));
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": metadata(role, clock),
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
        "subjects": subjects.collect::<Vec<_>>(),
    })
}

/// Creates the object; an existing one stays unchanged.
async fn create(store: &Arc<dyn Store>, key: Key, object: &Value) -> Result<(), StoreError> {
    let step = Step {
        verb: Verb::Create,
        key,
        subresource: "",
        object: Some(draft(object)?),
        expect: Expect::Absent,
        guards: Vec::new(),
    };
    match store.apply(vec![step]).await {
        Ok(_) | Err(StoreError::AlreadyExists { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

fn draft(object: &Value) -> Result<Draft, StoreError> {
    Draft::new(object).map_err(|problem| StoreError::Unavailable(problem.to_string()))
}

async fn ensure_role(
    store: &Arc<dyn Store>,
    clock: &dyn Clock,
    role: &DefaultRole,
) -> Result<(), StoreError> {
    let key = Key::new(CLUSTER_ROLES, "", role.name);
    let mut conflict = None;
    for _ in 0..MAX_ATTEMPTS {
        let stored = store.list(CLUSTER_ROLES, At::Latest).await?;
        let Some(current) = stored.get("", role.name) else {
            return create(store, key, &role_object(role, clock)).await;
        };
        let Some(next) = with_missing_rules(current.value(), role) else {
            return Ok(());
        };
        let step = Step {
            verb: Verb::Update,
            key: key.clone(),
            subresource: "",
            object: Some(draft(&next)?),
            expect: Expect::At(current.revision()),
            guards: Vec::new(),
        };
        match store.apply(vec![step]).await {
            Err(error @ (StoreError::Conflict { .. } | StoreError::NotFound { .. })) => {
                conflict = Some(error)
            }
            result => return result.map(|_| ()),
        }
    }
    conflict.map_or(Ok(()), Err)
}

/// Returns the stored role with the missing rules of `role`; `None` when no rule is missing, the role must
/// stay unchanged, or the rules cannot be compared.
fn with_missing_rules(stored: &Value, role: &DefaultRole) -> Option<Value> {
    if stored["metadata"]["annotations"][AUTOUPDATE] == "false" {
        return None;
    }
    let parse = |value: &Value| PolicyRule::deserialize(value).ok();
    let existing: Vec<PolicyRule> = stored["rules"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(parse)
        .collect();
    let required: Vec<PolicyRule> = role.rules.iter().filter_map(parse).collect();
    let missing = match covering::uncovered(existing.iter(), &required, usize::MAX) {
        Ok(missing) => missing.rules,
        Err(problem) => {
            tracing::warn!(
                role = role.name,
                problem,
                "cannot add missing rules to a default role; requests that need them are refused until they are added manually"
            );
            return None;
        }
    };
    if missing.is_empty() {
        return None;
    }
    let mut next = stored.clone();
    let mut rules = next["rules"].as_array().cloned().unwrap_or_default();
    rules.extend(missing.iter().map(|rule| json!(rule)));
    next["rules"] = rules.into();
    Some(next)
}
