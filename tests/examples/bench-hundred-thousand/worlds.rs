//! The measured worlds.

pub(crate) mod fleet;
pub(crate) mod gardener;
pub(crate) mod ocm;
pub(crate) mod openmcp;

use std::fmt::Write as _;

use serde_json::{Value, json};

/// The namespace of namespaced demands.
const NAMESPACE: &str = "bench";
/// Number of clusters, one of which is drained.
const DRAINED: usize = 20;

/// The path of an object, and a body or a merge patch, by a number.
pub(crate) type Patch = fn(usize) -> (String, Value);

/// A system with all its objects.
pub(crate) struct World {
    /// Title of the column.
    pub(crate) title: String,
    /// Sentence about the world below the table.
    pub(crate) about: &'static str,
    /// The objects as documents.
    pub(crate) file: String,
    /// Number of clusters and demands.
    pub(crate) objects: usize,
    /// Path of the measured decision.
    pub(crate) decision: String,
    /// Path and body of another demand, by a number.
    pub(crate) create: Patch,
    /// Change of an unused label of a cluster.
    pub(crate) idle: Patch,
    /// Change of a cluster's label that twenty decisions use.
    pub(crate) some: Option<Patch>,
    /// Names of the drained Targets.
    pub(crate) drained: Vec<String>,
}

/// Documents of a file.
#[derive(Default)]
struct Documents(String);

impl Documents {
    fn add(&mut self, object: &Value) {
        writeln!(self.0, "---\n{object}").expect("a String takes everything");
    }

    fn namespace(&mut self, name: &str) {
        self.add(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
    }
}

/// The path of a decision of `NAMESPACE`.
fn decision(name: &str) -> String {
    format!("/apis/scheduling.berth.dev/v1alpha1/namespaces/{NAMESPACE}/decisions/{name}")
}

fn label(key: &str, value: impl Into<Value>) -> Value {
    json!({"metadata": {"labels": {key: value.into()}}})
}

/// `12345` as `12,345`.
fn shown(count: usize) -> String {
    match count {
        0..1_000 => count.to_string(),
        _ => format!("{},{:03}", count / 1_000, count % 1_000),
    }
}
