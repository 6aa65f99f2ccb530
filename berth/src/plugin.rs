//! Berth as a plugin of kubectl (docs/terminal.md): under the name `kubectl-berth`, the program is
//! `kubectl berth`; under the name `kubectl_complete-berth`, it completes command lines of `kubectl berth`.

mod complete;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use berth_commands::args::{
    AdviceQuestion, CompareQuestion, ConnectionArgs, ExportQuestion, FilesArgs, HistoryQuestion, Origin,
    PlanQuestion, SimulateArgs, WhyQuestion,
};
use berth_console::{ConsoleArgs, PageArgs};
use clap::{Parser, Subcommand};

use crate::check::CheckQuestion;
use crate::look::{self, Subject};

/// Name under which the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramName {
    /// `berth`.
    Berth,
    /// `kubectl-berth`, which kubectl runs for `kubectl berth`.
    Plugin,
    /// `kubectl_complete-berth`, which kubectl runs for completions.
    Completion,
}

/// The name of the program whose path is `program`.
#[must_use]
pub fn program_name(program: Option<&OsStr>) -> ProgramName {
    let name = program.and_then(|program| Path::new(program).file_name());
    let name = name.and_then(OsStr::to_str).unwrap_or_default();
    match name.strip_suffix(".exe").unwrap_or(name) {
        "kubectl-berth" => ProgramName::Plugin,
        "kubectl_complete-berth" => ProgramName::Completion,
        _ => ProgramName::Berth,
    }
}

/// Which cluster does this go to, and why?
#[derive(Debug, Parser)]
#[command(
    name = "kubectl-berth",
    bin_name = "kubectl berth",
    version,
    max_term_width = 100
)]
pub struct PluginCli {
    /// The command.
    #[command(subcommand)]
    pub command: PluginCommand,
    /// The server, the user and the namespace.
    #[command(flatten)]
    pub connection: ConnectionArgs,
    /// Log level, as for `berth`.
    #[arg(long, global = true, env = "BERTH_LOG", default_value = "warn", hide = true)]
    pub log_level: String,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum PluginCommand {
    /// Show where an object is placed, and why every other cluster was rejected
    Why(WhyQuestion),
    /// Show the changes of a decision: their times, clusters, reasons and authors
    History(HistoryQuestion),
    /// Show the changes after which an object goes to a cluster; nothing is stored
    Advice(AdviceQuestion),
    /// Show the effects of a change on the decisions; nothing is stored
    ///
    /// Objects without a namespace are in the namespace of -n, or of the context.
    Plan(PlanQuestion),
    /// Open a page in the browser with the decisions and their reasons, as your kubeconfig may read them
    ///
    /// This process serves the page on loopback; nothing is installed in the cluster. The printed address
    /// contains a token: keep it secret.
    ///
    /// With -f, the page shows files, and no server is contacted. On a hub without Berth, this process reads
    /// the systems' objects and decides.
    #[command(visible_alias = "look")]
    Console {
        /// Settings of the page.
        #[command(flatten)]
        page: PageArgs,
        /// Files to show, in place of a server.
        #[command(flatten)]
        files: FilesArgs,
    },
    /// Check Berth, and print the command that fixes each problem; exit code 1 if there are problems,
    /// otherwise 3 if Berth is not installed
    Check(CheckQuestion),
    /// Save the objects that the schedulers read as YAML, for `simulate -f`; of all namespaces, or with -n
    /// those on which the decisions of that namespace depend
    Export(ExportQuestion),
    /// Decide all placeable objects of files, or of the hub, for the clusters there; nothing is written
    Simulate(SimulateArgs),
    /// Compare the current placements with Berth's decisions: the differences and their reasons; nothing is
    /// written
    Compare(CompareQuestion),
}

/// Runs the command of `kubectl berth`.
///
/// # Errors
/// When the command fails.
pub async fn run(cli: PluginCli) -> Result<ExitCode> {
    let connection = cli.connection;
    match cli.command {
        PluginCommand::Why(question) => why(&question, &connection).await,
        PluginCommand::History(question) => berth_commands::past::run(&question, &connection).await,
        PluginCommand::Advice(question) => advice(&question, &connection).await,
        PluginCommand::Plan(question) => {
            let namespace = match (&connection.namespace, &question.origin.from) {
                (Some(namespace), _) => Some(namespace.clone()),
                (None, Some(Origin::Files(_))) => None,
                (None, _) => Some(connection.client().await?.namespace().to_owned()),
            };
            let source = look::open(&connection, &question.origin, Subject::Everything);
            berth_commands::live_plan::run(&question, namespace.as_deref(), source).await
        }
        PluginCommand::Compare(question) => berth_commands::compare::run(&question, &connection).await,
        PluginCommand::Check(question) => crate::check::run(&question, &connection.server).await,
        PluginCommand::Export(question) => {
            berth_commands::export::run(&question, &connection).await?;
            Ok(ExitCode::SUCCESS)
        }
        PluginCommand::Simulate(args) => berth_commands::simulate::run_on(&args, &connection).await,
        PluginCommand::Console { page, files } if !files.paths().is_empty() => {
            crate::folder::run(&files, &page).await
        }
        PluginCommand::Console { page, files } => {
            let args = ConsoleArgs {
                page,
                kubeconfig: connection.server.kubeconfig,
                context: connection.server.context,
            };
            look::console(args, &files.origin).await?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Runs `berth why` and `kubectl berth why`.
pub(crate) async fn why(question: &WhyQuestion, connection: &ConnectionArgs) -> Result<ExitCode> {
    let subject = match question.all_namespaces {
        true => Subject::Everything,
        false => Subject::Decision(&question.object),
    };
    let source = look::open(connection, &question.origin, subject).await?;
    berth_commands::why::run(question, &source).await
}

/// Runs `berth advice` and `kubectl berth advice`.
pub(crate) async fn advice(question: &AdviceQuestion, connection: &ConnectionArgs) -> Result<ExitCode> {
    let source = look::open(connection, &question.origin, Subject::Decision(&question.object)).await?;
    berth_commands::advice::run(question, &source).await
}

/// Prints the proposals for the last of `words`, which the user is typing after the command `root`, in the
/// form that kubectl expects.
pub async fn complete(root: &clap::Command, words: impl Iterator<Item = OsString>) -> ExitCode {
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let proposals = complete::proposals(root, &words).await;
    berth_commands::terminal::say(&proposals.to_string());
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        <PluginCli as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn the_name_says_what_the_program_is() {
        for (name, is) in [
            ("berth", ProgramName::Berth),
            ("/usr/bin/kubectl-berth", ProgramName::Plugin),
            ("kubectl-berth.exe", ProgramName::Plugin),
            ("kubectl_complete-berth", ProgramName::Completion),
            ("/kubectl-berth/berth", ProgramName::Berth),
        ] {
            assert_eq!(program_name(Some(OsStr::new(name))), is, "{name}");
        }
        assert_eq!(program_name(None), ProgramName::Berth);
    }

    #[test]
    fn flags_of_the_connection_stand_anywhere() {
        for words in [
            ["kubectl-berth", "-n", "a", "--context=c", "why", "x"],
            ["kubectl-berth", "why", "x", "-n", "a", "--context=c"],
        ] {
            let cli = PluginCli::try_parse_from(words).unwrap();
            assert_eq!(cli.connection.namespace.as_deref(), Some("a"), "{words:?}");
            assert_eq!(cli.connection.server.context.as_deref(), Some("c"), "{words:?}");
        }
    }
}
