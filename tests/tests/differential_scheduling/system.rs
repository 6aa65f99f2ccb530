//! The compared systems: the generators of their worlds, the reports of decisions, and the known differences.

use std::sync::Arc;

use berth_dialect_contract::Dialect;
use berth_tests::differential::Draw;
use serde_json::Value;

use crate::known_differences::KnownDifference;
use crate::ours::Decided;
use crate::world::World;

/// An original, and its dialect in Berth.
pub(crate) struct System {
    /// Name of the system.
    pub(crate) name: &'static str,
    /// The dialect in Berth.
    pub(crate) dialect: &'static str,
    /// The folder of the Go program below `tests/peers`.
    pub(crate) program: &'static str,
    /// Linker flags of the Go program.
    pub(crate) linked: &'static [&'static str],
    /// Number of filters of each cluster.
    pub(crate) filters: usize,
    /// The resource of the clusters, for messages.
    pub(crate) cluster: &'static str,
    /// Generates a world.
    pub(crate) generate: fn(&mut Draw) -> World,
    /// Whether a world is possible: a reduction also yields impossible ones.
    pub(crate) fits: fn(&World) -> bool,
    /// Reports Berth's decision in the program's format.
    pub(crate) report: fn(&Decided<'_>) -> Value,
    /// The known differences.
    pub(crate) known: &'static [KnownDifference],
    /// Changes that the comparison must find.
    pub(crate) planted: &'static [Planted],
}

/// A change of one side that the comparison must find.
pub(crate) struct Planted {
    pub(crate) name: &'static str,
    /// Changes one object of the world.
    pub(crate) change: fn(&mut Value),
}

impl System {
    pub(crate) fn dialect(&self) -> Arc<dyn Dialect> {
        // Karmada is compared before it is served.
        match self.dialect {
            "karmada" => berth_dialect_karmada::dialect(),
            name => berth_dialect_registry::by_name(name).expect("there is such a dialect"),
        }
    }
}
