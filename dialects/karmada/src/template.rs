//! Templates: the kinds that policies select, and the requests of a workload's pods, as Karmada's default
//! interpreter computes them.

use std::collections::BTreeMap;

use berth_apimachinery::quantity::Quantity;
use berth_apimachinery::{GroupResource, Key};
use serde_json::{Map, Value, json};

use crate::names::{BINDINGS, CLUSTER_BINDINGS};

/// A kind of template.
#[derive(Debug)]
pub(crate) struct TemplateKind {
    /// The resource.
    pub(crate) resource: GroupResource,
    /// The `apiVersion`, as in selectors.
    pub(crate) api_version: &'static str,
    /// The `kind`, as in selectors.
    pub(crate) kind: &'static str,
    /// Whether the kind is namespaced.
    pub(crate) namespaced: bool,
    /// Reads the requested number of pods; `None` for a kind that is not a workload.
    replicas: Option<fn(&Value) -> i64>,
}

/// Every kind that the detector knows as a template, in Kubernetes' own groups.
pub(crate) const KINDS: &[TemplateKind] = &[
    workload("apps", "deployments", "apps/v1", "Deployment", of_spec),
    workload("apps", "statefulsets", "apps/v1", "StatefulSet", of_spec),
    workload("batch", "jobs", "batch/v1", "Job", of_job),
    other("", "configmaps", "v1", "ConfigMap", true),
    other("", "secrets", "v1", "Secret", true),
    other("", "serviceaccounts", "v1", "ServiceAccount", true),
    other("", "services", "v1", "Service", true),
    other(RBAC, "roles", RBAC_V1, "Role", true),
    other(RBAC, "rolebindings", RBAC_V1, "RoleBinding", true),
    other(RBAC, "clusterroles", RBAC_V1, "ClusterRole", false),
    other(RBAC, "clusterrolebindings", RBAC_V1, "ClusterRoleBinding", false),
];

const RBAC: &str = "rbac.authorization.k8s.io";
const RBAC_V1: &str = "rbac.authorization.k8s.io/v1";

const fn workload(
    group: &'static str,
    plural: &'static str,
    api_version: &'static str,
    kind: &'static str,
    replicas: fn(&Value) -> i64,
) -> TemplateKind {
    TemplateKind {
        replicas: Some(replicas),
        ..other(group, plural, api_version, kind, true)
    }
}

const fn other(
    group: &'static str,
    plural: &'static str,
    api_version: &'static str,
    kind: &'static str,
    namespaced: bool,
) -> TemplateKind {
    TemplateKind {
        resource: GroupResource::new(group, plural),
        api_version,
        kind,
        namespaced,
        replicas: None,
    }
}

impl TemplateKind {
    /// The kind of the objects of `resource`.
    pub(crate) fn of(resource: GroupResource) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.resource == resource)
    }

    /// The kind that a selector or a binding names.
    pub(crate) fn named(api_version: &str, kind: &str) -> Option<&'static Self> {
        let mut kinds = KINDS.iter();
        kinds.find(|known| known.api_version == api_version && known.kind == kind)
    }

    /// The key of the binding for the template named `name`.
    pub(crate) fn binding(&self, namespace: &str, name: &str) -> Key {
        let resource = match self.namespaced {
            true => BINDINGS,
            false => CLUSTER_BINDINGS,
        };
        let name = format!("{name}-{}", self.kind).to_lowercase().replace(':', ".");
        Key::new(resource, namespace, &name)
    }
}

/// Replicas and requirements of a template.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct TemplateRequirements {
    /// Number of pods.
    pub(crate) replicas: i64,
    /// The value of `spec.replicaRequirements`; `None` if pods have no requirements, or the template is
    /// not a workload.
    pub(crate) requirements: Option<Value>,
}

/// Replicas and requirements of `template`, which is of `kind`.
pub(crate) fn wants(kind: &TemplateKind, template: &Value) -> TemplateRequirements {
    match kind.replicas {
        Some(replicas) => TemplateRequirements {
            replicas: replicas(&template["spec"]),
            requirements: requirements(&template["spec"]["template"]["spec"]),
        },
        None => TemplateRequirements::default(),
    }
}

fn of_spec(spec: &Value) -> i64 {
    spec["replicas"].as_i64().unwrap_or_default()
}

fn of_job(spec: &Value) -> i64 {
    let parallelism = spec["parallelism"].as_i64().unwrap_or(1);
    spec["completions"]
        .as_i64()
        .map_or(parallelism, |completions| completions.min(parallelism))
}

/// The request of one pod: its resources, and the nodes on which it can run.
fn requirements(pod: &Value) -> Option<Value> {
    let (request, claim) = (request(pod), node_claim(pod));
    if request.is_empty() && claim.is_empty() {
        return None;
    }
    let mut requirements = Map::new();
    if !claim.is_empty() {
        requirements.insert("nodeClaim".to_owned(), claim.into());
    }
    if !request.is_empty() {
        let texts = request
            .into_iter()
            .map(|(name, amount)| (name, amount.text().into()));
        requirements.insert("resourceRequest".to_owned(), Value::Object(texts.collect()));
    }
    Some(requirements.into())
}

fn node_claim(pod: &Value) -> Map<String, Value> {
    let affinity = "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution";
    let parts = [
        ("hardNodeAffinity", pod.pointer(affinity)),
        ("nodeSelector", pod.get("nodeSelector")),
        ("tolerations", pod.get("tolerations")),
    ];
    let is_empty = |value: &Value| value.is_null() || *value == json!({}) || *value == json!([]);
    parts
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value.filter(|value| !is_empty(value))?.clone())))
        .collect()
}

/// Amounts of one pod by resource: the sum of all containers, or the request of an init container if it is
/// larger, plus the overhead.
fn request(pod: &Value) -> BTreeMap<String, Amount> {
    let mut sum = BTreeMap::new();
    for container in list(&pod["containers"]) {
        add(&mut sum, of_container(container));
    }
    for container in list(&pod["initContainers"]) {
        for (name, amount) in of_container(container) {
            let max = sum.entry(name).or_insert_with(Amount::default);
            if amount.quantity > max.quantity {
                *max = amount;
            }
        }
    }
    add(&mut sum, amounts(&pod["overhead"]));
    sum
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn add(sum: &mut BTreeMap<String, Amount>, more: BTreeMap<String, Amount>) {
    for (name, amount) in more {
        match sum.get_mut(&name) {
            Some(known) => *known = known.plus(&amount),
            None => drop(sum.insert(name, amount)),
        }
    }
}

/// Requests of one container; a limit replaces a missing request.
fn of_container(container: &Value) -> BTreeMap<String, Amount> {
    let mut requests = amounts(&container["resources"]["requests"]);
    for (name, amount) in amounts(&container["resources"]["limits"]) {
        requests.entry(name).or_insert(amount);
    }
    requests
}

fn amounts(list: &Value) -> BTreeMap<String, Amount> {
    let list = list.as_object().into_iter().flatten();
    list.filter_map(|(name, value)| Some((name.clone(), Amount::read(value)?)))
        .collect()
}

/// An amount that keeps its original text.
#[derive(Clone, Debug, Default)]
struct Amount {
    quantity: Quantity,
    /// The original text; `None` once another amount was added.
    original: Option<String>,
    /// Whether the amount is written in powers of 1024.
    binary: bool,
}

impl Amount {
    fn read(value: &Value) -> Option<Self> {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => return None,
        };
        Some(Self {
            quantity: Quantity::parse(&text).ok()?,
            binary: text.ends_with('i'),
            original: Some(text),
        })
    }

    fn plus(&self, other: &Self) -> Self {
        Self {
            quantity: Quantity(self.quantity.0.saturating_add(other.quantity.0)),
            original: None,
            binary: self.binary,
        }
    }

    /// The amount as text, in the notation of its first summand.
    fn text(&self) -> String {
        const SUFFIXES: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
        if let Some(text) = &self.original {
            return text.clone();
        }
        let (mut units, exact) = (self.quantity.units(), Quantity(self.quantity.0));
        let is_whole = Quantity(i128::from(units) * 1_000_000_000) == exact;
        if !self.binary || !is_whole || units == 0 {
            return self.quantity.to_string();
        }
        let mut suffix = "";
        for larger in SUFFIXES {
            if units % 1024 != 0 {
                break;
            }
            units /= 1024;
            suffix = larger;
        }
        format!("{units}{suffix}")
    }
}
