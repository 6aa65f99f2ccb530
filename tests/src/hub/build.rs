//! The control plane's programs, built once.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

/// Where kube-apiserver keeps what `kubectl version` and metrics show.
const VERSION: &str = "k8s.io/component-base/version";

/// The program of `tests/hub`, brought up to date. The first build takes minutes; after that Go's cache answers.
///
/// # Panics
/// Without Go, and when the module does not build.
pub(super) fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("hub");
        let program = target_folder().join("hub").join("hub");
        let version = kubernetes_version(&module);
        let (major, minor) = version
            .trim_start_matches('v')
            .rsplit_once('.')
            .and_then(|(release, _)| release.split_once('.'))
            .unwrap_or_else(|| panic!("k8s.io/kubernetes has the version {version:?}"));
        let flags = format!(
            "-s -w -X {VERSION}.gitVersion={version} -X {VERSION}.gitMajor={major} -X {VERSION}.gitMinor={minor}"
        );
        let output = go(&module)
            .args(["build", "-buildvcs=false", "-trimpath", "-ldflags", &flags, "-o"])
            .arg(&program)
            .arg(".")
            .output()
            .expect("go can be run");
        assert!(
            output.status.success(),
            "building the control plane in tests/hub failed:\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
        program
    })
}

/// The version of kube-apiserver the module asks for.
fn kubernetes_version(module: &Path) -> String {
    let output = go(module)
        .args(["list", "-m", "-json", "k8s.io/kubernetes"])
        .output();
    let output = output.unwrap_or_else(|problem| {
        panic!(
            "these tests build a real kube-apiserver, and `go` cannot be run ({problem}): install Go 1.26 or newer, \
             or leave them out (they are `make e2e`)"
        )
    });
    assert!(
        output.status.success(),
        "reading tests/hub/go.mod failed:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let described: Value = serde_json::from_slice(&output.stdout).expect("go list -json writes JSON");
    described["Version"]
        .as_str()
        .expect("a module has a version")
        .to_owned()
}

fn go(module: &Path) -> Command {
    let mut go = Command::new("go");
    // The module is complete as it is committed: nothing may change it by building it.
    go.current_dir(module).env("GOFLAGS", "-mod=readonly");
    go
}

/// The target folder this test was built in.
fn target_folder() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    test.ancestors()
        .nth(3)
        .expect("tests live in <target>/<profile>/deps")
        .to_owned()
}
