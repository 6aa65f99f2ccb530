//! Protection of in-process writes: admission policies and webhooks may only add to the decided content.

use std::sync::Arc;

use berth_apimachinery::overruled::{self, Absent};
use berth_apimachinery::{FieldError, GroupResource, Status};
use serde_json::Value;

/// Returns the refusal of a write of `resource`/`name` by `user`, if `changers` changed the decided
/// content.
///
/// `decided` is the object as the process would write it, `stored` the object before the write (null for a
/// new object), `changed` the object after admission. Admission may change all fields that the write itself
/// does not change.
pub(super) fn overruled(
    (resource, name): (GroupResource, &str),
    user: &str,
    changers: &[Arc<str>],
    [decided, stored, changed]: [&Value; 3],
) -> Result<(), Status> {
    let Some(path) = overruled::first(decided, stored, changed, Absent::Counts) else {
        return Ok(());
    };
    let detail = format!(
        "{user} decided it, and it may not be changed by others: {}; exclude this user there with a matchCondition",
        changers.join(", ")
    );
    let error = FieldError::forbidden(path, detail);
    let status = Status::forbidden(resource, name, &error.to_string());
    Err(status.with_cause(error.kind.reason(), error.message(), &error.path))
}
