//! Expressions and what upstream makes of them.

mod budget;
mod random;
mod tables;
