//! Berth that registers itself, and does not where somebody else serves.

use tests::hub::Hub;
use tests::hub::berth;

use crate::installation::{Installation, ON_HUB, available, define_systems, trusted};

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn berth_registers_itself_where_it_may_and_never_hides_others() {
    let hub = Hub::start();
    let installation = Installation::new(&ON_HUB);
    let all = installation.manifests(&["all", "--self-register"]);
    assert!(
        !all.contains("kind: APIService") && !all.contains("WebhookConfiguration\n"),
        "Berth makes them"
    );
    hub.kubectl("apply --server-side -f -").input(all).ok();
    let berth = installation.start(&hub, "berth", installation.port, &["--self-register"]);
    available(&hub);
    trusted(&hub);
    drop(berth);

    // With definitions on the hub, Berth stores no objects of those systems: it would hide what is there.
    define_systems(&hub);
    let kubeconfig = hub.kubeconfig_for_service_account(berth::NAMESPACE, "berth");
    let refused = berth::serve(
        &kubeconfig,
        &hub.folder().join("greedy"),
        &[
            "--source=ocm=hub",
            "--source=kcp=hub",
            "--source=openmcp=hub",
            "--source=fleet=hub",
        ],
    )
    .output()
    .expect("berth runs");
    let text = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success(), "{text}");
    for wanted in [
        "APIService v1beta1.core.gardener.cloud is for kube-apiserver itself (a CustomResourceDefinition)",
        "--source=gardener=hub",
    ] {
        assert!(text.contains(wanted), "{wanted:?} is not in:\n{text}");
    }
    assert!(!text.contains("open-cluster-management"), "{text}");
}
