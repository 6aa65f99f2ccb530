//! The control plane's programs, built once.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::go;

/// Package of the variables that `kubectl version` and metrics show.
const VERSION: &str = "k8s.io/component-base/version";

/// The program of `tests/hub`, brought up to date.
///
/// # Panics
/// Without Go, and when the module does not build.
pub(super) fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let version = go::version("hub", "k8s.io/kubernetes");
        let (major, minor) = version
            .trim_start_matches('v')
            .rsplit_once('.')
            .and_then(|(release, _)| release.split_once('.'))
            .unwrap_or_else(|| panic!("k8s.io/kubernetes has the version {version:?}"));
        let flags = format!(
            "-s -w -X {VERSION}.gitVersion={version} -X {VERSION}.gitMajor={major} -X {VERSION}.gitMinor={minor}"
        );
        go::build_with("hub", ".", "hub", &["-ldflags", &flags])
    })
}
