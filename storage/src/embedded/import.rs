//! Creation of a database file from objects of another store.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use berth_apimachinery::Change;

use crate::embedded::disk;
use crate::encryption::Encryption;
use crate::error::StoreError;
use crate::snapshot::Snapshot;
use crate::stage::StagedChange;

/// Maximal number of objects in one transaction.
const BATCH: usize = 1000;

/// Creates the database `file` from `snapshot`. The objects keep their revisions; the revision of the store
/// is the snapshot's.
pub(crate) fn import(
    file: &Path,
    snapshot: &Snapshot,
    encryption: &Arc<Encryption>,
) -> Result<(), StoreError> {
    if file.exists() {
        return Err(StoreError::Unavailable(format!(
            "{} exists already: name a new file",
            file.display()
        )));
    }
    create_atomically(file, |partial| write(partial, snapshot, encryption))
}

/// Creates a database with `create` under another name, and renames it to `file` (replacing an existing file)
/// when it is complete and on disk. So no server starts with an incomplete file. The file of a failed attempt
/// is removed, by the next attempt at the latest.
pub(crate) fn create_atomically<T, E: From<StoreError>>(
    file: &Path,
    create: impl FnOnce(&Path) -> Result<T, E>,
) -> Result<T, E> {
    let partial = partial_path(file);
    match fs::remove_file(&partial) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(file_error(&partial, &error).into()),
        _ => {}
    }
    let result = create(&partial).inspect_err(|_| {
        // The first error is reported. If the file cannot be removed, the next attempt removes it.
        drop(fs::remove_file(&partial));
    })?;
    move_into_place(&partial, file)?;
    Ok(result)
}

/// Renames `partial` to `file`, and waits until the new name is on disk.
fn move_into_place(partial: &Path, file: &Path) -> Result<(), StoreError> {
    fs::rename(partial, file).map_err(|error| file_error(file, &error))?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))
        .and_then(|folder| folder.sync_all())
        .map_err(|error| file_error(file, &error))
}

fn write(file: &Path, snapshot: &Snapshot, encryption: &Arc<Encryption>) -> Result<(), StoreError> {
    let mut disk = disk::open(file, encryption)?.disk;
    for batch in snapshot.objects.chunks(BATCH) {
        let changes: Vec<StagedChange> = batch
            .iter()
            .map(|(key, object)| {
                let change = Change {
                    revision: object.revision(),
                    key: key.clone(),
                    old: None,
                    new: Some(object.clone()),
                };
                (change, None)
            })
            .collect();
        disk.write(&changes, snapshot.revision)?;
    }
    // An empty store has a revision too.
    disk.write(&[], snapshot.revision)
}

/// Returns the name of `file` while it is incomplete.
pub(crate) fn partial_path(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

/// Converts the error of an operation on `file`.
pub(crate) fn file_error(file: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Unavailable(format!("{}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::Revision;
    use tempfile::TempDir;

    use super::*;
    use crate::conformance::{draft, thing};
    use crate::embedded::EmbeddedStore;
    use crate::history::Limits;
    use crate::source::Source;

    #[test]
    fn a_copy_keeps_every_object_and_revision() {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("berth.redb");
        let objects = (0..2500u64).map(|index| {
            let key = thing("a", &format!("x{index:05}"));
            let object = Arc::new(draft(&key, 1).at(Revision(10 + index)));
            (key, object)
        });
        let snapshot = Snapshot {
            revision: Revision(9000),
            objects: objects.collect(),
        };
        EmbeddedStore::import(&file, &snapshot).unwrap();
        let store = EmbeddedStore::open(&file, Limits::default()).unwrap();
        assert_eq!(store.revision(), Revision(9000));
        let copy = store.export();
        assert_eq!(snapshot.difference(&copy), None);
        assert_eq!(copy.objects[7].1.revision(), Revision(17));
        let again = EmbeddedStore::import(&file, &snapshot).unwrap_err();
        assert!(again.to_string().contains("exists"), "{again}");
    }

    #[test]
    fn an_empty_copy_has_the_revision_too() {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("berth.redb");
        let snapshot = Snapshot {
            revision: Revision(77),
            objects: Vec::new(),
        };
        EmbeddedStore::import(&file, &snapshot).unwrap();
        let store = EmbeddedStore::open(&file, Limits::default()).unwrap();
        assert_eq!(store.revision(), Revision(77));
    }
}
