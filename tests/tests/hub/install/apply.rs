//! Output of `berth manifests`, applied in both ways.

use berth_tests::hub::Hub;

use crate::install::installation::{Installation, ON_HUB, available, trusted};

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn everything_applies_cleanly_and_applying_again_changes_nothing() {
    let hub = Hub::start();
    let installation = Installation::new(&ON_HUB);
    let manifests = installation.manifests(&["all"]);
    let berth = installation.install(&hub, &[]);
    trusted(&hub);
    let bundle = || {
        let service = hub
            .kubectl("get apiservice v1alpha1.scheduling.berth.dev -o json")
            .json();
        service["spec"]["caBundle"]
            .as_str()
            .expect("Berth filled it in")
            .to_owned()
    };
    let before = bundle();

    let same = |how: &str| {
        let difference = hub
            .kubectl(&format!("diff {how} -f -"))
            .input(manifests.clone())
            .run();
        assert!(difference.success, "{}\n{}", difference.out, difference.err);
    };
    same("--server-side");
    // Server-side again: the caBundle is Berth's field, so there is no conflict.
    hub.kubectl("apply --server-side -f -")
        .input(manifests.clone())
        .succeeds();
    same("--server-side");
    hub.kubectl("apply -f -").input(manifests.clone()).succeeds();
    same("");
    assert_eq!(bundle(), before, "applying leaves the caBundle alone");
    trusted(&hub);
    available(&hub);

    // The definitions of systems are created, and never replace existing ones.
    let definitions = installation.manifests(&["crds", "--systems"]);
    hub.kubectl("create -f -").input(definitions.clone()).fails();
    let refused = hub.kubectl("create -f -").input(definitions).fails();
    assert!(
        refused.contains("AlreadyExists") || refused.contains("already exists"),
        "{refused}"
    );
    hub.kubectl("get crd shoots.core.gardener.cloud").succeeds();
    drop(berth);
}
