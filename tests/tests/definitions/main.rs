//! Comparison of Berth's kinds of other projects with those projects' own CustomResourceDefinitions (for
//! Gardener, with the published schemas of its API server), from Go modules (`tests/definitions`): both must
//! accept the same objects, so that objects can move between Berth and a hub. Intended differences are in the
//! file of the system, with the reason.
//!
//! To compare another system, add its module to `tests/definitions/go.mod`, and write a file like `ocm.rs`.

mod compare;
mod fleet;
mod gardener;
mod karmada;
mod kcp;
mod ocm;
mod openmcp;

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;

use berth_apimachinery::Kind;
use serde_json::Value;

/// One definition of a system.
pub(crate) struct Definition {
    /// The Go module of the definition.
    pub(crate) module: &'static str,
    /// The file in the module.
    pub(crate) file: &'static str,
    /// The served kind, where its name differs.
    served_as: Option<&'static str>,
}

impl Definition {
    /// The definition in `file` of `module`.
    pub(crate) const fn of(module: &'static str, file: &'static str) -> Self {
        Self {
            module,
            file,
            served_as: None,
        }
    }

    /// Sets the served kind.
    pub(crate) const fn served_as(mut self, kind: &'static str) -> Self {
        self.served_as = Some(kind);
        self
    }
}

/// An intended difference.
pub(crate) struct KnownDifference {
    /// Prefix of the lines of the comparison that it covers.
    pub(crate) line: &'static str,
    /// The reason.
    pub(crate) why: &'static str,
}

/// Compares the kinds of `dialect` with `definitions`, in every version that both have.
pub(crate) fn compare(dialect: &str, definitions: &[Definition], known: &[KnownDifference]) {
    let kinds = kinds(dialect);
    let mut lines = Vec::new();
    for Definition {
        module,
        file,
        served_as,
    } in definitions
    {
        let path = berth_tests::go::module("definitions", module).join(file);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let theirs: Value = serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
        let name = theirs["spec"]["names"]["kind"]
            .as_str()
            .expect("a definition names its kind");
        let name = served_as.unwrap_or(name);
        match kinds.iter().find(|kind| kind.info().kind == name) {
            Some(kind) => lines.extend(compare::kind(&**kind, &theirs["spec"])),
            None => lines.push(format!("{name}: is not served")),
        }
    }
    judge(lines, known);
}

/// The kinds of a dialect.
pub(crate) fn kinds(dialect: &str) -> Vec<Arc<dyn Kind>> {
    let dialects = berth_dialect_registry::all();
    let dialect = dialects.iter().find(|known| known.name() == dialect);
    dialect.expect("it is registered").stored_kinds()
}

/// The end of a line about an object whose unknown fields Berth preserves, so that fields of newer releases
/// are not lost.
const KEPT: &str = ": x-kubernetes-preserve-unknown-fields: true here, null there";

/// Fails with every line that is not intended, and with intended differences that do not exist.
pub(crate) fn judge(mut lines: Vec<String>, known: &[KnownDifference]) {
    lines.retain(|line| !line.ends_with(KEPT));
    let mut used = BTreeSet::new();
    lines.retain(|line| {
        let covering = known.iter().position(|known| line.starts_with(known.line));
        used.extend(covering);
        covering.is_none()
    });
    assert!(
        lines.is_empty(),
        "{} differences that nobody meant:\n{}",
        lines.len(),
        lines.join("\n")
    );
    let unused: Vec<&str> = (0..)
        .zip(known)
        .filter(|(place, _)| !used.contains(place))
        .map(|(_, known)| known.line)
        .collect();
    assert!(unused.is_empty(), "meant, and not there any more: {unused:#?}");
    assert!(known.iter().all(|known| !known.why.is_empty()), "each says why");
}
