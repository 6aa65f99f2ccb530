//! Hypothetical worlds, which turn objects into a snapshot for decisions. A review changes a copy of the live
//! objects or has objects of its own, and `simulate` reads files. Both decide on the snapshot exactly as the
//! live engine does.

mod preceding;
mod stored_form;

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::{
    Change, DraftError, FieldError, GroupResource, Key, Kind, KindInfo, Object, Revision, Timestamp, name,
    time,
};
use berth_dialect_contract::rules::RulesChoice;
use berth_dialect_contract::{Dialect, Verb, Write, config};
use berth_storage::Collection;
use serde_json::{Value, json};

use self::preceding::DueKeys;
use self::stored_form::{convert_to_stored, form_errors, rule_errors, was_stored};
use crate::dirty::{self, MarkedSet};
use crate::snapshot::{Snapshot, writable};
use crate::spelling;

/// The kinds of objects that files and reviews may contain.
#[derive(Clone, Default)]
pub struct Catalog {
    kinds: BTreeMap<(&'static str, &'static str), Arc<dyn Kind>>,
}

impl Catalog {
    /// The catalog of `kinds`. Of two kinds with the same group and name, the later one is kept.
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

    /// Whether `group` is an API group of a system, of which the catalog has a kind.
    #[must_use]
    pub fn knows_group(&self, group: &str) -> bool {
        !is_of_kubernetes(group) && self.kinds.keys().any(|(known, _)| *known == group)
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
    /// The reasons why the value is not an object of a known kind, such as missing fields or wrong types.
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
        convert_to_stored(&**kind, version, &mut value, now);
        let is_new = !was_stored(&value);
        let with_path = |errors: Vec<FieldError>| -> Vec<FieldError> {
            let errors = errors.into_iter();
            errors
                .map(|error| FieldError {
                    path: at(&error.path),
                    ..error
                })
                .collect()
        };
        let form_errors = form_errors(&**kind, &value);
        let errors = rule_errors(&**kind, &value, is_new, now);
        if !form_errors.is_empty() {
            return Err(with_path(form_errors.into_iter().chain(errors).collect()));
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

    /// The paths of fields that the kind of `value` does not have, at most 20 of them; none for an unknown
    /// kind.
    #[must_use]
    pub fn unknown_fields(&self, value: &Value) -> Vec<String> {
        let text = |field: &str| value[field].as_str().unwrap_or_default();
        let known = self.find(text("apiVersion"), text("kind"));
        known.map_or_else(Vec::new, |(kind, version)| {
            unknown_fields(&**kind, version, value)
        })
    }

    /// Hint at a known kind that is similar to the unknown `kind` of `api_version`: the kind in other
    /// versions, or a kind with a similar spelling.
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

    /// Every kind of the systems as `group/version Kind`, without the built-in kinds of Kubernetes, which the
    /// systems also read.
    fn kind_names(&self) -> impl Iterator<Item = String> {
        let own = |kind: &&Arc<dyn Kind>| !is_of_kubernetes(kind.info().group);
        self.kinds.values().filter(own).flat_map(|kind| {
            let info = kind.info();
            info.versions
                .iter()
                .map(|version| format!("{} {}", info.api_version(version), info.kind))
        })
    }
}

/// Whether `group` is an API group of Kubernetes itself, such as `apps` or `events.k8s.io`.
fn is_of_kubernetes(group: &str) -> bool {
    !group.contains('.') || group.ends_with(".k8s.io")
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
    /// Errors of the object by the rules of its kind.
    pub(crate) errors: Vec<FieldError>,
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
pub struct UnreadableObject(pub String);

/// A hypothetical state of one dialect's objects, which can be changed without an effect on the live engine
/// or on other worlds. A clone shares the unchanged parts.
#[derive(Clone)]
pub struct World {
    snapshot: Snapshot,
    /// The objects of the first snapshot, by resource.
    base: BTreeMap<GroupResource, Collection>,
    /// The changed objects; `None` where an object was deleted.
    objects: BTreeMap<Key, Option<Arc<Object>>>,
    /// The demands that changes made due since the last [`World::take_due`].
    due: MarkedSet<Key>,
    /// Number of changes since [`World::begin`].
    changes: u64,
    /// The due keys of the reconcilers that act before decisions, while changes are followed.
    preceding: Option<DueKeys>,
    /// Resources that the reconcilers before decisions watch.
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

    /// Resets the due demands and the count of changes. Returns a snapshot of the present state, for
    /// comparison with a later one.
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

    /// The present state, for decisions.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Whether decisions, or the reconcilers that act before decisions, read objects of `resource`.
    #[must_use]
    pub fn reads(&self, resource: GroupResource) -> bool {
        self.decides_by(resource) || self.followed.contains(&resource)
    }

    /// The resources that the reconcilers before decisions watch.
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
    /// The reason why the dialect cannot read `object`, which is stored nevertheless.
    pub fn put(&mut self, key: &Key, object: Arc<Object>) -> Result<(), UnreadableObject> {
        self.change(key, Some(object));
        match self.snapshot.inventory.problem(key) {
            Some(problem) => Err(UnreadableObject(problem)),
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
        self.record_due(&change);
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

    /// Chooses the set of rules by which the dialect decides. The rest of the configuration stays.
    ///
    /// # Errors
    /// When the present configuration cannot be read.
    pub fn choose_rules(&mut self, rules: RulesChoice) -> Result<(), UnreadableObject> {
        if rules == self.choice() {
            return Ok(());
        }
        let name = self.snapshot.dialect.name();
        let stored = self.get(&config::key(name));
        let spec = stored.map_or(Value::Null, |stored| stored.value()["spec"][name].clone());
        self.store_configuration(&spec, rules).map_err(UnreadableObject)
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
        stored.map_err(|UnreadableObject(problem)| problem)
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
    pub fn apply(&mut self, writes: &[Write], now: Timestamp) -> Result<(), DraftError> {
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
