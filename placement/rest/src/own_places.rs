//! Objects whose place is one of their own fields ([`OwnPlace`]): the dialect that places them, and the right
//! to bind them.

use std::sync::Arc;

use berth_admission::rights::Right;
use berth_apimachinery::GroupResource;
use berth_apiserver::Attributes;
use berth_dialect_contract::{Dialect, OwnPlace};
use berth_engine::Engine;

/// The field with the place of objects of `resource`, and the dialect that places them. `None` if the place
/// is no field of the objects.
pub fn find(engine: &Engine, resource: GroupResource) -> Option<(&'static OwnPlace, &Arc<dyn Dialect>)> {
    let mut dialects = engine.dialects();
    dialects.find_map(|dialect| {
        let mut demands = dialect.demands().iter();
        let demand = demands.find(|demand| demand.resource == resource)?;
        Some((demand.own_place?, dialect))
    })
}

/// The right to write the place of objects of `resource`; `None` if the place is no field of the objects.
pub(super) fn right_to_bind(engine: &Engine, resource: GroupResource) -> Option<Attributes> {
    find(engine, resource).map(|(own, _)| right(own))
}

/// The right to write the place `own`. The caller sets user, namespace and name.
fn right(own: &OwnPlace) -> Attributes {
    Attributes {
        verb: own.verb.to_owned(),
        is_resource: true,
        group: own.resource.group.to_owned(),
        resource: own.resource.resource.to_owned(),
        subresource: "binding".to_owned(),
        ..Attributes::default()
    }
}

/// The right to write the place `own`, in the form for admission.
pub fn needed(own: &OwnPlace) -> Right {
    let Attributes {
        verb,
        group,
        resource,
        subresource,
        ..
    } = right(own);
    Right {
        verb,
        group,
        resource,
        subresource,
        ..Right::default()
    }
}
