//! Loading of a whole file into memory, with a check of every record.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use berth_apimachinery::{GroupResource, Object, Revision};
use imbl::OrdMap;
use redb::{ReadTransaction, ReadableDatabase, ReadableTable};

use crate::collection::Name;
use crate::embedded::record::{self, Totals};
use crate::embedded::tables::{RECORDS, TOTALS, TOTALS_KEY, broken, corrupt};
use crate::encryption::{DecryptionError, Encryption};
use crate::error::StoreError;
use crate::state::State;

/// Minimal number of records that a thread parses at a time.
const MIN_PER_THREAD: usize = 512;
/// Number of records for each thread that are read before they are parsed. Their bytes are then reused for
/// the next records, so that the objects are adjacent in memory, without raw records between them.
const RECORDS_PER_THREAD: usize = 2 * MIN_PER_THREAD;
/// Number of bytes of records after which they are parsed, whatever their number: see [`RECORDS_PER_THREAD`].
const BATCH_BYTES: usize = 16 << 20;

/// Reason why a record has no readable object.
pub(crate) enum RecordProblem {
    /// The record is damaged.
    Damaged(String),
    /// The record may be undamaged, but it cannot be decrypted with the available keys.
    Sealed(String),
    /// The record is a copy that this process cannot use ([`DecryptionError::Ephemeral`]); with the record's
    /// checksum.
    Ephemeral(u32),
}

/// Content of a file.
pub(crate) struct Contents {
    /// Totals of the file, which include the ephemeral records.
    pub(crate) totals: Totals,
    /// State with the objects.
    pub(crate) state: State,
    /// Total size of all records.
    pub(crate) bytes: u64,
    /// Keys of the [`RecordProblem::Ephemeral`] records, which are not in the state.
    pub(crate) ephemeral: Vec<Vec<u8>>,
}

/// Objects and ephemeral records of a part of the file.
#[derive(Default)]
struct ParsedRecords {
    loaded: Vec<LoadedObject>,
    /// Key and checksum of each [`RecordProblem::Ephemeral`] record.
    ephemeral: Vec<(Vec<u8>, u32)>,
}

impl ParsedRecords {
    fn append(&mut self, mut more: Self) {
        self.loaded.append(&mut more.loaded);
        self.ephemeral.append(&mut more.ephemeral);
    }
}

impl From<String> for RecordProblem {
    fn from(problem: String) -> Self {
        Self::Damaged(problem)
    }
}

/// An object from a record.
pub(crate) struct LoadedObject {
    resource: GroupResource,
    name: Name,
    object: Arc<Object>,
    crc: u32,
}

/// Loads all of `database`, whose file is `file`.
///
/// # Errors
/// `Corrupt`, with the record, when a check fails; `Sealed` when a record cannot be decrypted.
pub(crate) fn load(
    file: &str,
    encryption: &Encryption,
    database: &impl ReadableDatabase,
) -> Result<Contents, StoreError> {
    let fail = |error: redb::Error| broken(file, error);
    let transaction = database.begin_read().map_err(|error| fail(error.into()))?;
    let totals = totals(file, &transaction)?;
    let records = transaction
        .open_table(RECORDS)
        .map_err(|error| fail(error.into()))?;
    let (mut parsed, mut bytes) = (ParsedRecords::default(), 0);
    let mut read = Batch::default();
    let batch_records = threads() * RECORDS_PER_THREAD;
    for entry in records.iter().map_err(|error| fail(error.into()))? {
        let (key, value) = entry.map_err(|error| fail(error.into()))?;
        bytes += (key.value().len() + value.value().len()) as u64;
        read.push(key.value(), value.value());
        if read.ends.len() >= batch_records || read.bytes.len() >= BATCH_BYTES {
            parsed.append(parse_all(file, encryption, &read)?);
            read.clear();
        }
    }
    parsed.append(parse_all(file, encryption, &read)?);
    drop(read);
    check_totals(file, &totals, &parsed)?;
    let mut state = State::new(totals.revision);
    for group in parsed.loaded.chunk_by(|a, b| a.resource == b.resource) {
        let items: OrdMap<_, _> = group
            .iter()
            .map(|loaded| (loaded.name.clone(), Arc::clone(&loaded.object)))
            .collect();
        state.load(group[0].resource, items);
    }
    Ok(Contents {
        totals,
        state,
        bytes,
        ephemeral: parsed.ephemeral.into_iter().map(|(key, _)| key).collect(),
    })
}

fn totals(file: &str, transaction: &ReadTransaction) -> Result<Totals, StoreError> {
    let fail = |error: redb::Error| broken(file, error);
    let table = transaction
        .open_table(TOTALS)
        .map_err(|error| fail(error.into()))?;
    let totals = table.get(TOTALS_KEY).map_err(|error| fail(error.into()))?;
    let totals = totals
        .ok_or_else(|| "is missing".to_owned())
        .and_then(|bytes| Totals::decode(bytes.value()));
    totals.map_err(|problem| corrupt(file, "record of totals".to_owned(), problem))
}

/// Raw records that are parsed at a time.
#[derive(Default)]
struct Batch {
    /// Keys and values, concatenated.
    bytes: Vec<u8>,
    /// End of each record's key, and end of the value, in `bytes`.
    ends: Vec<(usize, usize)>,
}

impl Batch {
    fn push(&mut self, key: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(key);
        let middle = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.ends.push((middle, self.bytes.len()));
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Returns key and value of each record in `range`.
    fn records(&self, range: Range<usize>) -> impl Iterator<Item = (&[u8], &[u8])> {
        range.map(|index| {
            let start = index.checked_sub(1).map_or(0, |before| self.ends[before].1);
            let (middle, end) = self.ends[index];
            (&self.bytes[start..middle], &self.bytes[middle..end])
        })
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Checks and parses the records of `batch` on all processors, since this takes most of the time of a start.
fn parse_all(file: &str, encryption: &Encryption, batch: &Batch) -> Result<ParsedRecords, StoreError> {
    let total = batch.ends.len();
    let share = total.div_ceil(threads()).max(MIN_PER_THREAD);
    let parts: Vec<_> = std::thread::scope(|scope| {
        let starts = (0..total).step_by(share);
        let parts = starts.map(|start| start..total.min(start + share));
        let workers: Vec<_> = parts
            .map(|part| scope.spawn(move || parse_part(file, encryption, batch.records(part))))
            .collect();
        let joined = workers.into_iter().map(|worker| {
            worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        joined.collect()
    });
    let mut all = ParsedRecords::default();
    for part in parts {
        all.append(part?);
    }
    Ok(all)
}

fn parse_part<'a>(
    file: &str,
    encryption: &Encryption,
    records: impl Iterator<Item = (&'a [u8], &'a [u8])>,
) -> Result<ParsedRecords, StoreError> {
    let mut parsed = ParsedRecords::default();
    for (key, value) in records {
        match parse(key, value, encryption, parsed.loaded.last()) {
            Ok(one) => parsed.loaded.push(one),
            Err(RecordProblem::Ephemeral(crc)) => parsed.ephemeral.push((key.to_vec(), crc)),
            Err(RecordProblem::Damaged(problem)) => {
                return Err(corrupt(file, record::show_key(key), problem));
            }
            Err(RecordProblem::Sealed(problem)) => {
                return Err(StoreError::Sealed {
                    place: file.to_owned(),
                    key: record::show_key(key),
                    problem,
                });
            }
        }
    }
    Ok(parsed)
}

/// Parses one record. The texts of resource and namespace are shared with the `previous` record if they are
/// equal.
pub(crate) fn parse(
    key: &[u8],
    value: &[u8],
    encryption: &Encryption,
    previous: Option<&LoadedObject>,
) -> Result<LoadedObject, RecordProblem> {
    let (group, resource, namespace, name) =
        record::decode_key(key).ok_or_else(|| "its key is not the key of an object".to_owned())?;
    let record = record::decode(value).ok_or_else(|| "it is too short".to_owned())?;
    if !record.is_intact(key) {
        return Err("its checksum does not match".to_owned().into());
    }
    let resource = match previous {
        Some(previous) if (previous.resource.group, previous.resource.resource) == (group, resource) => {
            previous.resource
        }
        _ => GroupResource::intern(group, resource),
    };
    let json = encryption.open(resource, key, record.json);
    let json = match json.map_err(|closed| match closed {
        DecryptionError::Ephemeral => RecordProblem::Ephemeral(record.crc),
        DecryptionError::Key(problem) => RecordProblem::Sealed(problem),
    })? {
        Some(json) => Cow::Owned(json),
        None => Cow::Borrowed(record.json),
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
    Ok(LoadedObject {
        resource,
        name,
        object: Arc::new(object),
        crc: record.crc,
    })
}

/// Parses the JSON of an undamaged record.
fn object(json: &[u8], revision: Revision) -> Result<Object, String> {
    if let Some(object) = Object::restore(json, revision) {
        return Ok(object);
    }
    let value = serde_json::from_slice(json).map_err(|error| format!("it is not JSON: {error}"))?;
    Object::new(&value, revision).map_err(|error| format!("it is not an object: {error}"))
}

fn check_totals(file: &str, totals: &Totals, parsed: &ParsedRecords) -> Result<(), StoreError> {
    let problem = |problem: String| Err(corrupt(file, "record of totals".to_owned(), problem));
    let loaded = &parsed.loaded;
    let count = loaded.len() + parsed.ephemeral.len();
    if count as u64 != totals.count {
        return problem(format!("{count} records found, {} were written", totals.count));
    }
    let ephemeral = parsed.ephemeral.iter().map(|(_, crc)| *crc);
    let crcs = loaded.iter().map(|loaded| loaded.crc).chain(ephemeral);
    if crcs.fold(0, |crcs, crc| crcs ^ crc) != totals.crcs {
        return problem("the checksum of all records does not match".to_owned());
    }
    if let Some(ahead) = loaded
        .iter()
        .find(|loaded| loaded.object.revision() > totals.revision)
    {
        let (revision, last) = (ahead.object.revision(), totals.revision);
        return problem(format!(
            "a record has revision {revision}, which is after the store's last revision {last}"
        ));
    }
    Ok(())
}
