//! Certificates: built-in CAs that issue certificates, and the serving certificate, which is renewed or
//! reloaded automatically.
//!
//! A [`Folder`] has the CAs of a server, which are created at the first start: a CA for serving and client
//! certificates, and a separate CA for front proxies, so that no certificate is valid for both purposes. A
//! [`ServingCertificate`] resolves the certificate of each new TLS connection.
//!
//! Private keys have mode 0600. Every file is written through a temporary file that is renamed. A stored CA
//! is never overwritten: any problem with it is an error.
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
