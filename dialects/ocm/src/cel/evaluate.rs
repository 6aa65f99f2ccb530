//! Running an expression on a cluster, and keeping what came out.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};

use dialect_columns::Bits;
use kube_cel::KubeCelExt;
use kube_cel::cel::extractors::This;
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{Context, ExecutionError, Value};
use scheduling::Ix;

use super::Expression;
use crate::cluster::Cluster;
use crate::fleet::Fleet;

/// The functions expressions may call: the standard ones, Kubernetes' own, and `parseJSON`.
pub(super) fn environment() -> Context<'static> {
    let mut context = Context::default().with_all();
    context.add_function(
        "parseJSON",
        |This(text): This<Arc<String>>| -> Result<Value, ExecutionError> {
            serde_json::from_str(&text)
                .map(|json| value(&json))
                .map_err(|error| ExecutionError::function_error("parseJSON", error))
        },
    );
    context.add_function("type", |This(of): This<Value>| -> Result<Value, ExecutionError> {
        Ok(Value::from(of.type_of().to_string()))
    });
    for (name, shown) in [
        ("bool", "bool"),
        ("bytes", "bytes"),
        ("double", "float"),
        ("int", "int"),
        ("list", "list"),
        ("map", "map"),
        ("null_type", "null"),
        ("string", "string"),
        ("uint", "uint"),
    ] {
        context.add_variable_from_value(name, shown);
    }
    context
}

/// JSON as CEL sees a Kubernetes object: whole numbers are `int`, others `double`.
fn value(json: &serde_json::Value) -> Value {
    use serde_json::Value as Json;
    match json {
        Json::Null => Value::Null,
        Json::Bool(flag) => Value::Bool(*flag),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Value::Int(whole),
            (None, Some(double)) => Value::Float(double),
            (None, None) => Value::Null,
        },
        Json::String(text) => Value::String(Arc::new(text.clone())),
        Json::Array(list) => Value::List(Arc::new(list.iter().map(value).collect())),
        Json::Object(fields) => {
            let fields: HashMap<Key, Value> = fields
                .iter()
                .map(|(name, field)| (Key::String(Arc::new(name.clone())), value(field)))
                .collect();
            Value::Map(Map {
                map: Arc::new(fields),
            })
        }
    }
}

/// Results by the stamp of the cluster that was judged, in two generations: what is still asked for moves to the young
/// one, what is not is forgotten when the generations change. So memory is bounded, and a cluster that comes or goes
/// costs one evaluation, not one per cluster.
#[derive(Debug, Default)]
pub(super) struct Results {
    young: HashMap<u64, bool>,
    old: HashMap<u64, bool>,
}

impl Results {
    /// The fewest results a generation holds.
    const LEAST: usize = 256;

    fn get(&mut self, stamp: u64, clusters: usize, judge: impl FnOnce() -> bool) -> bool {
        if let Some(&held) = self.young.get(&stamp) {
            return held;
        }
        let held = self.old.get(&stamp).copied().unwrap_or_else(judge);
        if self.young.len() >= clusters.max(Self::LEAST) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(stamp, held);
        held
    }
}

/// Runs expressions during one decision. The environment is made at the first result that is not known yet.
#[derive(Default)]
pub(crate) struct Evaluator {
    context: Option<Context<'static>>,
    /// The stamp of the cluster the context holds.
    stamp: u64,
}

impl Evaluator {
    /// Keeps in `matching` only the clusters of `fleet` of which `expression` is true. Errors and other values than
    /// true are no match. Two decisions that need the same results wait for each other instead of both working.
    pub(crate) fn retain(&mut self, expression: &Expression, fleet: &Fleet, matching: &mut Bits) {
        let mut results = expression.results.lock().unwrap_or_else(PoisonError::into_inner);
        let candidates: Vec<Ix> = matching.iter().collect();
        for candidate in candidates {
            let cluster = fleet.row(candidate);
            if !results.get(cluster.stamp, fleet.rows.len(), || self.run(expression, cluster)) {
                matching.set(candidate, false);
            }
        }
    }

    /// Whether `expression` is true of the cluster at `candidate`.
    pub(crate) fn holds(&mut self, expression: &Expression, fleet: &Fleet, candidate: Ix) -> bool {
        let mut one = Bits::none(fleet.count());
        one.set(candidate, true);
        self.retain(expression, fleet, &mut one);
        one.has(candidate)
    }

    fn run(&mut self, expression: &Expression, cluster: &Cluster) -> bool {
        let context = self.context.get_or_insert_with(environment);
        if self.stamp != cluster.stamp {
            context.add_variable_from_value("managedCluster", value(cluster.object.value()));
            self.stamp = cluster.stamp;
        }
        // A panic of the interpreter on odd data is an evaluation error like any other.
        let outcome = catch_unwind(AssertUnwindSafe(|| context.resolve(&expression.tree)));
        matches!(outcome, Ok(Ok(Value::Bool(true))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_kept_while_they_are_asked_for_and_forgotten_after() {
        let mut results = Results::default();
        let mut runs = 0;
        for round in 0..10u64 {
            // One of 1,000 clusters changes in each round.
            for stamp in (0..999).chain([10_000 + round]) {
                results.get(stamp, 1_000, || {
                    runs += 1;
                    true
                });
            }
        }
        assert_eq!(runs, 999 + 10);
        assert!(results.young.len() + results.old.len() <= 2_000);
    }
}
