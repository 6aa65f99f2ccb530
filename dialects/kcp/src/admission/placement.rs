//! Checks of the placement annotation of a namespace: each change has its actor.

use serde_json::Value;

use super::roles::named;
use super::{Findings, Role, Writer};
use crate::edit::{ANNOTATIONS, part};
use crate::machine::{Actor, EntryChange, TRANSITIONS, may, moved, who_may};
use crate::names::PLACEMENT;
use crate::placement::{Placement, State, StoredPlacement};

const PATH: &str = "metadata.annotations[scheduling.kcp.dev/placement]";

/// Checks the change of the annotation from `old` to `new`. A byte-identical value is not checked.
pub(super) fn judge(writer: &Writer, old: &Value, new: &Value, findings: &mut Findings) {
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
                return only_controllers(writer, findings);
            }
            // The schema of metadata refuses values that are not strings.
            None => return only_controllers(writer, findings),
        },
    };
    let changes = moved(&before, &after);
    match writer {
        Writer::Trusted => {}
        Writer::Role(role @ (Role::Placement | Role::Namespace)) => {
            for change in changes
                .iter()
                .filter(|change| !may(role.actor(), change.from, change.to))
            {
                findings.forbid(PATH, sentence(change));
            }
        }
        Writer::Role(_) | Writer::User if changes.is_empty() => only_controllers(writer, findings),
        Writer::Role(_) | Writer::User => {
            for change in &changes {
                findings.forbid(PATH, sentence(change));
            }
        }
    }
}

/// The changed entries in words: `entry "root:compute+east+x" from Bound to Removing`.
pub(super) fn transitions(old: &Value, new: &Value) -> String {
    let placement = |object| StoredPlacement::of(raw(object).and_then(Value::as_str)).placement;
    let changes = moved(&placement(old), &placement(new));
    let texts: Vec<String> = changes.iter().map(ToString::to_string).collect();
    texts.join(", ")
}

fn raw(object: &Value) -> Option<&Value> {
    part(object, ANNOTATIONS)?.get(PLACEMENT)
}

/// Forbids any change of the annotation to writers without permission.
fn only_controllers(writer: &Writer, findings: &mut Findings) {
    if let Writer::User | Writer::Role(Role::Resource | Role::Coordination | Role::Syncer(_)) = writer {
        let detail = format!(
            "may not change, not even in form; only {} and {} write it",
            named(Actor::PlacementController),
            named(Actor::NamespaceController)
        );
        findings.forbid(PATH, detail);
    }
}

/// The sentence with the entry, the transition, and the actor that may make it.
fn sentence(change: &EntryChange) -> String {
    match who_may(change.from, change.to) {
        Some(actor) => format!("{change}: only {} may do this", named(actor)),
        None => {
            let legal = TRANSITIONS.iter().filter(|legal| legal.from == change.from);
            let ways: Vec<String> = legal
                .map(|legal| {
                    let to = legal.to.map_or("absent", State::as_str);
                    format!("to {to} by {}", named(legal.actor))
                })
                .collect();
            format!("{change}: nobody may do this; it goes {}", ways.join(", or "))
        }
    }
}
