//! Protection of in-process writes, such as decisions of a scheduler: admission policies and webhooks may not
//! change the fields that the write changes.

use std::sync::Arc;

use berth_apimachinery::overruled::{self, AbsentField};
use berth_apimachinery::{FieldError, GroupResource, Status};
use serde_json::Value;

/// Checks that admission did not change a field that the write of `resource`/`name` by `user` changes.
/// `decided` is the object before admission, `changed` the object after admission, and `stored` the object
/// before the write (null for a new object). `changers` are the names of the policies and webhooks that
/// changed the object.
///
/// # Errors
/// 403 with the path of the first such field.
pub(super) fn overruled(
    (resource, name): (GroupResource, &str),
    user: &str,
    changers: &[Arc<str>],
    [decided, stored, changed]: [&Value; 3],
) -> Result<(), Status> {
    let Some(path) = overruled::first_difference(decided, stored, changed, AbsentField::Removed) else {
        return Ok(());
    };
    let detail = format!(
        "{user} decided this field, and policies and webhooks may not change it; one of these changed it: {}; \
         exclude the user there with a matchCondition",
        changers.join(", ")
    );
    let error = FieldError::forbidden(path, detail);
    let status = Status::forbidden(resource, name, &error.to_string());
    Err(status.with_cause(error.kind.reason(), error.message(), &error.path))
}
