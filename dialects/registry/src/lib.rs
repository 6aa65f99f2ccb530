//! dialect-registry.
