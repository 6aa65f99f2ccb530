//! The program `berth`: its commands, the assembly of a server, and the adapters between layers that do not
//! depend on each other.
//!
//! This crate has no generic code: code for other API servers is in `apiserver`, code for other schedulers in
//! `placement`. Start reading at [`cli`] (the commands) and [`serve`] (the assembly of a server).
//!
//! ```
//! use berth::source::{Place, Source};
//!
//! let source = Source { dialect: "toy".to_owned(), place: Place::Owned };
//! assert_eq!(source.place.as_str(), "owned");
//! ```

pub mod backup;
pub mod causes;
pub mod check;
pub mod cli;
pub mod completion;
pub mod controllers;
pub mod definitions;
pub mod demo;
pub mod encryption;
pub mod etcd;
pub mod folder;
pub mod hub;
pub mod integrations;
pub mod kubeconfig;
pub mod logs;
pub mod look;
pub mod manifests;
pub mod migrate;
pub mod mode;
pub mod plugin;
pub mod program;
pub mod readable;
pub mod repair;
pub mod serve;
pub mod source;
pub mod takeover;
pub mod uninstall;
