//! The control plane's programs, which are built once.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::go;

/// Package of the variables behind `kubectl version` and the version metrics.
const VERSION: &str = "k8s.io/component-base/version";

/// The program of `tests/hub`, up to date.
///
/// # Panics
/// Without Go, or when the module does not build.
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
