//! Arguments of `berth check`.

use berth_commands::args::ServerArgs;
use clap::{Args, ValueEnum};

/// Output of `berth check`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CheckOutput {
    /// A table, with the command that fixes each problem.
    Table,
    /// One JSON object.
    Json,
}

/// Arguments of `berth check`.
#[derive(Args, Clone, Debug)]
pub struct CheckArgs {
    /// Arguments apart from the server.
    #[command(flatten)]
    pub question: CheckQuestion,
    /// The server and the user.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// Arguments of `berth check` and `kubectl berth check`, apart from the server.
#[derive(Args, Clone, Debug)]
pub struct CheckQuestion {
    /// Form of the output.
    #[arg(short = 'o', long, value_enum, default_value_t = CheckOutput::Table)]
    pub output: CheckOutput,
}
