//! What a decision of this system says beyond what every dialect reports.

use crate::request::Rule;

/// What the words of a decision need beside its indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Detail {
    /// The rule that narrowed the candidates down; `None` when the pipeline never ran.
    pub(crate) rule: Option<Rule>,
    /// The smallest distance, where distances count.
    pub(crate) minimum: Option<u32>,
    /// Whether the caller chose the seed.
    pub(crate) chosen: bool,
}
