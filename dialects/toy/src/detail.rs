//! The part of a decision that only the toy system has.

use std::sync::Arc;

use berth_apimachinery::Object;

/// The object from which the writes of a decision start.
pub(crate) struct Detail {
    /// The decided toy.
    pub(crate) toy: Arc<Object>,
}
