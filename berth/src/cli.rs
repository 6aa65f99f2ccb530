//! The command line. If kube-apiserver has a flag for the purpose, Berth's flag has the name of that flag.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use berth_aggregation::options::{AuditArgs, TrustArgs};
use berth_apimachinery::duration::parse_unsigned;
use berth_commands::args::{
    AdviceArgs, CompareArgs, ConsoleCommand, ExportArgs, HistoryArgs, LoadArgs, PlanArgs, SimulateCommand,
    WhyArgs,
};
use berth_deploy::Storage;
use berth_dispatch::DispatchArgs;
use berth_syncer::SyncerArgs;
use berth_syncer::rights::SyncerRightsArgs;
use clap::{Args, Parser, Subcommand, ValueEnum};
use http::uri::Authority;

use crate::backup::{BackupArgs, RestoreArgs};
use crate::check::CheckArgs;
use crate::completion::{CompleteArgs, CompletionArgs};
use crate::controllers::LeaderElectionArgs;
use crate::etcd::EtcdArgs;
use crate::hub::HubArgs;
use crate::manifests::ManifestsArgs;
use crate::migrate::MigrateArgs;
use crate::mode::ModeArg;
use crate::repair::RepairArgs;
use crate::takeover::{HandbackArgs, TakeoverArgs};
use crate::uninstall::UninstallArgs;
use berth_dialect_registry::ActorArgs;

/// Which cluster does this go to, and why? An aggregated Kubernetes API server that decides, explains, binds
/// and guards placements.
#[derive(Debug, Parser)]
#[command(name = "berth", version, max_term_width = 100)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
    /// Log level: error, warn, info, debug, trace, or filters such as `berth_apiserver=debug`.
    #[arg(long, global = true, env = "BERTH_LOG", default_value = "warn")]
    pub log_level: String,
    /// Format of logs, on standard error.
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text)]
    pub logging_format: LogFormat,
}

/// Format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One line of text for each message.
    Text,
    /// One JSON object for each message.
    Json,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the API groups of the systems and of Berth, standalone, from one folder
    Serve(Box<ServeArgs>),
    /// Serve each system's example fleet, with its decisions explained on the terminal
    Demo(DemoArgs),
    /// Decide all placeable objects of files, or of the hub, for the clusters there; nothing is written
    ///
    /// Without -f, the kubeconfig's hub is read; Berth need not be installed on it.
    ///
    /// With --change, --drain, --delete or --against: the effects on the decisions, before the change is
    /// made.
    ///
    /// Exit codes: 0 if everything was decided; 1 with --exit-code, if an object is not placed, or only in
    /// part (for a plan: if anything would change); 2 if the arguments or a configuration are malformed, or
    /// with --strict the input; 3 if a part of the input was skipped and the rest was decided. All problems
    /// are reported on standard error.
    Simulate(SimulateCommand),
    /// Compare the current placements with Berth's decisions: the differences and their reasons; nothing is
    /// written
    ///
    /// Reads the systems' objects on the kubeconfig's hub, with or without Berth on it, or those of -f.
    /// Current placements are taken into account, as in operation: if the system keeps an object where it is,
    /// the decision is the same.
    ///
    /// Exit codes: 0; 1 with --exit-code, if any request would be decided differently; 2 if a file cannot be
    /// read at all or a configuration is malformed; 3 if a part of the input was skipped (skipped requests
    /// count as Unknown) and the rest was compared.
    Compare(CompareArgs),
    /// Open a page in the browser with the decisions and their reasons, as your kubeconfig may read them
    ///
    /// This process serves the page on loopback; nothing is installed in the cluster. The printed address
    /// contains a token: keep it secret.
    ///
    /// With -f, the page shows files, and no server is contacted. On a hub without Berth, this process reads
    /// the systems' objects and decides.
    #[command(visible_alias = "look")]
    Console(ConsoleCommand),
    /// Show where an object is placed, and why every other cluster was rejected
    ///
    /// On a hub without Berth, this process reads the system's objects and decides. Also `kubectl berth why`:
    /// docs/terminal.md.
    Why(WhyArgs),
    /// Show the changes of a decision: their times, clusters, reasons and authors
    ///
    /// Also `kubectl berth history`. If older changes are no longer kept, this is reported; it is not an
    /// error.
    History(HistoryArgs),
    /// Show the changes after which an object goes to a cluster; nothing is stored
    ///
    /// The smallest sets of changes, each evaluated on a copy of the server's state, with the kubectl command
    /// for each change. Also `kubectl berth advice`: docs/terminal.md.
    Advice(AdviceArgs),
    /// Show the effects of a change on the decisions of a server or a hub; nothing is stored
    Plan(PlanArgs),
    /// Save a hub's clusters and placements as YAML, for `berth simulate -f`; reads only, Berth need not be
    /// installed
    ///
    /// Exports all objects that the schedulers read and you may read, of all namespaces, or with -n those on
    /// which the decisions of that namespace depend. Omissions and their effects are reported on standard
    /// error.
    Export(ExportArgs),
    /// Check a server, or Berth's installation on a hub, and print the command that fixes each problem
    ///
    /// Exit codes: 0 if there is no problem; 1 if there are problems, or no server answers; 3 if Berth is not
    /// installed there.
    Check(CheckArgs),
    /// Print a script that completes commands, flags, namespaces, decisions and clusters in a shell
    ///
    /// `source <(berth completion bash)`, or zsh; `berth completion fish | source`.
    Completion(CompletionArgs),
    /// Propose completions of a command line
    #[command(name = "__complete", hide = true)]
    Complete(CompleteArgs),
    /// Write objects with their status, as `kubectl apply` cannot
    Load(LoadArgs),
    /// Issue a kubeconfig for a user of a standalone server
    Kubeconfig(KubeconfigArgs),
    /// Back up a server's embedded database and certificates, while it serves
    ///
    /// The objects are of a single moment: all acknowledged writes before it, and none in part. Encrypted
    /// values stay encrypted. Run the command as the server's user, where the data folder is: in a Pod
    /// `kubectl exec … -- /berth backup --data-dir /var/lib/berth --to -`.
    Backup(BackupArgs),
    /// Restore a data folder from a backup
    ///
    /// Objects keep their uids and resourceVersions. Earlier watches must list again.
    Restore(RestoreArgs),
    /// List the damaged records of an embedded database, and remove records by name
    ///
    /// Stop the server first. Intact records are kept, and the original file is copied. Exit code 1 if
    /// damaged records remain.
    Repair(RepairArgs),
    /// Copy a store, from the embedded database to etcd or back, without losing an object
    ///
    /// Stop all servers of both stores first. resourceVersions never decrease: if etcd's revision is lower
    /// than the source's, it is raised, or the copy is refused.
    Migrate(MigrateArgs),
    /// Run kcp's syncer for a workload cluster: copy objects down from the hub, and their status up
    Syncer(SyncerArgs),
    /// Print the rights that the syncer of a workload cluster needs, as YAML
    SyncerRights(SyncerRightsArgs),
    /// Dispatch decisions to a system with its own dispatching: Kueue's MultiKueue
    Dispatch(DispatchArgs),
    /// Print the manifests that install Berth on a hub, as YAML
    ///
    /// Pipe them to `kubectl apply --server-side -f -`, but the systems' CustomResourceDefinitions
    /// (--systems) only to `kubectl create -f -`, which does not change existing ones.
    Manifests(ManifestsArgs),
    /// Show the effects if Berth decided a system in place of its own scheduler, and how to stop that
    /// scheduler; with --yes, take over
    ///
    /// With --yes the mode of the stored SchedulerConfiguration is set, and Berth starts once the Lease of
    /// the system's own scheduler is no longer renewed, so that no request has two schedulers. Then stop that
    /// scheduler as the output shows.
    ///
    /// Exit codes: 0; 1 with --yes, if Berth does not decide before --timeout.
    Takeover(TakeoverArgs),
    /// Hand a system back to its own scheduler; with --yes, do it
    ///
    /// With --yes Berth only observes from then on, and waits for the Lease of the system's own scheduler:
    /// then start that scheduler as the output shows.
    ///
    /// Exit codes: 0; 1 with --yes, if that scheduler does not run before --timeout.
    Handback(HandbackArgs),
    /// Uninstall Berth from a hub, in an order that never leaves a namespace stuck
    ///
    /// The systems' objects and their CustomResourceDefinitions are kept.
    Uninstall(UninstallArgs),
}

/// Arguments of `berth serve`.
#[derive(Args, Clone, Debug)]
pub struct ServeArgs {
    /// The folder of certificates, kubeconfig and database; created when missing.
    #[arg(long, env = "BERTH_DATA_DIR", default_value = "berth-data")]
    pub data_dir: PathBuf,
    /// The address to listen on.
    #[arg(long, default_value = "127.0.0.1")]
    pub bind_address: IpAddr,
    /// The port to listen on; 0 chooses a free one.
    #[arg(long, default_value_t = 7443)]
    pub secure_port: u16,
    /// Further names and addresses of the serving certificate, besides localhost and the bind address.
    #[arg(long, value_delimiter = ',')]
    pub tls_san: Vec<String>,
    /// Host (and port, if it is not --secure-port) through which clients reach this server. It is part of the
    /// serving certificate and of the URLs for kcp's syncers. Behind a kube-apiserver: the host (and port, if
    /// it is not 443) of the kube-apiserver.
    #[arg(long, value_name = "HOST[:PORT]", value_parser = authority)]
    pub external_hostname: Option<Authority>,
    /// The serving certificate (PEM), in place of one of the built-in CA; reloaded when it changes.
    #[arg(long, requires = "tls_private_key_file")]
    pub tls_cert_file: Option<PathBuf>,
    /// The private key (PEM) of --tls-cert-file.
    #[arg(long, requires = "tls_cert_file")]
    pub tls_private_key_file: Option<PathBuf>,
    /// Trust in client certificates and front proxies, in addition to a hub's users.
    #[command(flatten)]
    pub trust: TrustArgs,
    /// The store of the objects.
    #[arg(long, value_enum, default_value_t = Storage::Embedded)]
    pub storage: Storage,
    /// The client URLs of etcd's members, for --storage etcd.
    #[arg(long, value_delimiter = ',', value_name = "URL")]
    pub etcd_servers: Vec<String>,
    /// kube-apiserver's EncryptionConfiguration: the resources that are encrypted at rest, and the keys
    /// (aesgcm).
    #[arg(long, value_name = "FILE")]
    pub encryption_provider_config: Option<PathBuf>,
    /// A system's own configuration file, or a whole SchedulerConfiguration; repeatable, one for each system.
    /// Standalone, it is stored at the start if the system has no stored SchedulerConfiguration; later starts
    /// only warn of a difference. Behind a kube-apiserver, it is in force while the hub has no
    /// SchedulerConfiguration of the system.
    #[arg(long)]
    pub config: Vec<PathBuf>,
    /// Whether systems are decided. `observe`: systems are not written to and no writes are refused,
    /// regardless of SchedulerConfigurations. `decide`: systems are decided unless their configuration states
    /// otherwise (`spec.mode`) [default: systems that Berth stores are decided, systems on a hub are observed
    /// until their configuration states Decide].
    #[arg(long, value_enum, value_name = "MODE")]
    pub mode: Option<ModeArg>,
    /// Time that another scheduler has for a decision, before the condition of an observed decision reports a
    /// difference (docs/beside.md; such as 30s).
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = parse_unsigned)]
    pub agreement_grace_period: Duration,
    /// The controllers to run: `*` is all, `ocm` adds those of a system, `-ocm` removes them; some have names
    /// of their own too: fleet-status, karmada-detector, kcp-placement, kcp-namespace, kcp-resource,
    /// kcp-location, kcp-heartbeat.
    #[arg(long, value_delimiter = ',', default_value = "*", allow_hyphen_values = true)]
    pub controllers: Vec<String>,
    /// Time for which events are kept after their last occurrence (such as 1h); 0s keeps them without limit.
    #[arg(long, default_value = "1h", value_parser = parse_unsigned)]
    pub event_ttl: Duration,
    /// Number of changes of each decision that are kept (docs/reference.md, "History"); 0 keeps none and
    /// deletes existing ones.
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    pub history_per_decision: usize,
    /// Time for which changes of decisions are kept (such as 168h); 0s keeps them without limit of time.
    #[arg(long, value_name = "DURATION", default_value = "168h", value_parser = parse_unsigned)]
    pub history_max_age: Duration,
    /// Answer admission reviews at /admission/mutate and /admission/validate [default: true behind a
    /// kube-apiserver, and if --admission-bind-port or --admission-client-ca-file is given].
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub admission_webhooks: Option<bool>,
    /// The port for /admission/mutate and /admission/validate; 0 serves them on the secure port.
    #[arg(long, default_value_t = 0)]
    pub admission_bind_port: u16,
    /// The CA (PEM) for client certificates of callers of the admission webhooks. If omitted, all callers
    /// that reach the port get an answer, and rejections do not name other objects (docs/security.md,
    /// "Webhooks").
    #[arg(long)]
    pub admission_client_ca_file: Option<PathBuf>,
    /// A file with the bearer token (16 characters or more) of tools that request decisions below
    /// /integrations: Argo CD's plugin generator and Flux's ExternalService. Read again for each request.
    /// With --admission-bind-port, the paths are on that port.
    #[arg(long)]
    pub integrations_token_file: Option<PathBuf>,
    /// The CA (PEM) for client certificates of tools that request decisions below /integrations, in place of
    /// a token. Without this file and --integrations-token-file, the paths are not served.
    #[arg(long)]
    pub integrations_client_ca_file: Option<PathBuf>,
    /// Groups whose members bypass the guards and may write what otherwise only Berth's controllers may
    /// write; repeatable, none by default.
    #[arg(long)]
    pub break_glass_group: Vec<String>,
    /// Actors of the systems.
    #[command(flatten)]
    pub actors: ActorArgs,
    /// Maximum number of concurrent reads; 0 is unlimited.
    #[arg(long, default_value_t = 400)]
    pub max_requests_inflight: usize,
    /// Maximum number of concurrent writes; 0 is unlimited.
    #[arg(long, default_value_t = 200)]
    pub max_mutating_requests_inflight: usize,
    /// Maximum number of bytes that all requests hold together: bodies, parsed bodies, and responses that
    /// clients have not read yet (such as 256Mi); one user may hold an eighth, all anonymous callers together
    /// a sixteenth; 0 is unlimited.
    #[arg(long, default_value = "256Mi", value_parser = bytes)]
    pub max_bytes_inflight: usize,
    /// Time for which the server keeps serving after a termination signal, with a failing /readyz (such as
    /// 15s).
    #[arg(long, default_value = "0s", value_parser = parse_unsigned)]
    pub shutdown_delay_duration: Duration,
    // Arguments with a heading come last, since clap applies a heading to all flags after it.
    /// Connection to etcd.
    #[command(flatten)]
    pub etcd: EtcdArgs,
    /// Audit settings.
    #[command(flatten)]
    pub audit: AuditArgs,
    /// Election of the server that runs the controllers.
    #[command(flatten)]
    pub leader_election: LeaderElectionArgs,
    /// The hub, if there is one.
    #[command(flatten)]
    pub hub: HubArgs,
}

/// Arguments of `berth demo`.
#[derive(Args, Clone, Debug)]
pub struct DemoArgs {
    /// The port to listen on; by default a free one.
    #[arg(long, default_value_t = 0)]
    pub secure_port: u16,
    /// The folder of certificates, kubeconfig and database; by default a temporary one.
    #[arg(long)]
    pub data_dir: Option<PathBuf>,
    /// Exit after the tour, in place of serving until Ctrl-C.
    #[arg(long)]
    pub exit: bool,
}

/// Arguments of `berth kubeconfig`.
#[derive(Args, Clone, Debug)]
pub struct KubeconfigArgs {
    /// The user's name.
    #[arg(long)]
    pub user: String,
    /// A group of the user; repeatable.
    #[arg(long)]
    pub group: Vec<String>,
    /// The data folder of the standalone server.
    #[arg(long, env = "BERTH_DATA_DIR", default_value = "berth-data")]
    pub data_dir: PathBuf,
    /// The server's URL; by default that of the admin kubeconfig.
    #[arg(long)]
    pub server: Option<String>,
    /// The output file; by default standard output.
    #[arg(short = 'o', long)]
    pub output: Option<PathBuf>,
    /// Validity of the certificate (such as 12h). The certificate cannot be revoked earlier.
    #[arg(long, default_value = "8760h", value_parser = parse_unsigned)]
    pub ttl: Duration,
    /// Issue the certificate even for a name that is reserved for Berth's own actors (berth:*), or for the
    /// garbage collector and the namespace controller, which bypass the guards.
    #[arg(long)]
    pub force: bool,
}

/// Parses a host with an optional port: `example.com`, `example.com:7443`, `[::1]:7443`.
fn authority(text: &str) -> Result<Authority, String> {
    let expected = || "a host name, with or without a port, is expected".to_owned();
    let authority: Authority = text.parse().map_err(|_| expected())?;
    let is_invalid = text.contains('@') || authority.host().is_empty();
    // The text after the last colon has to be a port, unless the colon is part of an IPv6 address in
    // brackets.
    let has_port = text
        .rsplit_once(':')
        .is_some_and(|(_, port)| !port.ends_with(']'));
    if is_invalid || has_port && authority.port_u16().is_none() {
        return Err(expected());
    }
    Ok(authority)
}

/// Parses a number of bytes in the form of a Kubernetes quantity: `256Mi`, `1G`, `1048576`.
fn bytes(text: &str) -> Result<usize, String> {
    let problem = || "a number of bytes is expected, such as 256Mi".to_owned();
    let quantity = berth_apimachinery::quantity::Quantity::parse(text).map_err(|_| problem())?;
    usize::try_from(quantity.units()).map_err(|_| problem())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn a_server_is_reached_at_a_host_name_and_perhaps_a_port() {
        for (text, host, port) in [
            ("berth.example.com", "berth.example.com", None),
            ("10.0.0.1:7443", "10.0.0.1", Some(7443)),
            ("[::1]:7443", "[::1]", Some(7443)),
            ("[::1]", "[::1]", None),
        ] {
            let read = authority(text).unwrap();
            assert_eq!((read.host(), read.port_u16()), (host, port), "{text}");
        }
        for text in ["", "https://a", "a/b", "me@a", "a:port", "a:", "a:70000", ":7443"] {
            assert!(authority(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_of_bytes_are_quantities() {
        assert_eq!(bytes("256Mi"), Ok(256 << 20));
        assert_eq!(bytes("0"), Ok(0));
        assert!(bytes("-1").is_err() && bytes("much").is_err());
    }
}
