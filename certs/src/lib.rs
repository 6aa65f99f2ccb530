//! certs.
