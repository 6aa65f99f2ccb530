//! Details of a decision of this system beyond the report of every dialect.

use std::sync::Arc;

use berth_apimachinery::Object;

/// Details for the writes of a decision.
pub(crate) struct Detail {
    /// The decided toy.
    pub(crate) toy: Arc<Object>,
}
