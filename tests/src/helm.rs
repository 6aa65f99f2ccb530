//! Helm, which is built from the module in `tests/helm`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use crate::go;

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
    /// Without Go, or when the module does not build.
    #[must_use]
    pub fn program(self) -> &'static Path {
        static THREE: OnceLock<PathBuf> = OnceLock::new();
        static FOUR: OnceLock<PathBuf> = OnceLock::new();
        match self {
            Self::Three => THREE.get_or_init(|| go::build("helm", "helm.sh/helm/v3/cmd/helm", "helm")),
            Self::Four => FOUR.get_or_init(|| go::build("helm", "helm.sh/helm/v4/cmd/helm", "helm4")),
        }
    }

    /// Runs Helm in `namespace`.
    #[must_use]
    pub fn run(self, namespace: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(self.program());
        command.args(arguments).args(["--namespace", namespace]);
        command.output().expect("helm runs")
    }

    /// Runs Helm in `namespace`, and returns its output.
    ///
    /// # Panics
    /// With Helm's error when it fails.
    #[must_use]
    pub fn done(self, namespace: &str, arguments: &[&str]) -> String {
        let output = self.run(namespace, arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{self:?}: helm {arguments:?}: {errors}");
        String::from_utf8(output.stdout).expect("Helm prints text")
    }
}
