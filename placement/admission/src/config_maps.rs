//! ConfigMaps labelled `scheduling.berth.dev/config: <dialect>`: the configuration files in such ConfigMaps
//! are validated like files for Berth (docs/concepts.md, "Configuration"). Berth never changes them, and
//! never reads its configuration from them.

use std::sync::Arc;

use berth_admission::{Denial, Operation, Plugin, Request};
use berth_apimachinery::{FieldError, FieldErrorKind, GroupResource};
use berth_dialect_contract::rules::RulesChoice;
use berth_dialect_contract::{Dialect, config};
use serde_json::Value;

/// The label of a ConfigMap with configuration files; its value is the name of the dialect.
pub const LABEL: &str = "scheduling.berth.dev/config";

/// The resource of ConfigMaps, which may contain configuration files of the systems.
pub const CONFIG_MAPS: GroupResource = GroupResource::new("", "configmaps");

/// The admission plugin that validates configuration files in ConfigMaps.
pub(super) struct ConfigMaps {
    dialects: Vec<Arc<dyn Dialect>>,
}

impl ConfigMaps {
    pub(super) fn new(dialects: Vec<Arc<dyn Dialect>>) -> Self {
        Self { dialects }
    }

    fn dialect(&self, name: &str) -> Result<&Arc<dyn Dialect>, FieldError> {
        let found = self.dialects.iter().find(|dialect| dialect.name() == name);
        found.ok_or_else(|| {
            let known: Vec<&str> = self.dialects.iter().map(|dialect| dialect.name()).collect();
            FieldError::not_supported(format!("metadata.labels[{LABEL}]"), name, &known)
        })
    }
}

/// Content of one data key.
enum Entry {
    /// A valid configuration file, with warnings.
    File(Vec<String>),
    /// A text that is not a configuration file, such as a comment for people.
    Text,
}

impl Plugin for ConfigMaps {
    fn name(&self) -> &'static str {
        "ConfigMapConfiguration"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.resource == CONFIG_MAPS
            && request.subresource.is_empty()
            && matches!(request.operation, Operation::Create | Operation::Update)
    }

    fn validate(
        &self,
        _: &Request<'_>,
        object: Option<&Value>,
        warnings: &mut Vec<String>,
    ) -> Result<(), Denial> {
        let label = object.and_then(|object| object["metadata"]["labels"][LABEL].as_str());
        let (Some(object), Some(label)) = (object, label) else {
            return Ok(());
        };
        let dialect = self
            .dialect(label)
            .map_err(|error| Denial::Invalid(vec![error]))?;
        let mut errors = Vec::new();
        let mut files = 0;
        for (key, text) in object["data"].as_object().into_iter().flatten() {
            match entry(dialect, key, text.as_str().unwrap_or_default()) {
                Ok(Entry::File(texts)) => {
                    files += 1;
                    warnings.extend(texts);
                }
                Ok(Entry::Text) => {
                    warnings.push(format!(
                        "data[{key}] is not a configuration file and is not checked"
                    ));
                }
                Err(found) => errors.extend(found),
            }
        }
        if !errors.is_empty() {
            return Err(Denial::Invalid(errors));
        }
        if files == 0 {
            warnings.push(format!(
                "the label {LABEL} says {label}, but no key of data holds a configuration file"
            ));
        }
        Ok(())
    }
}

fn entry(dialect: &Arc<dyn Dialect>, key: &str, text: &str) -> Result<Entry, Vec<FieldError>> {
    let path = format!("data[{key}]");
    let value: Value = berth_yaml::from_str(text).map_err(|error| {
        vec![FieldError {
            kind: FieldErrorKind::Invalid,
            path: path.clone(),
            value: None,
            detail: format!("is not YAML: {error}"),
        }]
    })?;
    if !value.is_object() {
        return Ok(Entry::Text);
    }
    let (dialect, spec) = config::from_file(std::slice::from_ref(dialect), &value).map_err(|errors| {
        errors
            .into_iter()
            .map(|error| FieldError {
                kind: FieldErrorKind::Invalid,
                path: path.clone(),
                value: None,
                detail: error.to_string(),
            })
            .collect::<Vec<_>>()
    })?;
    let rules = match config::is_scheduler_configuration(&value) {
        true => RulesChoice::of(&value),
        false => RulesChoice::default(),
    };
    let texts = dialect.configuration().warnings(&spec, "", rules).into_iter();
    Ok(Entry::File(
        texts
            .map(|text| format!("{path}: {}", text.trim_start_matches('.')))
            .collect(),
    ))
}

#[cfg(test)]
mod tests {
    use berth_admission::UserInfo;
    use serde_json::json;

    use super::*;

    fn judge(label: &str, data: &Value) -> Result<Vec<String>, Vec<String>> {
        let user = UserInfo::default();
        let request = Request {
            operation: Operation::Create,
            resource: CONFIG_MAPS,
            kind: "ConfigMap",
            subresource: "",
            namespace: "default",
            name: "c",
            user: &user,
            old: None,
            dry_run: false,
        };
        let plugin = ConfigMaps::new(berth_dialect_registry::all());
        assert!(plugin.handles(&request));
        let object = json!({"metadata": {"name": "c", "labels": {LABEL: label}}, "data": data});
        let mut warnings = Vec::new();
        match plugin.validate(&request, Some(&object), &mut warnings) {
            Ok(()) => Ok(warnings),
            Err(Denial::Invalid(errors)) => Err(errors.iter().map(ToString::to_string).collect()),
            Err(other) => panic!("{other:?}"),
        }
    }

    const FILE: &str = "apiVersion: scheduler.config.gardener.cloud/v1alpha1\nkind: SchedulerConfiguration\n";

    #[test]
    fn files_are_checked_and_notes_are_not() {
        assert_eq!(judge("gardener", &json!({"a.yaml": FILE})), Ok(Vec::new()));
        let warnings = judge("gardener", &json!({"note": "words"})).unwrap();
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(warnings[1].contains("no key of data"), "{warnings:?}");
        let own = json!({
            "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration",
            "metadata": {"name": "gardener"}, "spec": {"gardener": {}},
        });
        assert_eq!(
            judge("gardener", &json!({"own.json": own.to_string()})),
            Ok(Vec::new())
        );
    }

    #[test]
    fn every_error_names_its_key() {
        let wrong = format!("{FILE}schedulers: {{shoot: {{concurrentSyncs: -1, extra: 1}}}}\n");
        let errors = judge(
            "gardener",
            &json!({"a.yaml": wrong, "b.yaml": "x: [\n", "c.yaml": "kind: Pod\n"}),
        )
        .unwrap_err();
        assert_eq!(errors.len(), 4, "{errors:?}");
        assert!(errors[0].starts_with("data[a.yaml]: Invalid value: schedulers.shoot.concurrentSyncs: "));
        assert!(errors[1].starts_with("data[a.yaml]: Invalid value: schedulers.shoot.extra: "));
        assert!(
            errors[2].starts_with("data[b.yaml]: Invalid value: is not YAML: line "),
            "{errors:?}"
        );
        assert!(errors[3].starts_with("data[c.yaml]: Invalid value: apiVersion: "));
        let unknown = judge("nomad", &json!({})).unwrap_err();
        assert!(
            unknown[0]
                .starts_with("metadata.labels[scheduling.berth.dev/config]: Unsupported value: \"nomad\""),
            "{unknown:?}"
        );
    }
}
