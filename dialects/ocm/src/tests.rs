//! The dialect as others use it: objects folded in, decisions and writes out.

mod conditions;
mod due;
mod expressions;
mod groups;
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
