//! The commands that explain decisions (`berth simulate`, `compare`, `why`, `history`, `advice`, `plan`) and
//! copy objects (`export`, `load`); docs/terminal.md describes them. Each takes its arguments ([`args`]) and
//! prints. [`simulate`] and [`compare`] decide the requests in files or on a hub ([`reading`]). [`export`]
//! copies the objects of a server to files, and [`load`] writes the objects in files to a server. The others
//! get answers from a server or from such objects ([`source`]).
//!
//! ```
//! use berth_commands::{args::SimulateArgs, simulate};
//! use clap::Parser;
//!
//! #[derive(Parser)]
//! struct Program {
//!     #[command(flatten)]
//!     simulate: SimulateArgs,
//! }
//!
//! let program = Program::parse_from(["simulate", "-f", "../../examples/ocm", "--at", "2021-10-28T09:00:00Z"]);
//! // It prints which cluster each object goes to, and why.
//! let _code = simulate::run(&program.simulate, None, Vec::new());
//! ```

pub mod advice;
pub mod args;
pub mod catalog;
pub mod compare;
pub mod export;
pub mod live_plan;
pub mod load;
pub mod manifest;
pub mod past;
pub mod plan;
pub mod reading;
pub mod simulate;
pub mod source;
pub mod terminal;
pub mod why;
pub mod words;
