//! Names of the system.

use berth_apimachinery::GroupResource;

/// The name of the dialect.
pub(crate) const DIALECT: &str = "toy";
/// The API group.
pub(crate) const GROUP: &str = "toys.example";
/// The version of all kinds.
pub(crate) const VERSION: &str = "v1";
/// Group and version of all kinds.
pub(crate) const API_VERSION: &str = "toys.example/v1";

/// The resource of toys, the demands.
pub const TOYS: GroupResource = GroupResource::new(GROUP, "toys");
/// The resource of boxes, the targets.
pub const BOXES: GroupResource = GroupResource::new(GROUP, "boxes");
/// The resource of colors: each object is named after a namespace, and has the color of the toys in that
/// namespace.
pub const COLORS: GroupResource = GroupResource::new(GROUP, "colors");

/// The user name of the scheduler.
pub(crate) const ACTOR: &str = "berth:scheduler";
/// The user name of the painter.
pub(crate) const PAINTER: &str = "berth:toy-painter";
