//! Tables of the database file, and conversion of redb's errors.

use std::io::ErrorKind;

use redb::TableDefinition;

use crate::error::StoreError;

/// Table with the key and record of every object; see [`super::record`].
pub(crate) const RECORDS: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("records");
/// Table with the totals, under [`TOTALS_KEY`].
pub(crate) const TOTALS: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("totals");
/// The only key of [`TOTALS`].
pub(crate) const TOTALS_KEY: &str = "totals";
/// Name of the damaged part in errors about pages, which belong to no single record.
pub(super) const PAGES: &str = "pages";

/// Returns the error of a damaged part of `file`; `key` is the record or the part.
pub(crate) fn corrupt(file: &str, key: String, problem: impl Into<String>) -> StoreError {
    StoreError::Corrupt {
        file: file.to_owned(),
        key,
        problem: problem.into(),
    }
}

/// Converts an error of redb.
pub(crate) fn broken(file: &str, error: impl Into<redb::Error>) -> StoreError {
    match error.into() {
        redb::Error::DatabaseAlreadyOpen => StoreError::Unavailable(format!(
            "{file} is in use: stop the other process, or name another data directory"
        )),
        redb::Error::Io(error) if is_damage(&error) => corrupt(file, PAGES.to_owned(), error.to_string()),
        redb::Error::Io(error) => inaccessible(file, &error),
        redb::Error::PreviousIo => {
            StoreError::Unavailable(format!("{file}: an earlier write failed: restart the server"))
        }
        error @ (redb::Error::Corrupted(_)
        | redb::Error::UpgradeRequired(_)
        | redb::Error::RepairAborted
        | redb::Error::TableTypeMismatch { .. }
        | redb::Error::TableIsMultimap(_)
        | redb::Error::TypeDefinitionChanged { .. }
        | redb::Error::TableDoesNotExist(_)) => corrupt(file, PAGES.to_owned(), error.to_string()),
        error => StoreError::Unavailable(format!("{file}: {error}")),
    }
}

/// Whether `error` is from a read outside of the file, which a damaged page number causes.
fn is_damage(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::UnexpectedEof | ErrorKind::InvalidData | ErrorKind::InvalidInput
    )
}

/// Returns the error of a file that cannot be read or written.
pub(super) fn inaccessible(file: &str, error: &std::io::Error) -> StoreError {
    StoreError::Unavailable(format!("{file}: {error}"))
}
