//! Arguments of the commands. A flag has the name of kubectl's flag for the same purpose, if there is one.

mod connections;

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Result, bail};
use berth_apimachinery::Timestamp;
use berth_apimachinery::duration::parse_unsigned;
use berth_client::FieldValidation;
use berth_console::ConsoleArgs;
use berth_dialect_contract::rules::RulesChoice;
use clap::{Args, ValueEnum, ValueHint};

/// The server and the user, as kubectl chooses them.
#[derive(Args, Clone, Debug, Default)]
pub struct ServerArgs {
    /// The kubeconfig; by default that of KUBECONFIG, or ~/.kube/config.
    #[arg(long, global = true, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; by default the current context.
    #[arg(long, global = true, value_name = "NAME")]
    pub context: Option<String>,
}

/// The server, the user and the namespace, as kubectl chooses them.
#[derive(Args, Clone, Debug, Default)]
pub struct ConnectionArgs {
    /// The server and the user.
    #[command(flatten)]
    pub server: ServerArgs,
    /// The namespace; by default the namespace of the context.
    #[arg(short = 'n', long, global = true, value_name = "NAME")]
    pub namespace: Option<String>,
}

/// Choice of the source of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Berth's server decides.
    Server,
    /// This process decides, by the systems' objects on the hub.
    Hub,
    /// This process decides, by the objects in a folder or file.
    Files(PathBuf),
}

impl FromStr for Origin {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "server" => Self::Server,
            "hub" => Self::Hub,
            path => Self::Files(path.into()),
        })
    }
}

/// Choice of the source of an answer, and of the rules of a decision in this process.
#[derive(Args, Clone, Debug, Default)]
pub struct OriginArgs {
    /// Source of the decision: Berth's `server`; this process by the objects of the `hub`, which are only
    /// read; or this process by the objects of a folder or a file. By default the server, if one is
    /// registered on the hub, and else the hub.
    #[arg(long, value_name = "server|hub|FOLDER", value_hint = ValueHint::AnyPath)]
    pub from: Option<Origin>,
    /// The rules to use where a system's newest release contradicts the documentation that the system's page
    /// in docs/systems names, if this process decides; by default those of the system's
    /// SchedulerConfiguration.
    #[arg(long, value_name = "Auto|Documented|Current", value_parser = parse_rules)]
    pub rules: Option<RulesChoice>,
}

impl OriginArgs {
    /// Checks that a server can answer with these arguments: only a decision in this process can use
    /// `--rules`.
    ///
    /// # Errors
    /// When `--rules` is given.
    pub fn check_for_server(&self) -> Result<()> {
        match self.rules {
            None => Ok(()),
            Some(_) => bail!(
                "--rules: a server decides by spec.rules of its SchedulerConfigurations: omit --rules, or decide in this process with \
                 --from=hub"
            ),
        }
    }
}

/// Question of `berth plan`: the changes, the source of the answer, and the form of the output.
#[derive(Args, Clone, Debug)]
pub struct PlanQuestion {
    /// Objects to create or replace, and SchedulingReviews with `spec.changes`; `-` is standard input;
    /// repeatable.
    #[arg(short = 'f', long = "filename", num_args = 1.., value_name = "PATH")]
    pub filename: Vec<PathBuf>,
    /// Show the effects of draining this cluster: the name of its Target, with or without the system;
    /// repeatable.
    #[arg(long, value_name = "TARGET")]
    pub drain: Vec<String>,
    /// Show the effects of deleting this object; repeatable.
    #[arg(long, value_name = "KIND/[NAMESPACE/]NAME")]
    pub delete: Vec<String>,
    /// Form of the output.
    #[arg(short = 'o', long, value_enum, default_value_t = SimulateOutput::Table)]
    pub output: SimulateOutput,
    /// Exit with 1 if anything would change.
    #[arg(long)]
    pub exit_code: bool,
    /// Source of the answers.
    #[command(flatten)]
    pub origin: OriginArgs,
}

/// Arguments of `berth plan`.
#[derive(Args, Clone, Debug)]
pub struct PlanArgs {
    /// The changes of the plan.
    #[command(flatten)]
    pub question: PlanQuestion,
    /// The kubeconfig of the server, or of the hub; by default that of KUBECONFIG, or the admin's in
    /// --data-dir, or kubectl's if there is none.
    #[arg(long)]
    pub kubeconfig: Option<PathBuf>,
    /// The data folder of the standalone server.
    #[arg(long, env = "BERTH_DATA_DIR", default_value = "berth-data")]
    pub data_dir: PathBuf,
}

/// Output of `berth why`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WhyOutput {
    /// Tables for people; long tables are cut, with counts by reason.
    Table,
    /// A table with the parts of each score.
    Wide,
    /// The Scheduling in JSON.
    Json,
    /// The Scheduling in YAML.
    Yaml,
    /// The decision's name.
    Name,
}

/// Question of `berth why`.
#[derive(Args, Clone, Debug)]
pub struct WhyQuestion {
    /// A decision (`web.gardener`), the object to schedule (`shoot/web`, `shoot web`, `web`), or a cluster
    /// (`cluster/aws-eu1`).
    #[arg(required = true, num_args = 1..=2, value_name = "DECISION|OBJECT")]
    pub object: Vec<String>,
    /// Show only the reasons of this cluster: its name, or that of its Target.
    #[arg(long, value_name = "CLUSTER")]
    pub cluster: Option<String>,
    /// Form of the output.
    #[arg(short = 'o', long, value_enum, default_value_t = WhyOutput::Table)]
    pub output: WhyOutput,
    /// Show all clusters in the table.
    #[arg(long)]
    pub all: bool,
    /// Explain the objects of this name in every namespace.
    #[arg(short = 'A', long)]
    pub all_namespaces: bool,
    /// Source of the answers.
    #[command(flatten)]
    pub origin: OriginArgs,
}

/// Output of `berth advice`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AdviceOutput {
    /// Lists for people: one row for each change, with the number of clusters that would then fit.
    Table,
    /// All changes, with the command for each.
    Wide,
    /// The SchedulingAdvice in JSON.
    Json,
    /// The SchedulingAdvice in YAML.
    Yaml,
}

/// Question of `berth advice`.
#[derive(Args, Clone, Debug)]
pub struct AdviceQuestion {
    /// A decision (`web.gardener`), or the object to schedule: `shoot/web`, `shoot web`, `web`.
    #[arg(required = true, num_args = 1..=2, value_name = "DECISION|OBJECT")]
    pub object: Vec<String>,
    /// Show only advice about this cluster: its name, or that of its Target.
    #[arg(long, value_name = "CLUSTER")]
    pub cluster: Option<String>,
    /// Number of clusters to find advice for, the nearest to fitting first; 0 is all. By default 10.
    #[arg(long, value_name = "NUMBER")]
    pub limit: Option<usize>,
    /// Form of the output.
    #[arg(short = 'o', long, value_enum, default_value_t = AdviceOutput::Table)]
    pub output: AdviceOutput,
    /// Source of the answers.
    #[command(flatten)]
    pub origin: OriginArgs,
}

/// Arguments of `berth advice`.
#[derive(Args, Clone, Debug)]
pub struct AdviceArgs {
    /// The question.
    #[command(flatten)]
    pub question: AdviceQuestion,
    /// The server.
    #[command(flatten)]
    pub connection: ConnectionArgs,
}

/// Arguments of `berth why`.
#[derive(Args, Clone, Debug)]
pub struct WhyArgs {
    /// The question.
    #[command(flatten)]
    pub question: WhyQuestion,
    /// The server.
    #[command(flatten)]
    pub connection: ConnectionArgs,
}

/// Output of `berth history`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HistoryOutput {
    /// One change after another, each with the differences of the decision.
    Table,
    /// The DecisionHistory in JSON; with -A, a List of the records.
    Json,
    /// The DecisionHistory in YAML; with -A, a List of the records.
    Yaml,
}

/// Question of `berth history`.
#[derive(Args, Clone, Debug)]
pub struct HistoryQuestion {
    /// A decision (`web.gardener`), or the object to schedule: `shoot/web`, `shoot web`, `web`.
    #[arg(required_unless_present = "all_namespaces", num_args = 1..=2, value_name = "DECISION|OBJECT")]
    pub object: Vec<String>,
    /// Show the newest changes of all decisions, newest first.
    #[arg(short = 'A', long, conflicts_with = "object")]
    pub all_namespaces: bool,
    /// Number of changes to show, the newest ones; 0 shows all. By default all changes of one decision, and
    /// 20 of all decisions.
    #[arg(long, value_name = "COUNT")]
    pub limit: Option<usize>,
    /// Form of the output.
    #[arg(short = 'o', long, value_enum, default_value_t = HistoryOutput::Table)]
    pub output: HistoryOutput,
}

/// Arguments of `berth history`.
#[derive(Args, Clone, Debug)]
pub struct HistoryArgs {
    /// The question.
    #[command(flatten)]
    pub question: HistoryQuestion,
    /// The server.
    #[command(flatten)]
    pub connection: ConnectionArgs,
}

/// Question of `berth export`: the folder to write.
#[derive(Args, Clone, Debug)]
pub struct ExportQuestion {
    /// The folder, created when missing. The file of each kind, such as seeds.core.gardener.cloud.yaml, is
    /// replaced, or deleted if there are no objects of the kind. Files of kinds that cannot be read, and all
    /// other files, are kept.
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
}

/// Arguments of `berth export`.
#[derive(Args, Clone, Debug)]
pub struct ExportArgs {
    /// The folder.
    #[command(flatten)]
    pub question: ExportQuestion,
    /// The server.
    #[command(flatten)]
    pub connection: ConnectionArgs,
}

/// Files that the console shows, in place of a server.
#[derive(Args, Clone, Debug, Default)]
pub struct FilesArgs {
    /// Show these files and folders of YAML or JSON in place of a server, each object decided as by `berth
    /// simulate --independent`.
    #[arg(short = 'f', long = "filename", num_args = 1.., value_name = "PATH",
          conflicts_with_all = ["allow_writes", "kubeconfig", "context", "from"])]
    pub filename: Vec<PathBuf>,
    /// A system's own configuration file, or a SchedulerConfiguration, for -f; repeatable, one per system.
    #[arg(long, value_name = "FILE", requires = "filename")]
    pub config: Vec<PathBuf>,
    /// The instant of the decisions (RFC 3339), for -f; by default the time of the start.
    #[arg(long, value_name = "RFC3339", requires = "filename")]
    pub at: Option<Timestamp>,
    /// Source of the answers.
    #[command(flatten)]
    pub origin: OriginArgs,
}

impl FilesArgs {
    /// The files to show; empty if a server or a hub is shown.
    #[must_use]
    pub fn paths(&self) -> Vec<PathBuf> {
        match &self.origin.from {
            Some(Origin::Files(path)) => vec![path.clone()],
            _ => self.filename.clone(),
        }
    }
}

/// Arguments of `berth console`.
#[derive(Args, Clone, Debug)]
pub struct ConsoleCommand {
    /// The server of the console.
    #[command(flatten)]
    pub console: ConsoleArgs,
    /// The files of the console, if any.
    #[command(flatten)]
    pub files: FilesArgs,
}

/// Parses the choice of rules by its token.
fn parse_rules(token: &str) -> Result<RulesChoice, String> {
    let known = RulesChoice::ALL.map(RulesChoice::as_str);
    RulesChoice::named(token).ok_or_else(|| format!("must be one of {}", known.join(", ")))
}

/// Output of `berth simulate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SimulateOutput {
    /// Tables for people; long tables are cut, with counts by reason.
    Table,
    /// A SchedulingList in JSON; for a plan, a SchedulingReview.
    Json,
    /// A SchedulingList in YAML; for a plan, a SchedulingReview.
    Yaml,
    /// Markdown, for a pull request; only for plans.
    Markdown,
}

/// Arguments of `berth simulate`.
#[derive(Args, Clone, Debug)]
pub struct SimulateArgs {
    /// Files and folders of YAML or JSON, with objects of any systems; `-` is standard input. If omitted, the
    /// objects of the kubeconfig's hub, which are only read.
    #[arg(short = 'f', long = "filename", num_args = 1.., value_name = "PATH")]
    pub filename: Vec<PathBuf>,
    /// A system's own configuration file, or a SchedulerConfiguration; repeatable, one per system.
    #[arg(long, value_name = "FILE")]
    pub config: Vec<PathBuf>,
    /// The rules to use where a system's newest release contradicts the documentation that the system's page
    /// in docs/systems names; by default those of the system's SchedulerConfiguration.
    #[arg(long, value_name = "Auto|Documented|Current", value_parser = parse_rules)]
    pub rules: Option<RulesChoice>,
    /// The instant of the decisions (RFC 3339); by default the current time.
    #[arg(long, value_name = "RFC3339")]
    pub at: Option<Timestamp>,
    /// The seed of random strategies; by default the seed that a server would use for the object.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Decide only this object.
    #[arg(long, value_name = "KIND/[NAMESPACE/]NAME")]
    pub r#for: Option<String>,
    /// Decide each object by the files alone, independent of the other decisions.
    #[arg(long)]
    pub independent: bool,
    /// Changes of the plan, if any.
    #[command(flatten)]
    pub change: ChangeArgs,
    /// Compare with these files or folders; repeatable.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["change", "drain", "delete", "for", "independent"])]
    pub against: Vec<PathBuf>,
    /// Suggest changes that would let rejected clusters fit.
    #[arg(long, conflicts_with_all = ["change", "against"])]
    pub advice: bool,
    /// Form of the output.
    #[arg(short = 'o', long, value_enum, default_value_t = SimulateOutput::Table)]
    pub output: SimulateOutput,
    /// Detail of -o json and -o yaml about clusters that are not picked; by default all, or counts for more
    /// than 10,000 pairs of a request and a cluster, unless --for names one request.
    #[arg(long, value_enum)]
    pub reasons: Option<Reasons>,
    /// Exit with 1 if an object is not placed, or only in part; for a plan: if anything would change.
    #[arg(long)]
    pub exit_code: bool,
    /// Decide nothing, and exit with 2, if an object cannot be read, has an unknown or duplicate field, or is
    /// of a kind that no scheduler reads, although the group or the name resembles a kind of a system. If
    /// omitted, such objects are reported, the rest is decided, and the exit code is 3 if an object was set
    /// aside.
    #[arg(long)]
    pub strict: bool,
}

/// Detail about clusters that are not picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Reasons {
    /// No detail.
    None,
    /// Number of refused clusters for each reason.
    Counts,
    /// All reasons for each cluster.
    All,
}

/// Arguments of `berth simulate`.
#[derive(Args, Clone, Debug)]
pub struct SimulateCommand {
    /// The objects, and the form of the output.
    #[command(flatten)]
    pub simulate: SimulateArgs,
    /// The hub, if no files are given.
    #[command(flatten)]
    pub connection: ConnectionArgs,
}

/// Output of `berth compare`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CompareOutput {
    /// The counts, and a row for each request.
    Table,
    /// A DecisionComparison in JSON.
    Json,
    /// A DecisionComparison in YAML.
    Yaml,
    /// Markdown.
    Markdown,
}

/// Question of `berth compare`.
#[derive(Args, Clone, Debug)]
pub struct CompareQuestion {
    /// Compare the objects in these files and folders of YAML or JSON, in place of those of the kubeconfig's
    /// server; `-` is standard input.
    #[arg(short = 'f', long = "filename", num_args = 1.., value_name = "PATH")]
    pub filename: Vec<PathBuf>,
    /// A system's own configuration file, or a SchedulerConfiguration; repeatable, one per system.
    #[arg(long, value_name = "FILE")]
    pub config: Vec<PathBuf>,
    /// The rules to use where a system's newest release contradicts the documentation that the system's page
    /// in docs/systems names; by default those of the system's SchedulerConfiguration.
    #[arg(long, value_name = "Auto|Documented|Current", value_parser = parse_rules)]
    pub rules: Option<RulesChoice>,
    /// The instant of the decisions (RFC 3339); by default the current time.
    #[arg(long, value_name = "RFC3339")]
    pub at: Option<Timestamp>,
    /// Omit requests with the same decision.
    #[arg(long)]
    pub only_different: bool,
    /// Time after the creation of a request, such as 30s, in which the other scheduler may not have decided
    /// it yet. During this time, a difference is reported as unknown.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = parse_unsigned)]
    pub agreement_grace_period: Duration,
    /// Form of the output.
    #[arg(short = 'o', long, value_enum, default_value_t = CompareOutput::Table)]
    pub output: CompareOutput,
    /// Exit with 1 if the decision of any request would differ.
    #[arg(long)]
    pub exit_code: bool,
}

/// Arguments of `berth compare`.
#[derive(Args, Clone, Debug)]
pub struct CompareArgs {
    /// The question.
    #[command(flatten)]
    pub question: CompareQuestion,
    /// The server.
    #[command(flatten)]
    pub connection: ConnectionArgs,
}

/// Changes of a plan.
#[derive(Args, Clone, Debug, Default)]
pub struct ChangeArgs {
    /// Show the effects of applying these files: objects to create or replace, and SchedulingReviews with
    /// `spec.changes`; `-` is standard input; repeatable.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["for", "independent"])]
    pub change: Vec<PathBuf>,
    /// Show the effects of draining this cluster: the name of its Target, with or without the system;
    /// repeatable.
    #[arg(long, value_name = "TARGET", conflicts_with_all = ["for", "independent"])]
    pub drain: Vec<String>,
    /// Show the effects of deleting this object; repeatable.
    #[arg(long, value_name = "KIND/[NAMESPACE/]NAME", conflicts_with_all = ["for", "independent"])]
    pub delete: Vec<String>,
}

impl ChangeArgs {
    /// Whether there is any change.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.change.is_empty() && self.drain.is_empty() && self.delete.is_empty()
    }
}

/// Treatment of unknown fields, by kubectl's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Validate {
    /// Refuse the object.
    Strict,
    /// Report the fields.
    Warn,
    /// Ignore the fields.
    Ignore,
}

impl From<Validate> for FieldValidation {
    fn from(validate: Validate) -> Self {
        match validate {
            Validate::Strict => Self::Strict,
            Validate::Warn => Self::Warn,
            Validate::Ignore => Self::Ignore,
        }
    }
}

/// Arguments of `berth load`.
#[derive(Args, Clone, Debug)]
pub struct LoadArgs {
    /// Files and folders of YAML or JSON.
    #[arg(short = 'f', long = "filename", required = true, num_args = 1..)]
    pub filename: Vec<PathBuf>,
    /// The kubeconfig of the server; by default that of KUBECONFIG, or the admin's in --data-dir.
    #[arg(long)]
    pub kubeconfig: Option<PathBuf>,
    /// The data folder of the standalone server.
    #[arg(long, env = "BERTH_DATA_DIR", default_value = "berth-data")]
    pub data_dir: PathBuf,
    /// Treatment of unknown and duplicate fields: `strict` refuses the object, `warn` reports the fields. In
    /// a status, such fields are always only reported. With --server-side, unknown fields are always refused.
    #[arg(long, value_enum, default_value_t = Validate::Strict)]
    pub validate: Validate,
    /// Use server-side apply for the objects and their status: fields of other managers with other values are
    /// conflicts, and fields that the files no longer contain since the last apply are removed.
    #[arg(long)]
    pub server_side: bool,
    /// The field manager of the writes.
    #[arg(long, default_value = "berth-load")]
    pub field_manager: String,
    /// Time to wait for a server that reports that it is not ready or overloaded (such as 30s); 0s does not
    /// wait.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = parse_unsigned)]
    pub timeout: Duration,
    /// Take ownership of other managers' fields, with --server-side.
    #[arg(long, requires = "server_side")]
    pub force_conflicts: bool,
}
