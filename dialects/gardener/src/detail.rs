//! The part of a decision that is Gardener's own.

use crate::request::Rule;

/// Facts that the words of a decision need beside its indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Detail {
    /// The rule that narrowed the candidates down; `None` when the pipeline never ran.
    pub(crate) rule: Option<Rule>,
    /// The smallest distance, where distances count.
    pub(crate) minimum: Option<u32>,
    /// Whether the caller chose the seed.
    pub(crate) chosen: bool,
}
