//! Removal of single records from a database file, and recovery of the readable records of a damaged file.
//!
//! The file stays unchanged until a new one is complete. A damaged file is read from a copy, forwards and
//! then backwards, so that only the records from the first to the last unreadable page are lost.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use berth_apimachinery::Revision;
use bytes::Bytes;
use redb::{Builder, ConcurrencyMode, ReadOnlyDatabase, ReadableTable};

use crate::embedded::disk::catch_panic;
use crate::embedded::load::{self, RecordProblem};
use crate::embedded::record::{self, RawRecord, Totals};
use crate::embedded::tables::{self, RECORDS, TOTALS, TOTALS_KEY, broken};
use crate::embedded::{disk, header, import};
use crate::encryption::Encryption;
use crate::error::StoreError;

/// Increase above the newest readable revision, when the last assigned revision cannot be read.
const RAISE: u64 = 1000;

/// A damaged record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Name of the record, `<resource>.<group>/<namespace>/<name>`, as in the errors of a start.
    pub record: String,
    /// Description of the damage.
    pub problem: String,
}

/// Contents of a database file that no server uses. The file is locked, so that no server starts with it.
pub struct Rescue {
    file: PathBuf,
    intact: Vec<RawRecord>,
    damaged: Vec<Damage>,
    problems: Vec<String>,
    /// Whether every stored record is intact or damaged, and none is lost.
    is_complete: bool,
    /// The last assigned revision, or an upper limit if it cannot be read.
    revision: Revision,
    _lock: File,
}

impl Rescue {
    /// Reads `file`. The function blocks.
    ///
    /// # Errors
    /// `Unavailable` when the file cannot be read or a server has it open; `Corrupt` when it is not a
    /// database.
    pub fn open(file: &Path, encryption: &Encryption) -> Result<Self, StoreError> {
        let name = file.display().to_string();
        let lock = lock_file(file)?;
        let copy = suffixed(file, ".reading");
        let read = copy_as_closed(file, &copy)
            .map_err(|error| import::file_error(&copy, &error))
            .and_then(|()| RescuedRecords::read(&name, &copy));
        // This check comes last, since it may write to the copy.
        let pages = catch_panic(&name, || disk::verify(&name, &copy));
        // A copy that cannot be removed only takes space; the next run overwrites it.
        drop(fs::remove_file(&copy));
        let found = read?;
        let mut problems = found.problems;
        if let (Err(error), true) = (pages, problems.is_empty()) {
            problems.push(error.to_string());
        }
        let (intact, damaged) = check_records(found.records, encryption);
        let readable = (intact.len() + damaged.len()) as u64;
        let newest = intact.iter().filter_map(|(_, value)| record::decode(value));
        let newest = newest.map(|record| record.revision).max().unwrap_or(Revision(1));
        let revision = match &found.totals {
            Ok(totals) if totals.count != readable => {
                problems.push(format!(
                    "{readable} records can be read, {} were written",
                    totals.count
                ));
                totals.revision.max(newest)
            }
            Ok(totals) => {
                let crcs = intact.iter().filter_map(|(_, value)| record::decode(value));
                if damaged.is_empty() && crcs.fold(0, |crcs, record| crcs ^ record.crc) != totals.crcs {
                    problems
                        .push("the checksum of all records differs: some are not the newest ones".to_owned());
                }
                totals.revision.max(newest)
            }
            Err(problem) => {
                problems.push(format!("record of totals: {problem}"));
                Revision(newest.0.saturating_add(RAISE))
            }
        };
        Ok(Self {
            file: file.to_owned(),
            is_complete: matches!(found.totals, Ok(totals) if totals.count == readable),
            intact,
            damaged,
            problems,
            revision,
            _lock: lock,
        })
    }

    /// Returns the number of undamaged records.
    #[must_use]
    pub fn objects(&self) -> usize {
        self.intact.len()
    }

    /// Returns the damaged records.
    #[must_use]
    pub fn damaged(&self) -> &[Damage] {
        &self.damaged
    }

    /// Returns further problems of the file, such as unreadable pages, or lost records, whose names are
    /// unknown.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Whether every stored record is either undamaged or among the damaged ones.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Returns the `names` without a readable record.
    #[must_use]
    pub fn unknown<'a>(&self, names: &'a BTreeSet<String>) -> Vec<&'a str> {
        let intact = self.intact.iter().map(|(key, _)| record_name(key));
        let damaged = self.damaged.iter().map(|damage| damage.record.clone());
        let readable: BTreeSet<String> = intact.chain(damaged).collect();
        names
            .iter()
            .map(String::as_str)
            .filter(|name| !readable.contains(*name))
            .collect()
    }

    /// Replaces the file by a new one with the undamaged records, except the records `without`. The old file
    /// stays in the folder, under the returned name. The function blocks.
    ///
    /// # Errors
    /// `Unavailable` when the new file cannot be written; the old file then stays in place.
    pub fn write(&self, without: &BTreeSet<String>) -> Result<PathBuf, StoreError> {
        let intact: Vec<&RawRecord> = self
            .intact
            .iter()
            .filter(|(key, _)| !without.contains(&record_name(key)))
            .collect();
        // The revision increases, so that clients that know the last revision have to list again.
        let revision = Revision(self.revision.0.saturating_add(1));
        let old_file = keep(&self.file)?;
        import::create_atomically(&self.file, |partial| {
            let mut target = disk::open(partial, &Arc::default())?.disk;
            for batch in intact.chunks(1000) {
                let batch: Vec<RawRecord> = batch.iter().map(|raw| (*raw).clone()).collect();
                target.write_raw(&batch, revision)?;
            }
            target.write_raw(&[], revision)
        })?;
        Ok(old_file)
    }
}

/// Keeps `file` under a second, unused name, which remains when another file replaces `file`. Returns the
/// second name.
///
/// # Errors
/// `Unavailable` when the folder cannot be written, or already has ten thousand such names.
pub fn keep(file: &Path) -> Result<PathBuf, StoreError> {
    for number in 1..=10_000 {
        let name = suffixed(file, &format!(".before-{number}"));
        let link = match fs::hard_link(file, &name) {
            // Some file systems have no links.
            Err(error) if error.kind() != ErrorKind::AlreadyExists && !name.exists() => {
                fs::copy(file, &name).map(drop)
            }
            other => other,
        };
        match link {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(import::file_error(&name, &error)),
            Ok(()) => return Ok(name),
        }
    }
    Err(StoreError::Unavailable(format!(
        "{}: its folder has too many files of earlier repairs: move them to another folder",
        file.display()
    )))
}

/// Locks `file` as redb locks an open database.
///
/// # Errors
/// `Unavailable` when the file does not exist, or another process has it open.
pub fn lock_file(file: &Path) -> Result<File, StoreError> {
    let opened = OpenOptions::new().read(true).write(true).open(file);
    let opened = opened.map_err(|error| import::file_error(file, &error))?;
    match opened.try_lock() {
        Ok(()) => Ok(opened),
        Err(TryLockError::WouldBlock) => Err(StoreError::Unavailable(format!(
            "{} is in use: stop the server first",
            file.display()
        ))),
        Err(TryLockError::Error(error)) => Err(import::file_error(file, &error)),
    }
}

/// Separates `records` into undamaged and damaged ones.
fn check_records(records: Vec<RawRecord>, encryption: &Encryption) -> (Vec<RawRecord>, Vec<Damage>) {
    let (mut intact, mut damaged) = (Vec::new(), Vec::new());
    for raw in records {
        match load::parse(&raw.0, &raw.1, encryption, None) {
            // A record that cannot be decrypted now is not damaged. Copies that only an earlier process could
            // decrypt are dropped at the next start.
            Ok(_) | Err(RecordProblem::Sealed(_) | RecordProblem::Ephemeral(_)) => intact.push(raw),
            Err(RecordProblem::Damaged(problem)) => damaged.push(Damage {
                record: record_name(&raw.0),
                problem,
            }),
        }
    }
    (intact, damaged)
}

fn record_name(key: &[u8]) -> String {
    let text = record::show_key(key);
    text.strip_prefix("record ").unwrap_or(&text).to_owned()
}

fn suffixed(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Copies `file` to `copy`, and marks the copy as closed cleanly: redb would first repair any other file,
/// which fails if the file is damaged.
fn copy_as_closed(file: &Path, copy: &Path) -> std::io::Result<()> {
    fs::copy(file, copy)?;
    let mut opened = OpenOptions::new().read(true).write(true).open(copy)?;
    let mut head = [0; header::LENGTH];
    match opened.read_exact(&mut head) {
        // The file is too short to be a database, which redb reports.
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
        other => other?,
    }
    header::as_closed(&mut head);
    opened.rewind()?;
    opened.write_all(&head)
}

/// Records that can be read from a damaged file.
struct RescuedRecords {
    /// The records, intact or damaged, in the order of the keys.
    records: Vec<RawRecord>,
    /// The totals, or the reason why they cannot be read.
    totals: Result<Totals, String>,
    problems: Vec<String>,
}

impl RescuedRecords {
    fn read(name: &str, copy: &Path) -> Result<Self, StoreError> {
        let database = catch_panic(name, || {
            // In this mode another process might write to the file, so redb does not read the lists of free
            // pages, which only a cleanly closed file has.
            let mut builder = Builder::new();
            builder.set_concurrency_mode(ConcurrencyMode::SingleWriter);
            let opened = builder.open_read_only(copy);
            opened.map_err(|error| broken(name, error))
        })?;
        let totals =
            catch_panic(name, || totals(name, &database)).unwrap_or_else(|error| Err(error.to_string()));
        let mut problems = Vec::new();
        let mut forwards = Vec::new();
        if let Err(error) = catch_panic(name, || walk(name, &database, Direction::Forwards, &mut forwards)) {
            problems.push(error.to_string());
            let after = forwards.last().map(|(key, _): &RawRecord| key.clone());
            let mut backwards = Vec::new();
            let direction = Direction::BackwardsUntil(after.as_deref());
            if let Err(error) = catch_panic(name, || walk(name, &database, direction, &mut backwards)) {
                problems.push(error.to_string());
            }
            forwards.extend(backwards.into_iter().rev());
        }
        Ok(Self {
            records: forwards,
            totals,
            problems,
        })
    }
}

fn totals(name: &str, database: &ReadOnlyDatabase) -> Result<Result<Totals, String>, StoreError> {
    use redb::ReadableDatabase as _;
    let transaction = database.begin_read().map_err(|error| broken(name, error))?;
    let table = transaction
        .open_table(TOTALS)
        .map_err(|error| broken(name, error))?;
    let value = table.get(TOTALS_KEY).map_err(|error| broken(name, error))?;
    Ok(value
        .ok_or_else(|| "is missing".to_owned())
        .and_then(|bytes| Totals::decode(bytes.value())))
}

/// Direction in which records are read.
#[derive(Clone, Copy)]
enum Direction<'a> {
    /// From the first key on.
    Forwards,
    /// From the last key back to this key, which was read forwards.
    BackwardsUntil(Option<&'a [u8]>),
}

/// Adds the records in `direction` to `found`, up to the first unreadable page.
///
/// # Errors
/// The problem of a page. Keys out of order show that damaged pages refer to each other in a circle.
fn walk(
    name: &str,
    database: &ReadOnlyDatabase,
    direction: Direction<'_>,
    found: &mut Vec<RawRecord>,
) -> Result<(), StoreError> {
    use redb::ReadableDatabase as _;
    let transaction = database.begin_read().map_err(|error| broken(name, error))?;
    let table = transaction
        .open_table(RECORDS)
        .map_err(|error| broken(name, error))?;
    let mut entries = table.iter().map_err(|error| broken(name, error))?;
    loop {
        let entry = match direction {
            Direction::Forwards => entries.next(),
            Direction::BackwardsUntil(_) => entries.next_back(),
        };
        let Some(entry) = entry else { return Ok(()) };
        let (key, value) = entry.map_err(|error| broken(name, error))?;
        let key = key.value().to_vec();
        let last = found.last().map(|(key, _)| key);
        let in_order = match direction {
            Direction::Forwards => last.is_none_or(|last| *last < key),
            Direction::BackwardsUntil(Some(end)) if key.as_slice() <= end => return Ok(()),
            Direction::BackwardsUntil(_) => last.is_none_or(|last| *last > key),
        };
        if !in_order {
            return Err(tables::corrupt(
                name,
                record::show_key(&key),
                "it is out of order",
            ));
        }
        found.push((key, Bytes::copy_from_slice(value.value())));
    }
}

#[cfg(test)]
mod tests;
