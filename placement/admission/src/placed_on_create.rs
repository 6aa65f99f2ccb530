//! The common condition of two admission plugins for creates of objects that store their place in a field,
//! such as a Shoot's `spec.seedName`. One plugin judges a place that the object names, and the other warns
//! if the scheduler finds no place.

use berth_admission::{Operation, Request};
use berth_engine::Engine;
use berth_scheduling_rest::own_places;

/// Whether `request` creates an object of a kind with a field for the place.
pub(super) fn handles(engine: &Engine, request: &Request<'_>) -> bool {
    request.operation == Operation::Create
        && request.subresource.is_empty()
        && own_places::find(engine, request.resource).is_some()
}
