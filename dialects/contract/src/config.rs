//! Where configuration comes from: the SchedulerConfiguration of a dialect (CONTRACT.md section 4) is folded into its
//! inventory like any other object, so that reviews and `simulate` overlay it the same way.

use meta::{GroupResource, Key};

/// The API group of the configuration.
pub const GROUP: &str = "config.berth.dev";
/// The version of the configuration.
pub const VERSION: &str = "v1alpha1";
/// The kind of the configuration.
pub const KIND: &str = "SchedulerConfiguration";
/// `schedulerconfigurations.config.berth.dev`.
pub const RESOURCE: GroupResource = GroupResource::new(GROUP, "schedulerconfigurations");

/// The key of `dialect`'s configuration: one per dialect, named after it.
#[must_use]
pub fn key(dialect: &str) -> Key {
    Key::new(RESOURCE, "", dialect)
}
