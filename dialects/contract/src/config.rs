//! The SchedulerConfiguration of a dialect (docs/concepts.md, "Configuration"): key, and the reading of
//! files. An inventory folds the object like any other object, so that reviews and `simulate` can replace it
//! in the same way.

use std::sync::Arc;

use berth_apimachinery::{FieldError, GroupResource, Key};
use serde_json::Value;

use crate::dialect::Dialect;

/// The API group of the configuration.
pub const GROUP: &str = "config.berth.dev";
/// The version of the configuration.
pub const VERSION: &str = "v1alpha1";
/// The kind of the configuration.
pub const KIND: &str = "SchedulerConfiguration";
/// The resource `schedulerconfigurations.config.berth.dev`.
pub const RESOURCE: GroupResource = GroupResource::new(GROUP, "schedulerconfigurations");

/// The key of the configuration of `dialect`, which has the name of the dialect.
#[must_use]
pub fn key(dialect: &str) -> Key {
    Key::new(RESOURCE, "", dialect)
}

/// Whether `file` is a SchedulerConfiguration, and not a configuration file of a system itself.
#[must_use]
pub fn is_scheduler_configuration(file: &Value) -> bool {
    file["kind"] == KIND && file["apiVersion"] == format!("{GROUP}/{VERSION}")
}

/// Reads `file`, which is a SchedulerConfiguration or a configuration file of a system itself. Returns the
/// dialect, and the dialect's part of a SchedulerConfiguration.
///
/// # Errors
/// One error when the file is of neither form, or is named after no dialect; otherwise all errors in the
/// configuration, with paths in the file.
pub fn from_file(
    dialects: &[Arc<dyn Dialect>],
    file: &Value,
) -> Result<(Arc<dyn Dialect>, Value), Vec<FieldError>> {
    let (dialect, spec, path) = recognize(dialects, file)?;
    let errors = dialect.configuration().validate(&spec, &path);
    if errors.is_empty() {
        Ok((dialect, spec))
    } else {
        Err(errors)
    }
}

/// Highest number of keys of a ConfigMap that an error names.
const MAX_NAMED_KEYS: usize = 5;

/// Returns the dialect of `file`, the dialect's part of a SchedulerConfiguration, and the path of this part
/// in the file.
fn recognize(
    dialects: &[Arc<dyn Dialect>],
    file: &Value,
) -> Result<(Arc<dyn Dialect>, Value, String), Vec<FieldError>> {
    if is_scheduler_configuration(file) {
        let name = file["metadata"]["name"].as_str().unwrap_or_default();
        let Some(dialect) = dialects.iter().find(|dialect| dialect.name() == name) else {
            let known: Vec<&str> = dialects.iter().map(|dialect| dialect.name()).collect();
            return Err(vec![FieldError::not_supported("metadata.name", name, &known)]);
        };
        return Ok((
            Arc::clone(dialect),
            file["spec"][name].clone(),
            format!("spec.{name}"),
        ));
    }
    let own = dialects
        .iter()
        .find_map(|dialect| Some((dialect, dialect.configuration().own_file(file)?)));
    own.map(|(dialect, spec)| (Arc::clone(dialect), spec, String::new()))
        .ok_or_else(|| {
            let mut detail = "is neither a SchedulerConfiguration nor a configuration file of a dialect".to_owned();
            if let ("ConfigMap", Some(data)) = (file["kind"].as_str().unwrap_or_default(), file["data"].as_object()) {
                // Systems keep such a file as the value of one of a ConfigMap's keys.
                let keys: Vec<&str> = data.keys().take(MAX_NAMED_KEYS).map(String::as_str).collect();
                detail.push_str(&format!(
                    ": it is a ConfigMap, and the file is the text below one of its keys ({}); give that text as a file of its own: \
                     kubectl get configmap NAME -o jsonpath='{{.data.KEY}}', with each dot of KEY written \\.",
                    keys.join(", ")
                ));
            }
            vec![FieldError::invalid(
                "apiVersion",
                file["apiVersion"].clone(),
                detail,
            )]
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn another_kind_of_the_group_is_no_scheduler_configuration() {
        let file = |kind: &str| json!({"apiVersion": "config.berth.dev/v1alpha1", "kind": kind});
        assert!(is_scheduler_configuration(&file("SchedulerConfiguration")));
        assert!(!is_scheduler_configuration(&file("Publication")));
        let mut gardeners = file("SchedulerConfiguration");
        gardeners["apiVersion"] = "scheduler.config.gardener.cloud/v1alpha1".into();
        assert!(!is_scheduler_configuration(&gardeners));
    }
}
