//! What a decision of this system says beyond what every dialect reports.

use std::sync::Arc;

use berth_apimachinery::Object;

/// What the writes of a decision need beside its indices.
pub(crate) struct Detail {
    /// The toy as it was decided.
    pub(crate) toy: Arc<Object>,
}
