//! The kinds as data: names, columns, schemas.

use std::sync::{Arc, LazyLock};

use berth_apimachinery::name::NameError;
use berth_apimachinery::{Column, FieldError, Kind, KindInfo, Schema, Scope, Via, Write};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::binding::Binding;
use super::cluster::Cluster;
use super::policy::Policy;
use super::{cluster_rules, policy_rules};
use crate::names::{APPS_GROUP, CLUSTER_GROUP, POLICY_GROUP, WORK_GROUP};

/// The stored version of bindings.
pub(crate) const WORK_VERSION: &str = "v1alpha2";
/// The version of all other kinds.
const VERSION: &str = "v1alpha1";
/// The category of most kinds.
const CATEGORY: &[&str] = &["karmada-io"];
/// The maximum length of a cluster's name, in bytes.
const MAX_CLUSTER_NAME: usize = 48;

/// One of the kinds.
struct ServedKind {
    info: KindInfo,
    schema: &'static LazyLock<Schema>,
    columns: &'static [Column],
    rules: fn(&Value) -> Vec<FieldError>,
    /// Rules for an update, from the old object to the new one.
    changes: fn(&Value, &Value) -> Vec<FieldError>,
    is_cluster: bool,
}

impl Kind for ServedKind {
    fn info(&self) -> &KindInfo {
        &self.info
    }

    fn schema(&self, _version: &str) -> &Schema {
        self.schema
    }

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        match write.via {
            Via::Subresource(_) => Vec::new(),
            Via::Create | Via::Update => {
                let mut errors = (self.rules)(new);
                errors.extend(write.old.into_iter().flat_map(|old| (self.changes)(old, new)));
                errors
            }
        }
    }

    fn validate_name(&self, name: &str) -> Result<(), NameError> {
        if self.is_cluster {
            berth_apimachinery::name::dns_label(name)?;
            if name.len() > MAX_CLUSTER_NAME {
                return Err(NameError::TooLong(MAX_CLUSTER_NAME));
            }
            return Ok(());
        }
        berth_apimachinery::name::dns_subdomain(name)
    }

    fn columns(&self) -> &[Column] {
        self.columns
    }
}

static CLUSTER: LazyLock<Schema> = LazyLock::new(schema_of::<Cluster>);
static BINDING: LazyLock<Schema> = LazyLock::new(schema_of::<Binding>);
static POLICY: LazyLock<Schema> = LazyLock::new(schema_of::<Policy>);
static QUOTA: LazyLock<Schema> = LazyLock::new(|| kept_schema(&["overall"], true));
static TAINT_POLICY: LazyLock<Schema> = LazyLock::new(|| kept_schema(&["taints"], false));
static OVERRIDES: LazyLock<Schema> = LazyLock::new(|| kept_schema(&[], false));
static WORK: LazyLock<Schema> = LazyLock::new(|| kept_schema(&[], true));
static REBALANCER: LazyLock<Schema> = LazyLock::new(|| kept_schema(&["workloads"], true));

/// The schema of an object that is stored unchanged, and whose spec requires the fields in `required`.
fn kept_schema(required: &[&str], has_status: bool) -> Schema {
    let open = |description: &str| json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "description": description});
    let mut spec = open("The desired state.");
    if !required.is_empty() {
        spec["required"] = json!(required);
    }
    let mut properties = json!({"spec": spec});
    if has_status {
        properties["status"] = open("The observed state.");
    }
    Schema::from_value(json!({
        "type": "object", "description": "An object that is stored unchanged.", "required": ["spec"], "properties": properties,
    }))
}

/// The schema of `T`. Karmada's definitions do not describe how lists merge, so each list is replaced as a
/// whole.
fn schema_of<T: JsonSchema>() -> Schema {
    let mut root = Schema::part::<T>().openapi().clone();
    replace_lists(&mut root);
    Schema::from_value(root)
}

fn replace_lists(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("type").is_some_and(|found| found == "array") {
                let key = "x-kubernetes-list-type".to_owned();
                fields.entry(key).or_insert_with(|| "atomic".into());
            }
            fields.values_mut().for_each(replace_lists);
        }
        Value::Array(items) => items.iter_mut().for_each(replace_lists),
        _ => {}
    }
}

const CLUSTER_COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Version", "The version of Kubernetes").at(".status.kubernetesVersion"),
    Column::text("Mode", "The sync mode: Push or Pull").at(".spec.syncMode"),
    Column::text("Ready", "Whether the cluster is ready")
        .at(".status.conditions[?(@.type==\"Ready\")].status"),
    Column::AGE,
    Column::text("Region", "The region").at(".spec.region").wide(),
    Column::text("Provider", "The infrastructure provider")
        .at(".spec.provider")
        .wide(),
];

const BINDING_COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Scheduled", "Whether every replica has a cluster")
        .at(".status.conditions[?(@.type==\"Scheduled\")].status"),
    Column::text(
        "FullyApplied",
        "Whether the object is applied on all of its clusters",
    )
    .at(".status.conditions[?(@.type==\"FullyApplied\")].status"),
    Column::AGE,
];

const POLICY_COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text(
        "Conflict-Resolution",
        "The treatment of objects that already exist on a cluster",
    )
    .at(".spec.conflictResolution"),
    Column::text(
        "Priority",
        "The priority among policies that select the same template",
    )
    .at(".spec.priority")
    .integer(),
    Column::AGE,
];

const QUOTA_COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Overall", "The limits for all clusters together").at(".spec.overall"),
    Column::text("Overall_Used", "The usage that Karmada counts").at(".status.overallUsed"),
    Column::AGE,
];

const WORK_COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Workload-Kind", "The kinds of the objects in the Work")
        .at(".spec.workload.manifests[*].kind"),
    Column::text("Applied", "Whether the objects are applied")
        .at(".status.conditions[?(@.type==\"Applied\")].status"),
    Column::AGE,
];

const PLAIN: &[Column] = &[Column::NAME, Column::AGE];

fn no_rules(_: &Value) -> Vec<FieldError> {
    Vec::new()
}

fn no_change_rules(_: &Value, _: &Value) -> Vec<FieldError> {
    Vec::new()
}

/// The errors of a Cluster. An object that cannot be parsed has no errors here: the schema refuses it.
fn of_cluster(value: &Value) -> Vec<FieldError> {
    Cluster::deserialize(value).map_or_else(|_| Vec::new(), |view| cluster_rules::errors(&view.spec))
}

fn of_policy(value: &Value) -> Vec<FieldError> {
    let namespace = value["metadata"]["namespace"].as_str().unwrap_or_default();
    let mut errors = Policy::deserialize(value)
        .map_or_else(|_| Vec::new(), |view| policy_rules::errors(&view.spec, namespace));
    errors.extend(policy_rules::other_errors(value));
    errors
}

/// Properties of a kind beyond its names.
struct Form {
    schema: &'static LazyLock<Schema>,
    columns: &'static [Column],
    rules: fn(&Value) -> Vec<FieldError>,
    changes: fn(&Value, &Value) -> Vec<FieldError>,
}

fn kept_form(schema: &'static LazyLock<Schema>) -> Form {
    Form {
        schema,
        columns: PLAIN,
        rules: no_rules,
        changes: no_change_rules,
    }
}

fn policy_form() -> Form {
    Form {
        schema: &POLICY,
        columns: POLICY_COLUMNS,
        rules: of_policy,
        changes: policy_rules::changes,
    }
}

fn served(info: KindInfo, form: Form) -> Arc<dyn Kind> {
    let Form {
        schema,
        columns,
        rules,
        changes,
    } = form;
    Arc::new(ServedKind {
        is_cluster: info.group == CLUSTER_GROUP,
        changes,
        info,
        schema,
        columns,
        rules,
    })
}

/// Names of a kind.
struct Names {
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    singular: &'static str,
    short: &'static [&'static str],
    scope: Scope,
    status: bool,
}

fn kind_info(names: Names) -> KindInfo {
    KindInfo {
        singular: names.singular,
        short_names: names.short,
        categories: if names.short.is_empty() { &[] } else { CATEGORY },
        scope: names.scope,
        status: names.status,
        ..KindInfo::new(names.group, &[VERSION], names.kind, names.plural)
    }
}

/// The info of a kind in the group of policies, without a status.
fn policy(
    kind: &'static str,
    plural: &'static str,
    singular: &'static str,
    short: &'static [&'static str],
    scope: Scope,
) -> KindInfo {
    kind_info(Names {
        group: POLICY_GROUP,
        kind,
        plural,
        singular,
        short,
        scope,
        status: false,
    })
}

/// Kinds that decisions read.
pub(super) fn decided() -> Vec<Arc<dyn Kind>> {
    let bindings = |kind, plural, singular, short_names, scope| KindInfo {
        singular,
        short_names,
        categories: CATEGORY,
        scope,
        status: true,
        ..KindInfo::new(WORK_GROUP, &[WORK_VERSION], kind, plural)
    };
    let form = || Form {
        schema: &BINDING,
        columns: BINDING_COLUMNS,
        rules: no_rules,
        changes: no_change_rules,
    };
    let cluster = KindInfo {
        singular: "cluster",
        scope: Scope::Cluster,
        status: true,
        ..KindInfo::new(CLUSTER_GROUP, &[VERSION], "Cluster", "clusters")
    };
    vec![
        served(
            cluster,
            Form {
                schema: &CLUSTER,
                columns: CLUSTER_COLUMNS,
                rules: of_cluster,
                changes: no_change_rules,
            },
        ),
        served(
            bindings(
                "ResourceBinding",
                "resourcebindings",
                "resourcebinding",
                &["rb"],
                Scope::Namespaced,
            ),
            form(),
        ),
        served(
            bindings(
                "ClusterResourceBinding",
                "clusterresourcebindings",
                "clusterresourcebinding",
                &["crb"],
                Scope::Cluster,
            ),
            form(),
        ),
        served(
            policy(
                "PropagationPolicy",
                "propagationpolicies",
                "propagationpolicy",
                &["pp"],
                Scope::Namespaced,
            ),
            policy_form(),
        ),
        served(
            policy(
                "ClusterPropagationPolicy",
                "clusterpropagationpolicies",
                "clusterpropagationpolicy",
                &["cpp"],
                Scope::Cluster,
            ),
            policy_form(),
        ),
        served(
            KindInfo {
                status: true,
                ..policy(
                    "FederatedResourceQuota",
                    "federatedresourcequotas",
                    "federatedresourcequota",
                    &["frq"],
                    Scope::Namespaced,
                )
            },
            Form {
                schema: &QUOTA,
                columns: QUOTA_COLUMNS,
                rules: no_rules,
                changes: no_change_rules,
            },
        ),
    ]
}

/// Kinds that decisions do not read.
pub(super) fn kept() -> Vec<Arc<dyn Kind>> {
    let (namespaced, cluster_scoped) = (Scope::Namespaced, Scope::Cluster);
    vec![
        served(
            policy(
                "ClusterTaintPolicy",
                "clustertaintpolicies",
                "clustertaintpolicy",
                &[],
                cluster_scoped,
            ),
            kept_form(&TAINT_POLICY),
        ),
        served(
            policy(
                "OverridePolicy",
                "overridepolicies",
                "overridepolicy",
                &["op"],
                namespaced,
            ),
            kept_form(&OVERRIDES),
        ),
        served(
            policy(
                "ClusterOverridePolicy",
                "clusteroverridepolicies",
                "clusteroverridepolicy",
                &["cop"],
                cluster_scoped,
            ),
            kept_form(&OVERRIDES),
        ),
        served(
            kind_info(Names {
                group: WORK_GROUP,
                kind: "Work",
                plural: "works",
                singular: "work",
                short: &["wk"],
                scope: namespaced,
                status: true,
            }),
            Form {
                columns: WORK_COLUMNS,
                ..kept_form(&WORK)
            },
        ),
        served(
            kind_info(Names {
                group: APPS_GROUP,
                kind: "WorkloadRebalancer",
                plural: "workloadrebalancers",
                singular: "workloadrebalancer",
                short: &[],
                scope: cluster_scoped,
                status: true,
            }),
            kept_form(&REBALANCER),
        ),
    ]
}
