//! CEL expressions over a cluster: compiled once, judged before they ever run, results kept per cluster.
//!
//! An expression sees one variable, `managedCluster`, the object as a map (facts section 3). It has no clock, so its
//! result depends on the object alone and is kept until the object changes. The interpreter has no run-time budget
//! (CONTRACT.md section 6), therefore length, depth and nesting are bounded here, and what it cannot run is refused.

mod check;
mod evaluate;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use kube_cel::cel::parser::{Expression as Tree, Parser};

pub(crate) use evaluate::Evaluator;

/// The longest expression accepted, in bytes.
pub(crate) const MAX_BYTES: usize = 2048;
/// The stack expressions are compiled on, in bytes.
const COMPILE_STACK: usize = 32 << 20;
/// How deep comprehensions (`all`, `exists`, `map`, `filter`) may stand in each other.
pub(crate) const MAX_NESTING: usize = 2;

/// A compiled expression with the results it gave.
#[derive(Debug)]
pub(crate) struct Expression {
    tree: Tree,
    /// Whether it calls `scores()`, which filters may not (a non-goal of the seed).
    pub(crate) uses_scores: bool,
    /// What came out, by cluster.
    results: Mutex<evaluate::Results>,
}

/// Compiles `source`.
///
/// # Errors
/// A sentence that says what is wrong and how to write it instead.
pub(crate) fn compile(source: &str) -> Result<Expression, String> {
    if source.trim().is_empty() {
        return Err("must not be empty".to_owned());
    }
    if source.len() > MAX_BYTES {
        return Err(format!(
            "is {} bytes long, at most {MAX_BYTES} are accepted",
            source.len()
        ));
    }
    check::tokens(source)?;
    // Parser and checks recurse as deep as the source nests, before its depth can be known: they get a stack that
    // holds the worst the token check lets through. Only trees shallow enough for any stack come back.
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new()
            .name("cel-compile".to_owned())
            .stack_size(COMPILE_STACK);
        let compiled = worker
            .spawn_scoped(scope, || parse(source))
            .map_err(|error| format!("cannot be compiled now: {error}"))?;
        compiled
            .join()
            .unwrap_or_else(|_| Err("does not compile: the parser cannot read it".to_owned()))
    })
}

/// Parses and judges `source`.
fn parse(source: &str) -> Result<Expression, String> {
    // The parser is someone else's: should it panic on odd input, that is a refusal, not a crash.
    let parsed = catch_unwind(AssertUnwindSafe(|| {
        Parser::new().enable_optional_syntax(true).parse(source)
    }));
    let tree = match parsed {
        Ok(Ok(tree)) => tree,
        Ok(Err(errors)) => {
            let first = errors.errors.first().map(|error| (error.pos, error.msg.clone()));
            return Err(match first {
                Some(((line, column), text)) if line > 0 => {
                    format!("does not compile: line {line}, column {}: {text}", column + 1)
                }
                Some((_, text)) => format!("does not compile: {text}"),
                None => "does not compile".to_owned(),
            });
        }
        Err(_) => return Err("does not compile: the parser cannot read it".to_owned()),
    };
    let uses_scores = check::tree(&tree)?;
    Ok(Expression {
        tree,
        uses_scores,
        results: Mutex::default(),
    })
}

/// Compiled expressions by source, shared by every snapshot, so that equal expressions also share their results.
#[derive(Debug, Default)]
pub(crate) struct Cache(Mutex<HashMap<String, Arc<Expression>>>);

impl Cache {
    /// Expressions kept at most; beyond it the map starts anew, policies keep what they hold.
    const CAPACITY: usize = 1024;

    /// The compiled `source`.
    ///
    /// # Errors
    /// As [`compile`].
    pub(crate) fn get(&self, source: &str) -> Result<Arc<Expression>, String> {
        if let Some(known) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(source) {
            return Ok(Arc::clone(known));
        }
        let fresh = Arc::new(compile(source)?);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= Self::CAPACITY {
            known.clear();
        }
        Ok(Arc::clone(known.entry(source.to_owned()).or_insert(fresh)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_compiles_and_what_does_not() {
        let nested = "managedCluster.spec.taints.all(a, managedCluster.spec.taints.all(b, managedCluster.spec.taints.all(c, true)))";
        let fine = [
            "managedCluster.metadata.labels['version'] == '1.14.0'",
            "managedCluster.metadata.labels[?'version'].orValue('').startsWith('1.')",
            "semver(managedCluster.status.version.kubernetes.substring(1)).isGreaterThan(semver('1.30.0'))",
            "quantity(managedCluster.status.allocatable.cpu).isGreaterThan(quantity('4'))",
            "managedCluster.status.clusterClaims.exists(c, c.name == 'platform' && c.value == 'AWS')",
            "managedCluster.metadata.annotations['x'].parseJSON().name == 'a'",
            "sets.contains(['a'], ['a']) && type(1) == int",
            "managedCluster.spec.taints.all(a, managedCluster.spec.taints.all(b, true))",
        ];
        for source in fine {
            compile(source).unwrap_or_else(|problem| panic!("{source}: {problem}"));
        }
        for (source, part) in [
            ("", "must not be empty"),
            ("managedCluster.spec ==", "does not compile: line 1"),
            ("cluster.spec == 1", "undeclared reference to 'cluster'"),
            ("managedCluster.frobnicate()", "undeclared function 'frobnicate'"),
            ("Foo{a: 1} == 1", "message literals"),
            (nested, "nested 3 deep, at most 2"),
            (&"a".repeat(3000), "is 3000 bytes long, at most 2048"),
            (&"(".repeat(1000), "nested too deep"),
            (&format!("1{}", "+1".repeat(900)), "too deep"),
            (&format!("managedCluster{}", ".a".repeat(900)), "too deep"),
        ] {
            let problem = compile(source).unwrap_err();
            assert!(problem.contains(part), "{source}: {problem}");
        }
    }

    #[test]
    fn the_deepest_accepted_expressions_fit_the_stack() {
        for source in [
            format!("1{} == 251", "+1".repeat(250)),
            format!("managedCluster{} == 1", ".a".repeat(250)),
            format!("{}true{}", "(".repeat(96), ")".repeat(96)),
            format!("{}true", "!".repeat(250)),
            format!("true{}", " ? true : true".repeat(100)),
            format!("{}1{}", "[".repeat(96), "]".repeat(96)),
        ] {
            // Some are refused by the parser's own limit; none may end the process.
            if let Ok(expression) = compile(&source) {
                drop(evaluate::environment().resolve(&expression.tree));
            }
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
