//! Protection of the fields of a keeper ([`berth_apimachinery::Kind::keeper`]): writes of other users do not
//! change them.

use berth_apimachinery::{Keeper, Object, Status, Via};
use berth_apply::{Conflict, Identity, Operation};
use serde_json::Value;

use super::ownership;
use super::prepare::WriteInput;

impl WriteInput<'_> {
    /// Whether the object has a keeper other than the user of this write.
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
        own_name(keeper, actor.manager)
            .map_err(|text| Status::forbidden(self.served.name, self.name, &text))?;
        Ok(true)
    }

    /// Returns `value` with the keeper's fields restored from `live`, the served form of `stored`. The client
    /// gets a warning if this changes a field.
    pub(super) fn with_kept_fields(&self, stored: &Object, live: &Value, value: Value) -> Value {
        let Some(keeper) = self.served.kind().keeper() else {
            return value;
        };
        let subresource = match self.via {
            Via::Create | Via::Update => "",
            Via::Subresource(name) => name,
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
        let restored = self.served.merging().types.kept(live, &owned.set, &value);
        if restored != value {
            self.actor.warnings.add(format!(
                "the fields of field manager {:?} are computed: they stay as they are",
                keeper.manager
            ));
        }
        restored
    }
}

/// Checks that `manager` is not the keeper's field manager.
///
/// # Errors
/// The problem of the name.
pub(crate) fn own_name(keeper: Keeper, manager: &str) -> Result<(), String> {
    if manager != keeper.manager {
        return Ok(());
    }
    Err(format!(
        "only {} writes as field manager {:?}: name another one",
        keeper.user, keeper.manager
    ))
}

/// Whether one of `conflicts` is about fields of the keeper. An apply with force does not take over such
/// fields.
pub(crate) fn concerns(keeper: Keeper, conflicts: &[Conflict]) -> bool {
    conflicts.iter().any(|conflict| {
        conflict.owner.operation == Operation::Apply && conflict.owner.manager == keeper.manager
    })
}
