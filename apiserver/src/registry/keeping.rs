//! Protection of the fields that the keeper of a kind applied ([`berth_apimachinery::Kind::keeper`]). Writes
//! of other users do not change these fields.

use berth_apimachinery::{Keeper, Object, Status, WriteOperation};
use berth_apply::{Conflict, Identity, Operation};
use serde_json::Value;

use super::ownership;
use super::prepare::WriteInput;

impl WriteInput<'_> {
    /// Whether the kind has a keeper, and the user of this write is not the keeper.
    ///
    /// # Errors
    /// 403 when the write uses the keeper's field manager.
    pub(super) fn is_kept_by_another(&self) -> Result<bool, Status> {
        let Some(keeper) = self.served.kind().keeper() else {
            return Ok(false);
        };
        let actor = &self.actor;
        if actor.user.name == keeper.user {
            return Ok(false);
        }
        check_not_keeper(keeper, actor.manager)
            .map_err(|text| Status::forbidden(self.served.name, self.name, &text))?;
        Ok(true)
    }

    /// Returns `value` with the fields of the keeper restored from `live`, which is `stored` in the served
    /// version. The client gets a warning if this changes `value`.
    pub(super) fn with_kept_fields(&self, stored: &Object, live: &Value, value: Value) -> Value {
        let Some(keeper) = self.served.kind().keeper() else {
            return value;
        };
        let subresource = match self.operation {
            WriteOperation::Create | WriteOperation::Update => "",
            WriteOperation::Subresource(name) => name,
        };
        let identity = Identity {
            manager: keeper.manager.to_owned(),
            operation: Operation::Apply,
            api_version: String::new(),
            subresource: subresource.to_owned(),
        };
        let managers = ownership::of_stored(stored);
        let Some(owned) = managers.get(&identity) else {
            return value;
        };
        let restored = self
            .served
            .merge_schema()
            .types
            .restore_owned(live, &owned.set, &value);
        if restored != value {
            self.actor.warnings.add(format!(
                "the fields of field manager {:?} are computed by the server: changes to them are ignored",
                keeper.manager
            ));
        }
        restored
    }
}

/// Checks that `manager` is not the keeper's field manager.
///
/// # Errors
/// The message for the client.
pub(crate) fn check_not_keeper(keeper: Keeper, manager: &str) -> Result<(), String> {
    if manager != keeper.manager {
        return Ok(());
    }
    Err(format!(
        "only the user {} may use the field manager {:?}: use another field manager",
        keeper.user, keeper.manager
    ))
}

/// Whether one of `conflicts` is about fields of the keeper. Such an apply takes over no fields: neither with
/// force, nor as kubectl, which otherwise owns the fields that it applied on the client side before.
pub(crate) fn concerns(keeper: Keeper, conflicts: &[Conflict]) -> bool {
    conflicts.iter().any(|conflict| {
        conflict.owner.operation == Operation::Apply && conflict.owner.manager == keeper.manager
    })
}
