//! The objects of `scheduling.berth.dev` in their wire format (docs/reference.md, "Resources"). Each kind
//! is declared once: its names, columns and rules, and a type. Serialization, parsing and OpenAPI follow
//! from the declaration of the type.
//!
//! Start reading at [`target`] or [`decision`]; [`kind`] has the data that the server needs for each kind.
//!
//! ```
//! use berth_scheduling_api::decision::Decision;
//!
//! let decisions = serde_json::json!([{"clusterName": "eu-1", "reason": "Picked"}]);
//! let shown = serde_json::json!({"status": {"phase": "Bound", "decisions": decisions}});
//! let decision: Decision = serde_json::from_value(shown).unwrap();
//! assert_eq!(&*decision.status.unwrap().decisions[0].cluster_name, "eu-1");
//! ```

pub mod advice;
pub mod binding;
pub mod candidate;
pub mod decision;
pub mod kind;
pub mod publication;
pub mod published;
pub mod record;
pub mod review;
pub mod scheduling;
pub mod shared;
pub mod target;
mod text;

use std::sync::Arc;

use berth_apimachinery::Kind;

pub use berth_dialect_contract::names::{GROUP, VERSION};
pub use kind::VirtualKind;

/// The apiVersion of every object.
pub const API_VERSION: &str = "scheduling.berth.dev/v1alpha1";

/// Returns the kinds of the API group.
#[must_use]
pub fn kinds() -> Vec<Arc<dyn Kind>> {
    vec![
        Arc::new(binding::namespaced()),
        Arc::new(binding::cluster()),
        Arc::new(candidate::namespaced()),
        Arc::new(candidate::cluster()),
        Arc::new(decision::namespaced()),
        Arc::new(decision::cluster()),
        Arc::new(published::kind()),
        Arc::new(record::namespaced()),
        Arc::new(record::cluster()),
        Arc::new(review::kind()),
        Arc::new(review::local()),
        Arc::new(target::kind()),
    ]
}
