//! The scheduler's configuration, in Gardener's own form: `scheduler.config.gardener.cloud/v1alpha1`,
//! SchedulerConfiguration (docs/systems/gardener.md, "Configuration"), as it stands under `spec.gardener`.
//!
//! Read by hand, not by serde, so that every mistake is found with its path. Defaults apply on read.

use meta::FieldError;
use serde_json::Value;

use crate::reader::Reader;

/// How candidates are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Seeds of the shoot's own provider type and region.
    #[default]
    SameRegion,
    /// The seeds nearest to the shoot's region.
    MinimalDistance,
}

impl Strategy {
    /// The token.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SameRegion => "SameRegion",
            Self::MinimalDistance => "MinimalDistance",
        }
    }
}

/// What the scheduler goes by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `schedulers.shoot.candidateDeterminationStrategy`.
    pub strategy: Strategy,
    /// `schedulers.shoot.retrySyncPeriod`: the first delay before a shoot that found no seed is tried again,
    /// in nanoseconds; each further one is twice as long.
    pub retry_sync_period: i128,
    /// `schedulers.shoot.concurrentSyncs`: how many shoots are decided at a time.
    pub concurrent_syncs: i64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            strategy: Strategy::default(),
            retry_sync_period: 15_000_000_000,
            concurrent_syncs: 5,
        }
    }
}

pub(crate) const API_VERSION: &str = "scheduler.config.gardener.cloud/v1alpha1";
const KIND: &str = "SchedulerConfiguration";

/// Parts that say how Gardener's own process runs; Berth has flags for that, so only their shape is judged.
const PROCESS: [&str; 5] = [
    "clientConnection",
    "leaderElection",
    "server",
    "debugging",
    "featureGates",
];

impl Config {
    /// Reads `spec` (what stands at `path`, such as `spec.gardener`); an absent or null one is all defaults.
    ///
    /// # Errors
    /// Everything that is wrong, in document order of the known fields.
    pub fn read(spec: Option<&Value>, path: &str) -> Result<Self, Vec<FieldError>> {
        let mut config = Self::default();
        let mut errors = Vec::new();
        if let Some(spec) = spec.filter(|spec| !spec.is_null()) {
            config.read_root(spec, path, &mut errors);
        }
        if errors.is_empty() {
            Ok(config)
        } else {
            Err(errors)
        }
    }

    /// What is legal but surely not meant, as sentences that name the field below `path`.
    #[must_use]
    pub fn warnings(&self, path: &str) -> Vec<String> {
        if self.retry_sync_period > 0 {
            return Vec::new();
        }
        vec![format!(
            "{path}.schedulers.shoot.retrySyncPeriod: shoots that found no seed will be tried again without a pause"
        )]
    }

    fn read_root(&mut self, spec: &Value, path: &str, errors: &mut Vec<FieldError>) {
        let Some(mut root) = Reader::new(spec, path, errors) else {
            return;
        };
        root.one_of("apiVersion", &[API_VERSION]);
        root.one_of("kind", &[KIND]);
        root.one_of("logLevel", &["debug", "info", "error"]);
        root.one_of("logFormat", &["json", "text"]);
        for part in PROCESS {
            root.any_object(part);
        }
        root.child("schedulers", |schedulers| {
            schedulers.child("backupBucket", |bucket| {
                bucket.whole_number("concurrentSyncs");
                bucket.duration("retrySyncPeriod");
                bucket.end();
            });
            schedulers.child("shoot", |shoot| self.read_shoot(shoot));
            schedulers.end();
        });
        root.end();
    }

    fn read_shoot(&mut self, shoot: &mut Reader<'_>) {
        let strategies = [Strategy::SameRegion, Strategy::MinimalDistance];
        if let Some(index) = shoot.one_of(
            "candidateDeterminationStrategy",
            &strategies.map(Strategy::as_str),
        ) {
            self.strategy = strategies[index];
        }
        if let Some(period) = shoot.duration("retrySyncPeriod") {
            self.retry_sync_period = period;
        }
        if let Some(number) = shoot.whole_number("concurrentSyncs") {
            self.concurrent_syncs = number;
        }
        shoot.end();
    }
}

impl Reader<'_> {
    /// The non-negative duration at `name`, in nanoseconds.
    fn duration(&mut self, name: &'static str) -> Option<i128> {
        let text = self.text(name)?;
        match meta::duration::parse(text) {
            Ok(length) if !length.is_negative() => Some(length.as_nanos()),
            Ok(_) => {
                self.wrong(name, "must be greater than or equal to 0");
                None
            }
            Err(problem) => {
                self.wrong(name, &problem.to_string());
                None
            }
        }
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
        assert_eq!(read(&json!({"schedulers": null})), Ok(Config::default()));
    }

    #[test]
    fn a_retry_without_a_pause_is_warned_of() {
        let warnings = |period: &str| {
            let spec = json!({"schedulers": {"shoot": {"retrySyncPeriod": period}}});
            read(&spec).unwrap().warnings("spec.gardener")
        };
        assert!(warnings("1ms").is_empty());
        assert_eq!(
            warnings("0s"),
            [
                "spec.gardener.schedulers.shoot.retrySyncPeriod: shoots that found no seed will be tried again without a \
              pause"
            ]
        );
        assert!(Config::default().warnings("spec.gardener").is_empty());
    }

    #[test]
    fn gardeners_own_file_is_taken_unmodified() {
        let spec = json!({
            "apiVersion": API_VERSION, "kind": KIND,
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
        };
        assert_eq!(read(&spec), Ok(expected));
    }

    #[test]
    fn every_mistake_is_told_with_its_path() {
        let spec = json!({
            "kind": "Other", "logLevel": 1, "server": [], "extra": true,
            "schedulers": {"shoot": {
                "candidateDeterminationStrategy": "sameregion", "retrySyncPeriod": "-1s", "concurrentSyncs": -1,
                "retrySync": "1s",
            }, "seed": {}},
        });
        let expected = [
            "spec.gardener.kind: Unsupported value: \"Other\": supported values: \"SchedulerConfiguration\"",
            "spec.gardener.logLevel: Invalid value: 1: must be a string",
            "spec.gardener.server: Invalid value: []: must be an object",
            "spec.gardener.schedulers.shoot.candidateDeterminationStrategy: Unsupported value: \"sameregion\": \
             supported values: \"SameRegion\", \"MinimalDistance\"",
            "spec.gardener.schedulers.shoot.retrySyncPeriod: Invalid value: \"-1s\": must be greater than or equal to 0",
            "spec.gardener.schedulers.shoot.concurrentSyncs: Invalid value: -1: must be greater than or equal to 0",
            "spec.gardener.schedulers.shoot.retrySync: Invalid value: \"1s\": unknown field",
            "spec.gardener.schedulers.seed: Invalid value: {}: unknown field",
            "spec.gardener.extra: Invalid value: true: unknown field",
        ];
        assert_eq!(read(&spec).unwrap_err(), expected);
        assert_eq!(
            read(&json!([])).unwrap_err(),
            ["spec.gardener: Invalid value: []: must be an object"]
        );
    }
}
