//! Arguments of `berth console`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

/// Arguments of `berth console`.
#[derive(Args, Clone, Debug, Default)]
pub struct ConsoleArgs {
    /// Settings of the page.
    #[command(flatten)]
    pub page: PageArgs,
    /// The kubeconfig; by default that of KUBECONFIG, or ~/.kube/config.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; by default the current context.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
}

/// Settings of the page and of the server that serves it.
#[derive(Args, Clone, Debug, Default)]
pub struct PageArgs {
    /// The port of 127.0.0.1 (and of [::1], if available) to listen on; 0 chooses a free port.
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// Only print the address; by default a browser is opened if standard output is a terminal.
    #[arg(long)]
    pub no_open: bool,
    /// Allow binding on the page. If omitted, the page cannot write, regardless of your permissions.
    #[arg(long)]
    pub allow_writes: bool,
    /// A further Host to accept, with the port if it is not the default port, for a proxy on this machine;
    /// repeatable. Pages of that host that have the token of this run can then use this server with your
    /// permissions.
    #[arg(long, value_name = "HOST[:PORT]")]
    pub allow_host: Vec<String>,
    /// Exit after this time without a request; an open page sends requests continuously. By default only
    /// Ctrl-C ends the process.
    #[arg(long, value_name = "DURATION", value_parser = berth_apimachinery::duration::parse_unsigned)]
    pub idle_timeout: Option<Duration>,
}
