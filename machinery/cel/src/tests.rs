//! Expressions and upstream's results.

mod budget;
mod policies;
mod random;
mod tables;
