//! Checks of the syncing state machine's labels, annotations and finalizers, and of a syncer's writes.

use std::collections::BTreeSet;

use berth_admission::Operation;
use serde_json::{Map, Value};

use super::roles::{actor_text, actor_text_for, actors_text};
use super::{Findings, Role, Writer};
use crate::edit::{ANNOTATIONS, LABELS, finalizers, part};
use crate::location_string::check_identifier;
use crate::machine::{Actor, SyncState, allowed_sync_actors, is_sync_allowed};
use crate::names::{
    DELETION, INTERNAL_SCHEDULING, INTERNAL_WORKLOADS, SPEC_DIFF, STATE, STATUS_OF, SYNCER_FINALIZER,
};

/// The change of one key of the labels or annotations.
struct KeyChange<'a> {
    path: String,
    key: &'a str,
    old: Option<&'a str>,
    new: Option<&'a str>,
}

/// Checks every guarded key that differs between `old` and `new`.
pub(super) fn check(writer: &Writer, is_namespace: bool, old: &Value, new: &Value, findings: &mut Findings) {
    for change in key_changes(old, new, LABELS) {
        match change.key.strip_prefix(STATE) {
            Some(identifier) => check_state(writer, is_namespace, identifier, &change, findings),
            None => check_internal(writer, &change, findings),
        }
    }
    for change in key_changes(old, new, ANNOTATIONS) {
        match change.key.strip_prefix(DELETION) {
            Some(identifier) => check_deletion(writer, is_namespace, identifier, &change, findings),
            None => check_internal(writer, &change, findings),
        }
    }
    check_finalizers(writer, old, new, findings);
}

/// The changes of all keys of `metadata.<name>`, including keys outside of kcp's domain.
fn key_changes<'a>(old: &'a Value, new: &'a Value, name: &str) -> Vec<KeyChange<'a>> {
    let (before, after) = (part(old, name), part(new, name));
    if before == after {
        return Vec::new();
    }
    let keys = before.into_iter().chain(after).flat_map(Map::keys);
    let keys: BTreeSet<&'a str> = keys.map(String::as_str).collect();
    let value = |map: Option<&'a Map<String, Value>>, key: &str| map?.get(key);
    let differ = keys
        .into_iter()
        .filter(|key| value(before, key) != value(after, key));
    differ
        .map(|key| KeyChange {
            path: format!("metadata.{name}[{key}]"),
            key,
            old: value(before, key).and_then(Value::as_str),
            new: value(after, key).and_then(Value::as_str),
        })
        .collect()
}

/// Whether `role` may change keys of the cluster `identifier`: a syncer may only change keys of its own
/// cluster.
fn may_act_for(role: &Role, identifier: &str) -> bool {
    !matches!(role, Role::Syncer(own) if own != identifier)
}

/// The controller that sets the syncing labels and annotations of a namespace, or of a resource in one.
const fn controller_of(is_namespace: bool) -> Actor {
    if is_namespace {
        Actor::NamespaceController
    } else {
        Actor::ResourceController
    }
}

fn check_new_identifier(identifier: &str, change: &KeyChange<'_>, findings: &mut Findings) {
    if change.old.is_none()
        && let Err(problem) = check_identifier(identifier)
    {
        findings.add_malformed(
            &change.path,
            identifier,
            format!("the workload cluster identifier {problem}"),
        );
    }
}

/// Checks the change of the state label of the cluster `identifier`.
fn check_state(
    writer: &Writer,
    is_namespace: bool,
    identifier: &str,
    change: &KeyChange<'_>,
    findings: &mut Findings,
) {
    check_new_identifier(identifier, change, findings);
    let (from, to) = (
        change.old.and_then(SyncState::named),
        change.new.and_then(SyncState::named),
    );
    if let Some(value) = change.new.filter(|_| to.is_none()) {
        findings.add_malformed(&change.path, value, "must be empty or \"Sync\"");
    }
    let allowed = match writer {
        Writer::Trusted => true,
        // The controller of the object may also remove an invalid stored value.
        Writer::Role(Role::Namespace) if from == to => is_namespace,
        Writer::Role(Role::Resource) if from == to => !is_namespace,
        Writer::Role(role) => {
            from != to
                && is_sync_allowed(role.actor(), is_namespace, from, to)
                && may_act_for(role, identifier)
        }
        Writer::User => false,
    };
    if !allowed {
        let word = |state: Option<SyncState>, raw: Option<&str>| match (state, raw) {
            (Some(state), _) => format!("\"{}\"", state.as_str()),
            (None, Some(raw)) => format!("\"{raw}\""),
            (None, None) => "absent".to_owned(),
        };
        let step = format!("from {} to {}", word(from, change.old), word(to, change.new));
        let removes_invalid_value = from.is_none() && change.new.is_none();
        let actors: Vec<Actor> = if removes_invalid_value {
            vec![controller_of(is_namespace)]
        } else {
            allowed_sync_actors(is_namespace, from, to).collect()
        };
        let permission = if actors.is_empty() {
            "nobody may do this".to_owned()
        } else {
            format!("only {} may do this", actors_text(actors, identifier))
        };
        findings.forbid(&change.path, format!("{step}: {permission}"));
    }
}

/// Checks the change of the deletion annotation of the cluster `identifier`. The controller of the object
/// sets the annotation once, to an instant. This controller or the syncer removes the annotation.
fn check_deletion(
    writer: &Writer,
    is_namespace: bool,
    identifier: &str,
    change: &KeyChange<'_>,
    findings: &mut Findings,
) {
    check_new_identifier(identifier, change, findings);
    let instant = |text: Option<&str>| text.and_then(berth_apimachinery::time::parse);
    if let Some(value) = change.new
        && instant(change.new).is_none()
    {
        findings.add_malformed(
            &change.path,
            value,
            "must be an RFC 3339 instant such as 2021-10-28T09:00:00Z",
        );
    }
    let owner = controller_of(is_namespace);
    let replaces_instant = instant(change.old).is_some() && change.new.is_some();
    let allowed = match writer {
        Writer::Trusted => true,
        Writer::Role(role @ Role::Syncer(_)) => change.new.is_none() && may_act_for(role, identifier),
        Writer::Role(role) => role.actor() == owner && !replaces_instant,
        Writer::User => false,
    };
    if allowed {
        return;
    }
    let detail = if replaces_instant {
        "the removal has begun, so its time cannot be changed".to_owned()
    } else if change.new.is_none() {
        format!(
            "only {} may remove it",
            actors_text([owner, Actor::Syncer], identifier)
        )
    } else {
        format!("only {} may set it", actor_text(owner))
    };
    findings.forbid(&change.path, detail);
}

/// Checks the change of a key other than a state label or deletion annotation. Only keys of the internal
/// domains are guarded.
fn check_internal(writer: &Writer, change: &KeyChange<'_>, findings: &mut Findings) {
    let allowed = match writer {
        Writer::Trusted => true,
        Writer::Role(Role::Placement) => change.key.starts_with(INTERNAL_SCHEDULING),
        Writer::Role(_) | Writer::User => false,
    };
    if allowed {
        return;
    }
    if change.key.starts_with(INTERNAL_SCHEDULING) {
        findings.forbid(
            &change.path,
            format!("only {} may write it", actor_text(Actor::PlacementController)),
        );
        return;
    }
    let prefix = change.key.split_once('/').map(|(prefix, _)| prefix);
    let is_internal = |prefix: &str| {
        prefix
            .strip_suffix(INTERNAL_WORKLOADS)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    if prefix.is_some_and(is_internal) {
        let detail = format!("keys of {INTERNAL_WORKLOADS} are reserved: leave this key as it is");
        findings.forbid(&change.path, detail);
    }
}

/// Checks changes of syncers' finalizers. Each syncer may change its own finalizer. The resource controller
/// may remove every syncer's finalizer, as it does for deleted clusters.
fn check_finalizers(writer: &Writer, old: &Value, new: &Value, findings: &mut Findings) {
    fn identifiers(object: &Value) -> BTreeSet<&str> {
        let identifiers = finalizers(object).filter_map(|name| name.strip_prefix(SYNCER_FINALIZER));
        identifiers.collect()
    }
    let (before, after) = (identifiers(old), identifiers(new));
    for identifier in before.symmetric_difference(&after) {
        let added = after.contains(identifier);
        let path = format!("metadata.finalizers[{SYNCER_FINALIZER}{identifier}]");
        if added && let Err(problem) = check_identifier(identifier) {
            findings.add_malformed(
                &path,
                identifier,
                format!("the workload cluster identifier {problem}"),
            );
        }
        let allowed = match writer {
            Writer::Trusted => true,
            Writer::Role(Role::Syncer(own)) => own == identifier,
            Writer::Role(Role::Resource) => !added,
            Writer::Role(_) | Writer::User => false,
        };
        if !allowed {
            let detail = if added {
                format!("only {} may add it", actor_text_for(Actor::Syncer, identifier))
            } else {
                format!(
                    "only {} may remove it",
                    actors_text([Actor::Syncer, Actor::ResourceController], identifier)
                )
            };
            findings.forbid(&path, detail);
        }
    }
}

/// Fields of the metadata in which a syncer's write may differ: fields that are checked key by key, and
/// fields that no client can change.
const FREE_METADATA: [&str; 13] = [
    LABELS,
    ANNOTATIONS,
    "finalizers",
    "managedFields",
    "uid",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "name",
    "namespace",
    "selfLink",
    "resourceVersion",
];

/// The names of the fields that differ between `old` and `new`.
fn changed_fields<'a>(old: &'a Value, new: &'a Value) -> BTreeSet<&'a str> {
    let names = |object: &'a Value| object.as_object().into_iter().flat_map(Map::keys);
    let names = names(old).chain(names(new)).map(String::as_str);
    names.filter(|name| old.get(*name) != new.get(*name)).collect()
}

/// Checks the parts of a syncer's write that [`check`] does not cover: a syncer may only change the status of
/// an object, and the labels, the annotations and the finalizer of its own cluster, whose identifier is
/// `own`.
pub(super) fn check_syncer(
    own: &str,
    operation: Operation,
    old: &Value,
    new: &Value,
    findings: &mut Findings,
) {
    const DETAIL: &str = "a syncer may only change the status and the keys of its own cluster";
    if operation == Operation::Create {
        findings.forbid("metadata.name", "a syncer may not create objects");
        return;
    }
    for name in changed_fields(old, new) {
        if name != "metadata" && name != "status" {
            findings.forbid(name, DETAIL);
        }
    }
    for name in changed_fields(&old["metadata"], &new["metadata"]) {
        if !FREE_METADATA.contains(&name) {
            findings.forbid(&format!("metadata.{name}"), DETAIL);
        }
    }
    // `check` handles state labels and deletion annotations. A syncer may change its cluster's status and
    // spec annotations.
    let is_checked = |key: &str| key.starts_with(STATE) || key.starts_with(DELETION);
    let is_own = |key: &str| {
        [STATUS_OF, SPEC_DIFF]
            .iter()
            .any(|prefix| key.strip_prefix(prefix) == Some(own))
    };
    for part in [LABELS, ANNOTATIONS] {
        for change in key_changes(old, new, part) {
            if !is_checked(change.key) && !is_own(change.key) {
                findings.forbid(&change.path, DETAIL);
            }
        }
    }
    let foreign = |object: &Value| -> BTreeSet<String> {
        let others = finalizers(object).filter(|name| !name.starts_with(SYNCER_FINALIZER));
        others.map(str::to_owned).collect()
    };
    if foreign(old) != foreign(new) {
        findings.forbid(
            "metadata.finalizers",
            "a syncer may only change its own finalizer",
        );
    }
}
