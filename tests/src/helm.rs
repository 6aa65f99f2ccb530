//! Helm, built from the module in `tests/helm` once and cached: the first build takes minutes, after that Go's cache
//! answers.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// A major version of Helm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Helm {
    /// Helm 3, which patches from the client.
    Three,
    /// Helm 4, which applies on the server.
    Four,
}

impl Helm {
    /// The program.
    ///
    /// # Panics
    /// Without Go, and when the module does not build.
    #[must_use]
    pub fn program(self) -> &'static Path {
        static THREE: OnceLock<PathBuf> = OnceLock::new();
        static FOUR: OnceLock<PathBuf> = OnceLock::new();
        match self {
            Self::Three => THREE.get_or_init(|| build("helm", "helm.sh/helm/v3/cmd/helm")),
            Self::Four => FOUR.get_or_init(|| build("helm4", "helm.sh/helm/v4/cmd/helm")),
        }
    }

    /// Runs it in `namespace`.
    #[must_use]
    pub fn run(self, namespace: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(self.program());
        command.args(arguments).args(["--namespace", namespace]);
        command.output().expect("helm runs")
    }

    /// The same, which must succeed: what it prints.
    ///
    /// # Panics
    /// With what Helm said when it failed.
    #[must_use]
    pub fn done(self, namespace: &str, arguments: &[&str]) -> String {
        let output = self.run(namespace, arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{self:?}: helm {arguments:?}: {errors}");
        String::from_utf8(output.stdout).expect("Helm prints text")
    }
}

fn build(name: &str, package: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let target = test
        .ancestors()
        .nth(3)
        .expect("tests live in <target>/<profile>/deps");
    let program = target.join("helm").join(name);
    let output = Command::new("go")
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/helm"))
        // The module is complete as it is committed: nothing may change it by building it.
        .env("GOFLAGS", "-mod=readonly")
        .args(["build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w", "-o"])
        .arg(&program)
        .arg(package)
        .output()
        .unwrap_or_else(|problem| panic!("`go` cannot be run ({problem}): install Go 1.26 or newer"));
    assert!(
        output.status.success(),
        "building {package} in tests/helm failed:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    program
}
