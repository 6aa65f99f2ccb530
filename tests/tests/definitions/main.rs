//! The kinds that Berth serves of other projects, compared with those projects' own CustomResourceDefinitions, which Go
//! modules carry (`tests/definitions`): what one takes the other must take, or an object stored by Berth does not go to a
//! hub, nor the other way. What differs on purpose is said in the file of the system, with the reason.
//!
//! To have another system compared: name its module in `tests/definitions/go.mod`, and write a file like `ocm.rs`.

mod compare;
mod fleet;
mod ocm;

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

/// One definition of a system.
pub(crate) struct Definition {
    /// The Go module that has it.
    pub(crate) module: &'static str,
    /// The file in it.
    pub(crate) file: &'static str,
}

/// A difference that is meant.
pub(crate) struct Meant {
    /// The lines of the comparison that it covers begin so.
    pub(crate) line: &'static str,
    /// The reason.
    pub(crate) why: &'static str,
}

/// Compares the kinds of `dialect` with `definitions`, version by version. Every version that is in both is compared.
pub(crate) fn compare(dialect: &str, definitions: &[Definition], meant: &[Meant]) {
    let dialects = dialect_registry::all();
    let dialect = dialects
        .iter()
        .find(|known| known.name() == dialect)
        .expect("it is registered");
    let kinds = dialect.kinds();
    let mut lines = Vec::new();
    for Definition { module, file } in definitions {
        let path = tests::go::module("definitions", module).join(file);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let theirs: Value = serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
        let name = theirs["spec"]["names"]["kind"]
            .as_str()
            .expect("a definition names its kind");
        match kinds.iter().find(|kind| kind.info().kind == name) {
            Some(kind) => lines.extend(compare::kind(&**kind, &theirs["spec"])),
            None => lines.push(format!("{name}: is not served")),
        }
    }
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
