//! Gardener's configuration file, field by field. As in Gardener's own defaulting, an empty string counts as
//! absent, except in a duration, where it is an error.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Strategy;
use crate::kind::project::ProjectTolerations;

/// The apiVersion of Gardener's file.
pub(crate) const API_VERSION: &str = "scheduler.config.gardener.cloud/v1alpha1";

/// The file of gardener-scheduler. Settings of its process are validated but not used.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Form {
    /// As in Gardener's file.
    #[schemars(extend("enum" = [API_VERSION, ""]))]
    api_version: String,
    /// As in Gardener's file.
    #[schemars(extend("enum" = ["SchedulerConfiguration", ""]))]
    kind: String,
    /// Not used.
    client_connection: Map<String, Value>,
    /// Not used.
    leader_election: Map<String, Value>,
    /// Not used.
    server: Map<String, Value>,
    /// Not used.
    debugging: Map<String, Value>,
    /// Not used.
    feature_gates: Map<String, Value>,
    /// Not used: berth serve has a flag.
    #[schemars(extend("enum" = ["debug", "info", "error", ""]))]
    log_level: String,
    /// Not used: berth serve has a flag.
    #[schemars(extend("enum" = ["json", "text", ""]))]
    log_format: String,
    /// Settings by scheduled kind.
    pub(super) schedulers: Schedulers,
    /// The tolerations of the Shoots of every Project, as in gardener-apiserver's admission plugin
    /// ShootTolerationRestriction; not in Gardener's file.
    pub(super) shoot_toleration_restriction: ProjectTolerations,
}

/// Settings by scheduled kind.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Schedulers {
    /// Settings of scheduling BackupBuckets. Not used.
    pub(super) backup_bucket: BackupBucket,
    /// Settings of scheduling Shoots.
    pub(super) shoot: Shoot,
}

/// Settings of scheduling BackupBuckets.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct BackupBucket {
    /// Not used.
    #[schemars(range(min = 0))]
    concurrent_syncs: i64,
    /// A duration such as 15s. Not used.
    #[schemars(extend("default" = null))]
    pub(super) retry_sync_period: String,
}

impl Default for BackupBucket {
    fn default() -> Self {
        Self {
            concurrent_syncs: 0,
            retry_sync_period: "0s".to_owned(),
        }
    }
}

/// Settings of scheduling Shoots.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Shoot {
    /// Strategy of finding the candidates for a Shoot. SameRegion: Seeds of its provider type and region.
    /// MinimalDistance: the Seeds nearest to its region.
    #[schemars(extend("enum" = ["SameRegion", "MinimalDistance", ""]))]
    pub(super) candidate_determination_strategy: Strategy,
    /// The first delay before a Shoot without a Seed is tried again, as a duration such as 15s or 1m30s;
    /// each further delay is twice as long.
    pub(super) retry_sync_period: String,
    /// Number of Shoots that are decided at once.
    #[schemars(range(min = 0))]
    pub(super) concurrent_syncs: i64,
}

impl Default for Shoot {
    fn default() -> Self {
        Self {
            candidate_determination_strategy: Strategy::default(),
            retry_sync_period: "15s".to_owned(),
            concurrent_syncs: 5,
        }
    }
}
