//! Checks of the placement annotation of a namespace: each change of an entry is allowed for one actor only.

use serde_json::Value;

use super::roles::actor_text;
use super::{Findings, Role, Writer};
use crate::edit::{ANNOTATIONS, part};
use crate::machine::{Actor, EntryChange, TRANSITIONS, allowed_actor, entry_changes, is_allowed};
use crate::names::PLACEMENT;
use crate::placement::{Placement, State, StoredPlacement};

const PATH: &str = "metadata.annotations[scheduling.kcp.dev/placement]";

/// Checks the change of the annotation from `old` to `new`. A byte-identical value is not checked.
pub(super) fn check(writer: &Writer, old: &Value, new: &Value, findings: &mut Findings) {
    let (before, after) = (raw(old), raw(new));
    if before == after {
        return;
    }
    // A stored value that cannot be parsed counts as absent.
    let before = StoredPlacement::of(before.and_then(Value::as_str)).placement;
    let after = match after {
        None => Placement::default(),
        Some(value) => match value.as_str().map(Placement::parse) {
            Some(Ok(placement)) => placement,
            Some(Err(problems)) => {
                let text = value.as_str().unwrap_or_default();
                for problem in problems {
                    findings.add_malformed(PATH, text, problem.to_string());
                }
                return forbid_all_changes(writer, findings);
            }
            // The schema of metadata refuses values that are not strings.
            None => return forbid_all_changes(writer, findings),
        },
    };
    let changes = entry_changes(&before, &after);
    match writer {
        Writer::Trusted => {}
        Writer::Role(role @ (Role::Placement | Role::Namespace)) => {
            for change in changes
                .iter()
                .filter(|change| !is_allowed(role.actor(), change.from, change.to))
            {
                findings.forbid(PATH, error_text(change));
            }
        }
        Writer::Role(_) | Writer::User if changes.is_empty() => forbid_all_changes(writer, findings),
        Writer::Role(_) | Writer::User => {
            for change in &changes {
                findings.forbid(PATH, error_text(change));
            }
        }
    }
}

/// The changed entries in words, such as `entry "root:compute+east+x" from Bound to Removing`.
pub(super) fn transitions(old: &Value, new: &Value) -> String {
    let placement = |object| StoredPlacement::of(raw(object).and_then(Value::as_str)).placement;
    let changes = entry_changes(&placement(old), &placement(new));
    let texts: Vec<String> = changes.iter().map(ToString::to_string).collect();
    texts.join(", ")
}

fn raw(object: &Value) -> Option<&Value> {
    part(object, ANNOTATIONS)?.get(PLACEMENT)
}

/// Adds an error if `writer` may not change the annotation at all.
fn forbid_all_changes(writer: &Writer, findings: &mut Findings) {
    if let Writer::User | Writer::Role(Role::Resource | Role::Coordination | Role::Syncer(_)) = writer {
        let detail = format!(
            "only {} and {} may change the annotation, even if its entries stay the same",
            actor_text(Actor::PlacementController),
            actor_text(Actor::NamespaceController)
        );
        findings.forbid(PATH, detail);
    }
}

/// The error about a change of an entry, with the actor that may make the change, or with the allowed
/// changes.
fn error_text(change: &EntryChange) -> String {
    match allowed_actor(change.from, change.to) {
        Some(actor) => format!("{change}: only {} may do this", actor_text(actor)),
        None => {
            let word = |state: Option<State>| state.map_or("absent", State::as_str);
            let legal = TRANSITIONS.iter().filter(|legal| legal.from == change.from);
            let allowed: Vec<String> = legal
                .map(|legal| format!("to {} by {}", word(legal.to), actor_text(legal.actor)))
                .collect();
            format!(
                "{change}: nobody may do this; from {}, an entry may only change {}",
                word(change.from),
                allowed.join(", or ")
            )
        }
    }
}
