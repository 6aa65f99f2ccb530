//! dialect-gardener.
