//! The kinds of Karmada: names, columns, schemas and rules.

use std::sync::{Arc, LazyLock};

use berth_apimachinery::name::NameError;
use berth_apimachinery::{Column, FieldError, Kind, KindInfo, Schema, Scope, Write, WriteOperation};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::binding::Binding;
use super::cluster::Cluster;
use super::policy::Policy;
use super::{cluster_rules, policy_defaults, policy_rules};
use crate::names::{APPS_GROUP, CLUSTER_GROUP, POLICY_GROUP, WORK_GROUP};

/// The stored version of bindings.
pub(crate) const WORK_VERSION: &str = "v1alpha2";
/// The version of all other kinds.
const VERSION: &str = "v1alpha1";
/// The categories of the kinds that have short names.
const CATEGORIES: &[&str] = &["karmada-io"];
/// The maximum length of the name of a cluster, in bytes.
const MAX_CLUSTER_NAME: usize = 48;

/// A kind of Karmada.
struct ServedKind {
    info: KindInfo,
    form: Form,
}

/// Schema, columns, defaults and rules of a kind.
struct Form {
    schema: &'static LazyLock<Schema>,
    columns: &'static [Column],
    /// Sets the defaults of an object beyond the schema.
    set_defaults: fn(&mut Value),
    /// Returns the errors of an object.
    errors: fn(&Value) -> Vec<FieldError>,
    /// Returns the errors of an update from the old to the new object.
    change_errors: fn(&Value, &Value) -> Vec<FieldError>,
    /// Returns the errors that Karmada accepts, of the old and the new object.
    own_errors: fn(Option<&Value>, &Value) -> Vec<FieldError>,
}

impl Kind for ServedKind {
    fn info(&self) -> &KindInfo {
        &self.info
    }

    fn schema(&self, _version: &str) -> &Schema {
        self.form.schema
    }

    fn prepare(&self, write: &Write<'_>, new: &mut Value) {
        match write.operation {
            WriteOperation::Subresource(_) => {}
            WriteOperation::Create | WriteOperation::Update => (self.form.set_defaults)(new),
        }
    }

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        match write.operation {
            WriteOperation::Subresource(_) => Vec::new(),
            WriteOperation::Create | WriteOperation::Update => {
                let mut errors = (self.form.errors)(new);
                errors.extend(
                    write
                        .old
                        .into_iter()
                        .flat_map(|old| (self.form.change_errors)(old, new)),
                );
                errors
            }
        }
    }

    fn own_rules(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        match write.operation {
            WriteOperation::Subresource(_) => Vec::new(),
            WriteOperation::Create | WriteOperation::Update => (self.form.own_errors)(write.old, new),
        }
    }

    fn validate_name(&self, name: &str) -> Result<(), NameError> {
        if self.info.group == CLUSTER_GROUP {
            berth_apimachinery::name::dns_label(name)?;
            if name.len() > MAX_CLUSTER_NAME {
                return Err(NameError::TooLong(MAX_CLUSTER_NAME));
            }
            return Ok(());
        }
        berth_apimachinery::name::dns_subdomain(name)
    }

    fn columns(&self) -> &[Column] {
        self.form.columns
    }
}

static CLUSTER: LazyLock<Schema> = LazyLock::new(schema_of::<Cluster>);
static BINDING: LazyLock<Schema> = LazyLock::new(schema_of::<Binding>);
static POLICY: LazyLock<Schema> = LazyLock::new(schema_of::<Policy>);
static QUOTA: LazyLock<Schema> = LazyLock::new(|| unchanged_schema(&["overall"], true));
static TAINT_POLICY: LazyLock<Schema> = LazyLock::new(|| unchanged_schema(&["taints"], false));
static OVERRIDES: LazyLock<Schema> = LazyLock::new(|| unchanged_schema(&[], false));
static WORK: LazyLock<Schema> = LazyLock::new(|| unchanged_schema(&[], true));
static REBALANCER: LazyLock<Schema> = LazyLock::new(|| unchanged_schema(&["workloads"], true));

/// The schema of a kind whose objects are stored unchanged. `required` are the required fields of its spec.
fn unchanged_schema(required: &[&str], has_status: bool) -> Schema {
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

/// The schema of `T`, in which every list is replaced as a whole, since Karmada's definitions do not describe
/// how lists merge.
fn schema_of<T: JsonSchema>() -> Schema {
    let mut root = Schema::part::<T>().openapi().clone();
    set_lists_atomic(&mut root);
    Schema::from_value(root)
}

/// Sets the list type atomic for all lists in `schema` that have no list type.
fn set_lists_atomic(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("type").is_some_and(|found| found == "array") {
                let key = "x-kubernetes-list-type".to_owned();
                fields.entry(key).or_insert_with(|| "atomic".into());
            }
            fields.values_mut().for_each(set_lists_atomic);
        }
        Value::Array(items) => items.iter_mut().for_each(set_lists_atomic),
        _ => {}
    }
}

const CLUSTER_COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Version", "The Kubernetes version of the cluster").at(".status.kubernetesVersion"),
    Column::text("Mode", "The sync mode: Push or Pull").at(".spec.syncMode"),
    Column::text("Ready", "Whether the cluster is ready")
        .at(".status.conditions[?(@.type==\"Ready\")].status"),
    Column::AGE,
    Column::text("Region", "The region of the cluster")
        .at(".spec.region")
        .wide(),
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

const DEFAULT_COLUMNS: &[Column] = &[Column::NAME, Column::AGE];

fn no_defaults(_: &mut Value) {}

fn no_errors(_: &Value) -> Vec<FieldError> {
    Vec::new()
}

fn no_change_errors(_: &Value, _: &Value) -> Vec<FieldError> {
    Vec::new()
}

fn no_own_errors(_: Option<&Value>, _: &Value) -> Vec<FieldError> {
    Vec::new()
}

/// The errors of a Cluster. An object that cannot be parsed has no errors here: the schema refuses it.
fn cluster_errors(value: &Value) -> Vec<FieldError> {
    Cluster::deserialize(value).map_or_else(|_| Vec::new(), |view| cluster_rules::errors(&view.spec))
}

/// The errors of a policy. Of an object that cannot be parsed, only `spec.failover` and `spec.suspension` are
/// checked here: the schema refuses the object.
fn policy_errors(value: &Value) -> Vec<FieldError> {
    let namespace = value["metadata"]["namespace"].as_str().unwrap_or_default();
    let mut errors = Policy::deserialize(value)
        .map_or_else(|_| Vec::new(), |view| policy_rules::errors(&view.spec, namespace));
    errors.extend(policy_rules::failover_and_suspension_errors(value));
    errors
}

/// The errors of a policy that Karmada accepts: invalid label selectors, which select nothing. An update that
/// leaves the selectors unchanged has no such errors.
fn own_policy_errors(old: Option<&Value>, new: &Value) -> Vec<FieldError> {
    let field = "/spec/resourceSelectors";
    if old.is_some_and(|old| old.pointer(field) == new.pointer(field)) {
        return Vec::new();
    }
    Policy::deserialize(new).map_or_else(
        |_| Vec::new(),
        |view| policy_rules::label_selector_errors(&view.spec),
    )
}

/// The form of a kind whose objects are stored unchanged.
fn unchanged_form(schema: &'static LazyLock<Schema>) -> Form {
    Form {
        schema,
        columns: DEFAULT_COLUMNS,
        set_defaults: no_defaults,
        errors: no_errors,
        change_errors: no_change_errors,
        own_errors: no_own_errors,
    }
}

fn served(info: KindInfo, form: Form) -> Arc<dyn Kind> {
    Arc::new(ServedKind { info, form })
}

/// All kinds that decisions read, in the order of discovery.
pub(super) fn decision_kinds() -> Vec<Arc<dyn Kind>> {
    let mut kinds = vec![cluster_kind()];
    kinds.extend(binding_kinds());
    kinds.extend(policy_kinds());
    kinds.push(quota_kind());
    kinds
}

/// All kinds that decisions do not read, in the order of discovery.
pub(super) fn further_kinds() -> Vec<Arc<dyn Kind>> {
    let mut kinds = vec![taint_policy_kind()];
    kinds.extend(override_policy_kinds());
    kinds.extend([work_kind(), rebalancer_kind()]);
    kinds
}

fn cluster_kind() -> Arc<dyn Kind> {
    let info = KindInfo {
        singular: "cluster",
        scope: Scope::Cluster,
        status_subresource: true,
        ..KindInfo::new(CLUSTER_GROUP, &[VERSION], "Cluster", "clusters")
    };
    let form = Form {
        columns: CLUSTER_COLUMNS,
        errors: cluster_errors,
        ..unchanged_form(&CLUSTER)
    };
    served(info, form)
}

fn binding_kinds() -> [Arc<dyn Kind>; 2] {
    let binding = |kind, plural, singular, short_names, scope| {
        let info = KindInfo {
            singular,
            short_names,
            categories: CATEGORIES,
            scope,
            status_subresource: true,
            ..KindInfo::new(WORK_GROUP, &[WORK_VERSION], kind, plural)
        };
        let form = Form {
            columns: BINDING_COLUMNS,
            ..unchanged_form(&BINDING)
        };
        served(info, form)
    };
    [
        binding(
            "ResourceBinding",
            "resourcebindings",
            "resourcebinding",
            &["rb"],
            Scope::Namespaced,
        ),
        binding(
            "ClusterResourceBinding",
            "clusterresourcebindings",
            "clusterresourcebinding",
            &["crb"],
            Scope::Cluster,
        ),
    ]
}

/// The info of a kind in the group of policies, without a status.
fn policy_info(
    kind: &'static str,
    plural: &'static str,
    singular: &'static str,
    short_names: &'static [&'static str],
    scope: Scope,
) -> KindInfo {
    KindInfo {
        singular,
        short_names,
        categories: if short_names.is_empty() { &[] } else { CATEGORIES },
        scope,
        ..KindInfo::new(POLICY_GROUP, &[VERSION], kind, plural)
    }
}

fn policy_kinds() -> [Arc<dyn Kind>; 2] {
    let namespaced = policy_info(
        "PropagationPolicy",
        "propagationpolicies",
        "propagationpolicy",
        &["pp"],
        Scope::Namespaced,
    );
    let cluster_scoped = policy_info(
        "ClusterPropagationPolicy",
        "clusterpropagationpolicies",
        "clusterpropagationpolicy",
        &["cpp"],
        Scope::Cluster,
    );
    [namespaced, cluster_scoped].map(|info| {
        let form = Form {
            schema: &POLICY,
            columns: POLICY_COLUMNS,
            set_defaults: policy_defaults::set,
            errors: policy_errors,
            change_errors: policy_rules::change_errors,
            own_errors: own_policy_errors,
        };
        served(info, form)
    })
}

fn quota_kind() -> Arc<dyn Kind> {
    let info = KindInfo {
        status_subresource: true,
        ..policy_info(
            "FederatedResourceQuota",
            "federatedresourcequotas",
            "federatedresourcequota",
            &["frq"],
            Scope::Namespaced,
        )
    };
    let form = Form {
        columns: QUOTA_COLUMNS,
        ..unchanged_form(&QUOTA)
    };
    served(info, form)
}

fn taint_policy_kind() -> Arc<dyn Kind> {
    let info = policy_info(
        "ClusterTaintPolicy",
        "clustertaintpolicies",
        "clustertaintpolicy",
        &[],
        Scope::Cluster,
    );
    served(info, unchanged_form(&TAINT_POLICY))
}

fn override_policy_kinds() -> [Arc<dyn Kind>; 2] {
    let namespaced = policy_info(
        "OverridePolicy",
        "overridepolicies",
        "overridepolicy",
        &["op"],
        Scope::Namespaced,
    );
    let cluster_scoped = policy_info(
        "ClusterOverridePolicy",
        "clusteroverridepolicies",
        "clusteroverridepolicy",
        &["cop"],
        Scope::Cluster,
    );
    [namespaced, cluster_scoped].map(|info| served(info, unchanged_form(&OVERRIDES)))
}

fn work_kind() -> Arc<dyn Kind> {
    let info = KindInfo {
        singular: "work",
        short_names: &["wk"],
        categories: CATEGORIES,
        scope: Scope::Namespaced,
        status_subresource: true,
        ..KindInfo::new(WORK_GROUP, &[VERSION], "Work", "works")
    };
    let form = Form {
        columns: WORK_COLUMNS,
        ..unchanged_form(&WORK)
    };
    served(info, form)
}

fn rebalancer_kind() -> Arc<dyn Kind> {
    let info = KindInfo {
        singular: "workloadrebalancer",
        scope: Scope::Cluster,
        status_subresource: true,
        ..KindInfo::new(
            APPS_GROUP,
            &[VERSION],
            "WorkloadRebalancer",
            "workloadrebalancers",
        )
    };
    served(info, unchanged_form(&REBALANCER))
}
