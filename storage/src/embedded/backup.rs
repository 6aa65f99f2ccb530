//! Backups: streams of all objects as the records of a database file, each with its checksum and, if the
//! file encrypts it, encrypted.
//!
//! A backup is a copy of one state and can be made while the store serves: it has every write that was
//! acknowledged before the backup began, and no part of a later write. A backup ends with a checksum over all
//! records, so a truncated stream is always detected.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use berth_apimachinery::Revision;
use bytes::Bytes;

use crate::cache::Cache;
use crate::embedded::record::{self, RawRecord, TOTALS_LENGTH, Totals};
use crate::embedded::{EmbeddedStore, disk, import};
use crate::encryption::Encryption;
use crate::error::StoreError;

/// Magic bytes at the beginning of every backup, with the version of the format.
pub const MAGIC: &[u8] = b"berth-backup/v1\n";
/// Maximal number of records in one transaction of a restore.
const BATCH: usize = 1000;

/// Summary of the contents of a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contents {
    /// The revision of the store.
    pub revision: Revision,
    /// Number of objects.
    pub objects: u64,
}

/// Reason why a backup was not created, or not restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// The bytes are not a backup.
    #[error("this is not a backup of berth")]
    NoBackup,
    /// The backup is damaged.
    #[error("the backup is damaged: {key}: {problem}")]
    Damaged {
        /// Damaged part of the backup.
        key: String,
        /// Description of the error.
        problem: String,
    },
    /// The backup cannot be read or written.
    #[error("the backup cannot be read or written: {0}")]
    Io(#[from] io::Error),
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn damaged(key: &str, problem: &str) -> BackupError {
    BackupError::Damaged {
        key: key.to_owned(),
        problem: problem.to_owned(),
    }
}

/// Handle that creates backups of a store, also while it serves.
#[derive(Clone)]
pub struct Backups {
    cache: Arc<Cache>,
    encryption: Arc<Encryption>,
}

impl EmbeddedStore {
    /// Returns a handle that creates backups of this store.
    #[must_use]
    pub fn backups(&self) -> Backups {
        Backups {
            cache: Arc::clone(&self.cache),
            encryption: Arc::clone(&self.encryption),
        }
    }

    /// Creates the database `file` from the backup in `input`, and replaces an existing file. Each object
    /// keeps its revision. The store continues `raise` revisions after the backup's revision, so that no
    /// revision that was used since the backup is used again. The function blocks.
    ///
    /// # Errors
    /// When the backup is damaged or truncated, or `file` cannot be written; `file` is then unchanged. Also when
    /// the folder cannot be synced after the new file is in place.
    pub fn restore(file: &Path, input: &mut dyn Read, raise: u64) -> Result<Contents, BackupError> {
        import::create_atomically(file, |partial| {
            let mut disk = disk::open(partial, &Arc::default())?.disk;
            let mut batch = Vec::with_capacity(BATCH);
            let totals = read(input, |raw| {
                batch.push(raw);
                if batch.len() == BATCH {
                    disk.write_raw(&batch, Revision(1))?;
                    batch.clear();
                }
                Ok(())
            })?;
            let raised = totals.revision.0.checked_add(raise);
            let raised = raised.ok_or_else(|| damaged("totals", "its revision is too high to be raised"))?;
            disk.write_raw(&batch, Revision(raised))?;
            Ok(Contents {
                revision: Revision(raised),
                objects: totals.count,
            })
        })
    }
}

impl Backups {
    /// Writes a backup of all present objects to `out`, except copies that no other process could decrypt.
    /// The function blocks.
    ///
    /// # Errors
    /// When a value cannot be encrypted, a record has 4 GiB or more, or writing to `out` fails.
    pub fn write(&self, out: &mut dyn Write) -> Result<Contents, BackupError> {
        let snapshot = self.cache.state().snapshot();
        let mut totals = Totals {
            revision: snapshot.revision,
            count: 0,
            crcs: 0,
        };
        out.write_all(MAGIC)?;
        let mut buffer = Vec::new();
        let objects = snapshot.objects.iter();
        for (key, object) in objects.filter(|(key, _)| !self.encryption.is_ephemeral(key.resource)) {
            let name = record::encode_key(key);
            let json = object.bytes();
            let sealed = self.encryption.seal(key.resource, &name, &json);
            let sealed = sealed.map_err(StoreError::Unavailable)?;
            totals.crcs ^= record::encode(&mut buffer, &name, object.revision(), &sealed);
            totals.count += 1;
            out.write_all(&length(&name)?)?;
            out.write_all(&length(&buffer)?)?;
            out.write_all(&name)?;
            out.write_all(&buffer)?;
        }
        out.write_all(&0_u32.to_le_bytes())?;
        out.write_all(&totals.encode())?;
        out.flush()?;
        Ok(Contents {
            revision: totals.revision,
            objects: totals.count,
        })
    }
}

/// Checks the backup in `input`, which is read to its end.
///
/// # Errors
/// When `input` cannot be read, is no backup, or is a damaged or truncated backup.
pub fn check(input: &mut dyn Read) -> Result<Contents, BackupError> {
    let totals = read(input, |_| Ok(()))?;
    Ok(Contents {
        revision: totals.revision,
        objects: totals.count,
    })
}

fn length(bytes: &[u8]) -> io::Result<[u8; 4]> {
    let length = u32::try_from(bytes.len());
    let length = length
        .map_err(|_| io::Error::other("a record has 4 GiB or more, which is too large for a backup"))?;
    Ok(length.to_le_bytes())
}

/// Passes every record of the backup in `input` to `take`, after a check; returns the checked totals.
fn read(
    input: &mut dyn Read,
    mut take: impl FnMut(RawRecord) -> Result<(), BackupError>,
) -> Result<Totals, BackupError> {
    let magic = exactly(input, MAGIC.len() as u32)?;
    if magic.as_deref() != Some(MAGIC) {
        return Err(BackupError::NoBackup);
    }
    let (mut count, mut crcs) = (0, 0);
    let mut last = Vec::new();
    let cut_off = || damaged("end", "it was cut off");
    loop {
        let key_length = number(input)?.ok_or_else(cut_off)?;
        if key_length == 0 {
            break;
        }
        let value_length = number(input)?.ok_or_else(cut_off)?;
        let key = exactly(input, key_length)?.ok_or_else(cut_off)?;
        let value = exactly(input, value_length)?.ok_or_else(cut_off)?;
        let key_text = || record::show_key(&key);
        let record = record::decode(&value).ok_or_else(|| damaged(&key_text(), "it is too short"))?;
        if !record.is_intact(&key) {
            return Err(damaged(&key_text(), "its checksum does not match"));
        }
        if last >= key {
            return Err(damaged(&key_text(), "it is out of order"));
        }
        count += 1;
        crcs ^= record.crc;
        last.clone_from(&key);
        take((key, Bytes::from(value)))?;
    }
    let totals = exactly(input, TOTALS_LENGTH as u32)?.ok_or_else(cut_off)?;
    let totals = Totals::decode(&totals).map_err(|problem| damaged("totals", &problem))?;
    if (totals.count, totals.crcs) != (count, crcs) {
        let problem = "they differ from the number or the checksum of the records";
        return Err(damaged("totals", problem));
    }
    if input.read(&mut [0])? != 0 {
        return Err(damaged("end", "more bytes follow"));
    }
    Ok(totals)
}

fn number(input: &mut dyn Read) -> Result<Option<u32>, BackupError> {
    let bytes = exactly(input, 4)?;
    Ok(bytes.and_then(|bytes| Some(u32::from_le_bytes(bytes.try_into().ok()?))))
}

/// Returns the next `length` bytes; `None` if `input` has fewer. Memory is allocated only for bytes that
/// `input` has, since a damaged `length` may be very large.
fn exactly(input: &mut dyn Read, length: u32) -> Result<Option<Vec<u8>>, BackupError> {
    let mut bytes = Vec::new();
    let read = input.take(u64::from(length)).read_to_end(&mut bytes)?;
    Ok((read as u64 == u64::from(length)).then_some(bytes))
}

#[cfg(test)]
mod tests;
