//! The command line. Flags have the names of kube-apiserver's flags, where it has such a flag.

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
    /// Form of logs, on standard error.
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text)]
    pub logging_format: LogFormat,
}

/// The forms of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One readable line each.
    Text,
    /// One JSON object each.
    Json,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the systems' own API groups and Berth's, standalone, from one folder
    Serve(Box<ServeArgs>),
    /// Serve with each system's example fleet loaded, decided and explained on the terminal
    Demo(DemoArgs),
    /// Decide every placeable object of files, or of the hub, against the clusters there; nothing is written
    ///
    /// Without -f the hub that the kubeconfig names is read, which needs no Berth there.
    ///
    /// With --change, --drain, --delete or --against: what that would do to the decisions, before it is made.
    ///
    /// Exit codes: 0 when everything was decided; 1 with --exit-code, when something found no place or not
    /// all it asked for (of a plan: when anything would change); 2 when the question or a configuration is
    /// malformed, or with --strict the input; 3 when something of the input was set aside and the rest was
    /// decided. Every problem is on standard error.
    Simulate(SimulateCommand),
    /// Compare what is placed with what Berth would decide: where it differs, and why; nothing is written
    ///
    /// It reads the systems' objects on the hub that the kubeconfig names, with or without Berth there, or
    /// those of -f. What is placed counts, as it does in life: what a system keeps where it is, is the same.
    ///
    /// Exit codes: 0; 1 with --exit-code, when any request would be decided differently; 2 when a file cannot
    /// be read at all or a configuration is malformed; 3 when something of the input was set aside, which
    /// counts as Unknown where it is a request, and the rest was compared.
    Compare(CompareArgs),
    /// Open a page in the browser that shows decisions with every reason, as your kubeconfig may read them
    ///
    /// It is served on loopback by this process, and nothing is installed in the cluster. The address that is
    /// printed holds a token: keep it to yourself.
    ///
    /// With -f it shows files, and asks no server. On a hub without Berth it follows the systems' objects,
    /// decided in this process.
    #[command(visible_alias = "look")]
    Console(ConsoleCommand),
    /// Show where an object is placed, and why every other cluster was rejected
    ///
    /// On a hub without Berth it reads the system's objects and decides in this process. Also `kubectl berth
    /// why`: docs/terminal.md.
    Why(WhyArgs),
    /// Show how a decision changed: when, from and to which clusters, why, and by whom
    ///
    /// Also `kubectl berth history`. It says so where older changes are no longer kept; that is not an error.
    History(HistoryArgs),
    /// Show what to change so that an object goes to a cluster; nothing is stored
    ///
    /// The smallest sets of changes, each tried on a copy of what the server knows, with the line of kubectl
    /// that makes it. Also `kubectl berth advice`: docs/terminal.md.
    Advice(AdviceArgs),
    /// Show what a change would do to the decisions of a server or a hub; nothing is stored
    Plan(PlanArgs),
    /// Save a hub's clusters and placements as YAML, for `berth simulate -f`; reads only, Berth need not be
    /// installed
    ///
    /// All that the schedulers read and you may read, of every namespace, or with -n what the decisions of
    /// that one depend on. What was left out is on standard error, with what it changes.
    Export(ExportArgs),
    /// Check a server, or Berth's installation on a hub, and print the command that fixes each problem
    ///
    /// Exit codes: 0 when nothing is wrong; 1 when something is, or no server answers; 3 when Berth is not
    /// installed there.
    Check(CheckArgs),
    /// Print a script that completes commands, flags, namespaces, decisions and clusters in a shell
    ///
    /// `source <(berth completion bash)`, or zsh; `berth completion fish | source`.
    Completion(CompletionArgs),
    /// Propose what may come next
    #[command(name = "__complete", hide = true)]
    Complete(CompleteArgs),
    /// Write objects with their status, as `kubectl apply` cannot
    Load(LoadArgs),
    /// Issue a kubeconfig for a user of a standalone server
    Kubeconfig(KubeconfigArgs),
    /// Back up a server's embedded database and certificates, while it serves
    ///
    /// The objects are of one moment: every write that was acknowledged before, none by half. Values that are
    /// encrypted stay so. Run it as the server's user, where the data folder is: in a Pod `kubectl exec … --
    /// berth backup --to -`.
    Backup(BackupArgs),
    /// Restore a data folder from a backup
    ///
    /// Objects keep their uids and resourceVersions. Watches that were open before must list again.
    Restore(RestoreArgs),
    /// List the damaged records of an embedded database, and remove records by name
    ///
    /// Stop the server first. Intact records are kept, and so is a copy of the file as it was. Exit code 1:
    /// damaged records are left.
    Repair(RepairArgs),
    /// Copy a store, from the embedded database to etcd or back, without losing an object
    ///
    /// Stop every server on both first. resourceVersions never go back: etcd's revision is raised to the
    /// source's where it is lower, or the copy is refused.
    Migrate(MigrateArgs),
    /// Run kcp's syncer at a workload cluster: copy its objects down from the hub, and their status up
    Syncer(SyncerArgs),
    /// Print the rights that the syncer of a workload cluster needs, as YAML
    SyncerRights(SyncerRightsArgs),
    /// Hand decisions on to a system that dispatches by itself: Kueue's MultiKueue
    Dispatch(DispatchArgs),
    /// Print the manifests that install Berth on a hub, as YAML
    ///
    /// Pipe them to `kubectl apply --server-side -f -`. The systems' CustomResourceDefinitions (--systems)
    /// only to `kubectl create -f -`, which leaves existing ones alone.
    Manifests(ManifestsArgs),
    /// Show what would move if Berth decided a system in the place of its own scheduler, and how that is
    /// stopped; with --yes, do it
    ///
    /// With --yes the mode of the stored SchedulerConfiguration is set, and Berth begins once the Lease of
    /// the system's own scheduler is no longer renewed: no request has two schedulers. Stop that one then, as
    /// is printed.
    ///
    /// Exit codes: 0; 1 with --yes, when Berth does not decide by the end of --timeout.
    Takeover(TakeoverArgs),
    /// Give a system back to its own scheduler; with --yes, do it
    ///
    /// With --yes Berth observes from then on, and waits for the Lease of the system's own scheduler: start
    /// that one then, as is printed.
    ///
    /// Exit codes: 0; 1 with --yes, when that scheduler is not seen to run by the end of --timeout.
    Handback(HandbackArgs),
    /// Uninstall Berth from a hub, in the order that never leaves a namespace stuck
    ///
    /// The systems' objects and their CustomResourceDefinitions stay.
    Uninstall(UninstallArgs),
}

/// Arguments of `berth serve`.
#[derive(Args, Clone, Debug)]
pub struct ServeArgs {
    /// The folder of certificates, kubeconfig and database; made when missing.
    #[arg(long, env = "BERTH_DATA_DIR", default_value = "berth-data")]
    pub data_dir: PathBuf,
    /// The address to listen on.
    #[arg(long, default_value = "127.0.0.1")]
    pub bind_address: IpAddr,
    /// The port to listen on; 0 takes a free one.
    #[arg(long, default_value_t = 7443)]
    pub secure_port: u16,
    /// Names and addresses the serving certificate is for, beside localhost and the bind address.
    #[arg(long, value_delimiter = ',')]
    pub tls_san: Vec<String>,
    /// Host (and port, if it is not --secure-port) by which clients reach this server. It is in the serving
    /// certificate and in the URLs that kcp's syncers get. Behind a kube-apiserver: the host (and port, if it
    /// is not 443) of that one.
    #[arg(long, value_name = "HOST[:PORT]", value_parser = authority)]
    pub external_hostname: Option<Authority>,
    /// The serving certificate (PEM), instead of one of the built-in CA; reloaded when it changes.
    #[arg(long, requires = "tls_private_key_file")]
    pub tls_cert_file: Option<PathBuf>,
    /// The private key (PEM) of --tls-cert-file.
    #[arg(long, requires = "tls_cert_file")]
    pub tls_private_key_file: Option<PathBuf>,
    /// Trust in others beside a hub's users.
    #[command(flatten)]
    pub trust: TrustArgs,
    /// Place where objects are kept.
    #[arg(long, value_enum, default_value_t = Storage::Embedded)]
    pub storage: Storage,
    /// The client URLs of etcd's members, for --storage etcd.
    #[arg(long, value_delimiter = ',', value_name = "URL")]
    pub etcd_servers: Vec<String>,
    /// kube-apiserver's EncryptionConfiguration: which resources are encrypted where they are kept, and with
    /// which keys (aesgcm).
    #[arg(long, value_name = "FILE")]
    pub encryption_provider_config: Option<PathBuf>,
    /// A system's own configuration file, used while no SchedulerConfiguration of it is stored; repeatable.
    #[arg(long)]
    pub config: Vec<PathBuf>,
    /// Whether systems are decided. `observe`: nothing is written to them and nothing refused, whatever
    /// SchedulerConfigurations say. `decide`: those are decided whose configuration says nothing else
    /// (`spec.mode`) [default: systems that Berth stores are decided, those on a hub are observed until their
    /// configuration says Decide].
    #[arg(long, value_enum, value_name = "MODE")]
    pub mode: Option<ModeArg>,
    /// Time for another scheduler to do what Berth would decide, before an observed decision says that they
    /// differ (docs/beside.md; such as 30s).
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = parse_unsigned)]
    pub agreement_grace_period: Duration,
    /// The controllers to run: `*` is all, `ocm` adds those of a system, `-ocm` leaves them out; some have
    /// names of their own too: fleet-status, karmada-detector, kcp-placement, kcp-namespace, kcp-resource,
    /// kcp-location, kcp-heartbeat.
    #[arg(long, value_delimiter = ',', default_value = "*", allow_hyphen_values = true)]
    pub controllers: Vec<String>,
    /// Time for which events are kept after they were last seen (such as 1h); 0s keeps them without limit.
    #[arg(long, default_value = "1h", value_parser = parse_unsigned)]
    pub event_ttl: Duration,
    /// Number of changes of each decision that are kept (docs/reference.md, "History"); 0 keeps none and
    /// deletes existing ones.
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    pub history_per_decision: usize,
    /// Time for which changes of decisions are kept (such as 168h); 0s means without limit of time.
    #[arg(long, value_name = "DURATION", default_value = "168h", value_parser = parse_unsigned)]
    pub history_max_age: Duration,
    /// Answer admission reviews at /admission/mutate and /admission/validate [default: true behind a
    /// kube-apiserver, and where one of the next two flags is given].
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub admission_webhooks: Option<bool>,
    /// The port for /admission/mutate and /admission/validate; 0 serves them on the secure port.
    #[arg(long, default_value_t = 0)]
    pub admission_bind_port: u16,
    /// The CA (PEM) for client certificates of callers of the admission webhooks. Without it everyone who
    /// reaches the port gets an answer, and rejections do not name other objects (docs/security.md,
    /// "Webhooks").
    #[arg(long)]
    pub admission_client_ca_file: Option<PathBuf>,
    /// A file with the bearer token (16 characters or more) of tools that ask for decisions below
    /// /integrations: Argo CD's plugin generator and Flux's ExternalService. Read again at each request. With
    /// --admission-bind-port the paths are on that port.
    #[arg(long)]
    pub integrations_token_file: Option<PathBuf>,
    /// The CA (PEM) whose client certificates those tools may show instead of a token. Without either file
    /// the paths are not served.
    #[arg(long)]
    pub integrations_client_ca_file: Option<PathBuf>,
    /// Groups whose members pass the guards and may write what only Berth's controllers may write otherwise;
    /// repeatable, none by default.
    #[arg(long)]
    pub break_glass_group: Vec<String>,
    /// Actors of the systems.
    #[command(flatten)]
    pub actors: ActorArgs,
    /// Limit of reading requests that run at once; 0 is unlimited.
    #[arg(long, default_value_t = 400)]
    pub max_requests_inflight: usize,
    /// Limit of writing requests that run at once; 0 is unlimited.
    #[arg(long, default_value_t = 200)]
    pub max_mutating_requests_inflight: usize,
    /// Limit of bytes that all requests hold at once: bodies, what is parsed from them, and responses not yet
    /// read by the client (such as 256Mi); one user gets an eighth, all anonymous callers together a
    /// sixteenth; 0 is unlimited.
    #[arg(long, default_value = "256Mi", value_parser = bytes)]
    pub max_bytes_inflight: usize,
    /// Time for which to keep serving after a termination signal, with /readyz failing already (such as 15s).
    #[arg(long, default_value = "0s", value_parser = parse_unsigned)]
    pub shutdown_delay_duration: Duration,
    // Groups with a heading come last, since a heading covers all flags after it.
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
    /// The port to listen on; a free one by default.
    #[arg(long, default_value_t = 0)]
    pub secure_port: u16,
    /// The folder of certificates, kubeconfig and database; a temporary one by default.
    #[arg(long)]
    pub data_dir: Option<PathBuf>,
    /// End after the story instead of serving until Ctrl-C.
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
    /// File to write; standard output by default.
    #[arg(short = 'o', long)]
    pub output: Option<PathBuf>,
    /// Time for which the certificate is valid (such as 12h). It cannot be revoked before.
    #[arg(long, default_value = "8760h", value_parser = parse_unsigned)]
    pub ttl: Duration,
    /// Issue a name that is reserved for Berth's own actors (berth:*) or for the garbage collector and the
    /// namespace controller, who pass guards, all the same.
    #[arg(long)]
    pub force: bool,
}

/// Parses `example.com`, `example.com:7443`, `[::1]:7443`.
fn authority(text: &str) -> Result<Authority, String> {
    let expected = || "a host name, with or without a port, is expected".to_owned();
    let authority: Authority = text.parse().map_err(|_| expected())?;
    let odd = text.contains('@') || authority.host().is_empty();
    // A text after the colon that is not a number is not a port.
    let has_port = text
        .rsplit_once(':')
        .is_some_and(|(_, port)| !port.ends_with(']'));
    if odd || has_port && authority.port_u16().is_none() {
        return Err(expected());
    }
    Ok(authority)
}

/// A number of bytes as Kubernetes writes quantities: `256Mi`, `1G`, `1048576`.
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
