//! Expressions and what upstream makes of them.

mod budget;
mod policies;
mod random;
mod tables;
