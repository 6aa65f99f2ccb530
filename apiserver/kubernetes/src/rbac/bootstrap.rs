//! The default roles and bindings of every server (docs/reference.md, "Rights").

use std::sync::Arc;

use berth_apimachinery::write::Verb;
use berth_apimachinery::{Clock, Draft, GroupResource, Key};
use berth_storage::{At, Expect, Step, Store, StoreError};
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::core::rbac::{CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, GROUP, PolicyRule};
use crate::rbac::covering;

/// Berth's own group.
const BERTH: &str = "scheduling.berth.dev";
/// Annotation whose value `false` keeps a role unchanged.
const AUTOUPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";
/// Highest number of attempts to update a role that other clients change concurrently.
const ATTEMPTS: usize = 8;

const READ: [&str; 3] = ["get", "list", "watch"];
const WRITE: [&str; 5] = ["create", "delete", "deletecollection", "patch", "update"];

/// Resources of the systems that the default roles let users read and write.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    /// Namespaced resources that systems place: `view` reads them, `edit` writes them.
    pub placeable: Vec<GroupResource>,
    /// Cluster-scoped resources that systems place: `view` reads them where it is bound cluster-wide. A write
    /// of such an object places it onto a whole fleet, which `edit` does not allow.
    pub fleet_wide: Vec<GroupResource>,
    /// Further resources that users of a system may read (kcp's Locations).
    pub readable: Vec<GroupResource>,
    /// Whether this server binds the systems' objects: an observer accepts no Binding, and on a hub, the
    /// right to create a Binding would be a right to the system's own subresource `binding`.
    pub is_bound: bool,
}

/// One default cluster role.
struct Bootstrap {
    name: &'static str,
    /// The role that aggregates the rules of this role: `admin`, `edit` or `view`.
    aggregates_to: Option<&'static str>,
    rules: Vec<Value>,
    /// Last part of the label that selects the roles which this role aggregates.
    aggregates: Option<&'static str>,
}

/// Creates missing roles and bindings, and adds the rules of a newer version to existing roles.
///
/// # Errors
/// When the store rejects the write.
pub async fn ensure(store: &Arc<dyn Store>, clock: &dyn Clock, reach: &Reach) -> Result<(), StoreError> {
    for role in roles(reach) {
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

/// The cluster roles for Berth's users as manifests: names, rules and the labels that aggregate them. The
/// manifests lack the fields of stored objects (uid, time) and the marks of roles that a server restores by
/// itself. They are for a hub; a standalone server creates the same roles in [`ensure`].
#[must_use]
pub fn manifests(reach: &Reach) -> Vec<Value> {
    berth_roles(reach).iter().map(role_manifest).collect()
}

/// Manifests of all default cluster roles.
#[cfg(test)]
pub(super) fn all_manifests(reach: &Reach) -> Vec<Value> {
    roles(reach).iter().map(role_manifest).collect()
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

fn paths(urls: &[&str]) -> Value {
    json!({"nonResourceURLs": urls, "verbs": ["get"]})
}

fn plain(name: &'static str, rules: Vec<Value>) -> Bootstrap {
    Bootstrap {
        name,
        aggregates_to: None,
        rules,
        aggregates: None,
    }
}

fn aggregated(name: &'static str) -> Bootstrap {
    Bootstrap {
        aggregates: Some(name),
        ..plain(name, Vec::new())
    }
}

fn part(name: &'static str, of: &'static str, rules: Vec<Value>) -> Bootstrap {
    Bootstrap {
        aggregates_to: Some(of),
        ..plain(name, rules)
    }
}

fn roles(reach: &Reach) -> Vec<Bootstrap> {
    let mut list = vec![
        plain(
            "cluster-admin",
            vec![
                rule("*", &["*"], &["*"]),
                json!({"nonResourceURLs": ["*"], "verbs": ["*"]}),
            ],
        ),
        plain(
            "system:discovery",
            vec![paths(&[
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
        plain(
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
        plain(
            "system:public-info-viewer",
            vec![paths(&["/healthz", "/livez", "/readyz", "/version", "/version/"])],
        ),
        aggregated("admin"),
        aggregated("edit"),
        aggregated("view"),
        part("system:aggregate-to-admin", "admin", admin_rules()),
        part("system:aggregate-to-edit", "edit", edit_rules(&reach.placeable)),
        part("system:aggregate-to-view", "view", view_rules(reach)),
    ];
    list.extend(berth_roles(reach));
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

fn view_rules(reach: &Reach) -> Vec<Value> {
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
    for resource in reach.placeable.iter().chain(&reach.fleet_wide) {
        let status = format!("{}/status", resource.resource);
        rules.push(rule(resource.group, &[resource.resource, &status], &READ));
    }
    for resource in &reach.readable {
        rules.push(rule(resource.group, &[resource.resource], &READ));
    }
    rules
}

/// Rules for Berth's own API. Every viewer may read decisions. The rights to reasons, destinations and
/// targets are separate.
fn berth_roles(reach: &Reach) -> Vec<Bootstrap> {
    let decisions = || rule(BERTH, &["decisions", "clusterdecisions"], &READ);
    let of_placeable = |subresource: &str, verbs: &[&str]| {
        let rules = reach.placeable.iter().chain(&reach.fleet_wide).map(|resource| {
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
    if reach.is_bound {
        binder.extend(of_placeable("binding", &["get", "create", "update", "patch"]));
    }
    vec![
        part("berth:decision-viewer", "view", vec![decisions()]),
        plain("berth:explainer", explainer),
        plain("berth:binder", binder),
        plain("berth:target-viewer", vec![rule(BERTH, &["targets"], &READ)]),
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

/// The default role to store: its manifest with an identity and the marks of a default role.
fn role_object(role: &Bootstrap, clock: &dyn Clock) -> Value {
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

fn role_manifest(role: &Bootstrap) -> Value {
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
    // The administrators of a namespace have the rights of its editors, and the editors have the rights of
    // its viewers.
    let above: &[&str] = match role.name {
        "edit" => &["admin"],
        "view" => &["edit"],
        _ => &[],
    };
    for to in above {
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

async fn ensure_role(store: &Arc<dyn Store>, clock: &dyn Clock, role: &Bootstrap) -> Result<(), StoreError> {
    let key = Key::new(CLUSTER_ROLES, "", role.name);
    let mut conflict = None;
    for _ in 0..ATTEMPTS {
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

/// The stored role with the missing rules added; `None` when no rule is missing, the role must stay
/// unchanged, or the rules cannot be compared.
fn with_missing_rules(stored: &Value, role: &Bootstrap) -> Option<Value> {
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
