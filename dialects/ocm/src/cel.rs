//! CEL expressions over a cluster. Expressions are compiled once, and their results are cached per cluster.
//!
//! An expression can use the variable `managedCluster`, which is the ManagedCluster as a map
//! (docs/systems/ocm.md, "CEL"), and the functions of OCM's own selectors. The result of an expression only
//! depends on the ManagedCluster; if the expression calls `scores()`, the result also depends on the
//! cluster's AddOnPlacementScores and on their expiry. The result is cached until these inputs change. The
//! cost of expressions is counted per cluster and per decision.

mod results;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use berth_apimachinery::Timestamp;
use berth_cel::{Environment, Error, Function, Key, Map, Meter, Outcome, Program, Text, Type, Value};

use crate::scored::ClusterScores;

pub(crate) use results::{ExpressionVerdict, ObjectReadings, Results};

/// A compiled expression with its cached results.
#[derive(Debug)]
pub(crate) struct Expression {
    /// The compiled program.
    pub(crate) program: Program,
    /// Whether the expression calls `scores()`, so that the result depends on the scores of the cluster, and
    /// on time.
    pub(crate) uses_scores: bool,
    /// Cached results, by cluster.
    pub(crate) results: Mutex<Results>,
}

/// Variables and functions that expressions may use.
static ENVIRONMENT: LazyLock<Environment> = LazyLock::new(|| {
    Environment::open_cluster_management()
        .with_variable("managedCluster", Type::map(Type::String, Type::Dyn))
        .with_function(Function {
            name: "scores",
            overloads: &["dyn.(string) list(dyn)"],
            run: scores,
        })
});

/// The scores that `managedCluster.scores()` reads.
#[derive(Debug)]
pub(crate) struct ScoreReader {
    /// The name of the cluster.
    pub(crate) cluster: Arc<str>,
    /// The AddOnPlacementScores of the cluster, if there are any.
    pub(crate) objects: Option<Arc<ClusterScores>>,
    /// The instant of the decision, at which expired scores count as missing.
    pub(crate) now: Timestamp,
}

/// Implements `managedCluster.scores(<name of the AddOnPlacementScore>)`, which returns a list of names and
/// values.
fn scores<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let [Value::Map(receiver), Value::String(resource)] = args else {
        return Err(Error::failed("no such overload"));
    };
    let scored: &ScoreReader = meter
        .caller_data()
        .ok_or_else(|| Error::failed("no scores are at hand"))?;
    let ScoreReader {
        cluster,
        objects,
        now,
    } = scored;
    let name = receiver.field("metadata").and_then(|metadata| match metadata {
        Value::Map(metadata) => metadata.field("name"),
        _ => None,
    });
    if !matches!(name, Some(Value::String(name)) if *name == **cluster) {
        return Err(Error::failed("scores() can only be called on managedCluster"));
    }
    let object = objects.as_ref().and_then(|objects| objects.object(resource));
    let object = object.ok_or_else(|| {
        Error::failed(format!(
            "there is no AddOnPlacementScore {} in namespace {cluster}",
            &**resource
        ))
    })?;
    if object.until < *now {
        let since = berth_apimachinery::time::rfc3339(object.until);
        let text = format!(
            "AddOnPlacementScore {} in namespace {cluster} has expired at {since}",
            &**resource
        );
        return Err(Error::failed(text));
    }
    let object = Arc::clone(object);
    meter.charge(LIST_COST + ENTRY_COST * object.values.len())?;
    let entry = |(name, value): (&Arc<str>, &i32)| {
        let fields = [
            ("name", Value::from(&**name)),
            ("value", Value::Int(i64::from(*value))),
        ];
        let fields = fields.map(|(name, value)| (Key::String(Text::Borrowed(name)), value));
        Value::Map(Map::Values(Arc::new(fields.into_iter().collect())))
    };
    Ok(object.values.iter().map(entry).collect::<Vec<_>>().into())
}

/// Cost of the list that `scores()` returns, as in OCM.
const LIST_COST: usize = 10;
/// Cost of each entry of the list that `scores()` returns.
const ENTRY_COST: usize = 31;

/// Compiles `source`.
///
/// # Errors
/// The errors of the compiler.
pub(crate) fn compile(source: &str) -> Result<Expression, String> {
    let program = ENVIRONMENT
        .compile(source)
        .map_err(|error| format!("compilation failed: {error}"))?;
    Ok(Expression {
        uses_scores: program.calls("scores"),
        program,
        results: Mutex::default(),
    })
}

/// Cache of compiled expressions by their source. All snapshots share the cache, so that equal expressions
/// also share their results.
#[derive(Debug, Default)]
pub(crate) struct Cache(Mutex<HashMap<String, Arc<Expression>>>);

impl Cache {
    /// Highest number of expressions in the cache. A full cache is cleared; compiled policies keep their
    /// expressions.
    const CAPACITY: usize = 1024;

    /// Returns the compiled `source`.
    ///
    /// # Errors
    /// The errors of the compiler.
    pub(crate) fn get(&self, source: &str) -> Result<Arc<Expression>, String> {
        if let Some(cached) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(source) {
            return Ok(Arc::clone(cached));
        }
        let compiled = Arc::new(compile(source)?);
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if cached.len() >= Self::CAPACITY {
            cached.clear();
        }
        Ok(Arc::clone(cached.entry(source.to_owned()).or_insert(compiled)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_expressions_compile_and_invalid_ones_do_not() {
        for source in [
            "managedCluster.metadata.labels['version'] == '1.14.0'",
            "managedCluster.metadata.labels.?version.orValue('').startsWith('1.')",
            "semver(managedCluster.status.version.kubernetes.substring(1)).isGreaterThan(semver('1.30.0'))",
            "quantity(managedCluster.status.allocatable.cpu).isGreaterThan(quantity('4'))",
            "managedCluster.status.clusterClaims.exists(c, c.name == 'platform' && c.value == 'AWS')",
            "managedCluster.metadata.annotations['x'].parseJSON().name == 'a'",
            "bool(managedCluster.metadata.labels['example.com/gpu']) && dyn(1) == 1.0",
        ] {
            compile(source).unwrap_or_else(|problem| panic!("{source}: {problem}"));
        }
        for (source, part) in [
            ("", "compilation failed: ERROR: <input>:1:1: Syntax error"),
            (
                "managedCluster.spec ==",
                "compilation failed: ERROR: <input>:1:23: Syntax error",
            ),
            ("cluster.spec == 1", "undeclared reference to 'cluster'"),
            (
                "managedCluster.frobnicate()",
                "undeclared reference to 'frobnicate'",
            ),
            (
                "1 + 'a' == 2",
                "found no matching overload for '_+_' applied to '(int, string)'",
            ),
            (
                "7 == 7.0",
                "found no matching overload for '_==_' applied to '(int, double)'",
            ),
            ("math.greatest(1, 12) > 2", "undeclared reference to 'math'"),
            ("sets.contains(['a'], ['a'])", "undeclared reference to 'sets'"),
            ("lists.range(4000).size() > 0", "undeclared reference to 'lists'"),
            ("Foo{a: 1} == 1", "undeclared reference to 'Foo'"),
            (&"a".repeat(30_000), "is 30000 bytes long"),
            (&"(".repeat(1000), "recursion limit exceeded"),
            (&format!("1{}", "+1".repeat(900)), "recursion limit exceeded"),
            (
                &format!("managedCluster{}", ".a".repeat(900)),
                "recursion limit exceeded",
            ),
        ] {
            let problem = compile(source).unwrap_err();
            assert!(problem.contains(part), "{source}: {problem}");
        }
    }

    #[test]
    fn scores_are_noticed() {
        assert!(
            compile("managedCluster.scores('default').size() > 0")
                .unwrap()
                .uses_scores
        );
        assert!(!compile("managedCluster.spec.scores == 1").unwrap().uses_scores);
    }
}
