//! What the benchmarks share: figures of processes, middle values, tables and plots.

pub mod chart;
pub mod middle;
pub mod table;
pub mod usage;
