//! `berth-sbom VERSION TIME` prints the software bill of materials of this commit's program, an SPDX document
//! (used by `deploy/release sbom`).

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, ExitCode};

use berth_sbom::{Release, document};

/// Arguments of cargo that list the linked crates of the program, with the features and the operating system
/// of a release on x86_64. Procedural macros, and crates for other operating systems and for tests, are not
/// linked.
const TREE_ARGUMENTS: [&str; 13] = [
    "tree",
    "--locked",
    "--package",
    "berth",
    "--features",
    "etcd",
    "--edges",
    "normal,no-proc-macro",
    "--target",
    "x86_64-unknown-linux-musl",
    "--prefix",
    "none",
    "--format={p}",
];
/// Arguments of cargo that print the data of all crates.
const METADATA_ARGUMENTS: [&str; 5] = ["metadata", "--locked", "--format-version", "1", "--features=etcd"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [version, time] = arguments.as_slice() else {
        eprintln!("usage: berth-sbom VERSION TIME, such as 0.1.0 2026-01-01T00:00:00Z");
        return ExitCode::from(2);
    };
    match print(version, time) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn print(version: &str, time: &str) -> Result<(), String> {
    let metadata = cargo(&METADATA_ARGUMENTS)?;
    let metadata = serde_json::from_str(&metadata).map_err(|problem| format!("cargo metadata: {problem}"))?;
    let linked: BTreeSet<String> = cargo(&TREE_ARGUMENTS)?
        .lines()
        .filter_map(name_and_version)
        .collect();
    let lock = std::fs::read_to_string("Cargo.lock")
        .map_err(|problem| format!("Cargo.lock: {problem}; run berth-sbom in the folder of the workspace"))?;
    let release = Release {
        version,
        time,
        program: "berth",
    };
    let document = document(&release, &metadata, &linked, &lock)?;
    let mut text = serde_json::to_string_pretty(&document).map_err(|problem| problem.to_string())?;
    text.push('\n');
    let written = std::io::stdout().write_all(text.as_bytes());
    written.map_err(|problem| format!("cannot write to standard output: {problem}"))
}

/// Name and version, as `berth@0.1.0`, from a line of `cargo tree`, as `berth v0.1.0 (/path)`.
fn name_and_version(line: &str) -> Option<String> {
    let mut words = line.split(' ');
    let (name, version) = (words.next()?, words.next()?);
    Some(format!("{name}@{}", version.strip_prefix('v')?))
}

/// Runs cargo with `arguments`. Returns the standard output.
fn cargo(arguments: &[&str]) -> Result<String, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo).args(arguments).output();
    let output = output.map_err(|problem| format!("cannot run cargo: {problem}"))?;
    if !output.status.success() {
        return Err(format!(
            "cargo {}: {}",
            arguments[0],
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    String::from_utf8(output.stdout).map_err(|problem| format!("cargo {}: {problem}", arguments[0]))
}
