//! Claims: the labels and annotations by which a policy claims a template, and the choice of this policy.

use std::cmp::Reverse;
use std::sync::Arc;

use berth_apimachinery::{Key, Object};
use serde_json::{Value, json};

use super::stored_object::without_version;
use crate::fleet::Fleet;
use crate::fleet::policies::PolicyRecord;
use crate::names::{CLAIMS, CLUSTER_PROPAGATION_POLICIES, PROPAGATION_POLICIES};
use crate::template::TemplateKind;

/// The annotation with the namespace of the claiming PropagationPolicy.
const NAMESPACE: &str = "propagationpolicy.karmada.io/namespace";
/// The annotation with the name of the claiming PropagationPolicy.
const NAME: &str = "propagationpolicy.karmada.io/name";
/// The annotation with the name of the claiming ClusterPropagationPolicy.
const CLUSTER_NAME: &str = "clusterpropagationpolicy.karmada.io/name";
/// The label with the permanent id of the claiming PropagationPolicy.
const ID: &str = CLAIMS[0];
/// The label with the permanent id of the claiming ClusterPropagationPolicy.
const CLUSTER_ID: &str = CLAIMS[1];

/// Whether `namespace` belongs to Karmada or to Kubernetes. Policies claim no templates in such a namespace.
pub(super) fn is_reserved(namespace: &str) -> bool {
    ["karmada-system", "karmada-cluster"].contains(&namespace)
        || ["karmada-es-", "kube-"]
            .iter()
            .any(|prefix| namespace.starts_with(prefix))
}

/// The key of the policy that claims `object`, a template or a binding. If both kinds of policies claim it,
/// the PropagationPolicy counts.
pub(super) fn claimed_by(object: &Object) -> Option<Key> {
    let labels = object.meta().labels();
    let annotation = |name: &str| object.annotations().get(name).map(std::borrow::Cow::into_owned);
    if labels.contains_key(ID)
        && let (Some(namespace), Some(name)) = (annotation(NAMESPACE), annotation(NAME))
    {
        return Some(Key::new(PROPAGATION_POLICIES, &namespace, &name));
    }
    let name = labels
        .contains_key(CLUSTER_ID)
        .then(|| annotation(CLUSTER_NAME))??;
    Some(Key::new(CLUSTER_PROPAGATION_POLICIES, "", &name))
}

/// The policy for `template`: the policy that claims the template, if it still selects the template, or else
/// the best policy that selects the template.
pub(super) fn policy<'a>(
    fleet: &'a Fleet,
    kind: &TemplateKind,
    template: &Object,
) -> Option<&'a Arc<PolicyRecord>> {
    let claiming = claimed_by(template).and_then(|key| fleet.policies.get(&key));
    claiming
        .filter(|policy| policy.implicit_priority(kind, template).is_some())
        .or_else(|| best(fleet, kind, template))
}

/// The best policy that selects `template`: a PropagationPolicy before a ClusterPropagationPolicy, then by
/// priority, implicit priority ([`PolicyRecord::implicit_priority`]) and name.
fn best<'a>(fleet: &'a Fleet, kind: &TemplateKind, template: &Object) -> Option<&'a Arc<PolicyRecord>> {
    let meta = template.meta();
    let best_of = |resource, namespace: &str| {
        let candidates = fleet.policies.candidates(kind, meta.name(), resource, namespace);
        let selecting = candidates.filter_map(|policy| {
            let implicit_priority = policy.implicit_priority(kind, template)?;
            Some((implicit_priority, policy))
        });
        selecting
            .min_by_key(|(implicit_priority, policy)| {
                (
                    Reverse(policy.spec.priority),
                    Reverse(*implicit_priority),
                    Arc::clone(&policy.key.name),
                )
            })
            .map(|(_, policy)| policy)
    };
    let own_policy = kind
        .namespaced
        .then(|| best_of(PROPAGATION_POLICIES, meta.namespace()))
        .flatten();
    own_policy.or_else(|| best_of(CLUSTER_PROPAGATION_POLICIES, ""))
}

/// Returns `object` with the claim of `policy` in place of any other claim.
pub(super) fn with_claim(object: &Value, policy: &PolicyRecord) -> Value {
    let mut object = without(object);
    let Key { namespace, name, .. } = &policy.key;
    let (id, names) = match namespace.is_empty() {
        true => (CLUSTER_ID, vec![(CLUSTER_NAME, name)]),
        false => (ID, vec![(NAMESPACE, namespace), (NAME, name)]),
    };
    set(&mut object, "labels", id, &policy.id);
    for (key, value) in names {
        set(&mut object, "annotations", key, value);
    }
    object
}

fn set(object: &mut Value, list: &str, key: &str, value: &str) {
    let list = &mut object["metadata"][list];
    if !list.is_object() {
        *list = json!({});
    }
    list[key] = value.into();
}

/// Returns `object` without its claim; `None` if it has no claim.
pub(super) fn without_claim(object: &Object) -> Option<Value> {
    let labels = object.meta().labels();
    let claimed = [ID, CLUSTER_ID].iter().any(|id| labels.contains_key(id));
    claimed.then(|| without(&without_version(object)))
}

/// Returns `object` without its claim, if it has one.
pub(super) fn without(object: &Value) -> Value {
    let mut object = object.clone();
    let keys = [
        ("labels", ID),
        ("labels", CLUSTER_ID),
        ("annotations", NAMESPACE),
        ("annotations", NAME),
        ("annotations", CLUSTER_NAME),
    ];
    for (list, key) in keys {
        let metadata = object["metadata"].as_object_mut();
        if let Some(metadata) = metadata
            && let Some(entries) = metadata.get_mut(list).and_then(Value::as_object_mut)
        {
            entries.remove(key);
            if entries.is_empty() {
                metadata.remove(list);
            }
        }
    }
    object
}
