//! The reference sequences, the rows of `rows.json`: writes by several managers, each with its outcome on
//! kube-apiserver 1.36, for tests of an API server. The module needs the feature `reference`; its functions
//! panic when a row is malformed or its outcome differs.
//!
//! A runner is a test that plays the rows: `crate` on this crate's functions, `server` on an API server with
//! the requests of [`request`], and `reference` on kube-apiserver's own field manager.
//!
//! A step has the manager under its action (`A` applies, `A!` by force, `MP` merge-patches, `PUT`, `POST`,
//! `SEED` stores an object without owners), through the subresource `to`, in `version`, with `spec`,
//! `status`, `metadata` and `managedFields`, perhaps as a `dryRun`. The outcome is in further fields: `409`
//! is the expected conflict, `noop` whether object and owners stay unchanged, `is` the spec (with 1 for
//! `replicas` unless it is named), `st` the status, `meta` some of the metadata, and `owns` all owners, their
//! paths without `.spec.` and with `'` for `"`. `order`, `untimed` and `times` describe the entries of
//! `managedFields`, and `annotated` whether the last-applied annotation has the `spec`. For runners with a
//! server, `code` is the status code, `answers` has fields of the answer's spec, and `generation` is `same`
//! if the generation stays.
//!
//! `admission` has the fields that admission sets in the resulting object. `where` names the runners of a row
//! that not every runner supports, and `note` explains an intended difference from kube-apiserver: this crate
//! itself has no dry run, no validation and no last-applied annotation.

pub mod expected;
pub mod request;

use serde_json::Value;

/// Returns the schema of Widget, the kind of the rows.
#[must_use]
pub fn schema() -> Value {
    serde_json::from_str(include_str!("reference/widget.json")).expect("the schema is JSON")
}

/// Returns the rows that `runner` (`crate`, `server` or `reference`) plays.
#[must_use]
pub fn rows(runner: &str) -> Vec<Value> {
    let rows: Vec<Value> =
        serde_json::from_str(include_str!("reference/rows.json")).expect("the rows are JSON");
    rows.into_iter().filter(|row| is_for(row, runner)).collect()
}

/// Whether `runner` plays `row`.
#[must_use]
pub fn is_for(row: &Value, runner: &str) -> bool {
    let runners = row["where"].as_array();
    runners.is_none_or(|runners| runners.iter().any(|name| name == runner))
}
