//! Checks of the syncing state machine's labels, annotations and finalizers, and of a syncer's writes.

use std::collections::BTreeSet;

use berth_admission::Operation;
use serde_json::{Map, Value};

use super::roles::{any_of, named, named_for};
use super::{Findings, Role, Writer};
use crate::edit::{ANNOTATIONS, LABELS, finalizers, part};
use crate::location_string::check_identifier;
use crate::machine::{Actor, SyncState, may_sync, who_may_sync};
use crate::names::{
    DELETION, INTERNAL_SCHEDULING, INTERNAL_WORKLOADS, SPEC_DIFF, STATE, STATUS_OF, SYNCER_FINALIZER,
};

/// The change of one key.
struct KeyChange<'a> {
    path: String,
    key: &'a str,
    old: Option<&'a str>,
    new: Option<&'a str>,
}

/// Checks every guarded key that differs between `old` and `new`.
pub(super) fn judge(writer: &Writer, is_namespace: bool, old: &Value, new: &Value, findings: &mut Findings) {
    for change in differing(old, new, LABELS) {
        match change.key.strip_prefix(STATE) {
            Some(identifier) => state(writer, is_namespace, identifier, &change, findings),
            None => internal(writer, &change, findings),
        }
    }
    for change in differing(old, new, ANNOTATIONS) {
        match change.key.strip_prefix(DELETION) {
            Some(identifier) => deletion(writer, is_namespace, identifier, &change, findings),
            None => internal(writer, &change, findings),
        }
    }
    syncer_finalizers(writer, old, new, findings);
}

/// The keys of `metadata.<name>` that differ, including keys outside of kcp's domain.
fn differing<'a>(old: &'a Value, new: &'a Value, name: &str) -> Vec<KeyChange<'a>> {
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

/// Whether `role` may act for `identifier`: a syncer may only act for its own cluster.
fn is_for(role: &Role, identifier: &str) -> bool {
    !matches!(role, Role::Syncer(own) if own != identifier)
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

/// Checks the change of a state label.
fn state(
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
        // Actors that may write the label may also remove an invalid stored value.
        Writer::Role(Role::Namespace) if from == to => is_namespace,
        Writer::Role(Role::Resource) if from == to => !is_namespace,
        Writer::Role(role) => {
            from != to && may_sync(role.actor(), is_namespace, from, to) && is_for(role, identifier)
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
        let actors: Vec<Actor> = who_may_sync(is_namespace, from, to).collect();
        let permission = if actors.is_empty() {
            "nobody may do this".to_owned()
        } else {
            format!("only {} may do this", any_of(actors, identifier))
        };
        findings.forbid(&change.path, format!("{step}: {permission}"));
    }
}

/// Checks the change of a deletion annotation. The controller of the object sets the annotation once, to an
/// instant. This controller or the syncer removes the annotation.
fn deletion(
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
    let owner = if is_namespace {
        Actor::NamespaceController
    } else {
        Actor::ResourceController
    };
    let replaces_instant = instant(change.old).is_some() && change.new.is_some();
    let allowed = match writer {
        Writer::Trusted => true,
        Writer::Role(role @ Role::Syncer(_)) => change.new.is_none() && is_for(role, identifier),
        Writer::Role(role) => role.actor() == owner && !replaces_instant,
        Writer::User => false,
    };
    if allowed {
        return;
    }
    let detail = if replaces_instant {
        "the removal has begun; its instant stays".to_owned()
    } else if change.new.is_none() {
        format!(
            "only {} may take it out",
            any_of([owner, Actor::Syncer], identifier)
        )
    } else {
        format!("only {} may set it", named(owner))
    };
    findings.forbid(&change.path, detail);
}

/// Checks the change of any other key of the internal domains.
fn internal(writer: &Writer, change: &KeyChange<'_>, findings: &mut Findings) {
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
            format!("only {} may write it", named(Actor::PlacementController)),
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
        let detail =
            format!("keys of {INTERNAL_WORKLOADS} are kept by the controllers; nobody else may write them");
        findings.forbid(&change.path, detail);
    }
}

/// Checks changes of syncers' finalizers. Each syncer may change its own finalizer. The resource controller
/// may remove every syncer's finalizer, as it does for deleted clusters.
fn syncer_finalizers(writer: &Writer, old: &Value, new: &Value, findings: &mut Findings) {
    fn own(object: &Value) -> BTreeSet<&str> {
        let identifiers = finalizers(object).filter_map(|name| name.strip_prefix(SYNCER_FINALIZER));
        identifiers.collect()
    }
    let (before, after) = (own(old), own(new));
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
                format!("only {} may add it", named_for(Actor::Syncer, identifier))
            } else {
                format!(
                    "only {} may take it out",
                    any_of([Actor::Syncer, Actor::ResourceController], identifier)
                )
            };
            findings.forbid(&path, detail);
        }
    }
}

/// Checks the parts of a syncer's write other than the keys of its cluster, whose identifier is `own`: a
/// syncer may only write the status of an object.
pub(super) fn judge_syncer(
    own: &str,
    operation: Operation,
    old: &Value,
    new: &Value,
    findings: &mut Findings,
) {
    if operation == Operation::Create {
        findings.forbid("metadata.name", "a syncer makes no objects");
        return;
    }
    let empty = Map::new();
    let (before, after) = (
        old.as_object().unwrap_or(&empty),
        new.as_object().unwrap_or(&empty),
    );
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for name in names {
        if name != "metadata" && name != "status" && before.get(name) != after.get(name) {
            findings.forbid(name, "a syncer changes the status and its own keys only");
        }
    }
    // State labels and deletion annotations are checked as for all users. A syncer may change its cluster's
    // status and spec annotations.
    let is_judged = |key: &str| key.starts_with(STATE) || key.starts_with(DELETION);
    let is_own = |key: &str| {
        [STATUS_OF, SPEC_DIFF]
            .iter()
            .any(|prefix| key.strip_prefix(prefix) == Some(own))
    };
    for part in [LABELS, ANNOTATIONS] {
        for change in differing(old, new, part) {
            if !is_judged(change.key) && !is_own(change.key) {
                findings.forbid(&change.path, "a syncer changes the status and its own keys only");
            }
        }
    }
    let foreign = |object: &Value| -> BTreeSet<String> {
        let others = finalizers(object).filter(|name| !name.starts_with(SYNCER_FINALIZER));
        others.map(str::to_owned).collect()
    };
    if foreign(old) != foreign(new) {
        findings.forbid("metadata.finalizers", "a syncer changes its own finalizer only");
    }
}
