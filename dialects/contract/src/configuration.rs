//! A capability: the settings of a dialect, which are the dialect's part of a SchedulerConfiguration, and
//! their effects.

use std::sync::{Arc, LazyLock};

use berth_admission::Plugin;
use berth_apimachinery::{FieldError, GroupResource, Schema};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::rules::RulesChoice;
use crate::system_users::SystemUsers;

/// The settings of a dialect.
pub trait Configuration {
    /// The schema of the settings. Defaults in the schema apply on read, and are not stored.
    fn schema(&self) -> &'static Schema {
        &NO_SETTINGS
    }

    /// Validates the dialect's part of a SchedulerConfiguration, `spec.<dialect>`, which is at `path`.
    /// Returns all errors at once: errors of [`Configuration::schema`], unknown fields, and violations of
    /// rules that no schema can express.
    fn validate(&self, spec: &Value, path: &str) -> Vec<FieldError> {
        let reading = self.schema().read::<AnyConfiguration>(spec, path);
        reading.into_errors()
    }

    /// Warnings about valid values that are surely not intended, if `rules` are in force: sentences that
    /// name the field, below `path`. Called only if [`Configuration::validate`] finds no error.
    fn warnings(&self, _spec: &Value, _path: &str, _rules: RulesChoice) -> Vec<String> {
        Vec::new()
    }

    /// Converts `file` to the dialect's part of a SchedulerConfiguration, if `file` is a configuration file
    /// of the system itself, which `--config` accepts unmodified. The file is only recognised here;
    /// [`Configuration::validate`] validates it.
    fn own_file(&self, _file: &Value) -> Option<Value> {
        None
    }

    /// The name of the setting that selects the requests to place, and by which all other requests are
    /// released; `None` if the system has no such setting. A system with such a setting permits no other
    /// selection of requests.
    fn request_selection_field(&self) -> Option<&'static str> {
        None
    }

    /// The rules of [`Dialect::admission`](crate::Dialect::admission), in the same number and order, as
    /// changed by `spec` (if there is one) and by the `users` of the system's own programs. `None` where
    /// neither changes a rule. Called only if [`Configuration::validate`] finds no error.
    fn admission_under(&self, _spec: Option<&Value>, _users: &SystemUsers) -> Option<Vec<Arc<dyn Plugin>>> {
        None
    }

    /// The resources that the admission rules guard in addition to
    /// [`Dialect::kinds`](crate::Dialect::kinds). `spec` is the configuration in force, if there is one.
    fn guards(&self, _spec: Option<&Value>) -> Vec<GroupResource> {
        Vec::new()
    }
}

/// The configuration of a dialect without settings.
pub(crate) struct NoSettings;

impl Configuration for NoSettings {}

/// The schema of a dialect that has no settings.
static NO_SETTINGS: LazyLock<Schema> = LazyLock::new(|| {
    Schema::part_from_value(json!({
        "type": "object",
        "description": "There are no settings.",
        "x-kubernetes-map-type": "granular",
    }))
});

/// A configuration that accepts any fields and stores none.
#[derive(Debug, Default, Deserialize)]
struct AnyConfiguration {}
