//! Condition of two admission rules about creates: both handle objects that store their place in a field,
//! such as a Shoot's `spec.seedName`. One rule judges a place that the object names, and the other warns
//! when the scheduler finds no place.

use berth_admission::{Operation, Request};
use berth_engine::Engine;
use berth_scheduling_rest::own_places;

/// Whether `request` creates an object with a field for its place.
pub(super) fn handles(engine: &Engine, request: &Request<'_>) -> bool {
    request.operation == Operation::Create
        && request.subresource.is_empty()
        && own_places::find(engine, request.resource).is_some()
}
