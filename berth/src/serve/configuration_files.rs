//! `--config FILE`: a system's own configuration file, taken unmodified where no SchedulerConfiguration is stored.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use dialect_contract::config;
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
        let (dialect, spec) = config::from_file(&parts.dialects, &value).map_err(|errors| {
            let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
            anyhow!("{}:\n{}", file.display(), lines.join("\n"))
        })?;
        create(store, dialect.name(), &spec, now)
            .await
            .with_context(|| format!("storing {}", file.display()))?;
    }
    Ok(())
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
