//! `berth dispatch`: passes decisions on to systems that dispatch workloads by themselves, in a form that
//! these systems read.
//!
//! A dispatcher is a process of its own, with its own rights. It reads decisions from a standalone server or
//! from a server behind a hub, and writes to the server of the other system. The writes are a pure function
//! of the read objects.
//!
//! [`multikueue`] is the dispatcher for Kueue (docs/consumers.md, "MultiKueue").
//!
//! ```
//! use clap::Parser as _;
//! use berth_dispatch::{DispatchArgs, Receiver};
//!
//! #[derive(clap::Parser)]
//! struct Program {
//!     #[command(flatten)]
//!     dispatch: DispatchArgs,
//! }
//! let program = Program::parse_from(["berth", "multikueue"]);
//! let Receiver::MultiKueue(args) = program.dispatch.receiver;
//! assert_eq!(args.kueue_configuration.namespace, "kueue-system");
//! ```

pub mod multikueue;

use anyhow::Result;
use clap::{Args, Subcommand};

pub use multikueue::MultiKueueArgs;

/// Arguments of `berth dispatch`.
#[derive(Args, Clone, Debug)]
pub struct DispatchArgs {
    /// The receiver of the decisions.
    #[command(subcommand)]
    pub receiver: Receiver,
}

/// Receiver of decisions.
#[derive(Clone, Debug, Subcommand)]
pub enum Receiver {
    /// Kueue: nominate the clusters of decisions for its Workloads, as an external dispatcher of MultiKueue
    ///
    /// A Workload names a decision in its label or annotation scheduling.berth.dev/decision. Requires
    /// scheduling.berth.dev/dispatcher as multiKueue.dispatcherName in Kueue's configuration.
    #[command(name = "multikueue")]
    MultiKueue(MultiKueueArgs),
}

/// Passes decisions on until a termination signal.
///
/// # Errors
/// When a kubeconfig cannot be used, or signals cannot be listened to. The dispatcher waits for a
/// server that does not answer.
pub async fn run(args: DispatchArgs) -> Result<()> {
    match args.receiver {
        Receiver::MultiKueue(args) => multikueue::run(&args).await,
    }
}
