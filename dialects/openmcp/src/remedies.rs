//! Remedies for refusals (docs/adding-a-system.md, "Advice"): a purpose, a label or a tenancy of the Cluster,
//! or the scope or a tenancyCount in the configuration.

use berth_dialect_contract::remedy::{labels, push};
use berth_dialect_contract::{ChangeOwner, Decision, Edit, Remedy, config};
use berth_scheduling::{Ix, Rejection};
use serde_json::{Value, json};

use crate::code::Code;
use crate::fleet::{Fleet, Record, Row};
use crate::names::DIALECT;

/// Remedies that lift `refusal`. There are none for a feasible Cluster, which only the strategy or a user's
/// Binding picks.
pub(crate) fn remedies(
    fleet: &Fleet,
    decision: &Decision,
    candidate: Ix,
    refusal: Option<&Rejection>,
) -> Vec<Remedy> {
    let (Some(refusal), Some(request)) = (refusal, fleet.request(&decision.demand)) else {
        return Vec::new();
    };
    let row = fleet.row(candidate);
    let purpose = &request.requirements.purpose;
    match Code::of_reason(refusal.reason) {
        Code::PurposeNotConfigured => vec![Remedy::none(format!(
            "purpose \"{purpose}\" must be configured first (purposeMappings)"
        ))],
        Code::PurposeMismatch => {
            let text = format!("add \"{purpose}\" to spec.purposes of");
            vec![edit_cluster(row, &text, |cluster| {
                push(&mut cluster["spec"]["purposes"], json!(purpose));
            })]
        }
        Code::SelectorMismatch => label_cluster(fleet, request, row),
        Code::OutOfScope => vec![configure(
            "set scope to Cluster in the configuration of openmcp, so that clusters in all namespaces are considered"
                .to_owned(),
            json!({"scope": "Cluster"}),
        )],
        Code::Full => {
            let count = row.used + 1;
            vec![configure(
                format!(
                    "raise tenancyCount of purpose \"{purpose}\" to {count} in the configuration of openmcp"
                ),
                json!({"purposeMappings": {&**purpose: {"tenancyCount": count}}}),
            )]
        }
        Code::NeedsExclusive => vec![Remedy::none(format!(
            "purpose \"{purpose}\" shares no cluster (template.spec.tenancy Exclusive): another one is created"
        ))],
        Code::Exclusive => vec![edit_cluster(row, "set spec.tenancy to Shared in", |cluster| {
            cluster["spec"]["tenancy"] = "Shared".into();
        })],
        Code::Terminating => vec![Remedy::none(
            "a cluster that is being deleted takes no more requests",
        )],
    }
}

/// The remedy that applies `change` to the Cluster; the text is `action`, followed by the Cluster.
fn edit_cluster(row: &Row, action: &str, change: impl FnOnce(&mut Value)) -> Remedy {
    let edit = Edit::of(row.place().key(), &row.record.object, change);
    Remedy::new(
        ChangeOwner::Target,
        format!("{action} Cluster {}", row.place()),
        edit,
    )
}

/// The remedy that sets labels on the Cluster so that the selector of the purpose matches.
fn label_cluster(fleet: &Fleet, request: &Record, row: &Row) -> Vec<Remedy> {
    let selector = fleet.mapping(request).map(|mapping| &mapping.selector);
    let have = row.record.object.meta().labels();
    let Some(changes) = selector.and_then(|selector| labels::to_match(selector, have)) else {
        return Vec::new();
    };
    let text = labels::words(&format!("Cluster {}", row.place()), &changes);
    let edit = Edit::Merge {
        key: row.place().key(),
        patch: labels::patch(&changes),
    };
    vec![Remedy::new(ChangeOwner::Target, text, edit)]
}

/// A remedy that changes the scheduler's part of the stored configuration.
fn configure(text: String, scheduler: Value) -> Remedy {
    let edit = Edit::Merge {
        key: config::key(DIALECT),
        patch: json!({"spec": {DIALECT: {"scheduler": scheduler}}}),
    };
    Remedy::new(ChangeOwner::Fleet, text, edit)
}
