//! Programs in Go, which are built once from the modules in this folder: the first build takes minutes, later
//! builds use Go's cache.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

/// Builds `package` of the module in the folder `module` below `tests` as `target/<module>/<name>`, and
/// returns its path.
///
/// # Panics
/// When the module does not build.
#[must_use]
pub fn build(module: &str, package: &str, name: &str) -> PathBuf {
    build_with(module, package, name, &["-ldflags", "-s -w"])
}

/// Builds with more `flags` for `go build`.
///
/// # Panics
/// As [`build`].
#[must_use]
pub fn build_with(module: &str, package: &str, name: &str, flags: &[&str]) -> PathBuf {
    let program = crate::target().join(module).join(name);
    let output = go(module)
        .args(["build", "-buildvcs=false", "-trimpath"])
        .args(flags)
        .arg("-o")
        .arg(&program)
        .arg(package)
        .output()
        .expect("go runs");
    assert!(
        output.status.success(),
        "building {package} in tests/{module} failed:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    program
}

/// Runs the tests of the module in the folder `module` below `tests`.
///
/// # Panics
/// When a test fails.
pub fn test(module: &str) {
    let output = go(module).args(["test", "./..."]).output().expect("go runs");
    assert!(
        output.status.success(),
        "go test in tests/{module} failed:\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The folder of the Go module `wanted`, in the version that the module in the folder `module` below `tests`
/// requires.
///
/// # Panics
/// When the module cannot be downloaded.
#[must_use]
pub fn module(module: &str, wanted: &str) -> PathBuf {
    let answer = json(module, &["mod", "download", "-json", wanted]);
    PathBuf::from(answer["Dir"].as_str().expect("a module has a folder"))
}

/// The version of the Go module `wanted` that the module in the folder `module` below `tests` requires.
///
/// # Panics
/// When the module does not require it.
#[must_use]
pub fn version(module: &str, wanted: &str) -> String {
    let answer = json(module, &["list", "-m", "-json", wanted]);
    answer["Version"]
        .as_str()
        .expect("a module has a version")
        .to_owned()
}

/// The JSON output of go.
fn json(module: &str, arguments: &[&str]) -> Value {
    let output = go(module).args(arguments).output().expect("go runs");
    assert!(
        output.status.success(),
        "go {arguments:?} in tests/{module} failed:\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("go answers with JSON")
}

fn go(module: &str) -> Command {
    let mut go = berth_house::program("go");
    go.current_dir(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(module));
    // The committed module is complete: a build must not change it.
    go.env("GOFLAGS", "-mod=readonly");
    go
}
