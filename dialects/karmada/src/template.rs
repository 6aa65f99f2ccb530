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
    /// The resource of the templates.
    pub(crate) resource: GroupResource,
    /// The `apiVersion` of the templates, as in selectors.
    pub(crate) api_version: &'static str,
    /// The `kind` of the templates, as in selectors.
    pub(crate) kind: &'static str,
    /// Whether the templates are namespaced.
    pub(crate) namespaced: bool,
    /// Returns the requested number of pods for a `spec`; `None` for a kind that is not a workload.
    replicas: Option<fn(&Value) -> i64>,
}

/// Every kind of template that the detector supports. All of these kinds are Kubernetes' own.
pub(crate) const KINDS: &[TemplateKind] = &[
    workload("apps", "deployments", "apps/v1", "Deployment", replicas_of_spec),
    workload("apps", "statefulsets", "apps/v1", "StatefulSet", replicas_of_spec),
    workload("batch", "jobs", "batch/v1", "Job", replicas_of_job),
    non_workload("", "configmaps", "v1", "ConfigMap", true),
    non_workload("", "secrets", "v1", "Secret", true),
    non_workload("", "serviceaccounts", "v1", "ServiceAccount", true),
    non_workload("", "services", "v1", "Service", true),
    non_workload(RBAC, "roles", RBAC_V1, "Role", true),
    non_workload(RBAC, "rolebindings", RBAC_V1, "RoleBinding", true),
    non_workload(RBAC, "clusterroles", RBAC_V1, "ClusterRole", false),
    non_workload(RBAC, "clusterrolebindings", RBAC_V1, "ClusterRoleBinding", false),
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
        ..non_workload(group, plural, api_version, kind, true)
    }
}

const fn non_workload(
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
pub(crate) fn template_requirements(kind: &TemplateKind, template: &Value) -> TemplateRequirements {
    match kind.replicas {
        Some(replicas) => TemplateRequirements {
            replicas: replicas(&template["spec"]),
            requirements: requirements(&template["spec"]["template"]["spec"]),
        },
        None => TemplateRequirements::default(),
    }
}

fn replicas_of_spec(spec: &Value) -> i64 {
    spec["replicas"].as_i64().unwrap_or_default()
}

fn replicas_of_job(spec: &Value) -> i64 {
    let parallelism = spec["parallelism"].as_i64().unwrap_or(1);
    spec["completions"]
        .as_i64()
        .map_or(parallelism, |completions| completions.min(parallelism))
}

/// The value of `spec.replicaRequirements` for `pod`, the spec of a pod: the requested resources, and the
/// nodes on which the pod can run. `None` if there are no requirements.
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

/// The request of one pod by resource: the sum over all containers, or the request of an init container if it
/// is larger, plus the overhead.
fn request(pod: &Value) -> BTreeMap<String, Amount> {
    let mut sum = BTreeMap::new();
    for container in list(&pod["containers"]) {
        add(&mut sum, container_request(container));
    }
    for container in list(&pod["initContainers"]) {
        for (name, amount) in container_request(container) {
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
fn container_request(container: &Value) -> BTreeMap<String, Amount> {
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
    /// The original text; `None` for a sum.
    original: Option<String>,
    /// Whether the amount, or the first summand of a sum, is written in powers of 1024.
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

    /// The amount as text. A sum is written in powers of 1024 if its first summand is written so and the sum
    /// is a whole number.
    fn text(&self) -> String {
        const SUFFIXES: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
        if let Some(text) = &self.original {
            return text.clone();
        }
        let mut units = self.quantity.units();
        let is_whole = Quantity(i128::from(units) * 1_000_000_000) == self.quantity;
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
