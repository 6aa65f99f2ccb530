//! Common parts of the benchmarks: a client, objects to store, figures of processes, medians, tables and
//! plots.

pub mod chart;
pub mod http;
pub mod middle;
pub mod object;
pub mod run;
pub mod table;
pub mod trend;
pub mod usage;
