//! Policies on writes of a kind of the tests' own.

mod costs;
mod mutating;
mod type_check;
mod validating;
mod world;
