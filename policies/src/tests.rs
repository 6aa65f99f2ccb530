//! Policies on writes of a kind of the tests' own.

mod mutating;
mod validating;
mod world;
