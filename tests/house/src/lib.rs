//! The source tree for the rules of the house: its files, crates and documents. The rules themselves are the
//! tests of this crate (`make rules`), which builds nothing else of the workspace. Tests of other crates
//! start programs through this crate.

mod programs;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

pub use programs::program;

/// The prefix of every library's name, also in imports.
pub const PREFIX: &str = "berth-";

/// The workspace's folder.
///
/// # Panics
/// When this crate is in no folder.
#[must_use]
pub fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .nth(2)
        .expect("tests/house stands in the workspace")
}

/// The files below `folder` whose names end in one of `endings`, sorted, without hidden and built ones.
///
/// # Panics
/// When a folder cannot be read.
#[must_use]
pub fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("folders can be read") {
            let path = entry.expect("entries can be read").path();
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or_default();
            if path.is_dir() {
                if !name.starts_with('.') && name != "target" {
                    open.push(path);
                }
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Every Rust file of the workspace.
///
/// # Panics
/// When there are hardly any.
#[must_use]
pub fn sources() -> Vec<PathBuf> {
    let found = files(root(), &[".rs"]);
    assert!(found.len() > 50, "the search went astray: {found:?}");
    found
}

/// The text of the file at `path`.
///
/// # Panics
/// When it cannot be read as text.
#[must_use]
pub fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// `path` relative to the workspace's folder, for messages.
#[must_use]
pub fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// The output of `cargo metadata` with `arguments`.
///
/// # Panics
/// When cargo fails.
#[must_use]
pub fn metadata(arguments: &[&str]) -> Value {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["metadata", "--format-version", "1"]).args(arguments);
    let output = cargo.current_dir(root()).output().expect("cargo can be run");
    assert!(
        output.status.success(),
        "cargo metadata: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("cargo metadata writes JSON")
}

/// The crates of the workspace, from `cargo metadata`.
///
/// # Panics
/// When cargo fails.
#[must_use]
pub fn packages() -> Vec<Value> {
    let metadata = metadata(&["--no-deps", "--offline"]);
    metadata["packages"]
        .as_array()
        .cloned()
        .expect("a workspace has packages")
}

/// The text of a `field` in a value of [`metadata`]; empty where there is none.
#[must_use]
pub fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}
