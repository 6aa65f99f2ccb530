//! Sources of configuration: the SchedulerConfiguration of a dialect (docs/concepts.md, "Configuration") is
//! folded into its inventory like any other object, so that reviews and `simulate` overlay it the same way.

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
/// `schedulerconfigurations.config.berth.dev`.
pub const RESOURCE: GroupResource = GroupResource::new(GROUP, "schedulerconfigurations");

/// The key of `dialect`'s configuration: one per dialect, named after it.
#[must_use]
pub fn key(dialect: &str) -> Key {
    Key::new(RESOURCE, "", dialect)
}

/// Whether `file` is a SchedulerConfiguration, and not a system's own file.
#[must_use]
pub fn is_stored_form(file: &Value) -> bool {
    file["apiVersion"] == format!("{GROUP}/{VERSION}")
}

/// Reads a configuration file, which is either a system's own file or a SchedulerConfiguration. Returns the
/// dialect and the dialect's part of a SchedulerConfiguration.
///
/// # Errors
/// One error when the file is neither, or has the name of no dialect; otherwise all errors of its
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
const KEYS: usize = 5;

/// Dialect, spec, and the path of the spec in the file.
fn recognize(
    dialects: &[Arc<dyn Dialect>],
    file: &Value,
) -> Result<(Arc<dyn Dialect>, Value, String), Vec<FieldError>> {
    if is_stored_form(file) {
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
                let keys: Vec<&str> = data.keys().take(KEYS).map(String::as_str).collect();
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
