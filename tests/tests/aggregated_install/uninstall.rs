//! `berth uninstall`, whatever state Berth is in.

use std::path::Path;
use std::process::{Command, Output};

use tests::eventually;
use tests::hub::Hub;

use crate::installation::{Installation, ON_HUB};

fn uninstall(hub: &Hub, arguments: &[&str]) -> (Output, String) {
    uninstall_as(&hub.admin(), arguments)
}

fn uninstall_as(kubeconfig: &Path, arguments: &[&str]) -> (Output, String) {
    let output = Command::new(tests::berth())
        .arg("uninstall")
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(arguments)
        .output()
        .expect("berth runs");
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    (output, text)
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn uninstalling_leaves_nothing_behind_and_no_namespace_stuck() {
    let mut hub = Hub::start();
    hub.start_controllers();
    let installation = Installation::new(&ON_HUB);
    let mut berth = installation.install(&hub, &[]);
    let (output, text) = uninstall(&hub, &["--dry-run", "--delete-namespace"]);
    assert!(output.status.success(), "{text}");
    assert!(
        text.contains("would delete APIService v1alpha1.scheduling.berth.dev"),
        "{text}"
    );
    assert!(!text.contains("\ndeleted"), "{text}");
    hub.kubectl("get apiservice v1alpha1.scheduling.berth.dev").ok();
    hub.kubectl("get deployment berth -n berth-system").ok();

    // Whoever may not, hears what.
    let nobody = hub.kubeconfig_for("nobody", &[]);
    let (output, text) = uninstall_as(&nobody, &[]);
    assert!(
        !output.status.success() && text.contains("berth:self-registration"),
        "{text}"
    );

    // The worst case: Berth is away, and a namespace waits for it.
    berth.kill();
    hub.kubectl("create namespace waiting").ok();
    hub.kubectl("delete namespace waiting --wait=false").ok();
    let (output, text) = uninstall(&hub, &["--delete-namespace", "--delete-configurations"]);
    assert!(output.status.success(), "{text}");
    let place = |what: &str| {
        text.find(what)
            .unwrap_or_else(|| panic!("{what:?} is not in:\n{text}"))
    };
    assert!(place("ValidatingWebhookConfiguration berth") < place("APIService v1alpha1"));
    assert!(place("APIService v1alpha1") < place("Deployment berth-system/berth"));
    assert!(place("Deployment berth-system/berth") < place("ClusterRoleBinding berth:server"));
    assert!(place("ClusterRoleBinding berth:server") < place("Namespace berth-system"));

    eventually("both namespaces to be gone", || {
        let left = hub.kubectl("get namespaces -o name").ok();
        (!left.contains("waiting") && !left.contains("berth-system")).then_some(())
    });
    let left = hub
        .kubectl("get clusterroles,clusterrolebindings,apiservices,mutatingwebhookconfigurations,validatingwebhookconfigurations,crds -o name")
        .ok();
    let ours: Vec<&str> = left.lines().filter(|line| line.contains("berth")).collect();
    assert!(ours.is_empty(), "{ours:?}");
    let left = hub.kubectl("get roles,rolebindings -A -o name").ok();
    assert!(!left.contains("berth"), "{left}");
    let (output, text) = uninstall(&hub, &["--delete-namespace", "--delete-configurations"]);
    assert!(
        output.status.success() && text.is_empty(),
        "a second time there is nothing to do: {text}"
    );
}
