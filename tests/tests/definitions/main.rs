//! The kinds that Berth serves of other projects, compared with those projects' own CustomResourceDefinitions
//! (of Gardener, with the schemas that its API server publishes), which Go modules carry
//! (`tests/definitions`): what one takes the other must take, or an object stored by Berth does not go to a
//! hub, nor the other way. What differs on purpose is said in the file of the system, with the reason.
//!
//! To have another system compared: name its module in `tests/definitions/go.mod`, and write a file like
//! `ocm.rs`.

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
    /// The Go module that has it.
    pub(crate) module: &'static str,
    /// The file in it.
    pub(crate) file: &'static str,
    /// The kind that it is served as, where that is not its own name.
    served_as: Option<&'static str>,
}

impl Definition {
    /// The one in `file` of `module`.
    pub(crate) const fn of(module: &'static str, file: &'static str) -> Self {
        Self {
            module,
            file,
            served_as: None,
        }
    }

    /// Sets the name under which it is served to `kind`.
    pub(crate) const fn served_as(mut self, kind: &'static str) -> Self {
        self.served_as = Some(kind);
        self
    }
}

/// A difference that is meant.
pub(crate) struct Meant {
    /// The lines of the comparison that it covers begin so.
    pub(crate) line: &'static str,
    /// The reason.
    pub(crate) why: &'static str,
}

/// Compares the kinds of `dialect` with `definitions`, version by version. Every version that is in both is
/// compared.
pub(crate) fn compare(dialect: &str, definitions: &[Definition], meant: &[Meant]) {
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
    judge(lines, meant);
}

/// The kinds of a dialect.
pub(crate) fn kinds(dialect: &str) -> Vec<Arc<dyn Kind>> {
    let dialects = berth_dialect_registry::all();
    let dialect = dialects.iter().find(|known| known.name() == dialect);
    dialect.expect("it is registered").stored_kinds()
}

/// The end of a line about an object whose unknown fields Berth keeps, so that what newer releases write
/// survives.
const KEPT: &str = ": x-kubernetes-preserve-unknown-fields: true here, null there";

/// Fails with every line that is not meant, and with what is meant and not there.
pub(crate) fn judge(mut lines: Vec<String>, meant: &[Meant]) {
    lines.retain(|line| !line.ends_with(KEPT));
    let mut used = BTreeSet::new();
    lines.retain(|line| {
        let covering = meant.iter().position(|meant| line.starts_with(meant.line));
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
        .zip(meant)
        .filter(|(place, _)| !used.contains(place))
        .map(|(_, meant)| meant.line)
        .collect();
    assert!(unused.is_empty(), "meant, and not there any more: {unused:#?}");
    assert!(meant.iter().all(|meant| !meant.why.is_empty()), "each says why");
}
