//! Removal of single records from a database file, and recovery of the readable ones from a damaged
//! file.
//!
//! The file itself stays unchanged until a new one is complete. A damaged file is read from a copy,
//! forwards and then backwards, so that only the records on unreadable pages are lost.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use berth_apimachinery::Revision;
use bytes::Bytes;
use redb::{Builder, ConcurrencyMode, ReadOnlyDatabase, ReadableTable};

use crate::embedded::disk::guarded;
use crate::embedded::load::{self, Problem};
use crate::embedded::record::{self, Raw, Totals};
use crate::embedded::tables::{self, RECORDS, TOTALS, TOTALS_KEY, broken};
use crate::embedded::{disk, header, import};
use crate::encryption::Encryption;
use crate::error::StoreError;

/// Increase of the revision when the last assigned one cannot be read.
const RAISE: u64 = 1000;

/// A damaged record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Name of the record, `<resource>.<group>/<namespace>/<name>`, as in the errors of a start.
    pub record: String,
    /// Description of the error.
    pub problem: String,
}

/// Contents of a database file that no server uses; it is locked, so that no server starts with it.
pub struct Rescue {
    file: PathBuf,
    intact: Vec<Raw>,
    damaged: Vec<Damage>,
    problems: Vec<String>,
    complete: bool,
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
        let lock = hold(file)?;
        let copy = suffixed(file, ".reading");
        let read = copy_as_closed(file, &copy)
            .map_err(|error| import::failed(&copy, &error))
            .and_then(|()| RescuedRecords::read(&name, &copy));
        // This check comes last, since it may write to the copy.
        let pages = guarded(&name, || disk::verify(&name, &copy));
        // The copy only wastes space; the next run overwrites it.
        drop(fs::remove_file(&copy));
        let found = read?;
        let mut problems = found.problems;
        if let (Err(error), true) = (pages, problems.is_empty()) {
            problems.push(error.to_string());
        }
        let (mut intact, mut damaged) = (Vec::new(), Vec::new());
        for raw in found.records {
            match load::parse(&raw.0, &raw.1, encryption, None) {
                // A record that cannot be decrypted now is not damaged. Copies that only an ended process
                // could read are dropped at the next start.
                Ok(_) | Err(Problem::Sealed(_) | Problem::Ephemeral(_)) => intact.push(raw),
                Err(Problem::Damaged(problem)) => damaged.push(Damage {
                    record: record_name(&raw.0),
                    problem,
                }),
            }
        }
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
                    problems.push("the records are not those that were written last".to_owned());
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
            complete: matches!(found.totals, Ok(totals) if totals.count == readable),
            intact,
            damaged,
            problems,
            revision,
            _lock: lock,
        })
    }

    /// Number of undamaged records.
    #[must_use]
    pub fn objects(&self) -> usize {
        self.intact.len()
    }

    /// Returns the damaged records.
    #[must_use]
    pub fn damaged(&self) -> &[Damage] {
        &self.damaged
    }

    /// Returns further errors of the file: lost records with unknown names, unreadable pages.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Whether every stored record is either undamaged or among the damaged ones.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Returns the `names` that have no record.
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

    /// Replaces the file by one with the undamaged records except `without`. The old file is kept next to it,
    /// under the returned name. The function blocks.
    ///
    /// # Errors
    /// When the new file cannot be written; the old file then stays in its place.
    pub fn write(&self, without: &BTreeSet<String>) -> Result<PathBuf, StoreError> {
        let intact: Vec<&Raw> = self
            .intact
            .iter()
            .filter(|(key, _)| !without.contains(&record_name(key)))
            .collect();
        // The revision increases, so that clients that know the last revision list again.
        let revision = Revision(self.revision.0.saturating_add(1));
        let before = keep(&self.file)?;
        import::whole(&self.file, |partial| {
            let mut target = disk::open(partial, &Arc::default())?.disk;
            for batch in intact.chunks(1000) {
                let batch: Vec<Raw> = batch.iter().map(|raw| (*raw).clone()).collect();
                target.write_raw(&batch, revision)?;
            }
            target.write_raw(&[], revision)
        })?;
        Ok(before)
    }
}

/// Gives `file` a second, unused name, so that the file remains when another file gets the first name.
///
/// # Errors
/// When the name cannot be created in the folder, or ten thousand such names are used.
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
            Err(error) => return Err(import::failed(&name, &error)),
            Ok(()) => return Ok(name),
        }
    }
    Err(StoreError::Unavailable(format!(
        "{}: too many files of earlier repairs beside it: move them away",
        file.display()
    )))
}

/// Locks `file` as redb does while it is open.
///
/// # Errors
/// `Unavailable` when the file does not exist, or another process has it open.
pub fn hold(file: &Path) -> Result<File, StoreError> {
    let opened = OpenOptions::new().read(true).write(true).open(file);
    let opened = opened.map_err(|error| import::failed(file, &error))?;
    match opened.try_lock() {
        Ok(()) => Ok(opened),
        Err(TryLockError::WouldBlock) => Err(StoreError::Unavailable(format!(
            "{} is in use: stop the server first",
            file.display()
        ))),
        Err(TryLockError::Error(error)) => Err(import::failed(file, &error)),
    }
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

/// Copies the file, marked as closed cleanly: redb would repair any other file, and fail on a damaged one.
fn copy_as_closed(file: &Path, copy: &Path) -> std::io::Result<()> {
    fs::copy(file, copy)?;
    let mut opened = OpenOptions::new().read(true).write(true).open(copy)?;
    let mut head = [0; header::LENGTH];
    match opened.read_exact(&mut head) {
        // The file is too short for a database, which redb reports.
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
        other => other?,
    }
    header::as_closed(&mut head);
    opened.rewind()?;
    opened.write_all(&head)
}

/// Readable records, valid or not.
struct RescuedRecords {
    records: Vec<Raw>,
    totals: Result<Totals, String>,
    problems: Vec<String>,
}

impl RescuedRecords {
    fn read(name: &str, copy: &Path) -> Result<Self, StoreError> {
        let database = guarded(name, || {
            // In this mode another process may write to the file, so that redb does not read its lists of
            // free pages. These lists exist only after a clean end.
            let mut builder = Builder::new();
            builder.set_concurrency_mode(ConcurrencyMode::SingleWriter);
            let opened = builder.open_read_only(copy);
            opened.map_err(|error| broken(name, error))
        })?;
        let totals = guarded(name, || totals(name, &database)).unwrap_or_else(|error| Err(error.to_string()));
        let mut problems = Vec::new();
        let mut forwards = Vec::new();
        if let Err(error) = guarded(name, || walk(name, &database, Direction::Forwards, &mut forwards)) {
            problems.push(error.to_string());
            let after = forwards.last().map(|(key, _): &Raw| key.clone());
            let mut backwards = Vec::new();
            let direction = Direction::BackwardsUntil(after.as_deref());
            if let Err(error) = guarded(name, || walk(name, &database, direction, &mut backwards)) {
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

#[derive(Clone, Copy)]
enum Direction<'a> {
    Forwards,
    /// Backwards to this key, which was reached from the other side.
    BackwardsUntil(Option<&'a [u8]>),
}

/// Reads records in one direction into `found`, as far as possible. Keys out of order indicate pages that
/// lead in circles.
fn walk(
    name: &str,
    database: &ReadOnlyDatabase,
    direction: Direction<'_>,
    found: &mut Vec<Raw>,
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
