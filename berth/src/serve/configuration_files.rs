//! `--config FILE`: a system's own configuration file, unmodified, or a whole SchedulerConfiguration. The
//! file is used if no SchedulerConfiguration is stored at the start.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use berth_apimachinery::write::Verb;
use berth_apimachinery::{Draft, FieldError, Key, Kind, Timestamp, time};
use berth_commands::manifest;
use berth_configuration::SchedulerConfiguration;
use berth_dialect_contract::rules::RulesChoice;
use berth_dialect_contract::{Dialect, config};
use berth_hub::mirror::FROM_FILE;
use berth_storage::{Expect, Step, Store, StoreError};
use serde_json::{Value, json};

use super::groups::Parts;

/// Validates the configuration in each file, and stores it for its dialect, unless a SchedulerConfiguration
/// is stored. `beside_copies` is true if the store also has copies of a hub's configurations. Then a
/// configuration that comes from an earlier file is replaced, and configurations of files that are no longer
/// given are deleted. Otherwise nothing shows that a configuration comes from a file: it stays.
///
/// # Errors
/// When a file cannot be read, does not belong to a dialect, or is invalid; the message has all errors of the
/// file. Also when a configuration cannot be stored.
pub(super) async fn store_files(
    store: &Arc<dyn Store>,
    parts: &Parts,
    files: &[PathBuf],
    beside_copies: bool,
    now: Timestamp,
) -> Result<()> {
    let mut current = BTreeSet::new();
    for file in files {
        let text = manifest::text(file).map_err(|problem| anyhow!("{}: {problem}", file.display()))?;
        let value: Value =
            berth_yaml::from_str(&text).map_err(|problem| anyhow!("{}: {problem}", file.display()))?;
        let (dialect, spec) = parse(&parts.dialects, &value, now).map_err(|errors| {
            let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
            anyhow!("{}:\n{}", file.display(), lines.join("\n"))
        })?;
        let origin = beside_copies.then(|| file.display().to_string());
        let name = dialect.name();
        let (path, rules) = (format!("spec.{name}"), RulesChoice::of(&json!({"spec": spec})));
        for warning in dialect.configuration().warnings(&spec[name], &path, rules) {
            tracing::warn!(file = %file.display(), warning, "the configuration allows this, but it is probably not intended");
        }
        store_configuration(store, dialect.name(), &spec, origin, now)
            .await
            .with_context(|| format!("storing {}", file.display()))?;
        current.insert(dialect.name());
    }
    if beside_copies {
        delete_stale(store, &current).await?;
    }
    Ok(())
}

/// Sets the field `rules` in the configuration of every system. The other fields do not change.
///
/// # Errors
/// When a configuration cannot be stored.
pub(super) async fn choose_rules(
    store: &Arc<dyn Store>,
    parts: &Parts,
    rules: RulesChoice,
    now: Timestamp,
) -> Result<()> {
    for dialect in &parts.dialects {
        let name = dialect.name();
        let stored = store.cached(config::RESOURCE).get("", name).cloned();
        let mut spec = match &stored {
            Some(stored) => stored.value()["spec"].clone(),
            None => json!({}),
        };
        spec[RulesChoice::FIELD] = rules.as_str().into();
        if let Some(stored) = stored {
            let expect = Expect::At(stored.revision());
            apply(store, config::key(name), Verb::Delete, expect, None).await?;
        }
        store_configuration(store, name, &spec, None, now).await?;
    }
    Ok(())
}

/// The dialect that `file` configures, and the spec of a SchedulerConfiguration with the content of the file.
/// If the file is a SchedulerConfiguration itself, its whole spec is returned, with `mode` and `autoBind`.
fn parse(
    dialects: &[Arc<dyn Dialect>],
    file: &Value,
    now: Timestamp,
) -> Result<(Arc<dyn Dialect>, Value), Vec<FieldError>> {
    let (dialect, spec) = config::from_file(dialects, file)?;
    if !config::is_scheduler_configuration(file) {
        return Ok((Arc::clone(&dialect), json!({dialect.name(): spec})));
    }
    let kind = SchedulerConfiguration::new(dialects.to_vec());
    let mut errors = kind.problems(file, now);
    // Deeper unknown fields are in `spec.requests` or in the part of the dialect, and are reported already.
    let unknown = kind.schema(config::VERSION).unknown_fields(file).into_iter();
    let unknown = unknown.filter(|path| path.matches('.').count() <= 1);
    errors.extend(unknown.map(|path| FieldError::forbidden(path, "unknown field")));
    match errors.is_empty() {
        true if file["spec"].is_object() => Ok((dialect, file["spec"].clone())),
        true => Ok((dialect, json!({}))),
        false => Err(errors),
    }
}

/// Stores `spec` as the configuration of `dialect`, unless a configuration without the annotation
/// [`FROM_FILE`] is stored. Beside copies of a hub's configurations, the object is annotated with `origin`,
/// the path of the file: a copy of the hub's configuration, or the file at the next start, replaces an
/// annotated object.
async fn store_configuration(
    store: &Arc<dyn Store>,
    dialect: &str,
    spec: &Value,
    origin: Option<String>,
    now: Timestamp,
) -> Result<()> {
    let key = config::key(dialect);
    let stored = store.cached(config::RESOURCE);
    let existing = stored.get("", dialect);
    if existing.is_some_and(|existing| !existing.annotations().contains_key(FROM_FILE)) {
        return Ok(());
    }
    let mut object = json!({
        "apiVersion": format!("{}/{}", config::GROUP, config::VERSION),
        "kind": config::KIND,
        "metadata": {
            "name": dialect,
            "uid": uuid::Uuid::new_v4().to_string(),
            "creationTimestamp": time::rfc3339(now),
            "generation": 1,
        },
        "spec": spec,
    });
    if let Some(origin) = origin {
        object["metadata"]["annotations"] = json!({FROM_FILE: origin});
    }
    let (verb, expect) = match existing {
        Some(existing) => (Verb::Update, Expect::At(existing.revision())),
        None => (Verb::Create, Expect::Absent),
    };
    apply(store, key, verb, expect, Some(Draft::new(&object)?)).await
}

/// Deletes the configurations that come from files, except those of the dialects in `current`.
async fn delete_stale(store: &Arc<dyn Store>, current: &BTreeSet<&str>) -> Result<()> {
    let stored = store.cached(config::RESOURCE);
    let stale = stored
        .iter(None, None)
        .map(|(_, object)| object)
        .filter(|object| {
            object.annotations().contains_key(FROM_FILE) && !current.contains(object.meta().name())
        });
    for object in stale {
        let key = config::key(object.meta().name());
        apply(store, key, Verb::Delete, Expect::At(object.revision()), None).await?;
    }
    Ok(())
}

/// Applies one step. If another server with the same store, or a copy from the hub, has written the object in
/// the meantime, that write stays.
async fn apply(
    store: &Arc<dyn Store>,
    key: Key,
    verb: Verb,
    expect: Expect,
    object: Option<Draft>,
) -> Result<()> {
    let step = Step {
        verb,
        key,
        subresource: "",
        object,
        expect,
        guards: Vec::new(),
    };
    match store.apply(vec![step]).await {
        Ok(_)
        | Err(StoreError::AlreadyExists { .. } | StoreError::Conflict { .. } | StoreError::NotFound { .. }) => {
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(spec: Value) -> Result<Value, Vec<String>> {
        let file = json!({
            "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration",
            "metadata": {"name": "gardener"}, "spec": spec,
        });
        let found = parse(&berth_dialect_registry::all(), &file, Timestamp::UNIX_EPOCH);
        found
            .map(|(_, spec)| spec)
            .map_err(|errors| errors.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_whole_configuration_is_taken_with_its_mode_and_when_it_binds() {
        let spec = json!({"mode": "Observe", "autoBind": "Off", "gardener": {"logLevel": "info"}});
        assert_eq!(file(spec.clone()), Ok(spec));
        assert_eq!(file(json!({"autoBind": "Off"})), Ok(json!({"autoBind": "Off"})));
        assert_eq!(file(Value::Null), Ok(json!({})));
    }

    #[test]
    fn what_is_wrong_beside_the_systems_own_part_is_told() {
        let wrong = file(json!({"autoBind": false, "autobind": "Off"}))
            .unwrap_err()
            .join("\n");
        assert!(wrong.contains("with the quotes"), "{wrong}");
        assert!(
            wrong.contains("spec.autobind: Forbidden: unknown field"),
            "{wrong}"
        );
    }

    #[test]
    fn a_systems_own_file_is_its_part() {
        let own = json!({
            "apiVersion": "scheduler.config.gardener.cloud/v1alpha1", "kind": "SchedulerConfiguration", "logLevel": "info",
        });
        let (dialect, spec) = parse(&berth_dialect_registry::all(), &own, Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(
            (dialect.name(), spec),
            ("gardener", json!({"gardener": {"logLevel": "info"}}))
        );
    }
}
