//! The Helm chart, by Helm itself: it comes to what `berth manifests` prints, and a real kube-apiserver takes it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tests::hub::Hub;

use crate::installation::{Installation, ON_HUB};

/// Helm, built from the module in `tests/helm`. The first build takes minutes; after that Go's cache answers.
fn helm() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let test = std::env::current_exe().expect("a test knows its own path");
        let target = test
            .ancestors()
            .nth(3)
            .expect("tests live in <target>/<profile>/deps");
        let program = target.join("helm").join("helm");
        let output = Command::new("go")
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/helm"))
            .env("GOFLAGS", "-mod=readonly")
            .args(["build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w", "-o"])
            .arg(&program)
            .arg("helm.sh/helm/v3/cmd/helm")
            .output()
            .unwrap_or_else(|problem| panic!("`go` cannot be run ({problem}): install Go 1.26 or newer"));
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        program
    })
}

/// What the chart comes to in `berth-system`.
fn template(arguments: &[&str]) -> String {
    let output = Command::new(helm())
        .args([
            "template",
            "berth",
            concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/helm/berth"),
        ])
        .args([
            "--namespace",
            "berth-system",
            "--kube-version",
            "1.36.0",
            "--no-hooks",
        ])
        .args(arguments)
        .output()
        .expect("helm runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).expect("YAML is text")
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn the_chart_comes_to_what_berth_manifests_prints() {
    let hub = Hub::start();
    let installation = Installation {
        port: 443,
        sources: ON_HUB.to_vec(),
    };
    let printed = installation.manifests_as_printed(&["all"]);
    hub.kubectl("apply --server-side -f -").input(printed).ok();
    // The container's image is pulled as Kubernetes does by default, which the chart says.
    let chart = template(&[]);
    let difference = hub.kubectl("diff --server-side -f -").input(chart).run();
    assert!(difference.success, "{}\n{}", difference.out, difference.err);

    // Everything in Berth, on etcd: needs to hear where that is.
    let missing = Command::new(helm())
        .args([
            "template",
            "berth",
            concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/helm/berth"),
        ])
        .args(["--set", "mode=owned", "--kube-version", "1.36.0"])
        .output()
        .expect("helm runs");
    assert!(!missing.status.success());
    assert!(
        String::from_utf8_lossy(&missing.stderr).contains("etcd.servers is needed"),
        "it says what is missing"
    );
    let owned = template(&[
        "--set",
        "mode=owned,etcd.servers={https://etcd:2379},extraArgs={--event-ttl=2h},serviceMonitor.enabled=false",
    ]);
    assert!(
        owned.contains("--etcd-servers=https://etcd:2379") && owned.contains("\"--event-ttl=2h\""),
        "{owned}"
    );
    assert!(
        owned.contains("name: v1beta1.core.gardener.cloud") && !owned.contains("--source="),
        "{owned}"
    );
    hub.kubectl("apply --dry-run=server -f -").input(owned).ok();
}
