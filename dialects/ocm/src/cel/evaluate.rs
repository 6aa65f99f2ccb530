//! Running an expression on a cluster, and keeping what came out.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};

use kube_cel::KubeCelExt;
use kube_cel::cel::extractors::This;
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{Context, ExecutionError, Value};
use scheduling::Ix;

use super::Expression;
use crate::cluster::Cluster;

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

/// Runs expressions during one decision. The environment is made at the first result that is not known yet.
#[derive(Default)]
pub(crate) struct Evaluator {
    context: Option<Context<'static>>,
    /// The stamp of the cluster the context holds.
    stamp: u64,
}

impl Evaluator {
    /// Whether `expression` is true of the cluster at `candidate`. Errors and other values than true are no match.
    pub(crate) fn holds(&mut self, expression: &Expression, candidate: Ix, cluster: &Cluster) -> bool {
        let place = candidate as usize;
        {
            let results = expression.results.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(&(stamp, held)) = results.get(place)
                && stamp == cluster.stamp
            {
                return held;
            }
        }
        let held = self.run(expression, cluster);
        let mut results = expression.results.lock().unwrap_or_else(PoisonError::into_inner);
        if results.len() <= place {
            results.resize(place + 1, (0, false));
        }
        results[place] = (cluster.stamp, held);
        held
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
