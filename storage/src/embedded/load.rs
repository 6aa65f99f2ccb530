//! Reading a whole file into memory, every record checked.

use std::sync::Arc;

use bytes::Bytes;
use imbl::OrdMap;
use meta::{GroupResource, Object, Revision};
use redb::{ReadableDatabase, ReadableTable};

use crate::collection::Name;
use crate::embedded::disk::{RECORDS, TOTALS, TOTALS_KEY, broken, corrupt};
use crate::embedded::record::{self, Raw, Totals};
use crate::encryption::Encryption;
use crate::error::StoreError;
use crate::picture::Picture;

/// Fewer records than this are not worth a thread.
const WORTH_A_THREAD: usize = 512;

/// Why a record is no object.
pub(crate) enum Problem {
    /// It is not what was written.
    Damaged(String),
    /// It is, but for a key that is not at hand.
    Sealed(String),
}

impl From<String> for Problem {
    fn from(problem: String) -> Self {
        Self::Damaged(problem)
    }
}

/// An object read back.
pub(crate) struct Loaded {
    resource: GroupResource,
    name: Name,
    object: Arc<Object>,
    crc: u32,
}

/// All of `database`, whose file is `file`.
///
/// # Errors
/// `Corrupt`, naming the record, when anything does not add up.
pub(crate) fn load(
    file: &str,
    encryption: &Encryption,
    database: &impl ReadableDatabase,
) -> Result<(Totals, Picture), StoreError> {
    let (totals, raw) = read(file, database)?;
    let loaded = parse_all(file, encryption, raw)?;
    check_totals(file, &totals, &loaded)?;
    let mut picture = Picture::new(totals.revision);
    for group in loaded.chunk_by(|a, b| a.resource == b.resource) {
        let items: OrdMap<_, _> = group
            .iter()
            .map(|loaded| (loaded.name.clone(), Arc::clone(&loaded.object)))
            .collect();
        picture.load(group[0].resource, items);
    }
    Ok((totals, picture))
}

fn read(file: &str, database: &impl ReadableDatabase) -> Result<(Totals, Vec<Raw>), StoreError> {
    let fail = |error: redb::Error| broken(file, error);
    let transaction = database.begin_read().map_err(|error| fail(error.into()))?;
    let table = transaction
        .open_table(TOTALS)
        .map_err(|error| fail(error.into()))?;
    let totals = table.get(TOTALS_KEY).map_err(|error| fail(error.into()))?;
    let totals = totals
        .ok_or_else(|| "is missing".to_owned())
        .and_then(|bytes| Totals::decode(bytes.value()));
    let totals = totals.map_err(|problem| corrupt(file, "record of totals".to_owned(), problem))?;
    let records = transaction
        .open_table(RECORDS)
        .map_err(|error| fail(error.into()))?;
    let mut raw = Vec::new();
    for entry in records.iter().map_err(|error| fail(error.into()))? {
        let (key, value) = entry.map_err(|error| fail(error.into()))?;
        raw.push((key.value().to_vec(), Bytes::copy_from_slice(value.value())));
    }
    Ok((totals, raw))
}

/// Checks and parses on all processors: this is most of the time until the server is ready.
fn parse_all(file: &str, encryption: &Encryption, mut raw: Vec<Raw>) -> Result<Vec<Loaded>, StoreError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = raw.len().div_ceil(threads).max(WORTH_A_THREAD);
    let total = raw.len();
    let parts: Vec<_> = std::thread::scope(|scope| {
        let mut workers = Vec::new();
        while !raw.is_empty() {
            let part = raw.split_off(raw.len().saturating_sub(share));
            workers.push(scope.spawn(move || parse_part(file, encryption, &part)));
        }
        workers
            .into_iter()
            .rev()
            .map(|worker| {
                worker
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    });
    let mut loaded = Vec::with_capacity(total);
    for part in parts {
        loaded.append(&mut part?);
    }
    Ok(loaded)
}

fn parse_part(file: &str, encryption: &Encryption, part: &[Raw]) -> Result<Vec<Loaded>, StoreError> {
    let mut loaded: Vec<Loaded> = Vec::with_capacity(part.len());
    for (key, value) in part {
        let one = parse(key, value, encryption, loaded.last());
        loaded.push(one.map_err(|problem| match problem {
            Problem::Damaged(problem) => corrupt(file, record::show_key(key), problem),
            Problem::Sealed(problem) => StoreError::Sealed {
                place: file.to_owned(),
                key: record::show_key(key),
                problem,
            },
        })?);
    }
    Ok(loaded)
}

/// One record; its resource and namespace are shared with the `previous` one where they are the same.
pub(crate) fn parse(
    key: &[u8],
    value: &Bytes,
    encryption: &Encryption,
    previous: Option<&Loaded>,
) -> Result<Loaded, Problem> {
    let (group, resource, namespace, name) =
        record::decode_key(key).ok_or_else(|| "its key is no object's".to_owned())?;
    let record = record::decode(value).ok_or_else(|| "it is too short".to_owned())?;
    if !record.intact(key) {
        return Err("its checksum does not match".to_owned().into());
    }
    let resource = match previous {
        Some(previous) if (previous.resource.group, previous.resource.resource) == (group, resource) => {
            previous.resource
        }
        _ => GroupResource::intern(group, resource),
    };
    let json = match encryption
        .open(resource, key, record.json)
        .map_err(Problem::Sealed)?
    {
        Some(json) => Bytes::from(json),
        None => value.slice_ref(record.json),
    };
    let object = object(&json, record.revision)?;
    let namespace = match previous {
        Some(previous) if *previous.name.namespace == *namespace => Arc::clone(&previous.name.namespace),
        _ => namespace.into(),
    };
    let name = Name {
        namespace,
        name: name.into(),
    };
    Ok(Loaded {
        resource,
        name,
        object: Arc::new(object),
        crc: record.crc,
    })
}

/// The object in a record's JSON, whose checksum is right.
fn object(json: &Bytes, revision: Revision) -> Result<Object, String> {
    if let Some(object) = Object::written(json, revision) {
        return Ok(object);
    }
    let value = serde_json::from_slice(json).map_err(|error| format!("it is no JSON: {error}"))?;
    Object::new(&value, revision).map_err(|error| format!("it is no object: {error}"))
}

fn check_totals(file: &str, totals: &Totals, loaded: &[Loaded]) -> Result<(), StoreError> {
    let problem = |problem: String| Err(corrupt(file, "record of totals".to_owned(), problem));
    if loaded.len() as u64 != totals.count {
        return problem(format!(
            "{} records are there, {} were written",
            loaded.len(),
            totals.count
        ));
    }
    if loaded.iter().fold(0, |crcs, loaded| crcs ^ loaded.crc) != totals.crcs {
        return problem("the records do not add up to it".to_owned());
    }
    if let Some(ahead) = loaded
        .iter()
        .find(|loaded| loaded.object.revision() > totals.revision)
    {
        let (revision, last) = (ahead.object.revision(), totals.revision);
        return problem(format!(
            "a record is at revision {revision}, after the last one, {last}"
        ));
    }
    Ok(())
}
