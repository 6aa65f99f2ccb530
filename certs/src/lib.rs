//! Certificates: the built-in authorities, issuing, and the serving certificate that renews or reloads by
//! itself.
//!
//! A [`Folder`] holds what a standalone server needs, made at the first start and reused afterwards: a CA for
//! serving and client certificates, and a CA of its own for front proxies (a certificate of the one must
//! never pass for one of the other). [`ServingCertificate`] is what TLS asks for the certificate of each new
//! connection.
//!
//! Private keys are written with mode 0600, every file by writing a temporary one and renaming it. A CA
//! is never overwritten: a problem of one on disk is an error that names the remedy.
#![doc = include_str!("../README.md")]

pub mod authority;
mod der;
pub mod error;
pub mod files;
pub mod folder;
pub mod pem;
pub mod rotation;
pub mod serving;

pub use authority::{Authority, Issued};
pub use error::CertsError;
pub use folder::Folder;
pub use serving::ServingCertificate;
