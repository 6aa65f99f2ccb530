//! The fields of Gardener's SchedulerConfiguration. As in Gardener's own defaulting, an empty string counts
//! as absent, except in a duration, where an empty string is an error.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Strategy;
use crate::kind::project::ProjectTolerations;

/// The apiVersion of Gardener's SchedulerConfiguration.
pub(crate) const API_VERSION: &str = "scheduler.config.gardener.cloud/v1alpha1";

/// The configuration file of gardener-scheduler. Settings for the process of gardener-scheduler are
/// validated, but not used.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SchedulerConfiguration {
    /// The apiVersion of the configuration file of gardener-scheduler, which may be absent.
    #[schemars(extend("enum" = [API_VERSION, ""]))]
    api_version: String,
    /// The kind of the configuration file of gardener-scheduler, which may be absent.
    #[schemars(extend("enum" = ["SchedulerConfiguration", ""]))]
    kind: String,
    /// Settings of connections of gardener-scheduler to the API server. Not used.
    client_connection: Map<String, Value>,
    /// Settings of the leader election of gardener-scheduler. Not used.
    leader_election: Map<String, Value>,
    /// Settings of the HTTP servers of gardener-scheduler. Not used.
    server: Map<String, Value>,
    /// Settings for debugging gardener-scheduler. Not used.
    debugging: Map<String, Value>,
    /// Feature gates of gardener-scheduler. Not used.
    feature_gates: Map<String, Value>,
    /// The log level of gardener-scheduler. Not used: flags of berth serve set the log of Berth.
    #[schemars(extend("enum" = ["debug", "info", "error", ""]))]
    log_level: String,
    /// The log format of gardener-scheduler. Not used: flags of berth serve set the log of Berth.
    #[schemars(extend("enum" = ["json", "text", ""]))]
    log_format: String,
    /// Settings for each scheduled kind.
    pub(super) schedulers: Schedulers,
    /// The default and the allowed tolerations of the Shoots of all Projects, in the form of the
    /// configuration of gardener-apiserver's admission plugin ShootTolerationRestriction. Not a field of
    /// Gardener's file.
    pub(super) shoot_toleration_restriction: ProjectTolerations,
}

/// Settings for each scheduled kind.
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
    /// The number of BackupBuckets that are scheduled at the same time. Not used.
    #[schemars(range(min = 0))]
    concurrent_syncs: i64,
    /// The delay before a BackupBucket is scheduled again, as a duration such as 15s. Not used.
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
    /// The strategy of finding candidate Seeds for a Shoot: SameRegion takes only Seeds with the provider
    /// type and the region of the Shoot, MinimalDistance the Seeds with the smallest distance to that region.
    #[schemars(extend("enum" = ["SameRegion", "MinimalDistance", ""]))]
    pub(super) candidate_determination_strategy: Strategy,
    /// The delay before the first retry of a Shoot for which no Seed was found, as a duration such as 15s or
    /// 1m30s. Each further delay is twice as long as the delay before it.
    pub(super) retry_sync_period: String,
    /// The number of Shoots that are decided at the same time.
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
