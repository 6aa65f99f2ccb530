//! The kinds: schemas, rules, columns.
