//! Hypothetical worlds, which turn objects into a snapshot. Reviews overlay the live world or have a
//! world of their own, and `simulate` reads files; both decide on the snapshot exactly as the live
//! engine does.

mod preceding;

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::{
    Change, DraftError, FieldError, FieldErrorKind, GroupResource, Key, Kind, KindInfo, Object, Revision,
    Timestamp, Via, name, time,
};
use berth_dialect_contract::rules::RulesChoice;
use berth_dialect_contract::{Dialect, Verb, Write, config};
use berth_storage::Collection;
use serde_json::{Value, json};

use self::preceding::DueKeys;
use crate::dirty::{self, MarkedSet};
use crate::snapshot::{Snapshot, writable};
use crate::spelling;

/// The kinds of objects in files and reviews.
#[derive(Clone, Default)]
pub struct Catalog {
    kinds: BTreeMap<(&'static str, &'static str), Arc<dyn Kind>>,
}

impl Catalog {
    /// The catalog of `kinds`; of two kinds with one name, the later one counts.
    #[must_use]
    pub fn new(kinds: impl IntoIterator<Item = Arc<dyn Kind>>) -> Self {
        let kinds = kinds
            .into_iter()
            .map(|kind| ((kind.info().group, kind.info().kind), kind));
        Self {
            kinds: kinds.collect(),
        }
    }

    /// The kind named `kind` in the group and version of `api_version`, with its version. The group may be
    /// the kind's group in another release.
    #[must_use]
    pub fn find(&self, api_version: &str, kind: &str) -> Option<(&Arc<dyn Kind>, &'static str)> {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let named = |of_group: &dyn Fn(&Arc<dyn Kind>) -> bool| {
            let mut kinds = self.kinds.iter().filter(|((_, k), _)| *k == kind);
            kinds.find(|(_, found)| of_group(found)).map(|(_, found)| found)
        };
        let found = named(&|found| found.info().group == group)
            .or_else(|| named(&|found| found.other_groups().contains(&group)))?;
        let version = found.info().versions.iter().find(|served| **served == version)?;
        Some((found, version))
    }

    /// The kinds that `text` names: by kind, plural, singular or short name in any case, with or
    /// without `.group`.
    #[must_use]
    pub fn named(&self, text: &str) -> Vec<&Arc<dyn Kind>> {
        let (word, group) = text
            .split_once('.')
            .map_or((text, None), |(word, group)| (word, Some(group)));
        let is = |kind: &&Arc<dyn Kind>| {
            let info = kind.info();
            let mut names = [info.kind, info.plural, info.singular]
                .into_iter()
                .chain(info.short_names.iter().copied());
            names.any(|name| name.eq_ignore_ascii_case(word)) && group.is_none_or(|group| group == info.group)
        };
        self.kinds.values().filter(is).collect()
    }

    /// The version in which objects of `resource` are stored.
    #[must_use]
    pub fn version_of(&self, resource: GroupResource) -> Option<&'static str> {
        Some(self.stored_in(resource)?.info().storage_version)
    }

    /// The kind whose objects are stored as `resource`.
    #[must_use]
    pub fn stored_in(&self, resource: GroupResource) -> Option<&Arc<dyn Kind>> {
        self.kinds.values().find(|kind| kind.stored_in() == resource)
    }

    /// Whether the catalog has a kind of `group`.
    #[must_use]
    pub fn knows_group(&self, group: &str) -> bool {
        self.kinds.keys().any(|(known, _)| *known == group)
    }

    /// Reads one object as it would be stored: defaulted, normalized and validated by its kind. A namespaced
    /// object without a namespace is in `default`. Status is kept, since files and reviews describe a state,
    /// not a request.
    ///
    /// # Errors
    /// Everything wrong with the object, with paths that begin with `path` (the object's own paths when
    /// `path` is empty).
    pub fn read(
        &self,
        value: Value,
        path: &str,
        now: Timestamp,
    ) -> Result<(Key, Arc<Object>), Vec<FieldError>> {
        let read = self.judge(value, path, now)?;
        match read.errors.is_empty() {
            true => Ok((read.key, read.object)),
            false => Err(read.errors),
        }
    }

    /// Reads one object like [`Catalog::read`], and returns it even if it is invalid for its kind, since
    /// another API server may have stored it.
    ///
    /// # Errors
    /// Reason why the value is no object of its kind.
    pub(crate) fn judge(
        &self,
        mut value: Value,
        path: &str,
        now: Timestamp,
    ) -> Result<WriteVerdict, Vec<FieldError>> {
        let at = |field: &str| join(path, field);
        let (kind, version) = self.kind_of(&value, path)?;
        let info = kind.info();
        if !value.get("metadata").is_some_and(Value::is_object) {
            return Err(vec![FieldError::required(
                at("metadata"),
                "an object with at least a name is required",
            )]);
        }
        set_namespace(&mut value, info, path)?;
        let unknown = unknown_fields(&**kind, version, &value);
        kind.to_stored(version, &mut value);
        value["apiVersion"] = info.api_version(info.storage_version).into();
        let schema = kind.schema(info.storage_version);
        schema.default(&mut value);
        // The object is prepared as an update of itself: rules for new objects would reset fields of
        // its state (taint times, status).
        let old = value.clone();
        let write = berth_apimachinery::Write {
            via: Via::Update,
            old: Some(&old),
            now,
        };
        kind.prepare(&write, &mut value);
        // Fields that the preparation sets are not changes of the object. An object that was never
        // stored is validated as on create.
        let old = value.clone();
        let is_new = !was_stored(&value);
        let write = match is_new {
            false => berth_apimachinery::Write {
                old: Some(&old),
                ..write
            },
            true => berth_apimachinery::Write {
                via: Via::Create,
                old: None,
                now,
            },
        };
        let with_path = |errors: Vec<FieldError>| -> Vec<FieldError> {
            let errors = errors.into_iter();
            errors
                .map(|error| FieldError {
                    path: at(&error.path),
                    ..error
                })
                .collect()
        };
        let mut misfits = schema.validate(&value);
        misfits.retain(|error| !is_missing_in_status(error));
        let errors = kind.validate(&write, &value);
        let name = value["metadata"]["name"].as_str().unwrap_or_default();
        if let Err(problem) = kind.validate_name(name) {
            misfits.push(FieldError::invalid("metadata.name", name, problem));
        }
        if !misfits.is_empty() {
            return Err(with_path(misfits.into_iter().chain(errors).collect()));
        }
        let object = Object::new(&value, Revision::default()).map_err(|DraftError { path, problem }| {
            vec![FieldError::invalid(at(&path), Value::Null, problem)]
        })?;
        let meta = object.meta();
        Ok(WriteVerdict {
            key: Key::new(kind.stored_in(), meta.namespace(), meta.name()),
            object: Arc::new(object),
            is_new,
            unknown,
            errors: with_path(errors),
        })
    }

    /// The paths of fields that the kind of `value` does not have: the first ones, and none for an
    /// unknown kind.
    #[must_use]
    pub fn unknown_fields(&self, value: &Value) -> Vec<String> {
        let text = |field: &str| value[field].as_str().unwrap_or_default();
        let known = self.find(text("apiVersion"), text("kind"));
        known.map_or_else(Vec::new, |(kind, version)| {
            unknown_fields(&**kind, version, value)
        })
    }

    /// Sentence about a known kind that is similar to the unknown `kind` of `api_version`: one with another
    /// version or spelling.
    #[must_use]
    pub fn hint(&self, api_version: &str, kind: &str) -> Option<String> {
        let (group, _) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        if let Some(known) = self.kinds.get(&(group, kind)) {
            let info = known.info();
            let versions: Vec<String> = info
                .versions
                .iter()
                .map(|version| info.api_version(version))
                .collect();
            return Some(format!("it is read as {}", versions.join(", ")));
        }
        let near = |near: &(&'static str, &'static str)| match near.0 == group {
            true => spelling::near(kind, near.1),
            false => kind == near.1 && spelling::near(group, near.0),
        };
        let (group, kind) = *self.kinds.keys().find(|known| near(known))?;
        Some(match group {
            "" => format!("did you mean {kind}?"),
            group => format!("did you mean {kind} of {group}?"),
        })
    }

    /// The kind that `apiVersion` and `kind` of `value` name, with its version.
    pub(crate) fn kind_of(
        &self,
        value: &Value,
        path: &str,
    ) -> Result<(&Arc<dyn Kind>, &'static str), Vec<FieldError>> {
        let text = |field: &str| match value.get(field) {
            Some(Value::String(text)) if !text.is_empty() => Ok(text.as_str()),
            _ => Err(FieldError::required(
                join(path, field),
                "an object needs apiVersion and kind",
            )),
        };
        let (api_version, kind) = match (text("apiVersion"), text("kind")) {
            (Ok(api_version), Ok(kind)) => (api_version, kind),
            (first, second) => return Err([first.err(), second.err()].into_iter().flatten().collect()),
        };
        self.find(api_version, kind).ok_or_else(|| {
            let shown = format!("{api_version} {kind}");
            if let Some(hint) = self.hint(api_version, kind) {
                return vec![FieldError::invalid(join(path, "kind"), shown, hint)];
            }
            let known: Vec<String> = self.kind_names().collect();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            vec![FieldError::not_supported(join(path, "kind"), shown, &known)]
        })
    }

    /// Every kind of the systems as `group/version Kind`, without Kubernetes' own kinds, which the
    /// systems also read.
    fn kind_names(&self) -> impl Iterator<Item = String> {
        let own = |kind: &&Arc<dyn Kind>| {
            let group = kind.info().group;
            !group.is_empty() && !group.ends_with(".k8s.io")
        };
        self.kinds.values().filter(own).flat_map(|kind| {
            let info = kind.info();
            info.versions
                .iter()
                .map(|version| format!("{} {}", info.api_version(version), info.kind))
        })
    }
}

/// Highest number of reported unknown fields of an object.
const MAX_UNKNOWN: usize = 20;

fn unknown_fields(kind: &dyn Kind, version: &str, value: &Value) -> Vec<String> {
    kind.schema(version)
        .new_unknown_fields(value, &Value::Null, MAX_UNKNOWN)
        .paths
}

/// An object in its stored form, and the findings about it.
pub(crate) struct WriteVerdict {
    pub(crate) key: Key,
    pub(crate) object: Arc<Object>,
    /// Whether no server has stored the object yet.
    pub(crate) is_new: bool,
    /// The paths of fields that the kind does not have.
    pub(crate) unknown: Vec<String>,
    /// Errors of the object by its kind's rules.
    pub(crate) errors: Vec<FieldError>,
}

/// Whether the error is only that a status in a file lacks a field that its controller would write. A
/// status is a report, and no decision depends on its missing parts.
fn is_missing_in_status(error: &FieldError) -> bool {
    let field = error.path.strip_prefix("status.");
    error.kind == FieldErrorKind::Required && field.is_some_and(|field| !field.contains(['.', '[']))
}

/// Whether a server has stored `value` already, according to the server's fields in it.
fn was_stored(value: &Value) -> bool {
    let written = ["uid", "resourceVersion", "creationTimestamp", "generation"];
    value.get("status").is_some() || written.iter().any(|field| value["metadata"].get(field).is_some())
}

/// `field` below `path`; either may be empty.
fn join(path: &str, field: &str) -> String {
    match (path, field) {
        ("", field) => field.to_owned(),
        (path, "") => path.to_owned(),
        (path, field) => format!("{path}.{field}"),
    }
}

/// Sets a missing namespace of a namespaced object to `default`, and refuses an invalid namespace, or any
/// namespace of a cluster-scoped object.
fn set_namespace(value: &mut Value, info: &KindInfo, path: &str) -> Result<(), Vec<FieldError>> {
    let namespace = match value["metadata"].get("namespace") {
        None | Some(Value::Null) => "",
        Some(Value::String(namespace)) => namespace,
        // The schema reports a namespace that is not a text.
        Some(_) => return Ok(()),
    };
    if info.namespaced() {
        if namespace.is_empty() {
            value["metadata"]["namespace"] = "default".into();
        } else if let Err(problem) = name::dns_label(namespace) {
            return Err(vec![FieldError::invalid(
                join(path, "metadata.namespace"),
                namespace,
                problem,
            )]);
        }
    } else if !namespace.is_empty() {
        let detail = format!("a {} has no namespace", info.kind);
        return Err(vec![FieldError::forbidden(
            join(path, "metadata.namespace"),
            detail,
        )]);
    }
    Ok(())
}

/// The reason why the dialect cannot read an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(pub String);

/// A world that can be changed without an effect on others. A clone shares the unchanged parts.
#[derive(Clone)]
pub struct World {
    snapshot: Snapshot,
    /// Collections of the snapshot, in which replaced objects are found.
    base: BTreeMap<GroupResource, Collection>,
    objects: BTreeMap<Key, Option<Arc<Object>>>,
    /// The demands that changes made due since the last [`World::take_due`].
    due: MarkedSet<Key>,
    /// Number of changes since [`World::begin`].
    changes: u64,
    /// The due keys of steps before decisions, while these are recorded.
    preceding: Option<DueKeys>,
    /// Resources that the steps before decisions read.
    followed: Arc<[GroupResource]>,
}

impl World {
    /// An empty world of `dialect`, with default configuration.
    #[must_use]
    pub fn empty(dialect: Arc<dyn Dialect>) -> Self {
        let inventory = dialect.inventory();
        Self::over(
            Snapshot {
                dialect,
                inventory,
                revision: Revision::default(),
            },
            BTreeMap::new(),
        )
    }

    /// A world over `snapshot`; `base` has the objects of the snapshot, by resource.
    #[must_use]
    pub fn over(snapshot: Snapshot, base: BTreeMap<GroupResource, Collection>) -> Self {
        let preceding = snapshot.dialect.controllers().preceding();
        let followed = preceding.iter().flat_map(|reconciler| reconciler.watches());
        Self {
            followed: followed.collect(),
            snapshot,
            base,
            objects: BTreeMap::new(),
            due: MarkedSet::default(),
            changes: 0,
            preceding: None,
        }
    }

    /// Forgets due demands and changes. Returns the present world, for comparison with later ones.
    pub fn begin(&mut self) -> Snapshot {
        self.due = MarkedSet::default();
        self.changes = 0;
        self.snapshot.clone()
    }

    /// Number of changes since [`World::begin`].
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// The demands that the changes since the last call made due.
    pub(crate) fn take_due(&mut self) -> MarkedSet<Key> {
        std::mem::take(&mut self.due)
    }

    /// The present world, for decisions.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Whether decisions, or the steps before them, read objects of `resource`.
    #[must_use]
    pub fn reads(&self, resource: GroupResource) -> bool {
        self.decides_by(resource) || self.followed.contains(&resource)
    }

    /// The resources that the steps before decisions read.
    pub(crate) fn followed(&self) -> &[GroupResource] {
        &self.followed
    }

    /// Whether decisions read objects of `resource`.
    pub(crate) fn decides_by(&self, resource: GroupResource) -> bool {
        self.snapshot.dialect.reads().contains(&resource)
    }

    /// The object at `key` in this world.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&Arc<Object>> {
        match self.objects.get(key) {
            Some(own) => own.as_ref(),
            None => self.base.get(&key.resource)?.get(&key.namespace, &key.name),
        }
    }

    /// Stores `object` at `key`, and replaces the former object there.
    ///
    /// # Errors
    /// Reason why the dialect cannot read `object`.
    pub fn put(&mut self, key: &Key, object: Arc<Object>) -> Result<(), Unreadable> {
        self.change(key, Some(object));
        match self.snapshot.inventory.problem(key) {
            Some(problem) => Err(Unreadable(problem)),
            None => Ok(()),
        }
    }

    fn change(&mut self, key: &Key, new: Option<Arc<Object>>) {
        let old = self.get(key).cloned();
        if old.is_none() && new.is_none() {
            return;
        }
        let change = Change {
            revision: self.snapshot.revision,
            key: key.clone(),
            old,
            new: new.clone(),
        };
        let due = writable(&mut self.snapshot.inventory).fold(&change);
        dirty::add(&mut self.due, due.decide);
        self.changes += 1;
        self.objects.insert(key.clone(), new);
        self.note(&change);
    }

    /// Records that the objects are on a hub on which the system runs.
    pub fn set_on_hub(&mut self) {
        writable(&mut self.snapshot.inventory).set_on_hub();
    }

    /// Sets the dialect's configuration (`spec.<dialect>` of a SchedulerConfiguration). The choice of
    /// rules stays.
    ///
    /// # Errors
    /// Everything wrong with the configuration, with paths that begin with `path`.
    pub fn configure(&mut self, spec: &Value, path: &str) -> Result<(), Vec<FieldError>> {
        let errors = self.snapshot.dialect.configuration().validate(spec, path);
        if !errors.is_empty() {
            return Err(errors);
        }
        let rules = self.choice();
        self.store_configuration(spec, rules)
            .map_err(|problem| vec![FieldError::invalid(path, spec.clone(), problem)])
    }

    /// Chooses the rules of decisions.
    ///
    /// # Errors
    /// When the present configuration cannot be read.
    pub fn go_by(&mut self, rules: RulesChoice) -> Result<(), Unreadable> {
        if rules == self.choice() {
            return Ok(());
        }
        let name = self.snapshot.dialect.name();
        let stored = self.get(&config::key(name));
        let spec = stored.map_or(Value::Null, |stored| stored.value()["spec"][name].clone());
        self.store_configuration(&spec, rules).map_err(Unreadable)
    }

    /// The choice of rules in the present configuration.
    fn choice(&self) -> RulesChoice {
        let stored = self.get(&config::key(self.snapshot.dialect.name()));
        stored.map_or(RulesChoice::default(), |stored| RulesChoice::of(stored.value()))
    }

    fn store_configuration(&mut self, spec: &Value, rules: RulesChoice) -> Result<(), String> {
        let name = self.snapshot.dialect.name();
        let mut whole = json!({RulesChoice::FIELD: rules.as_str()});
        if !spec.is_null() {
            whole[name] = spec.clone();
        }
        let object = json!({
            "apiVersion": format!("{}/{}", config::GROUP, config::VERSION),
            "kind": config::KIND,
            "metadata": {"name": name},
            "spec": whole,
        });
        let object = Object::new(&object, Revision::default()).map_err(|malformed| malformed.to_string())?;
        let stored = self.put(&config::key(name), Arc::new(object));
        stored.map_err(|Unreadable(problem)| problem)
    }

    /// Deletes the object at `key`, if it exists.
    pub fn remove(&mut self, key: &Key) {
        self.change(key, None);
    }

    /// Applies the writes of a decision to this world, as a server would: a deleted object with
    /// finalizers is marked, and removed when it loses the last one.
    ///
    /// # Errors
    /// When a written object is invalid, which is an error of the dialect.
    pub fn make(&mut self, writes: &[Write], now: Timestamp) -> Result<(), DraftError> {
        for write in writes {
            match write.verb {
                Verb::Delete => self.delete(&write.key, now)?,
                Verb::Create | Verb::Update => self.store(&write.key, &write.object)?,
            }
        }
        Ok(())
    }

    /// Deletes the object at `key`. An object with finalizers stays, and is marked as deleted.
    ///
    /// # Errors
    /// When the marked object is invalid.
    pub fn delete(&mut self, key: &Key, now: Timestamp) -> Result<(), DraftError> {
        let Some(stored) = self.get(key) else {
            return Ok(());
        };
        if stored.meta().finalizers().is_empty() {
            self.change(key, None);
        } else if stored.meta().deletion_timestamp().is_none() {
            let mut marked = stored.parse();
            marked["metadata"]["deletionTimestamp"] = time::rfc3339(now).into();
            self.store(key, &marked)?;
        }
        Ok(())
    }

    /// Stores `value` at `key`. An object that is marked as deleted and has no finalizers any more is
    /// deleted instead.
    fn store(&mut self, key: &Key, value: &Value) -> Result<(), DraftError> {
        let object = Object::new(value, self.snapshot.revision)?;
        let meta = object.meta();
        let is_deleted = meta.deletion_timestamp().is_some() && meta.finalizers().is_empty();
        self.change(key, (!is_deleted).then(|| Arc::new(object)));
        Ok(())
    }
}
