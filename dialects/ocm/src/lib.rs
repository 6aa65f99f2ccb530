//! dialect-ocm.
