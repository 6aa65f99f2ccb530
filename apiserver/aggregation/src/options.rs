//! Flags of every aggregated server, named as in k8s.io/apiserver where it has such flags, and a server that
//! they configure (feature `options`).
//!
//! A program flattens [`Options`] into its own arguments, and describes itself with a [`Program`]:
//!
//! ```no_run
//! use berth_aggregation::options::{Options, Program};
//! use berth_apiserver::Group;
//! use clap::Parser;
//!
//! #[derive(Parser)]
//! struct Arguments {
//!     #[command(flatten)]
//!     options: Options,
//! }
//!
//! fn groups() -> Vec<Group> {
//!     Vec::new()
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), berth_aggregation::options::RunError> {
//!     let arguments = Arguments::parse();
//!     arguments.options.run(Program::new("wardle", groups())).await
//! }
//! ```
//!
//! Behind a hub ([`Options::run`] with a kubeconfig, or in a Pod) the hub authenticates and authorizes users,
//! and the APIServices are created and their caBundles kept current. With `--standalone` there is no hub: the
//! server creates a CA, and a kubeconfig for its administrator, in `--cert-dir`.

mod audit;
mod delegation;
mod program;
mod registration;
mod run;
mod serving;
mod standalone;
mod trust;

pub use audit::{AuditArgs, AuditArgsError};
pub use delegation::DelegationArgs;
pub use program::Program;
pub use registration::RegistrationArgs;
pub use run::{RunError, RunningServer};
pub use serving::ServingArgs;
pub use trust::{GivenError, TrustArgs};

use clap::Parser;

/// Flags of an aggregated server, parsed alone (`Options::parse()`) or flattened into those of a program.
#[derive(Clone, Debug, Parser)]
pub struct Options {
    /// Serve without a hub: users authenticate with certificates of the server's own CA. The kubeconfig of
    /// its administrator is admin.kubeconfig in --cert-dir.
    #[arg(long, conflicts_with_all = ["kubeconfig", "authentication_kubeconfig", "authorization_kubeconfig"])]
    pub standalone: bool,
    /// The port, its certificate, and limits on requests.
    #[command(flatten)]
    pub serving: ServingArgs,
    /// The hub, which authenticates and authorizes users.
    #[command(flatten)]
    pub delegation: DelegationArgs,
    /// Trust in client certificates and front proxies.
    #[command(flatten)]
    pub trust: TrustArgs,
    /// The Service through which the hub reaches the server.
    #[command(flatten)]
    pub registration: RegistrationArgs,
    /// Auditing.
    #[command(flatten)]
    pub audit: AuditArgs,
}
