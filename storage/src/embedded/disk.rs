//! The redb file: opening, checking, and writing it.
//!
//! Commits have two phases: after a crash, redb knows that the newest commit is complete, and never falls
//! back to an older one. When a file is opened, redb checks its checksums of all pages, and then Berth checks
//! every record. So a damaged page is an error instead of a panic, and later writes are not lost through
//! damaged lists of free pages. The check of the pages also finds the free ones. So commits do not record the
//! free pages (redb's `quick_repair`), which would take two fifths of the processor time of a small commit.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use berth_apimachinery::{Change, Revision};
use redb::backends::FileBackend;
use redb::{
    Builder, CompactionError, Database, DatabaseError, ReadOnlyDatabase, ReadableDatabase, WriteTransaction,
};

use crate::embedded::record::RawRecord;
use crate::embedded::reserve::{self, Reserve, ReserveFile};
use crate::embedded::tables::{PAGES, RECORDS, TOTALS, TOTALS_KEY, broken, corrupt, inaccessible};
use crate::embedded::{header, load, record};
use crate::encryption::Encryption;
use crate::error::StoreError;
use crate::stage::StagedChange;
use crate::state::State;
use record::Totals;

/// Revision of an empty store: 0 is not a valid resourceVersion.
const FIRST: Revision = Revision(1);
/// Size of redb's page cache, which is only for the pages of commits: objects are served from this program's
/// own memory, and the operating system caches other pages. Loading a file fills the page cache up to this
/// limit.
const PAGE_CACHE: usize = 2 << 20;

/// Size up to which a file is never compacted.
const MIN_SIZE: u64 = 32 << 20;
/// Factor for the size above which a file is compacted when it is opened: [`MIN_SIZE`] plus this factor times
/// the bytes of the records.
const SIZE_FACTOR: u64 = 4;

/// Time limit of the search for a damaged record.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(5);

/// An open database file.
pub(crate) struct Disk {
    database: Database,
    file: String,
    totals: Totals,
    reserve: Arc<Reserve>,
    encryption: Arc<Encryption>,
}

/// A database file with its whole content.
pub(crate) struct OpenedDatabase {
    /// The open file.
    pub(crate) disk: Disk,
    /// State that was loaded from the file.
    pub(crate) state: State,
}

/// Opens `path`, or creates it, and loads all of it.
pub(crate) fn open(path: &Path, encryption: &Arc<Encryption>) -> Result<OpenedDatabase, StoreError> {
    let file = path.display().to_string();
    prepare(path).map_err(|error| inaccessible(&file, &error))?;
    check_header(path, &file)?;
    let reserve = Reserve::beside(path, reserve::BYTES);
    let backend = Arc::clone(&reserve);
    let create = |builder: &mut Builder| {
        let opened = OpenOptions::new().read(true).write(true).open(path)?;
        builder.create_with_backend(ReserveFile::new(FileBackend::new(opened)?, backend))
    };
    open_with(&file, reserve, encryption, create).map_err(|error| name_record(path, &file, encryption, error))
}

/// Finds the damaged record, so that the error can name it: redb's check only finds that some page is
/// damaged. The search runs in a separate thread with a time limit, since damaged pages may lead redb in
/// circles.
fn name_record(path: &Path, file: &str, encryption: &Arc<Encryption>, error: StoreError) -> StoreError {
    if !matches!(&error, StoreError::Corrupt { key, .. } if key == PAGES) {
        return error;
    }
    let (sender, found) = mpsc::channel();
    let (path, name, encryption) = (path.to_owned(), file.to_owned(), Arc::clone(encryption));
    let search = move || {
        let loaded = catch_panic(&name, || {
            let database = ReadOnlyDatabase::open(&path).map_err(|error| broken(&name, error))?;
            load::load(&name, &encryption, &database).map(drop)
        });
        // The caller may have stopped waiting.
        sender.send(loaded).unwrap_or_default();
    };
    if std::thread::Builder::new().spawn(search).is_err() {
        return error;
    }
    match found.recv_timeout(SEARCH_TIMEOUT) {
        Ok(Err(named @ StoreError::Corrupt { .. })) => named,
        _ => error,
    }
}

/// Checks every page of the database at `path`, by redb's own checksums.
pub(crate) fn verify(file: &str, path: &Path) -> Result<(), StoreError> {
    let mut builder = Builder::new();
    builder
        .set_cache_size(PAGE_CACHE)
        .set_check_integrity_on_open(true);
    builder.open(path).map(drop).map_err(|error| broken(file, error))
}

/// Loads the database that `open` returns. Errors name it as `file`; `reserve` is for its writes on a full
/// disk.
pub(crate) fn open_with(
    file: &str,
    reserve: Arc<Reserve>,
    encryption: &Arc<Encryption>,
    open: impl FnOnce(&mut Builder) -> Result<Database, DatabaseError>,
) -> Result<OpenedDatabase, StoreError> {
    catch_panic(file, || {
        let mut builder = Builder::new();
        builder
            .set_cache_size(PAGE_CACHE)
            .set_check_integrity_on_open(true);
        let mut database = open(&mut builder).map_err(|error| broken(file, error))?;
        initialize(file, &database)?;
        let loaded = load::load(file, encryption, &database)?;
        compact(file, &mut database, loaded.bytes)?;
        let mut disk = Disk {
            database,
            file: file.to_owned(),
            totals: loaded.totals,
            reserve,
            encryption: Arc::clone(encryption),
        };
        if !loaded.ephemeral.is_empty() {
            disk.drop_records(&loaded.ephemeral)?;
        }
        Ok(OpenedDatabase {
            disk,
            state: loaded.state,
        })
    })
}

impl Disk {
    /// The path of the file, for messages.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// The reserve of disk space for the file.
    pub(crate) fn reserve(&self) -> &Arc<Reserve> {
        &self.reserve
    }

    /// Returns freed space of the file to the file system. Nothing else is written in the meantime.
    ///
    /// # Errors
    /// `Unavailable` while a transaction of the file is open: try again later. Otherwise `Unavailable` or
    /// `Corrupt`; no record is lost.
    pub(crate) fn shrink(&mut self) -> Result<(), StoreError> {
        catch_panic(&self.file, || shrink(&self.file, &mut self.database))
    }

    fn seal_error(&self, key: &[u8], problem: &str) -> StoreError {
        StoreError::Unavailable(format!("{}: {}: {problem}", self.file, record::show_key(key)))
    }

    /// The encryption of the values.
    pub(crate) fn encryption(&self) -> Arc<Encryption> {
        Arc::clone(&self.encryption)
    }

    /// Adds `records` of a backup or another file, unchanged, to this new file, and sets the store's revision
    /// to `revision`, in one transaction.
    pub(crate) fn write_raw(&mut self, records: &[RawRecord], revision: Revision) -> Result<(), StoreError> {
        let totals = catch_panic(&self.file, || {
            let fail = |error: redb::Error| broken(&self.file, error);
            let transaction = begin_write(&self.database).map_err(fail)?;
            let mut totals = Totals {
                revision,
                ..self.totals
            };
            let mut table = transaction
                .open_table(RECORDS)
                .map_err(|error| fail(error.into()))?;
            for (key, value) in records {
                let record = record::decode(value).filter(|record| record.is_intact(key));
                let record = record
                    .ok_or_else(|| corrupt(&self.file, record::show_key(key), "has a wrong checksum"))?;
                totals.crcs ^= record.crc;
                totals.count += 1;
                let replaced = table.insert(key.as_slice(), value.as_ref());
                if replaced.map_err(|error| fail(error.into()))?.is_some() {
                    return Err(corrupt(&self.file, record::show_key(key), "occurs twice"));
                }
            }
            drop(table);
            write_totals(&self.file, transaction, totals)?;
            Ok(totals)
        })?;
        self.totals = totals;
        Ok(())
    }

    /// Removes the records with `keys`: copies that only an earlier process could decrypt. The revision
    /// stays.
    fn drop_records(&mut self, keys: &[Vec<u8>]) -> Result<(), StoreError> {
        let fail = |error: redb::Error| broken(&self.file, error);
        let transaction = begin_write(&self.database).map_err(fail)?;
        let mut totals = self.totals;
        let mut records = transaction
            .open_table(RECORDS)
            .map_err(|error| fail(error.into()))?;
        for key in keys {
            let former = records
                .remove(key.as_slice())
                .map_err(|error| fail(error.into()))?;
            if let Some(record) = former.as_ref().and_then(|value| record::decode(value.value())) {
                totals.crcs ^= record.crc;
                totals.count -= 1;
            }
        }
        drop(records);
        write_totals(&self.file, transaction, totals)?;
        self.totals = totals;
        Ok(())
    }

    /// Writes `changes`, in order, and the store's new `revision`, in one transaction. When this returns
    /// `Ok`, the transaction is on disk.
    ///
    /// # Errors
    /// `Unavailable` or `Corrupt`. It is then uncertain whether the file has all `changes` or none.
    pub(crate) fn write(&mut self, changes: &[StagedChange], revision: Revision) -> Result<(), StoreError> {
        let totals = catch_panic(&self.file, || {
            let transaction = begin_write(&self.database).map_err(|error| broken(&self.file, error))?;
            let totals = self.fill(&transaction, changes, revision)?;
            write_totals(&self.file, transaction, totals)?;
            Ok(totals)
        })?;
        self.totals = totals;
        Ok(())
    }

    fn fill(
        &self,
        transaction: &redb::WriteTransaction,
        changes: &[StagedChange],
        revision: Revision,
    ) -> Result<Totals, StoreError> {
        let fail = |error: redb::Error| broken(&self.file, error);
        let mut totals = Totals {
            revision,
            ..self.totals
        };
        let mut records = transaction
            .open_table(RECORDS)
            .map_err(|error| fail(error.into()))?;
        let mut buffer = Vec::new();
        for NetChange { change, existed } in net_changes(changes) {
            let key = record::encode_key(&change.key);
            let replaced = match &change.new {
                Some(object) => {
                    let json = object.bytes();
                    let sealed = self.encryption.seal(change.key.resource, &key, &json);
                    let sealed = sealed.map_err(|problem| self.seal_error(&key, &problem))?;
                    totals.crcs ^= record::encode(&mut buffer, &key, object.revision(), &sealed);
                    totals.count += 1;
                    records.insert(key.as_slice(), buffer.as_slice())
                }
                None => records.remove(key.as_slice()),
            };
            // The stored CRC of the former record is removed from the totals. A CRC that is computed from the
            // record's bytes would hide damage of these bytes.
            let replaced = replaced.map_err(|error| fail(error.into()))?;
            let former = replaced.map(|old| record::decode(old.value()).map(|record| record.crc));
            match (former, existed) {
                (None, false) => {}
                (Some(Some(crc)), true) => {
                    totals.crcs ^= crc;
                    totals.count -= 1;
                }
                _ => {
                    return Err(corrupt(
                        &self.file,
                        record::show_key(&key),
                        "differs from the object in memory",
                    ));
                }
            }
        }
        Ok(totals)
    }
}

/// Net change of one object by a batch of changes.
struct NetChange<'a> {
    /// Last change of the object.
    change: &'a Change,
    /// Whether the object existed before its first change.
    existed: bool,
}

/// Returns the net changes, one for each object: intermediate states need not be written.
fn net_changes(changes: &[StagedChange]) -> Vec<NetChange<'_>> {
    let mut all = Vec::with_capacity(changes.len());
    let mut positions = HashMap::with_capacity(changes.len());
    for (change, _) in changes {
        match positions.entry(&change.key) {
            Entry::Vacant(position) => {
                position.insert(all.len());
                all.push(NetChange {
                    change,
                    existed: change.old.is_some(),
                });
            }
            Entry::Occupied(position) => all[*position.get()].change = change,
        }
    }
    all
}

/// Creates the file before redb does: with access for its owner only (it contains Secrets), and with its
/// directory entry on disk, so that a power failure does not lose a file full of acknowledged writes.
fn prepare(path: &Path) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

fn check_header(path: &Path, file: &str) -> Result<(), StoreError> {
    let mut bytes = [0; header::LENGTH];
    let read = File::open(path).and_then(|mut open| open.read_exact(&mut bytes));
    match read {
        Ok(()) => match header::problem(&bytes) {
            Some(problem) => Err(corrupt(file, "header".to_owned(), problem)),
            None => Ok(()),
        },
        // The file is new, or too short, which redb reports.
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(()),
        Err(error) => Err(inaccessible(file, &error)),
    }
}

/// Compacts a file that is much larger than its content, which was just checked. While the store serves,
/// freed space is reused, and the end of the file is returned to the file system only where the second half
/// is empty. Moving records from the end needs exclusive access to the database. A crash in the meantime
/// loses nothing: each step is a commit.
fn compact(file: &str, database: &mut Database, record_bytes: u64) -> Result<(), StoreError> {
    // In tests of a failing file, no file has this name, so that its size is 0.
    if size(file) <= MIN_SIZE + SIZE_FACTOR * record_bytes {
        return Ok(());
    }
    shrink(file, database)
}

/// Returns the length of the file; 0 if it does not exist.
fn size(file: &str) -> u64 {
    std::fs::metadata(file).map_or(0, |metadata| metadata.len())
}

/// Moves the end of the file to free space in it, and shortens the file.
fn shrink(file: &str, database: &mut Database) -> Result<(), StoreError> {
    let before = size(file);
    let start = Instant::now();
    database.compact().map_err(|error| match error {
        CompactionError::Storage(error) => broken(file, error),
        error => StoreError::Unavailable(format!("{file}: {error}")),
    })?;
    tracing::info!(file, before, after = size(file), took = ?start.elapsed(), "the file was compacted");
    Ok(())
}

/// Creates the tables in a new file. A file that has any table stays unchanged; loading reports a missing
/// table.
fn initialize(file: &str, database: &Database) -> Result<(), StoreError> {
    let fail = |error: redb::Error| broken(file, error);
    let read = database.begin_read().map_err(|error| fail(error.into()))?;
    let tables = read.list_tables().map_err(|error| fail(error.into()))?.count();
    drop(read);
    if tables > 0 {
        return Ok(());
    }
    let transaction = begin_write(database).map_err(fail)?;
    let totals = Totals {
        revision: FIRST,
        count: 0,
        crcs: 0,
    };
    transaction
        .open_table(RECORDS)
        .map_err(|error| fail(error.into()))?;
    write_totals(file, transaction, totals)
}

/// Begins a transaction whose commit has two phases, as every transaction of a file must.
fn begin_write(database: &Database) -> Result<WriteTransaction, redb::Error> {
    let mut transaction = database.begin_write()?;
    transaction.set_two_phase_commit(true);
    Ok(transaction)
}

/// Writes `totals`, which describe the resulting file, and commits `transaction`.
fn write_totals(file: &str, transaction: WriteTransaction, totals: Totals) -> Result<(), StoreError> {
    let fail = |error: redb::Error| broken(file, error);
    let mut table = transaction
        .open_table(TOTALS)
        .map_err(|error| fail(error.into()))?;
    table
        .insert(TOTALS_KEY, totals.encode().as_slice())
        .map_err(|error| fail(error.into()))?;
    drop(table);
    transaction.commit().map_err(|error| fail(error.into()))
}

/// Runs `work` on the file. redb may panic on damaged pages; such a panic becomes the error `Corrupt` here.
/// After a panic, the caller must not use redb's objects of `work` again.
pub(crate) fn catch_panic<T>(
    file: &str,
    work: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no reason given");
        Err(corrupt(
            file,
            PAGES.to_owned(),
            format!("redb panicked while it used them: {text}"),
        ))
    })
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::{Change, Key, Object};
    use serde_json::json;
    use tempfile::TempDir;

    use super::*;
    use crate::conformance::thing;

    /// A change that writes or removes a large object.
    fn change(key: &Key, revision: u64, removes: bool) -> StagedChange {
        let object = |revision| {
            let value = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": &*key.name}, "data": "x".repeat(16 << 10)});
            Some(Arc::new(Object::new(&value, Revision(revision)).unwrap()))
        };
        let change = Change {
            revision: Revision(revision),
            key: key.clone(),
            old: if removes { object(1) } else { None },
            new: if removes { None } else { object(revision) },
        };
        (change, None)
    }

    #[test]
    fn a_file_that_was_large_is_small_after_the_next_start_with_every_record_that_stayed() {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("berth.redb");
        let size = || std::fs::metadata(&file).unwrap().len();
        let keys: Vec<Key> = (0..4_000)
            .map(|index| thing("a", &format!("x{index:04}")))
            .collect();
        let mut disk = open(&file, &Arc::default()).unwrap().disk;
        for part in keys.chunks(500) {
            let changes: Vec<_> = part.iter().map(|key| change(key, 1, false)).collect();
            disk.write(&changes, Revision(1)).unwrap();
        }
        let (stay, go) = keys.split_at(40);
        let removed: Vec<_> = go.iter().map(|key| change(key, 2, true)).collect();
        disk.write(&removed, Revision(2)).unwrap();
        // These objects are written last, so that they are at the end of the file.
        let last: Vec<_> = go[..10].iter().map(|key| change(key, 3, false)).collect();
        disk.write(&last, Revision(3)).unwrap();
        drop(disk);
        let large = size();
        assert!(large > MIN_SIZE + SIZE_FACTOR * (1 << 20), "{large}");
        let opened = open(&file, &Arc::default()).unwrap();
        let small = size();
        assert!(small < MIN_SIZE / 4, "{large} became {small}");
        let object_count = opened.state.snapshot().objects.len();
        assert_eq!(object_count, stay.len() + last.len());
        drop(opened);
        assert!(size() < MIN_SIZE / 4, "and stays so: {}", size());
        verify("berth.redb", &file).unwrap();
    }
}
