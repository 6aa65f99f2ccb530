//! Policies, parsed once per change and indexed by their selectors.

use std::sync::Arc;

use berth_apimachinery::selector::Selector;
use berth_apimachinery::{GroupResource, Key, Object};
use berth_dialect_contract::Objects;
use serde_json::Value;

use crate::kind::policy::{Policy, PolicySpec, ResourceSelector};
use crate::names::{CLAIMS, CLUSTER_PROPAGATION_POLICIES, PROPAGATION_POLICIES};
use crate::template::TemplateKind;

/// The implicit priority of Karmada: among policies of equal priority, the policy with the most precise
/// selector claims a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ImplicitPriority {
    /// The selector selects every object of the kind.
    Kind,
    /// The selector selects objects by their labels.
    Labels,
    /// The selector selects one object by its name.
    Name,
}

/// A parsed PropagationPolicy or ClusterPropagationPolicy.
#[derive(Debug)]
pub(crate) struct PolicyRecord {
    /// The key of the policy.
    pub(crate) key: Key,
    /// The object of the policy.
    pub(crate) object: Arc<Object>,
    /// The spec of the policy: the selected templates, and their clusters.
    pub(crate) spec: PolicySpec,
    /// The value of the label on claimed templates: the permanent id of the policy, or else its uid, or else
    /// its name.
    pub(crate) id: String,
    /// The compiled label selector of each resource selector; `None` if labels have no effect
    /// ([`PolicySpec::label_selectors`]), `Some(None)` for an invalid one, which selects nothing, as in Karmada.
    label_selectors: Vec<Option<Option<Selector>>>,
}

impl PolicyRecord {
    /// Parses the policy `object` at `key`.
    ///
    /// # Errors
    /// The reason why the object cannot be parsed.
    pub(crate) fn read(key: &Key, object: &Arc<Object>) -> Result<Self, String> {
        let Policy { spec } = object
            .view()
            .map_err(|error| format!("{key} is left out: {error}"))?;
        let meta = object.meta();
        let mut ids = CLAIMS[..2].iter().filter_map(|id| meta.labels().get(id));
        let id = ids.next().unwrap_or_else(|| match meta.uid() {
            "" => meta.name(),
            uid => uid,
        });
        let compiled = spec.label_selectors().map(|compiled| Some(compiled?.ok()));
        Ok(Self {
            key: key.clone(),
            id: id.to_owned(),
            label_selectors: compiled.collect(),
            object: Arc::clone(object),
            spec,
        })
    }

    /// Whether a change of the policy takes effect on a template only with the next change of that template.
    pub(crate) fn is_lazy(&self) -> bool {
        self.spec.activation_preference == "Lazy"
    }

    /// The implicit priority of the policy for `template`, which is of `kind`; `None` if the policy does not
    /// select the template.
    pub(crate) fn implicit_priority(
        &self,
        kind: &TemplateKind,
        template: &Object,
    ) -> Option<ImplicitPriority> {
        let meta = template.meta();
        let selectors = self.spec.resource_selectors.iter().zip(&self.label_selectors);
        let matching = selectors.filter_map(|(selector, labels)| {
            if !self.covers(selector, kind.api_version, kind.kind, meta.namespace()) {
                return None;
            }
            match (&*selector.name, labels) {
                ("", None) => Some(ImplicitPriority::Kind),
                ("", Some(Some(labels))) => labels.matches(meta.labels()).then_some(ImplicitPriority::Labels),
                ("", Some(None)) => None,
                (name, _) => (name == meta.name()).then_some(ImplicitPriority::Name),
            }
        });
        matching.max()
    }

    /// Whether the policy may select the template in `reference`, the `spec.resource` of a binding. The
    /// labels of the template are unknown and not checked.
    pub(crate) fn may_select(&self, reference: &Value) -> bool {
        let text = |field: &str| reference[field].as_str().unwrap_or_default();
        let mut selectors = self.spec.resource_selectors.iter();
        selectors.any(|selector| {
            self.covers(selector, text("apiVersion"), text("kind"), text("namespace"))
                && (selector.name.is_empty() || selector.name == text("name"))
        })
    }

    /// Whether `selector` covers `kind` and `namespace`, regardless of names and labels. A PropagationPolicy
    /// only selects objects in its own namespace.
    fn covers(&self, selector: &ResourceSelector, api_version: &str, kind: &str, namespace: &str) -> bool {
        let policy_namespace = &*self.key.namespace;
        selector.api_version == api_version
            && selector.kind == kind
            && (selector.namespace.is_empty() || selector.namespace == namespace)
            && (policy_namespace.is_empty() || policy_namespace == namespace)
    }

    /// The templates in `objects` that the policy selects. A template that several selectors select is
    /// repeated.
    pub(crate) fn templates<'a>(
        &'a self,
        objects: &'a dyn Objects,
    ) -> impl Iterator<Item = (GroupResource, &'a Arc<Object>)> {
        self.spec.resource_selectors.iter().flat_map(move |selector| {
            let kind = TemplateKind::named(&selector.api_version, &selector.kind);
            kind.into_iter().flat_map(move |kind| {
                let candidates = self.candidates(selector, kind, objects);
                candidates
                    .filter(move |object| self.implicit_priority(kind, object).is_some())
                    .map(move |object| (kind.resource, object))
            })
        })
    }

    /// The objects of `kind` that `selector` may select: those in its namespace, or only the one with its
    /// name.
    fn candidates<'a>(
        &'a self,
        selector: &'a ResourceSelector,
        kind: &TemplateKind,
        objects: &'a dyn Objects,
    ) -> Box<dyn Iterator<Item = &'a Arc<Object>> + 'a> {
        let namespaces = [&*self.key.namespace, &selector.namespace];
        let namespace = namespaces.into_iter().find(|namespace| !namespace.is_empty());
        match namespace {
            Some(namespace) if !selector.name.is_empty() => {
                let key = Key::new(kind.resource, namespace, &selector.name);
                Box::new(objects.get(&key).into_iter())
            }
            _ => objects.list(kind.resource, namespace),
        }
    }
}

/// All policies of a control plane.
#[derive(Clone, Default)]
pub(crate) struct Policies {
    /// The policies, by key.
    records: imbl::OrdMap<Key, Arc<PolicyRecord>>,
    /// The index of the resource selectors: for each selector, the kind, the name (empty if the selector has
    /// none) and the key of the policy.
    selectors: imbl::OrdSet<(Arc<str>, Arc<str>, Key)>,
}

impl Policies {
    /// The policy at `key`.
    pub(crate) fn get(&self, key: &Key) -> Option<&Arc<PolicyRecord>> {
        self.records.get(key)
    }

    /// Replaces the policy at `key` by `new`; `None` removes it.
    pub(crate) fn replace(&mut self, key: &Key, new: Option<Arc<PolicyRecord>>) {
        let old = match &new {
            Some(record) => self.records.insert(key.clone(), Arc::clone(record)),
            None => self.records.remove(key),
        };
        for entry in old.iter().flat_map(|old| entries(old)) {
            self.selectors.remove(&entry);
        }
        for entry in new.iter().flat_map(|new| entries(new)) {
            self.selectors.insert(entry);
        }
    }

    /// The policies that depend on the override policy at `key`.
    pub(crate) fn depending_on<'a>(&'a self, key: &'a Key) -> impl Iterator<Item = &'a Arc<PolicyRecord>> {
        let resource = match key.namespace.is_empty() {
            true => CLUSTER_PROPAGATION_POLICIES,
            false => PROPAGATION_POLICIES,
        };
        let policies = self.records.range(Key::new(resource, &key.namespace, "")..);
        policies
            .take_while(move |(policy, _)| policy.resource == resource && policy.namespace == key.namespace)
            .map(|(_, policy)| policy)
            .filter(move |policy| {
                let mut names = policy.spec.dependent_overrides.iter();
                names.any(|name| **name == *key.name)
            })
    }

    /// The policies of `resource` in `namespace` with a selector for `kind` that has no name, or the name
    /// `name`.
    pub(crate) fn candidates<'a>(
        &'a self,
        kind: &TemplateKind,
        name: &str,
        resource: GroupResource,
        namespace: &str,
    ) -> impl Iterator<Item = &'a Arc<PolicyRecord>> {
        let kind = selected_kind(kind.api_version, kind.kind);
        let starts: [(Arc<str>, Arc<str>, Key); 2] = ["", name].map(|name| {
            let first = Key::new(resource, namespace, "");
            (Arc::clone(&kind), Arc::from(name), first)
        });
        starts.into_iter().flat_map(move |start| {
            let entries = self.selectors.range(start.clone()..);
            entries
                .take_while(move |(kind, name, key)| {
                    let (first_kind, first_name, first) = &start;
                    kind == first_kind
                        && name == first_name
                        && key.resource == first.resource
                        && key.namespace == first.namespace
                })
                .filter_map(move |(_, _, key)| self.records.get(key))
        })
    }
}

/// The entries of the policy in the index of selectors.
fn entries(record: &PolicyRecord) -> impl Iterator<Item = (Arc<str>, Arc<str>, Key)> {
    let selectors = record.spec.resource_selectors.iter();
    selectors.map(|selector| {
        let kind = selected_kind(&selector.api_version, &selector.kind);
        (kind, Arc::from(selector.name.as_str()), record.key.clone())
    })
}

fn selected_kind(api_version: &str, kind: &str) -> Arc<str> {
    format!("{api_version} {kind}").into()
}
