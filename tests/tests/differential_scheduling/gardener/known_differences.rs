//! Known differences from Gardener's schedulers: docs/systems/gardener.md, "Differences from upstream".

use crate::known_differences::Meant;

pub(super) const TODAY: &[Meant] = &[];

pub(super) const OF_2020: &[Meant] = &[];
