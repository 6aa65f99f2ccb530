//! Certificates: the built-in authorities, issuing, and the serving certificate, which is renewed or reloaded
//! automatically.
//!
//! A [`Folder`] has the authorities of a server, from its first start on: a CA for serving and
//! client certificates, and a separate CA for front proxies (a certificate of one must never be valid for the
//! other purpose). A [`ServingCertificate`] resolves the certificate of each new TLS connection.
//!
//! Private keys have mode 0600. Every file is written through a temporary file that is renamed. A CA is
//! never overwritten: a problem of a stored CA is an error.
#![doc = include_str!("../README.md")]

mod authority;
mod der;
mod error;
pub mod files;
mod folder;
pub mod pem;
pub mod rotation;
mod serving;

pub use authority::{Authority, CA_LIFE, IssuedCertificate, LEAF_LIFE, generate_authority};
pub use error::CertsError;
pub use folder::Folder;
pub use serving::ServingCertificate;
