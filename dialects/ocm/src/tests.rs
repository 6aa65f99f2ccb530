//! Tests of the dialect through its contract: objects are folded in, and decisions and writes are checked.

mod conditions;
mod due;
mod expressions;
mod groups;
mod kept;
mod kinds;
mod moves;
mod notes;
mod parts;
mod predicates;
mod reports;
mod reserved;
mod scores;
mod stories;
mod world;
