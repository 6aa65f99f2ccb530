//! berth.
