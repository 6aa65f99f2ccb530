//! The configuration of the scheduler under `spec.gardener`, in the form of Gardener's own
//! SchedulerConfiguration (docs/systems/gardener.md, "Configuration"). Gardener's own defaults apply.

mod form;

use std::sync::LazyLock;

use berth_apimachinery::field::below;
use berth_apimachinery::{FieldError, Schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kind::project::ProjectTolerations;
pub(crate) use form::API_VERSION;
use form::SchedulerConfiguration;

/// The strategy of finding candidate seeds for a shoot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Strategy {
    /// Only seeds with the provider type and the region of the shoot.
    #[default]
    #[serde(alias = "")]
    SameRegion,
    /// The seeds with the smallest distance to the region of the shoot.
    MinimalDistance,
}

impl Strategy {
    /// The name of the strategy in the configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SameRegion => "SameRegion",
            Self::MinimalDistance => "MinimalDistance",
        }
    }
}

/// The settings of the scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `schedulers.shoot.candidateDeterminationStrategy`: the strategy of finding candidate seeds.
    pub strategy: Strategy,
    /// `schedulers.shoot.retrySyncPeriod`, in nanoseconds: the delay before the first retry of a shoot that
    /// found no seed. Each further delay is twice as long as the delay before it, up to 12 hours.
    pub retry_sync_period: i128,
    /// `schedulers.shoot.concurrentSyncs`: the number of shoots that are decided at the same time.
    pub concurrent_syncs: i64,
    /// `shootTolerationRestriction`: the default and the allowed tolerations of the shoots of all projects.
    pub tolerations: ProjectTolerations,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            strategy: Strategy::default(),
            retry_sync_period: 15_000_000_000,
            concurrent_syncs: 5,
            tolerations: ProjectTolerations::default(),
        }
    }
}

/// The schema of the configuration under `spec.gardener`.
pub(crate) static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::part::<SchedulerConfiguration>);

const RETRY_SYNC_PERIOD: &str = "schedulers.shoot.retrySyncPeriod";

impl Config {
    /// Reads the configuration `spec` at `path`, such as `spec.gardener`. If `spec` is absent or null, all
    /// defaults apply.
    ///
    /// # Errors
    /// All errors in `spec`.
    pub fn read(spec: Option<&Value>, path: &str) -> Result<Self, Vec<FieldError>> {
        let mut form = SCHEMA.read::<SchedulerConfiguration>(spec.unwrap_or(&Value::Null), path);
        let schedulers = form.value.schedulers.clone();
        form.duration(
            "schedulers.backupBucket.retrySyncPeriod",
            &schedulers.backup_bucket.retry_sync_period,
        );
        let period = form.duration(RETRY_SYNC_PERIOD, &schedulers.shoot.retry_sync_period);
        let config = Self {
            strategy: schedulers.shoot.candidate_determination_strategy,
            retry_sync_period: period.as_nanos(),
            concurrent_syncs: schedulers.shoot.concurrent_syncs,
            tolerations: form.value.shoot_toleration_restriction.clone(),
        };
        form.finish(|_| config)
    }

    /// Warnings about values that are valid, but probably not intended. `path` is the path of the
    /// configuration, such as `spec.gardener`.
    #[must_use]
    pub fn warnings(&self, path: &str) -> Vec<String> {
        if self.retry_sync_period > 0 {
            return Vec::new();
        }
        vec![format!(
            "{}: shoots that found no seed will be tried again without a pause: set a longer period",
            below(path, RETRY_SYNC_PERIOD)
        )]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(spec: &Value) -> Result<Config, Vec<String>> {
        Config::read(Some(spec), "spec.gardener")
            .map_err(|errors| errors.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn defaults_apply_field_by_field() {
        let spec = json!({"schedulers": {"shoot": {"candidateDeterminationStrategy": "MinimalDistance"}}});
        let expected = Config {
            strategy: Strategy::MinimalDistance,
            ..Config::default()
        };
        assert_eq!(read(&spec), Ok(expected));
        assert_eq!(Config::read(None, "spec.gardener"), Ok(Config::default()));
        for empty in [
            json!({"schedulers": null}),
            json!({"kind": "", "logLevel": "", "schedulers": {"shoot": {"candidateDeterminationStrategy": ""}}}),
        ] {
            assert_eq!(read(&empty), Ok(Config::default()));
        }
    }

    #[test]
    fn a_retry_without_a_pause_has_a_warning() {
        let warnings = |period: &str| {
            let spec = json!({"schedulers": {"shoot": {"retrySyncPeriod": period}}});
            read(&spec).unwrap().warnings("spec.gardener")
        };
        assert!(warnings("1ms").is_empty());
        assert_eq!(
            warnings("0s"),
            [
                "spec.gardener.schedulers.shoot.retrySyncPeriod: shoots that found no seed will be tried again without a \
              pause: set a longer period"
            ]
        );
        assert!(Config::default().warnings("spec.gardener").is_empty());
    }

    #[test]
    fn gardeners_own_file_is_taken_unmodified() {
        let spec = json!({
            "apiVersion": API_VERSION, "kind": "SchedulerConfiguration",
            "clientConnection": {"qps": 100, "burst": 130},
            "leaderElection": {"leaderElect": true, "leaseDuration": "15s", "resourceLock": "leases"},
            "logLevel": "info", "logFormat": "text",
            "server": {"healthProbes": {"port": 10251}, "metrics": {"port": 19252}},
            "debugging": {"enableProfiling": false, "enableContentionProfiling": false},
            "featureGates": {},
            "schedulers": {
                "backupBucket": {"concurrentSyncs": 5},
                "shoot": {"concurrentSyncs": 7, "retrySyncPeriod": "1m30s", "candidateDeterminationStrategy": "SameRegion"},
            },
        });
        let expected = Config {
            strategy: Strategy::SameRegion,
            retry_sync_period: 90_000_000_000,
            concurrent_syncs: 7,
            ..Config::default()
        };
        assert_eq!(read(&spec), Ok(expected));
    }

    #[test]
    fn tolerations_of_every_project_are_read() {
        let spec = json!({"shootTolerationRestriction": {
            "defaults": [{"key": "a"}], "whitelist": [{"key": "a"}, {"key": "b", "value": "c"}],
        }});
        let tolerations = read(&spec).unwrap().tolerations;
        assert_eq!(tolerations.defaults[0].to_string(), "a");
        assert_eq!(tolerations.whitelist[1].to_string(), "b=c");
        let unknown = read(&json!({"shootTolerationRestriction": {"allowed": []}})).unwrap_err();
        assert_eq!(
            unknown,
            ["spec.gardener.shootTolerationRestriction.allowed: Forbidden: unknown field"]
        );
    }

    #[test]
    fn every_error_has_its_path() {
        let spec = json!({
            "kind": "Other", "logLevel": 1, "server": [], "extra": true,
            "schedulers": {"shoot": {
                "candidateDeterminationStrategy": "sameregion", "retrySyncPeriod": "-1s", "concurrentSyncs": -1,
                "retrySync": "1s",
            }, "seed": {}},
        });
        let expected = [
            "spec.gardener.kind: Unsupported value: \"Other\": supported values: \"SchedulerConfiguration\", \"\"",
            "spec.gardener.logLevel: Invalid value: \"integer\": spec.gardener.logLevel in body must be of type string: \
             \"integer\"",
            "spec.gardener.schedulers.shoot.candidateDeterminationStrategy: Unsupported value: \"sameregion\": \
             supported values: \"SameRegion\", \"MinimalDistance\", \"\"",
            "spec.gardener.schedulers.shoot.concurrentSyncs: Invalid value: -1: \
             spec.gardener.schedulers.shoot.concurrentSyncs in body should be greater than or equal to 0",
            "spec.gardener.server: Invalid value: \"array\": spec.gardener.server in body must be of type object: \"array\"",
            "spec.gardener.extra: Forbidden: unknown field",
            "spec.gardener.schedulers.seed: Forbidden: unknown field",
            "spec.gardener.schedulers.shoot.retrySync: Forbidden: unknown field",
            "spec.gardener.schedulers.shoot.retrySyncPeriod: Invalid value: \"-1s\": must be greater than or equal to 0",
        ];
        assert_eq!(read(&spec).unwrap_err(), expected);
        assert_eq!(
            read(&json!([])).unwrap_err(),
            [
                "spec.gardener: Invalid value: \"array\": spec.gardener in body must be of type object: \"array\""
            ]
        );
    }
}
