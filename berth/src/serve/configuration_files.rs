//! `--config FILE`: a system's own configuration file, taken unmodified where no SchedulerConfiguration is stored.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use dialect_contract::{Dialect, config};
use meta::{Draft, Timestamp, time};
use serde_json::{Value, json};
use storage::{Expect, Step, Store, StoreError, Verb};

use super::groups::Parts;

/// Stores the configuration in each file, validated, for the dialect it is of; a stored one wins over a file.
///
/// # Errors
/// When a file cannot be read, is of no dialect, or breaks its rules: every error of the file.
pub(super) async fn fill(
    store: &Arc<dyn Store>,
    parts: &Parts,
    files: &[PathBuf],
    now: Timestamp,
) -> Result<()> {
    for file in files {
        let text = std::fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
        let value: Value =
            serde_saphyr::from_str(&text).with_context(|| format!("reading {}", file.display()))?;
        let (dialect, spec) = recognize(&parts.dialects, file, value)?;
        let errors = dialect.validate_config(&spec, "");
        if !errors.is_empty() {
            let lines: Vec<String> = errors
                .iter()
                .map(|error| error.to_string().trim_start_matches('.').to_owned())
                .collect();
            bail!("{}:\n{}", file.display(), lines.join("\n"));
        }
        create(store, dialect.name(), &spec, now)
            .await
            .with_context(|| format!("storing {}", file.display()))?;
    }
    Ok(())
}

/// The dialect a file is of, and its part of a SchedulerConfiguration.
fn recognize(
    dialects: &[Arc<dyn Dialect>],
    file: &Path,
    mut value: Value,
) -> Result<(Arc<dyn Dialect>, Value)> {
    let api_version = value["apiVersion"].as_str().unwrap_or_default().to_owned();
    let named = |name: &str| dialects.iter().find(|dialect| dialect.name() == name).cloned();
    let own_form = dialects
        .iter()
        .find(|dialect| dialect.configuration_versions().contains(&api_version.as_str()));
    if let Some(dialect) = own_form {
        if let Some(map) = value.as_object_mut() {
            map.retain(|name, _| name != "apiVersion" && name != "kind" && name != "metadata");
        }
        return Ok((Arc::clone(dialect), value));
    }
    if api_version == format!("{}/{}", config::GROUP, config::VERSION) {
        let name = value["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        return match named(&name) {
            Some(dialect) => Ok((dialect, value["spec"][name.as_str()].take())),
            None => bail!("{}: metadata.name: {name:?} is no dialect", file.display()),
        };
    }
    bail!(
        "{}: apiVersion {api_version:?} is no configuration of a dialect",
        file.display()
    )
}

async fn create(store: &Arc<dyn Store>, dialect: &str, spec: &Value, now: Timestamp) -> Result<()> {
    let key = config::key(dialect);
    if store.cached(config::RESOURCE).get("", dialect).is_some() {
        return Ok(());
    }
    let object = json!({
        "apiVersion": format!("{}/{}", config::GROUP, config::VERSION),
        "kind": config::KIND,
        "metadata": {
            "name": dialect,
            "uid": uuid::Uuid::new_v4().to_string(),
            "creationTimestamp": time::rfc3339(now),
            "generation": 1,
        },
        "spec": {dialect: spec},
    });
    let step = Step {
        verb: Verb::Create,
        key,
        subresource: "",
        object: Some(Draft::new(&object)?),
        expect: Expect::Absent,
        guards: Vec::new(),
    };
    match store.apply(vec![step]).await {
        Ok(_) | Err(StoreError::AlreadyExists { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
