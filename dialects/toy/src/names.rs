//! Names of the system.

use berth_apimachinery::GroupResource;

/// The dialect.
pub(crate) const DIALECT: &str = "toy";
/// The API group.
pub(crate) const GROUP: &str = "toys.example";
/// The version of all kinds.
pub(crate) const VERSION: &str = "v1";
/// Both.
pub(crate) const API_VERSION: &str = "toys.example/v1";

/// Resource that wants a place.
pub const TOYS: GroupResource = GroupResource::new(GROUP, "toys");
/// The places.
pub const BOXES: GroupResource = GroupResource::new(GROUP, "boxes");
/// Resource with the color of a namespace's toys: one object for each, named after it.
pub const COLORS: GroupResource = GroupResource::new(GROUP, "colors");

/// User that binds.
pub(crate) const ACTOR: &str = "berth:scheduler";
/// User that paints.
pub(crate) const PAINTER: &str = "berth:toy-painter";
