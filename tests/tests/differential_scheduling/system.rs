//! The systems that are compared: how their worlds are drawn, what is told of a decision, and what is meant.

use std::sync::Arc;

use berth_dialect_contract::Dialect;
use berth_tests::differential::Draw;
use serde_json::Value;

use crate::known_differences::Meant;
use crate::ours::Decided;
use crate::world::World;

/// An original and our dialect.
pub(crate) struct System {
    /// Name of the system.
    pub(crate) name: &'static str,
    /// Our dialect.
    pub(crate) dialect: &'static str,
    /// The folder of its Go program below `tests/peers`.
    pub(crate) program: &'static str,
    /// Linker flags of the Go program.
    pub(crate) linked: &'static [&'static str],
    /// Number of filters that judge each cluster.
    pub(crate) filters: usize,
    /// The resource of the clusters, in words.
    pub(crate) cluster: &'static str,
    /// Draws a world.
    pub(crate) generate: fn(&mut Draw) -> World,
    /// Whether a world can come about: while one is made smaller, others turn up.
    pub(crate) fits: fn(&World) -> bool,
    /// Tells a decision of ours as the program tells the original's.
    pub(crate) told: fn(&Decided<'_>) -> Value,
    /// The differences that are meant.
    pub(crate) meant: &'static [Meant],
    /// Faults that are planted to be seen.
    pub(crate) planted: &'static [Planted],
}

/// A change of one side that must be seen.
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
