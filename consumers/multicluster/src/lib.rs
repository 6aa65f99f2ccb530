//! The kinds that tools of many vendors read: ClusterProfile (KEP-4322) and PlacementDecision
//! (KEP-5313), computed from the targets and decisions of any dialect.
//!
//! All functions of this crate are pure: [`profile`] and [`decision`] convert objects; [`slices`] orders the
//! writes of lists of clusters, so that no consumer ever misses a decided cluster. Docs:
//! docs/consumers.md.
//!
//! ```
//! use std::collections::{BTreeMap, BTreeSet};
//!
//! use berth_multicluster::slices::{Slice, Write, plan};
//!
//! let clusters = |names: &[&str]| -> BTreeMap<String, String> {
//!     names.iter().map(|name| ((*name).to_owned(), "Picked".to_owned())).collect()
//! };
//! let old = [Slice { index: 0, clusters: clusters(&["east"]) }];
//! let writes = plan(&old, &clusters(&["east", "west"]), &BTreeSet::new());
//! assert_eq!(writes, [Write::Put(Slice { index: 0, clusters: clusters(&["east", "west"]) })]);
//! ```

pub mod decision;
pub mod flat;
pub mod kinds;
pub mod mark;
pub mod name;
pub mod profile;
mod rank;
pub mod settings;
pub mod slices;

use std::collections::BTreeMap;

use berth_apimachinery::{GroupResource, Labels};

pub use settings::{NameRule, Settings};

/// The API group of ClusterProfile and PlacementDecision.
pub const GROUP: &str = "multicluster.x-k8s.io";
/// The only API version of ClusterProfile and PlacementDecision.
pub const VERSION: &str = "v1alpha1";
/// The apiVersion of ClusterProfile and PlacementDecision objects.
pub const API_VERSION: &str = "multicluster.x-k8s.io/v1alpha1";
/// The resource `clusterprofiles`.
pub const CLUSTER_PROFILES: GroupResource = GroupResource::new(GROUP, "clusterprofiles");
/// The resource `placementdecisions`.
pub const PLACEMENT_DECISIONS: GroupResource = GroupResource::new(GROUP, "placementdecisions");

/// The field manager of published objects.
pub const MANAGER: &str = "berth-publications";
/// The user name of the writer of published objects.
pub const USER: &str = "berth:scheduler";

/// The label of a published object with the name of the system.
pub const SYSTEM_LABEL: &str = "scheduling.berth.dev/system";

/// The part of the `labels` of a cluster or source object that the published object inherits.
#[must_use]
pub fn inherited(labels: &Labels) -> BTreeMap<String, String> {
    labels
        .inherited()
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}
