//! A capability: settings, a dialect's part of a SchedulerConfiguration, and their effects.

use std::sync::{Arc, LazyLock};

use berth_admission::Plugin;
use berth_apimachinery::{FieldError, GroupResource, Schema};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::rules::RulesChoice;
use crate::system_users::SystemUsers;

/// The settings of a dialect.
pub trait Configuration {
    /// Their form. Its defaults apply on read, and are not stored.
    fn schema(&self) -> &'static Schema {
        &NO_SETTINGS
    }

    /// Judges the dialect's part of a SchedulerConfiguration (`spec.<dialect>`, given with `path`), all
    /// errors at once: those of [`Configuration::schema`], unknown fields, and rules that no schema can
    /// express.
    fn validate(&self, spec: &Value, path: &str) -> Vec<FieldError> {
        let reading = self.schema().read::<AnyConfiguration>(spec, path);
        reading.into_errors()
    }

    /// Warnings about legal values that are surely not intended, as sentences that name the field
    /// (below `path`), where `rules` are chosen. Called only where [`Configuration::validate`] finds no
    /// error.
    fn warnings(&self, _spec: &Value, _path: &str, _rules: RulesChoice) -> Vec<String> {
        Vec::new()
    }

    /// The dialect's part of a SchedulerConfiguration in `file`, if that is a configuration file of the
    /// system itself, which `--config` takes unmodified. Only recognises the file;
    /// [`Configuration::validate`] judges it.
    fn own_file(&self, _file: &Value) -> Option<Value> {
        None
    }

    /// The field of its part that selects the requests to place, if the system has one and releases all
    /// other requests. Then no further selection is possible.
    fn selects_requests(&self) -> Option<&'static str> {
        None
    }

    /// [`Dialect::admission`](crate::Dialect::admission), by number and order, as `spec`, if there is
    /// one, and the `users` of the system's own programs change the rules; `None` where they do not.
    /// Called only where [`Configuration::validate`] finds no error.
    fn admission_under(&self, _spec: Option<&Value>, _users: &SystemUsers) -> Option<Vec<Arc<dyn Plugin>>> {
        None
    }

    /// The resources that the admission rules guard in addition to
    /// [`Dialect::kinds`](crate::Dialect::kinds), with `spec` as the configuration in force, if there
    /// is one.
    fn guards(&self, _spec: Option<&Value>) -> Vec<GroupResource> {
        Vec::new()
    }
}

/// A dialect without settings.
pub(crate) struct NoSettings;

impl Configuration for NoSettings {}

/// The form of a dialect that has no settings.
static NO_SETTINGS: LazyLock<Schema> = LazyLock::new(|| {
    Schema::part_from_value(json!({
        "type": "object",
        "description": "There are no settings.",
        "x-kubernetes-map-type": "granular",
    }))
});

/// A form that reads anything and keeps nothing.
#[derive(Debug, Default, Deserialize)]
struct AnyConfiguration {}
