//! Stores of objects.

use clap::ValueEnum;

/// Place where objects are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Storage {
    /// One database file in the data folder.
    Embedded,
    /// In memory: gone when the process ends.
    Memory,
    /// An etcd cluster.
    Etcd,
}
