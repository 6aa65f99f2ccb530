//! Flags of an aggregated server, named as in k8s.io/apiserver where that has such flags, and the server that
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
pub use trust::{TrustArgs, TrustArgsError};

use clap::Parser;

/// Flags of an aggregated server, parsed alone (`Options::parse()`) or flattened into the arguments of a
/// program.
#[derive(Clone, Debug, Parser)]
pub struct Options {
    /// Serve without a hub: users authenticate with certificates of the server's own CA. The kubeconfig of
    /// the administrator is admin.kubeconfig in --cert-dir.
    #[arg(long, conflicts_with_all = ["kubeconfig", "authentication_kubeconfig", "authorization_kubeconfig"])]
    pub standalone: bool,
    /// Flags about the port, the serving certificate, and limits on requests.
    #[command(flatten)]
    pub serving: ServingArgs,
    /// Flags about the hub, which authenticates and authorizes users.
    #[command(flatten)]
    pub delegation: DelegationArgs,
    /// Flags about trusted client certificates and front proxies.
    #[command(flatten)]
    pub trust: TrustArgs,
    /// Flags about the registration of the server on the hub.
    #[command(flatten)]
    pub registration: RegistrationArgs,
    /// Flags about auditing.
    #[command(flatten)]
    pub audit: AuditArgs,
}
