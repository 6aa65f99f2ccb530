//! Conversion of a store's errors to errors for clients.

use berth_apimachinery::write::{CommitError, WriteRefusal};
use berth_apimachinery::{FieldError, GroupResource, KindInfo, Revision, Status};
use berth_storage::StoreError;

use crate::served::ServedVersion;

/// Converts a store's error about a write to `served`.
#[must_use]
pub(crate) fn of_commit(error: StoreError, served: &ServedVersion) -> CommitError {
    let refusal = match &error {
        StoreError::NotFound { .. } => WriteRefusal::Gone,
        StoreError::AlreadyExists { .. } => WriteRefusal::Exists,
        StoreError::Conflict { .. } => WriteRefusal::Changed,
        StoreError::Fenced { .. } => WriteRefusal::Fenced,
        _ => WriteRefusal::Refused,
    };
    CommitError::new(refusal, of_store(error, served))
}

/// Converts a store's error about a request for `served` to a `Status`.
#[must_use]
pub(crate) fn of_store(error: StoreError, served: &ServedVersion) -> Status {
    // Two APIs may serve the same stored objects: the error has the resource name of the request.
    let name = |resource: GroupResource| {
        if resource == served.stored {
            served.name
        } else {
            resource
        }
    };
    match error {
        StoreError::NotFound { key } => Status::not_found(name(key.resource), &key.name),
        StoreError::AlreadyExists { key } => Status::already_exists(name(key.resource), &key.name),
        StoreError::Conflict { key, .. } => CommitError::modified(name(key.resource), &key.name).status,
        StoreError::Fenced { name, .. } => {
            let text =
                format!("{name} was used by another write after this one was decided; please try again");
            Status::failure(409, "Conflict", format!("Operation cannot be fulfilled: {text}"))
                .with_cause("Fenced", text, "")
        }
        StoreError::Expired { asked, oldest } => too_old(asked, oldest),
        StoreError::TooNew { asked, current } if served.has_local_versions() => {
            not_issued_here(asked, current)
        }
        StoreError::TooNew { asked, current } => too_new(asked, current),
        StoreError::TooLarge { key, bytes } => {
            let resource = name(key.resource);
            let text = format!(
                "Request entity too large: {resource} \"{}\" has {bytes} bytes, more than the storage accepts",
                key.name
            );
            Status::failure(413, "RequestEntityTooLarge", text)
        }
        StoreError::Unavailable(problem) => {
            Status::unavailable(format!("the storage is unavailable: {problem}"), 1)
        }
        error => internal(error),
    }
}

/// Logs an error that clients cannot correct, and returns the `Status` that refers to the log.
fn internal(error: StoreError) -> Status {
    match error {
        StoreError::Corrupt { file, key, problem } => {
            tracing::error!(
                file,
                key,
                problem,
                "a stored record is damaged and cannot be served; stop the server, and see what `berth repair` lists"
            );
            Status::internal("a stored record is damaged; the server's log names it")
        }
        StoreError::Unreadable { place, key, problem } => {
            tracing::error!(
                place,
                key,
                problem,
                "a stored value cannot be read or served; write the key again, or delete it"
            );
            Status::internal("a stored record is damaged; the server's log names it")
        }
        StoreError::Misuse { key, problem } => {
            tracing::error!(%key, problem, "invalid write to the storage; this is a bug");
            Status::internal("invalid write to the storage; the server's log has the reason")
        }
        // The enum may get new variants; until this match handles them, they are internal errors.
        other => {
            tracing::error!(error = %other, "unexpected storage error");
            Status::internal("the storage failed; the server's log has the reason")
        }
    }
}

/// The error 422 for a body whose resourceVersion is not a number.
#[must_use]
pub(crate) fn invalid_version(kind: &KindInfo, name: &str, version: &str) -> Status {
    let detail = "must be an unsigned integer, as the server gave it";
    let error = FieldError::invalid("metadata.resourceVersion", version, detail);
    Status::invalid(kind.group, kind.kind, name, &[error])
}

fn too_old(asked: Revision, oldest: Revision) -> Status {
    Status::expired(format!("too old resource version: {asked} ({oldest})"))
}

/// The error for a revision that this process did not issue. A projection's revisions are valid in one
/// process only, so a later revision is from another process: the client must list again instead of waiting
/// (docs/reference.md, "Identity and versions").
fn not_issued_here(asked: Revision, current: Revision) -> Status {
    Status::expired(format!(
        "resource version {asked} was not issued by this server, which is at {current}; list again"
    ))
}

fn too_new(asked: Revision, current: Revision) -> Status {
    Status::timeout(format!("Too large resource version: {asked}, current: {current}"))
        .with_cause("ResourceVersionTooLarge", "Too large resource version", "")
        .retry_after(1)
}
