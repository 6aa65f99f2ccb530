//! `--mode`: whether systems are decided or observed.

use berth_configuration::Mode;
use clap::ValueEnum;

/// A mode on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModeArg {
    /// Observe, explain and plan; write and refuse nothing
    Observe,
    /// Decide, bind, and guard the decisions
    Decide,
}

impl From<ModeArg> for Mode {
    fn from(argument: ModeArg) -> Self {
        match argument {
            ModeArg::Observe => Self::Observe,
            ModeArg::Decide => Self::Decide,
        }
    }
}
