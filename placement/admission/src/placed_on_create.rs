//! Common parts of the two rules about objects made with a place of their own: a Shoot's `spec.seedName` is
//! filled in on create, and judged.

use berth_admission::{Operation, Request};
use berth_engine::Engine;
use berth_scheduling_rest::own_places;

/// Whether `request` makes an object that has a field for its place.
pub(super) fn handles(engine: &Engine, request: &Request<'_>) -> bool {
    request.operation == Operation::Create
        && request.subresource.is_empty()
        && own_places::find(engine, request.resource).is_some()
}
