//! A small API server in memory: it stores objects, applies a decision's writes as the real server would
//! (with a separate status, counted generations, honoured finalizers, and every rule of the kind), and folds
//! each change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_apimachinery::{
    Change, FieldError, GroupResource, Key, Kind, Object, Revision, Timestamp, WriteOperation, field, time,
};
use berth_dialect_contract::{Consequences, Decision, Dialect, Inventory, Verb, Write, config};
use berth_engine::{Catalog, Snapshot, World};
use serde_json::{Map, Value, json};

use super::case::{Case, Later};
use super::show;

/// Fields of metadata that no update changes.
const KEPT: [&str; 6] = [
    "uid",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "name",
    "namespace",
];

/// A write of a user.
fn by_hand(verb: Verb, key: &Key, object: Value, base: Option<Revision>) -> Write {
    Write {
        verb,
        key: key.clone(),
        subresource: "",
        object,
        base,
    }
}

/// Stored objects, and the inventory that is folded from them. A clone is cheap.
#[derive(Clone)]
pub(crate) struct Server {
    /// The dialect with its inventory.
    pub(crate) snapshot: Snapshot,
    /// Time of the world.
    pub(crate) now: Timestamp,
    /// Whether every fold is checked for views that change without being named.
    pub(crate) watched: bool,
    objects: BTreeMap<Key, Arc<Object>>,
    catalog: Arc<Catalog>,
    kinds: Arc<BTreeMap<GroupResource, Arc<dyn Kind>>>,
}

impl Server {
    /// A server without objects.
    pub(crate) fn empty(dialect: Arc<dyn Dialect>, now: Timestamp) -> Self {
        let kinds = dialect.kinds().into_iter().map(|kind| (kind.stored_in(), kind));
        Self {
            kinds: Arc::new(kinds.collect()),
            catalog: Arc::new(Catalog::new(dialect.kinds())),
            snapshot: Snapshot {
                inventory: dialect.inventory(),
                dialect,
                revision: Revision::default(),
            },
            now,
            watched: false,
            objects: BTreeMap::new(),
        }
    }

    /// A server with the objects and the configuration of `case`, in their order.
    pub(crate) fn build(dialect: Arc<dyn Dialect>, case: &Case) -> Result<Self, String> {
        let mut server = Self::empty(dialect, case.now);
        for (key, object) in server.read_all(case)? {
            server.fold(&key, Some(&object))?;
        }
        server.usable()?;
        Ok(server)
    }

    /// A server with the same objects, folded again in the order of their keys.
    pub(crate) fn rebuilt(&self) -> Result<Self, String> {
        let mut server = Self::empty(Arc::clone(&self.snapshot.dialect), self.now);
        for (key, object) in &self.objects {
            server.fold(key, Some(&object.parse()))?;
        }
        Ok(server)
    }

    /// Every object of `case` in its stored form, including the configuration.
    pub(crate) fn read_all(&self, case: &Case) -> Result<Vec<(Key, Value)>, String> {
        let mut list = Vec::new();
        for object in &case.objects {
            list.push(self.read(object)?);
        }
        if let Some(spec) = &case.config {
            let name = self.snapshot.dialect.name();
            let errors = self
                .snapshot
                .dialect
                .configuration()
                .validate(spec, &format!("spec.{name}"));
            refuse("the configuration", &errors)?;
            let object = json!({
                "apiVersion": format!("{}/{}", config::GROUP, config::VERSION),
                "kind": config::KIND, "metadata": {"name": name}, "spec": {name: spec},
            });
            list.push((config::key(name), object));
        }
        Ok(list)
    }

    /// An object of a generator in its stored form: defaulted and validated where the dialect serves
    /// its kind.
    pub(crate) fn read(&self, value: &Value) -> Result<(Key, Value), String> {
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("/apiVersion"), text("/kind"));
        if self.catalog.find(api_version, kind).is_some() {
            let read = self.catalog.read(value.clone(), "", self.now);
            let (key, object) = read.map_err(|errors| {
                let name = text("/metadata/name");
                format!(
                    "the generator makes a bad {kind} \"{name}\": {}",
                    field::aggregate(&errors)
                )
            })?;
            return Ok((key, object.parse()));
        }
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
        let plural = format!("{}s", kind.to_lowercase());
        let reads = self.snapshot.dialect.reads();
        let resource = reads
            .into_iter()
            .find(|resource| resource.group == group && resource.resource == plural)
            .ok_or_else(|| format!("the dialect does not read the generator's {api_version} {kind}"))?;
        let key = Key::new(resource, text("/metadata/namespace"), text("/metadata/name"));
        Ok((key, value.clone()))
    }

    /// Checks that the dialect could read every object.
    pub(crate) fn usable(&self) -> Result<(), String> {
        match self.inventory().unusable().first() {
            Some(unusable) => Err(format!("{} is not usable: {}", unusable.key, unusable.problem)),
            None => Ok(()),
        }
    }

    /// A world for plans, with the same objects.
    pub(crate) fn world(&self) -> Result<World, String> {
        let mut world = World::empty(Arc::clone(&self.snapshot.dialect));
        for (key, object) in &self.objects {
            if world.reads(key.resource) {
                world
                    .put(key, Arc::clone(object))
                    .map_err(|problem| problem.to_string())?;
            }
        }
        Ok(world)
    }

    /// Whether the object that `value` names exists.
    pub(crate) fn has(&self, value: &Value) -> Result<bool, String> {
        Ok(self.objects.contains_key(&self.key_of(value)?))
    }

    /// Whether the object that `value` names is protected and in use.
    pub(crate) fn is_used(&self, value: &Value) -> Result<bool, String> {
        let key = self.key_of(value)?;
        let mut guarded = self.snapshot.dialect.guarded().protects.iter();
        Ok(guarded.any(|guarded| guarded.resource == key.resource)
            && self.inventory().guarding().users(&key, 1).1 > 0)
    }

    /// Returns the dialect's inventory.
    pub(crate) fn inventory(&self) -> &dyn Inventory {
        &*self.snapshot.inventory
    }

    /// The demands, in key order.
    pub(crate) fn demands(&self) -> Vec<Key> {
        self.inventory().demands()
    }

    /// The decision on `demand`; `None` when it does not exist any more.
    pub(crate) fn decide(&self, demand: &Key) -> Result<Option<Decision>, String> {
        let decision = self.snapshot.decide(demand, None, self.now).transpose();
        decision.map_err(|refused| {
            let errors = field::aggregate(&refused.errors);
            format!("{demand}: refused although nothing was chosen: {errors}")
        })
    }

    /// Decides `demand` and makes the writes.
    pub(crate) fn settle(&mut self, demand: &Key) -> Result<(), String> {
        if let Some(decision) = self.decide(demand)? {
            let writes = self.inventory().writes(&decision);
            self.apply(&writes)?;
        }
        Ok(())
    }

    /// Every object for a comparison, without the parts that differ between two ways to one state.
    pub(crate) fn state(&self, even_out: impl Fn(&mut Value)) -> Vec<String> {
        let even = |object: &Arc<Object>| {
            let mut value = object.parse();
            let fields = metadata(&mut value);
            for field in ["resourceVersion", "generation", "uid", "creationTimestamp"] {
                fields.remove(field);
            }
            even_out(&mut value);
            value.to_string()
        };
        let mut list: Vec<String> = self.objects.values().map(even).collect();
        list.sort();
        list
    }

    /// Makes `writes` in order, and returns the consequences of each fold.
    pub(crate) fn apply(&mut self, writes: &[Write]) -> Result<Vec<Consequences>, String> {
        let mut written = BTreeSet::new();
        let mut list = Vec::with_capacity(writes.len());
        for write in writes {
            let due = self.write(write, written.contains(&write.key));
            let verb = write.verb.as_str();
            list.push(due.map_err(|problem| format!("the write \"{verb} {}\": {problem}", write.key))?);
            written.insert(write.key.clone());
        }
        Ok(list)
    }

    fn write(&mut self, write: &Write, again: bool) -> Result<Consequences, String> {
        let stored = self.objects.get(&write.key).cloned();
        match (&stored, write.verb) {
            (Some(_), Verb::Create) => return Err("it is there already".to_owned()),
            (None, Verb::Update | Verb::Delete) => return Err("it is not there".to_owned()),
            (Some(stored), _) if !again && write.base != Some(stored.revision()) => {
                return Err(format!(
                    "it was made of revision {:?}, stored is {}",
                    write.base,
                    stored.revision()
                ));
            }
            _ => {}
        }
        if !write.object["metadata"]["resourceVersion"].is_null() {
            return Err("it carries a resourceVersion".to_owned());
        }
        match (stored, write.verb) {
            (Some(stored), Verb::Delete) => self.remove(&write.key, &stored),
            (Some(stored), _) => self.update(write, &stored.parse()),
            (None, _) => self.create(write),
        }
    }

    /// The object at `key`.
    pub(crate) fn stored(&self, key: &Key) -> Option<Arc<Object>> {
        self.objects.get(key).cloned()
    }

    /// Stores `object`, which a user creates.
    pub(crate) fn made(&mut self, key: &Key, object: &Value) -> Result<(), String> {
        let write = by_hand(Verb::Create, key, object.clone(), None);
        self.write(&write, false).map(drop)
    }

    /// Stores `object`, which a user changed.
    pub(crate) fn changed(&mut self, key: &Key, mut object: Value) -> Result<(), String> {
        metadata(&mut object).remove("resourceVersion");
        if key.resource == config::RESOURCE {
            let dialect = &self.snapshot.dialect;
            let errors = dialect
                .configuration()
                .validate(&object["spec"][dialect.name()], "spec");
            refuse("the configuration", &errors)?;
        }
        let base = self.objects.get(key).map(|stored| stored.revision());
        let write = by_hand(Verb::Update, key, object, base);
        self.write(&write, false).map(drop)
    }

    fn create(&mut self, write: &Write) -> Result<Consequences, String> {
        let mut value = write.object.clone();
        let now = time::rfc3339(self.now);
        let served = self.kinds.get(&write.key.resource).cloned();
        let fields = metadata(&mut value);
        fields.insert("uid".to_owned(), show::uid(&write.key).into());
        fields.insert("creationTimestamp".to_owned(), now.into());
        if served.as_ref().is_some_and(|kind| kind.info().status_subresource) {
            fields.insert("generation".to_owned(), 1.into());
            remove_status(&mut value);
        }
        if let Some(kind) = served {
            self.admit(&*kind, WriteOperation::Create, None, &mut value)?;
        }
        self.fold(&write.key, Some(&value))
    }

    fn update(&mut self, write: &Write, old: &Value) -> Result<Consequences, String> {
        let mut value = write.object.clone();
        let served = self.kinds.get(&write.key.resource).cloned();
        if write.subresource == "status" {
            let status = value.get("status").cloned();
            value = old.clone();
            put_status(&mut value, status);
        } else if served.as_ref().is_some_and(|kind| kind.info().status_subresource) {
            put_status(&mut value, old.get("status").cloned());
        }
        for field in KEPT {
            match old["metadata"].get(field) {
                Some(kept) => metadata(&mut value).insert(field.to_owned(), kept.clone()),
                None => metadata(&mut value).remove(field),
            };
        }
        let mut held = false;
        if let Some(kind) = served {
            let operation = match write.subresource {
                "" => WriteOperation::Update,
                name => WriteOperation::Subresource(name),
            };
            self.admit(&*kind, operation, Some(old), &mut value)?;
            if kind.info().status_subresource && substance(&value) != substance(old) {
                raise_generation(&mut value);
            }
            held = kind.hold_deletion(&mut value.clone(), self.now);
        }
        let ended = !value["metadata"]["deletionTimestamp"].is_null()
            && value["metadata"]["finalizers"]
                .as_array()
                .is_none_or(Vec::is_empty);
        self.fold(&write.key, (!ended || held).then_some(&value))
    }

    /// Applies the defaults, the preparation and every rule of the kind.
    fn admit(
        &self,
        kind: &dyn Kind,
        operation: WriteOperation,
        old: Option<&Value>,
        value: &mut Value,
    ) -> Result<(), String> {
        let info = kind.info();
        let api_version = value["apiVersion"].as_str().unwrap_or_default();
        let version = api_version
            .rsplit_once('/')
            .map_or(api_version, |(_, version)| version);
        let served = info.versions.iter().find(|served| **served == version);
        let Some(version) = served
            .copied()
            .or((version == info.storage_version).then_some(info.storage_version))
        else {
            return Err(format!("{api_version} is not served"));
        };
        kind.to_stored(version, value);
        value["apiVersion"] = info.api_version(info.storage_version).into();
        let schema = kind.schema(info.storage_version);
        let write = berth_apimachinery::Write {
            operation,
            old,
            now: self.now,
        };
        schema.default(value);
        kind.prepare(&write, value);
        let mut errors = schema.validate(value);
        errors.extend(kind.validate(&write, value));
        errors.extend(kind.own_rules(&write, value));
        let name = value["metadata"]["name"].as_str().unwrap_or_default();
        if let Err(problem) = kind.validate_name(name) {
            errors.push(FieldError::invalid("metadata.name", name, problem));
        }
        refuse("it", &errors)
    }

    /// Carries out one step, and returns the consequences of its fold.
    pub(crate) fn happen(&mut self, later: &Later) -> Result<Consequences, String> {
        match later {
            Later::Wait(seconds) => {
                let passed = std::time::Duration::from_secs(seconds.unsigned_abs());
                self.now = self.now.checked_add(passed).map_err(|error| error.to_string())?;
            }
            Later::Delete(value) => {
                let key = self.key_of(value)?;
                if let Some(stored) = self.objects.get(&key).cloned() {
                    return self.remove(&key, &stored);
                }
            }
            Later::Merge(patch) => {
                let key = self.key_of(patch)?;
                let stored = self.objects.get(&key).map(|object| object.parse());
                let mut value = stored.clone().unwrap_or(Value::Null);
                merge(&mut value, patch);
                let (_, mut value) = self.read(&value)?;
                if stored.is_some_and(|stored| substance(&stored) != substance(&value)) {
                    raise_generation(&mut value);
                }
                return self.fold(&key, Some(&value));
            }
        }
        Ok(Consequences::nothing())
    }

    fn key_of(&self, value: &Value) -> Result<Key, String> {
        let text = |field: &str| value["metadata"][field].as_str().unwrap_or_default();
        let (api_version, kind) = (
            value["apiVersion"].as_str().unwrap_or_default(),
            value["kind"].as_str().unwrap_or_default(),
        );
        match self.catalog.find(api_version, kind) {
            Some((kind, _)) => Ok(Key::new(kind.stored_in(), text("namespace"), text("name"))),
            None => self.read(value).map(|(key, _)| key),
        }
    }

    fn remove(&mut self, key: &Key, stored: &Object) -> Result<Consequences, String> {
        if stored.meta().finalizers().is_empty() {
            return self.fold(key, None);
        }
        if stored.meta().deletion_timestamp().is_some() {
            return Ok(Consequences::nothing());
        }
        let mut value = stored.parse();
        metadata(&mut value).insert("deletionTimestamp".to_owned(), time::rfc3339(self.now).into());
        raise_generation(&mut value);
        self.fold(key, Some(&value))
    }

    /// Stores `new` at `key`, or deletes the object there, and folds the change.
    pub(crate) fn fold(&mut self, key: &Key, new: Option<&Value>) -> Result<Consequences, String> {
        let revision = Revision(self.snapshot.revision.0 + 1);
        let new = new
            .map(|value| Object::new(value, revision).map(Arc::new))
            .transpose()
            .map_err(|malformed| malformed.to_string())?;
        let mut old = self.objects.get(key).cloned();
        if let (Some(old), Some(new)) = (&old, &new)
            && new.draft().same_as(old)
        {
            return Ok(Consequences::nothing());
        }
        match &new {
            Some(new) => {
                self.objects.insert(key.clone(), Arc::clone(new));
            }
            None if old.is_none() => return Ok(Consequences::nothing()),
            None => {
                self.objects.remove(key);
                old = old.map(|old| Arc::new(old.draft().at(revision)));
            }
        }
        let change = Change {
            revision,
            key: key.clone(),
            old,
            new,
        };
        self.snapshot.revision = revision;
        if !self.snapshot.dialect.reads().contains(&key.resource) {
            return Ok(Consequences::nothing());
        }
        let before = self.watched.then(|| show::views(self.inventory(), self.now));
        let due = writable(&mut self.snapshot.inventory).fold(&change);
        if let Some(before) = before {
            let after = show::views(self.inventory(), self.now);
            show::unannounced(&before, &after, &due)
                .map_err(|problem| format!("{key} changed: {problem}"))?;
        }
        Ok(due)
    }
}

/// The reports on every demand of `server`, each decided on the present world.
pub(crate) fn reports(server: &Server) -> Result<BTreeMap<Key, Value>, String> {
    let mut list = BTreeMap::new();
    for demand in server.demands() {
        if let Some(decision) = server.decide(&demand)? {
            list.insert(demand, show::report(&server.snapshot, &decision)?);
        }
    }
    Ok(list)
}

/// The inventory for a change: itself if no snapshot shares it, else a fork.
fn writable(inventory: &mut Arc<dyn Inventory>) -> &mut dyn Inventory {
    if Arc::get_mut(inventory).is_none() {
        *inventory = inventory.fork();
    }
    Arc::get_mut(inventory).expect("a fork is not shared yet")
}

fn refuse(what: &str, errors: &[FieldError]) -> Result<(), String> {
    if errors.is_empty() {
        Ok(())
    } else {
        Err(format!("{what} is not valid: {}", field::aggregate(errors)))
    }
}

fn metadata(value: &mut Value) -> &mut Map<String, Value> {
    let slot = &mut value["metadata"];
    if !slot.is_object() {
        *slot = json!({});
    }
    slot.as_object_mut().expect("it was just made an object")
}

fn remove_status(value: &mut Value) {
    put_status(value, None);
}

fn put_status(value: &mut Value, status: Option<Value>) {
    match status {
        Some(status) => value["status"] = status,
        None => {
            if let Some(fields) = value.as_object_mut() {
                fields.remove("status");
            }
        }
    }
}

/// All fields but metadata and status: the part that `metadata.generation` counts.
fn substance(value: &Value) -> Map<String, Value> {
    let mut fields = value.as_object().cloned().unwrap_or_default();
    for field in ["metadata", "status", "apiVersion", "kind"] {
        fields.remove(field);
    }
    fields
}

fn raise_generation(value: &mut Value) {
    if let Some(generation) = value["metadata"]["generation"].as_i64() {
        metadata(value).insert("generation".to_owned(), (generation + 1).into());
    }
}

/// Applies a merge patch (RFC 7386).
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    let fields = target.as_object_mut().expect("it was just made an object");
    for (name, value) in patch {
        if value.is_null() {
            fields.remove(name);
        } else {
            merge(fields.entry(name.clone()).or_insert(Value::Null), value);
        }
    }
}
