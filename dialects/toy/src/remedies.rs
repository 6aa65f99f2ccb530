//! What may lift a refusal, as edits.

use dialect_contract::{Decision, Edit, Remedy, Targets, Whose};
use meta::Key;
use scheduling::{Ix, Rejection};
use serde_json::json;

use crate::filters::Code;
use crate::fleet::Fleet;
use crate::names::BOXES;

/// The box that nothing opens.
const SEALED: &str = "sealed";

/// What may lift `refusal` of `candidate`.
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
    let key = Key::new(BOXES, "", &name);
    if Code::of(refusal.reason.code) == Some(Code::Closed) {
        let patch = json!({"spec": {"lid": null}});
        let edit = Edit::Merge { key, patch };
        return vec![Remedy::new(Whose::Target, "take the lid off", edit)];
    }
    // Size does not matter to boxes: a proposal that helps nobody is tried, and left out.
    let small = fleet.toys.get(&decision.demand).map(|toy| {
        let shrunk = Edit::of(decision.demand.clone(), toy, |toy| {
            toy["spec"]["small"] = true.into();
        });
        Remedy::new(Whose::Request, "make the toy small", shrunk)
    });
    let capacity = fleet.used(&name) + 1;
    let wider = Remedy::new(
        Whose::Target,
        format!("widen box {name} to {capacity}"),
        Edit::Merge {
            key,
            patch: json!({"spec": {"capacity": capacity}}),
        },
    );
    small.into_iter().chain([wider]).collect()
}
