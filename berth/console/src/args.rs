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
    /// The kubeconfig; by default what KUBECONFIG names, or ~/.kube/config.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; by default its current one.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
}

/// Settings of the page.
#[derive(Args, Clone, Debug, Default)]
pub struct PageArgs {
    /// The port of 127.0.0.1 (and of [::1], where there is one) to listen on; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// Print the address only; by default a browser is opened where standard output is a terminal.
    #[arg(long)]
    pub no_open: bool,
    /// Offer to bind. Without it nothing can be written through the page, whatever your rights are.
    #[arg(long)]
    pub allow_writes: bool,
    /// A further Host to answer, with its port if it is another, for a proxy on this machine; repeatable.
    /// Pages from that host can then reach this server with your rights, if they know its token.
    #[arg(long, value_name = "HOST[:PORT]")]
    pub allow_host: Vec<String>,
    /// Exit after so long without a request; an open page sends some all the time. By default only Ctrl-C
    /// ends it.
    #[arg(long, value_name = "DURATION", value_parser = berth_apimachinery::duration::parse_unsigned)]
    pub idle_timeout: Option<Duration>,
}
