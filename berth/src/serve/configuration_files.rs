//! `--config FILE`: a system's own configuration file, unmodified, or a whole SchedulerConfiguration. The
//! file is stored at the start if no SchedulerConfiguration is stored, and behind a hub also when the hub's
//! configuration is deleted later.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use berth_apimachinery::write::Verb;
use berth_apimachinery::{Clock, Draft, FieldError, Key, Kind, Object, Timestamp, time};
use berth_commands::manifest;
use berth_configuration::SchedulerConfiguration;
use berth_dialect_contract::rules::RulesChoice;
use berth_dialect_contract::{Dialect, config};
use berth_hub::mirror::FROM_FILE;
use berth_storage::informer::{self, Handler};
use berth_storage::{Event, Expect, Scope, Source, Step, Store, StoreError};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::groups::Parts;

/// The configuration in a file.
pub(super) struct ConfigurationFile {
    path: PathBuf,
    /// The name of the dialect that the file configures.
    dialect: &'static str,
    /// The spec of the SchedulerConfiguration.
    spec: Value,
}

/// Validates the configuration in each file, and stores it for its dialect, unless a SchedulerConfiguration
/// is stored. `beside_copies` is true if the store also has copies of a hub's configurations. Then a
/// configuration that comes from an earlier file is replaced, and configurations of files that are no longer
/// given are deleted. Otherwise nothing shows that a configuration comes from a file: it stays. Returns the
/// configurations of all files.
///
/// # Errors
/// When a file cannot be read, does not belong to a dialect, or is invalid; the message has all errors of the
/// file. Also when two files belong to one dialect, or a configuration cannot be stored.
pub(super) async fn store_files(
    store: &Arc<dyn Store>,
    parts: &Parts,
    files: &[PathBuf],
    beside_copies: bool,
    now: Timestamp,
) -> Result<Vec<ConfigurationFile>> {
    let files = read_files(&parts.dialects, files, now)?;
    for file in &files {
        let path = file.path.display();
        if has_no_effect(store, file) {
            tracing::warn!(
                file = %path,
                "the stored SchedulerConfiguration {} differs from this file, which has no effect: change the stored one, or \
                 delete it and start again",
                file.dialect
            );
        }
        let origin = beside_copies.then(|| path.to_string());
        store_configuration(store, file.dialect, &file.spec, origin, now)
            .await
            .with_context(|| format!("storing {path}"))?;
    }
    if beside_copies {
        let current: BTreeSet<&str> = files.iter().map(|file| file.dialect).collect();
        delete_stale(store, &current).await?;
    }
    Ok(files)
}

/// Reads and validates all files, at most one for each dialect.
fn read_files(
    dialects: &[Arc<dyn Dialect>],
    files: &[PathBuf],
    now: Timestamp,
) -> Result<Vec<ConfigurationFile>> {
    let mut configurations: Vec<ConfigurationFile> = Vec::new();
    for path in files {
        let file = read_file(dialects, path, now)?;
        let mut earlier = configurations.iter();
        if let Some(other) = earlier.find(|other| other.dialect == file.dialect) {
            bail!(
                "{} and {} both configure {}: pass only one --config of each system",
                other.path.display(),
                path.display(),
                file.dialect
            );
        }
        configurations.push(file);
    }
    Ok(configurations)
}

/// Reads and validates the file at `path`, and logs what is valid but probably not intended.
fn read_file(dialects: &[Arc<dyn Dialect>], path: &Path, now: Timestamp) -> Result<ConfigurationFile> {
    let text = manifest::text(path).map_err(|problem| anyhow!("{}: {problem}", path.display()))?;
    let value: Value =
        berth_yaml::from_str(&text).map_err(|problem| anyhow!("{}: {problem}", path.display()))?;
    let (dialect, spec) = parse(dialects, &value, now).map_err(|errors| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        anyhow!("{}:\n{}", path.display(), lines.join("\n"))
    })?;
    let name = dialect.name();
    let (place, rules) = (format!("spec.{name}"), RulesChoice::of(&json!({"spec": spec})));
    for warning in dialect.configuration().warnings(&spec[name], &place, rules) {
        tracing::warn!(file = %path.display(), warning, "the configuration allows this, but it is probably not intended");
    }
    Ok(ConfigurationFile {
        path: path.to_owned(),
        dialect: name,
        spec,
    })
}

/// Whether another SchedulerConfiguration than that of `file` is stored, and not from a file beside copies,
/// which is replaced.
fn has_no_effect(store: &Arc<dyn Store>, file: &ConfigurationFile) -> bool {
    let stored = store.cached(config::RESOURCE);
    let stored = stored.get("", file.dialect);
    stored.is_some_and(|stored| !is_default(stored) && stored.value()["spec"] != file.spec)
}

/// Whether `configuration` comes from a file, and gives way to a copy of the hub's configuration.
fn is_default(configuration: &Object) -> bool {
    configuration.annotations().contains_key(FROM_FILE)
}

/// Starts the task that stores the configurations in `files` again after the hub's configurations were
/// deleted, and with them the copies in `store`.
pub(super) fn spawn(
    store: &Arc<dyn Store>,
    files: Vec<ConfigurationFile>,
    clock: &Arc<dyn Clock>,
) -> JoinHandle<()> {
    let defaults = Defaults {
        store: Arc::clone(store),
        clock: Arc::clone(clock),
        files,
        due: BTreeSet::new(),
    };
    // The informer runs until the handle is aborted.
    tokio::spawn(informer::run(
        Arc::clone(store) as Arc<dyn Source>,
        Scope::One(config::RESOURCE),
        defaults,
        std::future::pending(),
    ))
}

/// The task that stores the configurations in files where the hub has none.
struct Defaults {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    files: Vec<ConfigurationFile>,
    /// The dialects that may have no configuration.
    due: BTreeSet<&'static str>,
}

impl Handler for Defaults {
    const RETRY_AFTER: Duration = Duration::from_secs(5);

    async fn list(&mut self) -> Result<(), StoreError> {
        self.due = self.files.iter().map(|file| file.dialect).collect();
        Ok(())
    }

    /// Records the deletions of copies. The deletion of a default is left alone: a server without the file,
    /// on the same store, deletes it at its start.
    async fn handle(&mut self, events: &[Arc<Event>]) {
        for change in events.iter().map(|event| &event.change) {
            let copy = change.old.as_ref().filter(|old| !is_default(old));
            if copy.is_some() && change.new.is_none() {
                let dialects = self.files.iter().map(|file| file.dialect);
                self.due
                    .extend(dialects.filter(|dialect| **dialect == *change.key.name));
            }
        }
    }

    async fn work(&mut self) -> bool {
        for file in &self.files {
            if !self.due.contains(file.dialect) {
                continue;
            }
            let stored = self.store.cached(config::RESOURCE);
            if stored.get("", file.dialect).is_none() {
                let path = file.path.display().to_string();
                tracing::info!(
                    file = path,
                    "the hub has no SchedulerConfiguration {}: the file is in force",
                    file.dialect
                );
                let (spec, now) = (&file.spec, self.clock.now());
                let result = store_configuration(&self.store, file.dialect, spec, Some(path), now);
                if let Err(problem) = result.await {
                    let problem = format!("{problem:#}");
                    tracing::warn!(problem, "cannot store the configuration in a file; retrying");
                    return false;
                }
            }
            self.due.remove(file.dialect);
        }
        true
    }

    fn ended(&self, problem: &StoreError) -> Duration {
        if matches!(problem, StoreError::Expired { .. }) {
            return Duration::ZERO;
        }
        tracing::warn!(error = %problem, "cannot watch SchedulerConfigurations; retrying");
        Self::RETRY_AFTER
    }
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
    // A truncated name ends with dots, which separate no fields.
    let unknown = unknown.filter(|path| path.trim_end_matches('.').matches('.').count() <= 1);
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
    if existing.is_some_and(|existing| !is_default(existing)) {
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
        .filter(|object| is_default(object) && !current.contains(object.meta().name()));
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
    use berth_apimachinery::FixedClock;
    use berth_storage::MemoryStore;

    use super::*;

    const CLOCK: FixedClock = FixedClock(Timestamp::UNIX_EPOCH);

    fn auto_bind_off() -> ConfigurationFile {
        ConfigurationFile {
            path: "gardener.yaml".into(),
            dialect: "gardener",
            spec: json!({"autoBind": "Off"}),
        }
    }

    /// Stores `file`, as a default if `origin` is given.
    async fn store(store: &Arc<dyn Store>, file: &ConfigurationFile, origin: Option<&str>) {
        let origin = origin.map(str::to_owned);
        store_configuration(store, file.dialect, &file.spec, origin, CLOCK.now())
            .await
            .unwrap();
    }

    fn stored(store: &Arc<dyn Store>) -> Option<Arc<Object>> {
        store.cached(config::RESOURCE).get("", "gardener").cloned()
    }

    #[tokio::test]
    async fn a_file_is_in_force_again_once_the_configuration_of_the_hub_is_deleted() {
        let memory: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let mut defaults = Defaults {
            store: Arc::clone(&memory),
            clock: Arc::new(CLOCK),
            files: vec![auto_bind_off()],
            due: BTreeSet::new(),
        };
        let scope = Scope::One(config::RESOURCE);
        let mut watch = memory.watch(scope, memory.revision()).unwrap();
        // The copy of the hub's configuration has no annotation.
        store(&memory, &auto_bind_off(), None).await;
        for is_restored in [true, false] {
            let key = config::key("gardener");
            apply(&memory, key, Verb::Delete, Expect::Present, None)
                .await
                .unwrap();
            defaults.handle(&watch.next(10).await.unwrap()).await;
            assert!(defaults.work().await);
            // The second deletion is that of the file's own object.
            let found = stored(&memory);
            assert_eq!(found.is_some_and(|found| is_default(&found)), is_restored);
        }
    }

    #[tokio::test]
    async fn a_stored_configuration_that_differs_from_the_file_leaves_it_without_effect() {
        let memory: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let file = auto_bind_off();
        let other = ConfigurationFile {
            spec: json!({"autoBind": "Controller"}),
            ..auto_bind_off()
        };
        assert!(!has_no_effect(&memory, &file));
        store(&memory, &other, Some("gardener.yaml")).await;
        assert!(!has_no_effect(&memory, &file), "it is replaced");
        let memory: Arc<dyn Store> = Arc::new(MemoryStore::default());
        store(&memory, &other, None).await;
        assert!(has_no_effect(&memory, &file));
        assert!(!has_no_effect(&memory, &other), "it is equal");
    }

    #[test]
    fn two_files_of_one_system_are_refused_and_both_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["one.yaml", "two.yaml"].map(|name| folder.path().join(name));
        for file in &files {
            let text = "apiVersion: config.berth.dev/v1alpha1\nkind: SchedulerConfiguration\n\
                        metadata: {name: gardener}\nspec: {}\n";
            std::fs::write(file, text).unwrap();
        }
        let dialects = berth_dialect_registry::all();
        assert!(read_files(&dialects, &files[..1], CLOCK.now()).is_ok());
        let problem = read_files(&dialects, &files, CLOCK.now());
        let problem = problem.err().unwrap().to_string();
        assert!(
            problem.contains("one.yaml") && problem.contains("two.yaml"),
            "{problem}"
        );
    }

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
