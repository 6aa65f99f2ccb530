//! `--mode`: whether systems are decided or observed.

use berth_configuration::Mode;
use clap::ValueEnum;

/// A mode on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModeArg {
    /// Look, explain and plan; write nothing, refuse nothing
    Observe,
    /// Decide, bind, and guard what is decided
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
