//! The `berth` program: see `berth --help`.

use std::process::ExitCode;

use berth::cli::{Cli, Command, LogFormat};
use berth::plugin::{self, Called, PluginCli};
use clap::Parser;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match plugin::called(std::env::args_os().next().as_deref()) {
        Called::Plugin => {
            let cli = PluginCli::parse();
            let filter = cli.log_level.clone();
            logged(&filter, LogFormat::Text, plugin::run(cli))
        }
        Called::Completion => ended(async { Ok(plugin::complete(std::env::args_os().skip(1)).await) }),
        Called::Berth => {
            let cli = Cli::parse();
            logged(&cli.log_level, cli.logging_format, run(cli.command))
        }
    }
}

/// The same with a log.
fn logged(filter: &str, format: LogFormat, work: impl Future<Output = anyhow::Result<ExitCode>>) -> ExitCode {
    if let Err(error) = berth::logs::begin(filter, format) {
        anstream::eprintln!("error: {}", berth::causes::told(&error));
        return ExitCode::from(2);
    }
    ended(work)
}

/// Runs to the end.
fn ended(work: impl Future<Output = anyhow::Result<ExitCode>>) -> ExitCode {
    let outcome = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(anyhow::Error::from)
        .and_then(|runtime| runtime.block_on(work));
    match outcome {
        Ok(code) => code,
        Err(error) => {
            anstream::eprintln!("error: {}", berth::causes::told(&error));
            ExitCode::FAILURE
        }
    }
}

async fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Serve(args) => berth::serve::run(*args).await?,
        Command::Demo(args) => berth::demo::run(args).await?,
        Command::Simulate(args) => return Ok(berth::simulate::run(&args)),
        Command::Console(args) if !args.files.filename.is_empty() => {
            return berth::folder::run(&args.files, &args.console.page).await;
        }
        Command::Console(args) => console::run(args.console, berth::readable::groups()).await?,
        Command::Export(args) => berth::export::run(&args.question, &args.connection).await?,
        Command::Load(args) => {
            let path = args
                .kubeconfig
                .unwrap_or_else(|| args.data_dir.join("admin.kubeconfig"));
            let client = berth_client::Client::from_kubeconfig(&path).await?;
            let manner = berth::load::Manner::of(args.server_side, args.force_conflicts);
            let mut client = client.writing_as(args.field_manager);
            berth::load::run(&mut client, &args.filename, manner).await?;
        }
        Command::Advice(args) => return berth::advice::run(&args.question, &args.connection).await,
        Command::Why(args) => return berth::why::run(&args.question, &args.connection).await,
        Command::History(args) => return berth::past::run(&args.question, &args.connection).await,
        Command::Check(args) => return berth::check::run(&args.question, &args.server).await,
        Command::Plan(args) => return berth::live_plan::run(&args).await,
        Command::Kubeconfig(args) => berth::serve::issue_kubeconfig(&args)?,
        Command::Manifests(args) => berth::manifests::run(&args)?,
        Command::Backup(args) => tokio::task::spawn_blocking(move || berth::backup::take(&args)).await??,
        Command::Restore(args) => {
            tokio::task::spawn_blocking(move || berth::backup::restore(&args)).await??
        }
        Command::Repair(args) => {
            return tokio::task::spawn_blocking(move || berth::repair::run(&args)).await?;
        }
        Command::Migrate(args) => berth::migrate::run(args).await?,
        Command::Uninstall(args) => berth::uninstall::run(&args).await?,
        Command::Syncer(args) => syncer::process::run(args).await?,
        Command::SyncerRights(args) => berth::manifests::print_syncer_rights(&args)?,
    }
    Ok(ExitCode::SUCCESS)
}
