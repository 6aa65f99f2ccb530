//! Programs in Go, built from the modules in this folder once and cached: the first build takes minutes, after that Go's
//! cache answers.

use std::path::PathBuf;
use std::process::Command;

/// Builds `package`, of the module in the folder `module` below `tests`, as `target/<module>/<name>`: its path.
///
/// # Panics
/// Without Go, and when the module does not build.
#[must_use]
pub fn build(module: &str, package: &str, name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let target = test
        .ancestors()
        .nth(3)
        .expect("tests live in <target>/<profile>/deps");
    let program = target.join(module).join(name);
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(module);
    let output = Command::new("go")
        .current_dir(&folder)
        // The module is complete as it is committed: nothing may change it by building it.
        .env("GOFLAGS", "-mod=readonly")
        .args(["build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w", "-o"])
        .arg(&program)
        .arg(package)
        .output()
        .unwrap_or_else(|problem| panic!("`go` cannot be run ({problem}): install Go 1.26 or newer"));
    assert!(
        output.status.success(),
        "building {package} in tests/{module} failed:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    program
}

/// The folder of the Go module `wanted`, in the version that the module in the folder `module` below `tests` asks for.
///
/// # Panics
/// Without Go, and when it cannot be had.
#[must_use]
pub fn module(module: &str, wanted: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(module);
    let output = Command::new("go")
        .current_dir(&folder)
        .args(["mod", "download", "-json", wanted])
        .output()
        .unwrap_or_else(|problem| panic!("`go` cannot be run ({problem}): install Go 1.26 or newer"));
    assert!(
        output.status.success(),
        "downloading {wanted} for tests/{module} failed:\n{}",
        String::from_utf8_lossy(&output.stdout)
    );
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).expect("go answers with JSON");
    PathBuf::from(said["Dir"].as_str().expect("a module has a folder"))
}
