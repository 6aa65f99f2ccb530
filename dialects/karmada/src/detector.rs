//! The detector (docs/systems/karmada.md, "The detector"): policies claim templates, and each claimed
//! template gets a binding.
//!
//! The detector runs where Berth stores the objects itself, and in plans and simulations. On a hub, Karmada's
//! controller manager does this work. If Berth cannot read a template of a hub, a plan adapts the template's
//! binding to the policy that claims the binding.

mod binding;
mod claim;
mod stored_object;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::collections::BTreeSet;

use berth_apimachinery::write::{Verb, Write};
use berth_apimachinery::{Change, GroupResource, Key, Object};
use berth_dialect_contract::{Context, Reconciler, Step};
use serde_json::Value;

use self::stored_object::without_version;
use crate::fleet::Fleet;
use crate::fleet::policies::PolicyRecord;
use crate::names::{
    BINDINGS, CLUSTER_BINDINGS, CLUSTER_OVERRIDE_POLICIES, CLUSTER_PROPAGATION_POLICIES, DETECTOR,
    OVERRIDE_POLICIES, PROPAGATION_POLICIES,
};
use crate::template::{self, TemplateKind};

/// The name of the controller.
const NAME: &str = "karmada-detector";

/// The controller that claims templates and writes bindings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Detector;

/// Karmada's fleet in `context`; `None` if the inventory is of another dialect, which does not occur.
fn fleet<'a>(context: &Context<'a>) -> Option<&'a Fleet> {
    let any: &dyn Any = context.inventory;
    any.downcast_ref()
}

/// The key of the binding for the template at `key`; `None` if objects of this kind are no templates.
pub(crate) fn binding_of(key: &Key) -> Option<Key> {
    let kind = TemplateKind::of(key.resource)?;
    Some(kind.binding(&key.namespace, &key.name))
}

impl Reconciler for Detector {
    fn name(&self) -> &'static str {
        NAME
    }

    fn actor(&self) -> &'static str {
        DETECTOR
    }

    fn watches(&self) -> Vec<GroupResource> {
        let resources = [
            PROPAGATION_POLICIES,
            CLUSTER_PROPAGATION_POLICIES,
            OVERRIDE_POLICIES,
            CLUSTER_OVERRIDE_POLICIES,
            BINDINGS,
            CLUSTER_BINDINGS,
        ];
        resources
            .into_iter()
            .chain(template::KINDS.iter().map(|kind| kind.resource))
            .collect()
    }

    fn writes(&self) -> Vec<GroupResource> {
        let templates = template::KINDS.iter().map(|kind| kind.resource);
        [BINDINGS, CLUSTER_BINDINGS]
            .into_iter()
            .chain(templates)
            .collect()
    }

    fn is_left_to_hub(&self) -> bool {
        true
    }

    fn due(&self, change: &Change, context: &Context<'_>) -> Vec<Key> {
        let key = &change.key;
        match key.resource {
            PROPAGATION_POLICIES | CLUSTER_PROPAGATION_POLICIES => due_by_policy(change, context),
            OVERRIDE_POLICIES | CLUSTER_OVERRIDE_POLICIES => due_by_override(change, context),
            BINDINGS | CLUSTER_BINDINGS => {
                let template = change.new.as_ref().or(change.old.as_ref()).and_then(template_of);
                // A template that cannot be read is not due, even if it exists.
                let readable = template.filter(|template| context.objects.get(template).is_some());
                readable
                    .filter(|template| !waits_for_change(template, context) && has_work(template, context))
                    .into_iter()
                    .collect()
            }
            resource if TemplateKind::of(resource).is_some() => {
                let waits = waits_for_change(key, context) && !is_edited(change);
                let is_due = !waits && has_work(key, context);
                is_due.then(|| key.clone()).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    fn all(&self, context: &Context<'_>) -> Vec<Key> {
        let kinds = template::KINDS.iter();
        let templates = kinds.flat_map(|kind| {
            let objects = context.objects.list(kind.resource, None);
            objects.map(|object| key_of(kind.resource, object))
        });
        templates
            .filter(|key| !waits_for_change(key, context) && has_work(key, context))
            .collect()
    }

    fn step(&self, key: &Key, context: &Context<'_>) -> Step {
        Step {
            writes: writes(key, context),
            due_at: None,
        }
    }
}

fn key_of(resource: GroupResource, object: &Object) -> Key {
    let meta = object.meta();
    Key::new(resource, meta.namespace(), meta.name())
}

/// The key of the template of `binding`; `None` if the kind of the template is unknown.
fn template_of(binding: &std::sync::Arc<Object>) -> Option<Key> {
    let resource = &binding.value()["spec"]["resource"];
    let text = |field: &str| resource[field].as_str().unwrap_or_default();
    let kind = TemplateKind::named(text("apiVersion"), text("kind"))?;
    Some(Key::new(kind.resource, text("namespace"), text("name")))
}

/// Whether the template or binding at `key` needs any write.
fn has_work(key: &Key, context: &Context<'_>) -> bool {
    !writes(key, context).is_empty()
}

/// Whether the template at `key` is not due before it changes: the policy that claims the template is lazy,
/// and the template has a binding.
fn waits_for_change(key: &Key, context: &Context<'_>) -> bool {
    let parts = fleet(context).zip(context.objects.get(key));
    let policy = parts.and_then(|(fleet, object)| fleet.policies.get(&claim::claimed_by(object)?));
    policy.is_some_and(|policy| policy.is_lazy())
        && binding_of(key).is_some_and(|binding| context.objects.get(&binding).is_some())
}

/// Whether `change` changes a template beyond its status and its claim, which controllers write and not the
/// user whose change a lazy policy waits for.
fn is_edited(change: &Change) -> bool {
    let content = |object: &Object| {
        let mut value = claim::without(&without_version(object));
        let ignored = [
            ("", "status"),
            ("/metadata", "generation"),
            ("/metadata", "managedFields"),
        ];
        for (part, field) in ignored {
            if let Some(fields) = value.pointer_mut(part).and_then(Value::as_object_mut) {
                fields.remove(field);
            }
        }
        value
    };
    match (&change.old, &change.new) {
        (Some(old), Some(new)) => content(old) != content(new),
        _ => true,
    }
}

/// Keys that a change of a policy makes due: the templates that the policy claims, selects or selected
/// before, and the claimed bindings whose templates cannot be read. No key is due if the changed policy is
/// lazy.
fn due_by_policy(change: &Change, context: &Context<'_>) -> Vec<Key> {
    let read =
        |object: &Option<std::sync::Arc<Object>>| PolicyRecord::read(&change.key, object.as_ref()?).ok();
    let (old, new) = (read(&change.old), read(&change.new));
    if new.as_ref().is_some_and(PolicyRecord::is_lazy) {
        return Vec::new();
    }
    let mut due = BTreeSet::new();
    for record in [&old, &new].into_iter().flatten() {
        due.extend(selected_templates(record, context));
    }
    for resource in [BINDINGS, CLUSTER_BINDINGS] {
        let namespace = Some(&*change.key.namespace).filter(|namespace| !namespace.is_empty());
        for binding in context.objects.list(resource, namespace) {
            if claim::claimed_by(binding).as_ref() != Some(&change.key) {
                continue;
            }
            let template = template_of(binding).filter(|template| context.objects.get(template).is_some());
            due.insert(template.unwrap_or_else(|| key_of(resource, binding)));
        }
    }
    due.retain(|key| has_work(key, context));
    due.into_iter().collect()
}

/// Keys that a new override policy makes due: the templates of the policies that depend on it.
fn due_by_override(change: &Change, context: &Context<'_>) -> Vec<Key> {
    let is_new = change.old.is_none() && change.new.is_some();
    let Some(fleet) = fleet(context).filter(|_| is_new) else {
        return Vec::new();
    };
    let mut due = BTreeSet::new();
    for policy in fleet.policies.depending_on(&change.key) {
        due.extend(selected_templates(policy, context));
    }
    due.retain(|key| !waits_for_change(key, context) && has_work(key, context));
    due.into_iter().collect()
}

/// The keys of the templates that `policy` selects. Templates that other policies claim stay with those
/// policies, and are left out.
fn selected_templates(policy: &PolicyRecord, context: &Context<'_>) -> Vec<Key> {
    let mut keys = Vec::new();
    for (resource, object) in policy.templates(context.objects) {
        if claim::claimed_by(object).is_none_or(|claimed| claimed == policy.key) {
            keys.push(key_of(resource, object));
        }
    }
    keys
}

/// All writes for the template or binding at `key`, in order.
fn writes(key: &Key, context: &Context<'_>) -> Vec<Write> {
    let Some(fleet) = fleet(context) else {
        return Vec::new();
    };
    match TemplateKind::of(key.resource) {
        Some(kind) => template_writes(fleet, kind, key, context),
        None => binding_writes(fleet, key, context),
    }
}

/// The writes that claim the template at `key` for its policy, and create or update its binding. If the
/// template is gone, a claimed binding is deleted. If no policy selects the template, the template and its
/// binding lose their claims. Nothing is written for a template that is being deleted or in a reserved
/// namespace, or while an override policy on which its policy depends does not exist.
fn template_writes(
    fleet: &Fleet,
    kind: &'static TemplateKind,
    key: &Key,
    context: &Context<'_>,
) -> Vec<Write> {
    let binding_key = kind.binding(&key.namespace, &key.name);
    let Some(template) = context.objects.get(key) else {
        // A garbage collector would also delete the binding, but one may not run.
        let binding = context.objects.get(&binding_key);
        let claimed_binding = binding.filter(|binding| claim::claimed_by(binding).is_some());
        return claimed_binding
            .map(|binding| deletion(&binding_key, binding))
            .into_iter()
            .collect();
    };
    if template.meta().deletion_timestamp().is_some() || claim::is_reserved(&key.namespace) {
        return Vec::new();
    }
    let stored = context.objects.get(&binding_key);
    let Some(policy) = claim::policy(fleet, kind, template) else {
        let objects = [(key, Some(template)), (&binding_key, stored)];
        return objects
            .into_iter()
            .filter_map(|(key, object)| update(key, object?, claim::without_claim(object?)?))
            .collect();
    };
    if !overrides_exist(policy, context) {
        return Vec::new();
    }
    let claim = update(
        key,
        template,
        claim::with_claim(&without_version(template), policy),
    );
    let built = |base: &Value| binding::for_template(base, kind, template, policy, &fleet.settings);
    let binding = match stored {
        Some(stored) => update(&binding_key, stored, built(&without_version(stored))),
        None => Some(Write {
            verb: Verb::Create,
            object: built(&binding::empty(&binding_key)),
            key: binding_key,
            subresource: "",
            base: None,
        }),
    };
    claim.into_iter().chain(binding).collect()
}

/// The writes that adapt the binding at `key` to its policy, if its template cannot be read.
fn binding_writes(fleet: &Fleet, key: &Key, context: &Context<'_>) -> Vec<Write> {
    let Some(stored) = context.objects.get(key) else {
        return Vec::new();
    };
    let Some(claimed) = claim::claimed_by(stored) else {
        return Vec::new();
    };
    let policy = fleet.policies.get(&claimed);
    let new = match policy.filter(|policy| policy.may_select(&stored.value()["spec"]["resource"])) {
        Some(policy) => Some(binding::with_policy(&without_version(stored), policy)),
        None => claim::without_claim(stored),
    };
    new.and_then(|new| update(key, stored, new)).into_iter().collect()
}

/// Whether all dependent override policies of `policy` exist.
fn overrides_exist(policy: &PolicyRecord, context: &Context<'_>) -> bool {
    let resource = match policy.key.namespace.is_empty() {
        true => CLUSTER_OVERRIDE_POLICIES,
        false => OVERRIDE_POLICIES,
    };
    let mut names = policy.spec.dependent_overrides.iter();
    names.all(|name| {
        let key = Key::new(resource, &policy.key.namespace, name);
        context.objects.get(&key).is_some()
    })
}

/// The update of `object`, which is at `key`, to `new`; `None` if nothing changes.
fn update(key: &Key, object: &Object, new: Value) -> Option<Write> {
    (without_version(object) != new).then(|| Write {
        verb: Verb::Update,
        key: key.clone(),
        subresource: "",
        object: new,
        base: Some(object.revision()),
    })
}

fn deletion(key: &Key, object: &Object) -> Write {
    Write {
        verb: Verb::Delete,
        key: key.clone(),
        subresource: "",
        object: without_version(object),
        base: Some(object.revision()),
    }
}
