//! Known differences from Gardener's schedulers: docs/systems/gardener.md, "Differences from upstream".

use crate::known_differences::KnownDifference;

pub(super) const TODAY: &[KnownDifference] = &[];

pub(super) const OF_2020: &[KnownDifference] = &[];
