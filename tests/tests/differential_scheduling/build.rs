//! The originals' programs, built once.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::system::System;

/// The program of a system, brought up to date. The first build takes minutes; after that Go's cache answers.
pub(crate) fn program(system: &System) -> PathBuf {
    let module = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("peers")
        .join(system.program);
    let program = target_folder()
        .join("peers")
        .join(format!("{}-judge", system.name));
    let output = Command::new("go")
        .current_dir(&module)
        // The module is complete as it is committed: nothing may change it by building it.
        .env("GOFLAGS", "-mod=readonly")
        .args(["build", "-buildvcs=false", "-trimpath"])
        .args(system.linked)
        .arg("-o")
        .args([&program, Path::new("./judge")])
        .output()
        .unwrap_or_else(|problem| {
            panic!(
                "these tests build the originals' schedulers, and `go` cannot be run ({problem}): install Go 1.26 or \
                 newer, or leave them out (they are `make e2e`)"
            )
        });
    assert!(
        output.status.success(),
        "building {} failed:\n{}",
        module.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    program
}

/// The target folder this test was built in.
fn target_folder() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    test.ancestors()
        .nth(3)
        .expect("tests live in <target>/<profile>/deps")
        .to_owned()
}
