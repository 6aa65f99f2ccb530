//! The kinds of stores in which an installation can keep objects.

use clap::ValueEnum;

/// Kind of store for objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Storage {
    /// One database file in the data folder.
    Embedded,
    /// In memory: lost when the process ends.
    Memory,
    /// An etcd cluster.
    Etcd,
}
