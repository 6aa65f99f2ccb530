//! Remedies for refusals, as edits.

use berth_apimachinery::Key;
use berth_dialect_contract::{ChangeOwner, Decision, Edit, Remedy, Targets};
use berth_scheduling::{Ix, Rejection};
use serde_json::{Value, json};

use crate::code::Code;
use crate::fleet::Fleet;
use crate::names::BOXES;

/// The name of a box for which no edit helps.
const SEALED: &str = "sealed";

/// Remedies that lift `refusal` of `candidate`.
pub(crate) fn remedies(
    fleet: &Fleet,
    decision: &Decision,
    candidate: Ix,
    refusal: &Rejection,
) -> Vec<Remedy> {
    let name = fleet.cluster_name(candidate);
    if *name == *SEALED {
        return vec![Remedy::none("it is glued shut")];
    }
    match Code::of_reason(refusal.reason) {
        Code::Full => room_remedies(fleet, decision, &name),
        Code::Closed => vec![edit_box(
            &name,
            "take the lid off".to_owned(),
            json!({"spec": {"lid": null}}),
        )],
    }
}

fn edit_box(name: &str, text: String, patch: Value) -> Remedy {
    let key = Key::new(BOXES, "", name);
    Remedy::new(ChangeOwner::Target, text, Edit::Merge { key, patch })
}

fn room_remedies(fleet: &Fleet, decision: &Decision, name: &str) -> Vec<Remedy> {
    // The size of a toy does not matter, so this proposal never helps: callers try it, and drop it.
    let small = fleet.toys.get(&decision.demand).map(|toy| {
        let shrunk = Edit::of(decision.demand.clone(), toy, |toy| {
            toy["spec"]["small"] = true.into();
        });
        Remedy::new(ChangeOwner::Request, "make the toy small", shrunk)
    });
    let capacity = fleet.used(name) + 1;
    let wider = edit_box(
        name,
        format!("widen box {name} to {capacity}"),
        json!({"spec": {"capacity": capacity}}),
    );
    small.into_iter().chain([wider]).collect()
}
