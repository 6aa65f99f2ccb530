//! The entry point of `berth`. A program that registers a further system
//! (`berth_dialect_registry::register`) calls [`main`], too; `berth/tests/sixth_system.rs` is an example.

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser};

use crate::cli::{Cli, Command, LogFormat};
use crate::look::{self, Subject};
use crate::plugin::{self, PluginCli, ProgramName};

/// Runs the command that the arguments of the process name, and returns the exit code.
#[must_use]
pub fn main() -> ExitCode {
    match plugin::program_name(std::env::args_os().next().as_deref()) {
        ProgramName::Plugin => {
            let cli = PluginCli::parse();
            let filter = quiet_filter(&cli.log_level);
            run_logged(&filter, LogFormat::Text, plugin::run(cli))
        }
        ProgramName::Completion => {
            let words = std::env::args_os().skip(1);
            run_to_end(async { Ok(plugin::complete(&PluginCli::command(), words).await) })
        }
        ProgramName::Berth => {
            let cli = Cli::parse();
            let serves = matches!(
                cli.command,
                Command::Serve(_) | Command::Demo(_) | Command::Syncer(_) | Command::Dispatch(_)
            );
            let filter = match serves {
                true => cli.log_level,
                false => quiet_filter(&cli.log_level),
            };
            run_logged(&filter, cli.logging_format, run(cli.command))
        }
    }
}

/// The log filter of a command that is not a server. Such a command reports an unreachable server by its own
/// error, so the log lines of the client are turned off.
fn quiet_filter(filter: &str) -> String {
    format!("kube_client::client::builder=off,{filter}")
}

/// Starts to write log lines, then runs `work`, and returns the exit code.
fn run_logged(
    filter: &str,
    format: LogFormat,
    work: impl Future<Output = anyhow::Result<ExitCode>>,
) -> ExitCode {
    if let Err(error) = crate::logs::begin(filter, format) {
        berth_commands::say_error!("error: {}", crate::causes::one_line(&error));
        return ExitCode::from(2);
    }
    run_to_end(work)
}

/// Runs `work`, prints its error if there is one, and returns the exit code.
fn run_to_end(work: impl Future<Output = anyhow::Result<ExitCode>>) -> ExitCode {
    let outcome = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(anyhow::Error::from)
        .and_then(|runtime| runtime.block_on(work));
    match outcome {
        Ok(code) => code,
        Err(error) => {
            berth_commands::say_error!("error: {}", crate::causes::one_line(&error));
            ExitCode::FAILURE
        }
    }
}

async fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Serve(args) => crate::serve::run(*args).await?,
        Command::Demo(args) => crate::demo::run(args).await?,
        Command::Simulate(args) => {
            return berth_commands::simulate::run_on(&args.simulate, &args.connection).await;
        }
        Command::Compare(args) => {
            return berth_commands::compare::run(&args.question, &args.connection).await;
        }
        Command::Console(args) if !args.files.paths().is_empty() => {
            return crate::folder::run(&args.files, &args.console.page).await;
        }
        Command::Console(args) => look::console(args.console, &args.files.origin).await?,
        Command::Export(args) => berth_commands::export::run(&args.question, &args.connection).await?,
        Command::Load(args) => {
            let client = args.server().client().await?;
            let mode = berth_commands::load::WriteMode::of(args.server_side, args.force_conflicts);
            let client = client.validating(args.validate.into());
            let client = client.waiting(args.timeout, berth_commands::load::print_waiting);
            let mut client = client.writing_as(args.field_manager);
            berth_commands::load::run(&mut client, &args.filename, mode, args.validate).await?;
        }
        Command::Advice(args) => return plugin::advice(&args.question, &args.connection).await,
        Command::Why(args) => return plugin::why(&args.question, &args.connection).await,
        Command::History(args) => return berth_commands::past::run(&args.question, &args.connection).await,
        Command::Completion(args) => berth_commands::terminal::print(args.shell.script()),
        Command::Complete(args) => {
            let words = args.words.into_iter().map(Into::into);
            return Ok(plugin::complete(&Cli::command(), words).await);
        }
        Command::Check(args) => return crate::check::run(&args.question, &args.server).await,
        Command::Plan(args) => {
            let connection = args.connection();
            let source = look::open(&connection, &args.question.origin, Subject::Everything);
            return berth_commands::live_plan::run(&args.question, None, source).await;
        }
        Command::Kubeconfig(args) => crate::serve::issue_kubeconfig(&args)?,
        Command::Manifests(mut args) => {
            if args.detect {
                let found = crate::check::detect_sources(&args.server).await?;
                if found.is_empty() && args.installation.source.is_empty() {
                    anyhow::bail!(
                        "--detect: the hub serves no system that can be detected; name the systems with --source"
                    );
                }
                args.installation.source.splice(..0, found);
            }
            return crate::manifests::run(&args);
        }
        Command::Backup(args) => tokio::task::spawn_blocking(move || crate::backup::take(&args)).await??,
        Command::Restore(args) => {
            tokio::task::spawn_blocking(move || crate::backup::restore(&args)).await??
        }
        Command::Repair(args) => {
            return tokio::task::spawn_blocking(move || crate::repair::run(&args)).await?;
        }
        Command::Migrate(args) => crate::migrate::run(args).await?,
        Command::Takeover(args) => return crate::takeover::take_over(&args).await,
        Command::Handback(args) => return crate::takeover::hand_back(&args).await,
        Command::Uninstall(args) => crate::uninstall::run(&args).await?,
        Command::Syncer(args) => berth_syncer::process::run(args).await?,
        Command::SyncerRights(args) => crate::manifests::print_syncer_rights(&args)?,
        Command::Dispatch(args) => berth_dispatch::run(args).await?,
    }
    Ok(ExitCode::SUCCESS)
}
