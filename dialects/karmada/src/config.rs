//! The dialect's part of a SchedulerConfiguration: options and feature gates of Karmada's scheduler that
//! change decisions (docs/systems/karmada.md, "Configuration").

use std::sync::LazyLock;

use berth_apimachinery::{FieldError, Schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::choice;
use crate::names::DEFAULT_SCHEDULER;

/// Options and feature gates of Karmada's scheduler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct Form {
    /// The schedulerName of the bindings that Berth decides; bindings of other schedulers are ignored.
    #[schemars(length(min = 1))]
    scheduler_name: String,
    /// Whether selected clusters without replicas are listed, with 0 replicas
    /// (--enable-empty-workload-propagation).
    empty_workload_propagation: bool,
    /// Whether workload affinity and anti-affinity apply (feature gate WorkloadAffinity).
    workload_affinity: bool,
    /// Whether FederatedResourceQuotas limit decisions (feature gate FederatedQuotaEnforcement).
    federated_quota_enforcement: bool,
    /// Whether recently placed workloads are subtracted from the room of their clusters until they are
    /// healthy, for at most 5 minutes (feature gate SchedulingOvercommitProtection).
    scheduling_overcommit_protection: bool,
}

impl Default for Form {
    fn default() -> Self {
        Self {
            scheduler_name: DEFAULT_SCHEDULER.to_owned(),
            empty_workload_propagation: false,
            workload_affinity: false,
            federated_quota_enforcement: false,
            scheduling_overcommit_protection: false,
        }
    }
}

/// The options and feature gates of Karmada's scheduler, as they are in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The schedulerName of the bindings that Berth decides.
    pub(crate) scheduler: String,
    /// Whether selected clusters without replicas are listed, with 0 replicas.
    pub(crate) lists_clusters_without_replicas: bool,
    /// Whether workload affinity and anti-affinity apply.
    pub(crate) workload_affinity: bool,
    /// Whether FederatedResourceQuotas limit decisions.
    pub(crate) enforces_quotas: bool,
    /// Whether recently placed workloads are subtracted from the room of clusters.
    pub(crate) counts_recent_loads: bool,
}

impl Settings {
    /// The settings for the choice of clusters.
    pub(crate) const fn choice(&self) -> choice::Settings {
        choice::Settings {
            lists_clusters_without_replicas: self.lists_clusters_without_replicas,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Form::default().into()
    }
}

impl From<Form> for Settings {
    fn from(form: Form) -> Self {
        Self {
            scheduler: form.scheduler_name,
            lists_clusters_without_replicas: form.empty_workload_propagation,
            workload_affinity: form.workload_affinity,
            enforces_quotas: form.federated_quota_enforcement,
            counts_recent_loads: form.scheduling_overcommit_protection,
        }
    }
}

/// The schema of Karmada's part of a SchedulerConfiguration.
pub(crate) static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::part::<Form>);

/// Reads the settings in `spec`, which is at `path`. Absent fields have their defaults.
///
/// # Errors
/// All errors in `spec`, with their paths.
pub(crate) fn read(spec: Option<&Value>, path: &str) -> Result<Settings, Vec<FieldError>> {
    let form = SCHEMA.read::<Form>(spec.unwrap_or(&Value::Null), path);
    let settings = Settings::from(form.value.clone());
    form.finish(|_| settings)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_have_defaults_and_mistakes_are_told_with_their_paths() {
        assert_eq!(read(None, "spec.karmada"), Ok(Settings::default()));
        let set = read(
            Some(&json!({"schedulerName": "berth", "workloadAffinity": true})),
            "spec.karmada",
        )
        .unwrap();
        assert_eq!(
            (
                set.scheduler.as_str(),
                set.workload_affinity,
                set.lists_clusters_without_replicas
            ),
            ("berth", true, false)
        );
        let errors = read(Some(&json!({"schedulerName": "", "gates": 1})), "spec.karmada").unwrap_err();
        assert_eq!(errors.len(), 2, "{errors:?}");
    }
}
