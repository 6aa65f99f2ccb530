//! Arguments of the commands. Flags have the names of kubectl's flags, where it has such a flag.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Result, bail};
use berth_apimachinery::Timestamp;
use berth_apimachinery::duration::parse_unsigned;
use berth_client::{Client, FieldValidation};
use berth_console::ConsoleArgs;
use berth_dialect_contract::rules::RulesChoice;
use clap::{Args, ValueEnum, ValueHint};

/// Server to ask, and the user: as kubectl has it.
#[derive(Args, Clone, Debug, Default)]
pub struct ServerArgs {
    /// The kubeconfig; by default what KUBECONFIG names, or ~/.kube/config.
    #[arg(long, global = true, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; by default its current one.
    #[arg(long, global = true, value_name = "NAME")]
    pub context: Option<String>,
}

/// Server to ask, the user and the namespace: as kubectl has it.
#[derive(Args, Clone, Debug, Default)]
pub struct ConnectionArgs {
    /// Server to ask, and the user.
    #[command(flatten)]
    pub server: ServerArgs,
    /// The namespace; by default the context's.
    #[arg(short = 'n', long, global = true, value_name = "NAME")]
    pub namespace: Option<String>,
}

/// Source of the answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Berth's server.
    Server,
    /// The systems' objects on the hub, decided by in this process.
    Hub,
    /// The objects in a folder or file, decided by in this process.
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

/// Source of the answer.
#[derive(Args, Clone, Debug, Default)]
pub struct OriginArgs {
    /// Source of the decision: Berth's `server`; the systems' objects on the `hub`, which are read and never
    /// written, and need no Berth there; or those of a folder. By default the server where it is registered,
    /// and the hub where not.
    #[arg(long, value_name = "server|hub|FOLDER", value_hint = ValueHint::AnyPath)]
    pub from: Option<Origin>,
    /// The rules that decide, where this process does and a system's newest release contradicts the
    /// documentation that its page names; by default what its SchedulerConfiguration says.
    #[arg(long, value_name = "Auto|Documented|Current", value_parser = rules)]
    pub rules: Option<RulesChoice>,
}

impl OriginArgs {
    /// Checks the arguments of a question for a server: only a decision in this process can use
    /// `--rules`.
    ///
    /// # Errors
    /// When rules are chosen.
    pub fn ask_server(&self) -> Result<()> {
        match self.rules {
            None => Ok(()),
            Some(_) => bail!(
                "--rules: a server decides by spec.rules of its SchedulerConfigurations; --from=hub decides in this process"
            ),
        }
    }
}

/// Question for a plan, and the form of the answer.
#[derive(Args, Clone, Debug)]
pub struct PlanQuestion {
    /// Objects to create or replace, and SchedulingReviews with `spec.changes`; `-` is standard input;
    /// repeatable.
    #[arg(short = 'f', long = "filename", num_args = 1.., value_name = "PATH")]
    pub filename: Vec<PathBuf>,
    /// Show what draining this cluster would do: the name of its Target, with or without the system;
    /// repeatable.
    #[arg(long, value_name = "TARGET")]
    pub drain: Vec<String>,
    /// Show what deleting this object would do; repeatable.
    #[arg(long, value_name = "KIND/[NAMESPACE/]NAME")]
    pub delete: Vec<String>,
    /// Form of the output.
    #[arg(short = 'o', long, value_enum, default_value_t = SimulateOutput::Table)]
    pub output: SimulateOutput,
    /// Exit with 1 when anything would change.
    #[arg(long)]
    pub exit_code: bool,
    /// Source of the answers.
    #[command(flatten)]
    pub origin: OriginArgs,
}

/// Arguments of `berth plan`.
#[derive(Args, Clone, Debug)]
pub struct PlanArgs {
    /// Question to answer.
    #[command(flatten)]
    pub question: PlanQuestion,
    /// The kubeconfig of the server, or of the hub; by default the admin's of --data-dir, and where there is
    /// none, kubectl's.
    #[arg(long, env = "KUBECONFIG")]
    pub kubeconfig: Option<PathBuf>,
    /// The data folder of the standalone server.
    #[arg(long, env = "BERTH_DATA_DIR", default_value = "berth-data")]
    pub data_dir: PathBuf,
}

impl PlanArgs {
    /// Server to ask, and the user.
    #[must_use]
    pub fn connection(&self) -> ConnectionArgs {
        let own = self.data_dir.join("admin.kubeconfig");
        let kubeconfig = self.kubeconfig.clone().or(Some(own).filter(|own| own.exists()));
        ConnectionArgs {
            server: ServerArgs {
                kubeconfig,
                context: None,
            },
            namespace: None,
        }
    }
}

/// Output of `berth why`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WhyOutput {
    /// Tables for people; long ones are cut, with counts by reason.
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
    /// A decision (`web.gardener`), or the object to schedule: `shoot/web`, `shoot web`, `web`.
    #[arg(required = true, num_args = 1..=2, value_name = "DECISION|OBJECT")]
    pub object: Vec<String>,
    /// Only this cluster's reasons: its name, or that of its Target.
    #[arg(long, value_name = "CLUSTER")]
    pub cluster: Option<String>,
    /// Form of the output.
    #[arg(short = 'o', long, value_enum, default_value_t = WhyOutput::Table)]
    pub output: WhyOutput,
    /// Show every cluster in the table, however many there are.
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
    /// Lists for people: edit by edit, each with how many clusters it lets in.
    Table,
    /// All of them, with the commands that make each.
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
    /// Only about this cluster: its name, or that of its Target.
    #[arg(long, value_name = "CLUSTER")]
    pub cluster: Option<String>,
    /// Number of clusters to advise about, those nearest to fitting first; 0 is all. By default 10.
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
    /// Question to answer.
    #[command(flatten)]
    pub question: AdviceQuestion,
    /// Of whom.
    #[command(flatten)]
    pub connection: ConnectionArgs,
}

/// Arguments of `berth why`.
#[derive(Args, Clone, Debug)]
pub struct WhyArgs {
    /// Question to answer.
    #[command(flatten)]
    pub question: WhyQuestion,
    /// Of whom.
    #[command(flatten)]
    pub connection: ConnectionArgs,
}

/// Output of `berth history`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HistoryOutput {
    /// One change after the other, each with its difference.
    Table,
    /// The DecisionHistory in JSON.
    Json,
    /// The DecisionHistory in YAML.
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
    /// Number of the newest changes to show; 0 shows all. By default all of one decision, and 20 of all
    /// decisions.
    #[arg(long, value_name = "COUNT")]
    pub limit: Option<usize>,
    /// Form of the output.
    #[arg(short = 'o', long, value_enum, default_value_t = HistoryOutput::Table)]
    pub output: HistoryOutput,
}

/// Arguments of `berth history`.
#[derive(Args, Clone, Debug)]
pub struct HistoryArgs {
    /// Question to answer.
    #[command(flatten)]
    pub question: HistoryQuestion,
    /// Of whom.
    #[command(flatten)]
    pub connection: ConnectionArgs,
}

/// Objects to export.
#[derive(Args, Clone, Debug)]
pub struct ExportQuestion {
    /// The folder, created when missing. Files of an earlier export are replaced; other files stay.
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
}

/// Arguments of `berth export`.
#[derive(Args, Clone, Debug)]
pub struct ExportArgs {
    /// Question to answer.
    #[command(flatten)]
    pub question: ExportQuestion,
    /// Of whom.
    #[command(flatten)]
    pub connection: ConnectionArgs,
}

/// Files to show in the place of a server.
#[derive(Args, Clone, Debug, Default)]
pub struct FilesArgs {
    /// Show these files and folders of YAML or JSON instead of a server, each decided as `berth simulate
    /// --independent` does.
    #[arg(short = 'f', long = "filename", num_args = 1.., value_name = "PATH",
          conflicts_with_all = ["allow_writes", "kubeconfig", "context", "from"])]
    pub filename: Vec<PathBuf>,
    /// A system's own configuration file, or a SchedulerConfiguration, for -f; repeatable, one per system.
    #[arg(long, value_name = "FILE", requires = "filename")]
    pub config: Vec<PathBuf>,
    /// The instant to decide for (RFC 3339), for -f; the clock's at the start by default.
    #[arg(long, value_name = "RFC3339", requires = "filename")]
    pub at: Option<Timestamp>,
    /// Source of the answers.
    #[command(flatten)]
    pub origin: OriginArgs,
}

impl FilesArgs {
    /// The files to show; empty where a server or a hub is shown.
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
    /// The console of a server.
    #[command(flatten)]
    pub console: ConsoleArgs,
    /// Or of files.
    #[command(flatten)]
    pub files: FilesArgs,
}

/// The choice of rules with this token.
fn rules(token: &str) -> Result<RulesChoice, String> {
    let known = RulesChoice::ALL.map(RulesChoice::as_str);
    RulesChoice::named(token).ok_or_else(|| format!("must be one of {}", known.join(", ")))
}

/// Output of `berth simulate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SimulateOutput {
    /// Tables to read; long fleets are cut, with counts by reason.
    Table,
    /// A SchedulingList in JSON.
    Json,
    /// A SchedulingList in YAML.
    Yaml,
    /// Markdown, for a pull request; of plans only.
    Markdown,
}

/// Arguments of `berth simulate`.
#[derive(Args, Clone, Debug)]
pub struct SimulateArgs {
    /// Files and folders of YAML or JSON, of any mix of systems; `-` is standard input. Without it the
    /// objects of the hub that the kubeconfig names are read, and never written.
    #[arg(short = 'f', long = "filename", num_args = 1.., value_name = "PATH")]
    pub filename: Vec<PathBuf>,
    /// A system's own configuration file, or a SchedulerConfiguration; repeatable, one per system.
    #[arg(long, value_name = "FILE")]
    pub config: Vec<PathBuf>,
    /// The rules that decide, where a system's newest release contradicts the documentation that its page
    /// names; by default what its SchedulerConfiguration says.
    #[arg(long, value_name = "Auto|Documented|Current", value_parser = rules)]
    pub rules: Option<RulesChoice>,
    /// The instant to decide for (RFC 3339); the clock's by default.
    #[arg(long, value_name = "RFC3339")]
    pub at: Option<Timestamp>,
    /// The seed of random strategies; by default the one a server would use for the object.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Decide only this object.
    #[arg(long, value_name = "KIND/[NAMESPACE/]NAME")]
    pub r#for: Option<String>,
    /// Decide each object by the files alone, without the decisions made before it.
    #[arg(long)]
    pub independent: bool,
    /// Changes, if the answer is to be a plan.
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
    /// Detail of -o json and -o yaml about clusters that are not picked; by default all, and counts where
    /// there are more than 10,000 pairs of a request and a cluster.
    #[arg(long, value_enum)]
    pub reasons: Option<Reasons>,
    /// Exit with 1 when something found no place, or not all it asked for; of a plan: when anything would
    /// change.
    #[arg(long)]
    pub exit_code: bool,
    /// Decide nothing and exit with 2 when an object cannot be read, has a field that its kind has not, or is
    /// of a kind of these systems that no scheduler looks at. Without it, that is told, the rest is decided,
    /// and the exit code is 3 when an object was set aside.
    #[arg(long)]
    pub strict: bool,
}

/// Detail about clusters that are not picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Reasons {
    /// Nothing.
    None,
    /// Number of clusters that each reason refuses.
    Counts,
    /// Every reason against each cluster.
    All,
}

/// Arguments of `berth simulate`.
#[derive(Args, Clone, Debug)]
pub struct SimulateCommand {
    /// Question to answer.
    #[command(flatten)]
    pub simulate: SimulateArgs,
    /// Of which hub, where no files are given.
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
    /// Compare in these files and folders of YAML or JSON instead of on the server of the kubeconfig; `-` is
    /// standard input.
    #[arg(short = 'f', long = "filename", num_args = 1.., value_name = "PATH")]
    pub filename: Vec<PathBuf>,
    /// A system's own configuration file, or a SchedulerConfiguration; repeatable, one per system.
    #[arg(long, value_name = "FILE")]
    pub config: Vec<PathBuf>,
    /// The rules that decide, where a system's newest release contradicts the documentation that its page
    /// names; by default what its SchedulerConfiguration says.
    #[arg(long, value_name = "Auto|Documented|Current", value_parser = rules)]
    pub rules: Option<RulesChoice>,
    /// The instant to decide for (RFC 3339); the clock's by default.
    #[arg(long, value_name = "RFC3339")]
    pub at: Option<Timestamp>,
    /// Leave out the requests that are decided the same.
    #[arg(long)]
    pub only_different: bool,
    /// Time after its creation for which a request may be without what Berth would decide: the other
    /// scheduler may not have come to it yet (such as 30s).
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = parse_unsigned)]
    pub agreement_grace_period: Duration,
    /// Form of the output.
    #[arg(short = 'o', long, value_enum, default_value_t = CompareOutput::Table)]
    pub output: CompareOutput,
    /// Exit with 1 when any request would be decided differently.
    #[arg(long)]
    pub exit_code: bool,
}

/// Arguments of `berth compare`.
#[derive(Args, Clone, Debug)]
pub struct CompareArgs {
    /// Question to answer.
    #[command(flatten)]
    pub question: CompareQuestion,
    /// Of whom.
    #[command(flatten)]
    pub connection: ConnectionArgs,
}

/// Changes of a plan.
#[derive(Args, Clone, Debug, Default)]
pub struct ChangeArgs {
    /// Show what applying these files would change: objects to create or replace, and SchedulingReviews with
    /// `spec.changes`; `-` is standard input; repeatable.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["for", "independent"])]
    pub change: Vec<PathBuf>,
    /// Show what draining this cluster would do: the name of its Target, with or without the system;
    /// repeatable.
    #[arg(long, value_name = "TARGET", conflicts_with_all = ["for", "independent"])]
    pub drain: Vec<String>,
    /// Show what deleting this object would do; repeatable.
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

/// Treatment of unknown fields, as kubectl has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Validate {
    /// The object is refused.
    Strict,
    /// They are told.
    Warn,
    /// Nothing.
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
    /// The kubeconfig of the server; by default the admin's of --data-dir.
    #[arg(long, env = "KUBECONFIG")]
    pub kubeconfig: Option<PathBuf>,
    /// The data folder of the standalone server.
    #[arg(long, env = "BERTH_DATA_DIR", default_value = "berth-data")]
    pub data_dir: PathBuf,
    /// Treatment of fields that a kind has not, or that stand twice: `strict` refuses the object, `warn`
    /// tells them, as is always done of a status. With --server-side unknown fields are always refused.
    #[arg(long, value_enum, default_value_t = Validate::Strict)]
    pub validate: Validate,
    /// Use server-side apply for the objects and their status: fields that another manager owns and that
    /// differ are a conflict, and fields left out since the last apply are removed.
    #[arg(long)]
    pub server_side: bool,
    /// The field manager of the writes.
    #[arg(long, default_value = "berth-load")]
    pub field_manager: String,
    /// Time to wait for a server that is not ready or has too much to do, and says so (such as 30s); 0s
    /// does not wait.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = parse_unsigned)]
    pub timeout: Duration,
    /// Take ownership of fields that other managers own, with --server-side.
    #[arg(long, requires = "server_side")]
    pub force_conflicts: bool,
}

impl ServerArgs {
    /// Connects.
    ///
    /// # Errors
    /// When there is no kubeconfig, or it is invalid.
    pub async fn client(&self) -> Result<Client> {
        Ok(Client::as_kubectl(self.kubeconfig.as_deref(), self.context.as_deref()).await?)
    }
}

impl ConnectionArgs {
    /// Connects.
    ///
    /// # Errors
    /// When there is no kubeconfig, or it is invalid.
    pub async fn client(&self) -> Result<Client> {
        self.server.client().await
    }

    /// The requested namespace, or that of the context of `client`.
    #[must_use]
    pub fn namespace<'a>(&'a self, client: &'a Client) -> &'a str {
        self.namespace.as_deref().unwrap_or_else(|| client.namespace())
    }
}
