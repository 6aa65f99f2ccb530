//! Berth's own registration, which does not replace another server's.

use berth_tests::eventually;
use berth_tests::hub::Hub;
use berth_tests::hub::berth;

use crate::install::installation::{Installation, ON_HUB, available, define_systems, trusted};
use crate::install::rotation::of_secret;

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
    hub.kubectl("apply --server-side -f -").input(all).succeeds();
    let berth = installation.start(&hub, "berth", installation.port, &["--self-register"]);
    available(&hub);
    trusted(&hub);
    drop(berth);

    // With definitions on the hub, Berth does not store objects of those systems: it would hide the existing
    // ones.
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

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn readiness_says_what_the_registration_lacks_and_does_not_wait_for_it() {
    let hub = Hub::start();
    let installation = Installation::new(&ON_HUB);
    hub.ensure(&["create", "namespace", berth::NAMESPACE]);
    for set in ["crds", "rbac", "workload"] {
        hub.kubectl("apply --server-side -f -")
            .input(installation.manifests(&[set]))
            .succeeds();
    }
    let berth = installation.start(&hub, "berth", installation.port, &[]);
    let ca = hub.file(
        "berth-ca.pem",
        &of_secret(&hub, "current.crt").expect("there is a CA"),
    );
    let get = |path: &str| {
        let server = format!("--server={}", berth.url());
        let ca = format!("--certificate-authority={}", ca.display());
        hub.kubectl_args(&["get", "--raw", path, &server, &ca]).run()
    };
    let lacking = eventually("the registration to have been looked at", || {
        let lacking = get("/readyz/registration");
        (!lacking.success && !lacking.err.contains("has not been checked yet")).then_some(lacking.err)
    });
    for wanted in [
        "APIService v1alpha1.scheduling.berth.dev does not exist; `berth manifests apiservice` prints it",
        "MutatingWebhookConfiguration berth does not exist; `berth manifests webhooks` prints it",
        "ValidatingWebhookConfiguration berth does not exist",
    ] {
        assert!(lacking.contains(wanted), "{wanted:?} is not in {lacking}");
    }
    // The hub sends requests only to a ready server.
    let ready = get("/readyz?verbose");
    assert!(
        ready.success && ready.out.contains("[-]registration failed: reason withheld"),
        "{}{}",
        ready.out,
        ready.err
    );

    // cert-manager should fill one of them in, and does not.
    let webhooks = installation.manifests(&["webhooks"]);
    hub.kubectl("apply --server-side -f -").input(webhooks).succeeds();
    let waiting =
        "annotate validatingwebhookconfiguration berth cert-manager.io/inject-ca-from=berth-system/berth";
    hub.kubectl(waiting).succeeds();
    let services = installation.manifests(&["apiservice"]);
    hub.kubectl("apply --server-side -f -").input(services).succeeds();
    eventually("only that to be lacking", || {
        let lacking = get("/readyz/registration").err;
        let missing = "ValidatingWebhookConfiguration berth has no caBundle, which cert-manager must fill in";
        (lacking.contains(missing) && !lacking.contains("does not exist")).then_some(())
    });
    hub.kubectl("annotate validatingwebhookconfiguration berth cert-manager.io/inject-ca-from-")
        .succeeds();
    eventually("nothing to be lacking", || {
        get("/readyz/registration").success.then_some(())
    });
    let ready = get("/readyz?verbose");
    assert!(ready.out.contains("[+]registration ok"), "{}", ready.out);
    available(&hub);
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn berths_account_changes_ca_bundles_and_nothing_else_of_its_registration() {
    let hub = Hub::start();
    let installation = Installation::new(&ON_HUB);
    hub.kubectl("create namespace berth-system").succeeds();
    for set in ["rbac", "apiservice", "webhooks"] {
        let objects = installation.manifests(&[set]);
        hub.kubectl("apply --server-side -f -").input(objects).succeeds();
    }
    let patch = |object: [&str; 2], change: &str| {
        let [kind, name] = object;
        let account = "--as=system:serviceaccount:berth-system:berth";
        let fixed = [
            account,
            "patch",
            kind,
            name,
            "--dry-run=server",
            "--type=json",
            "-p",
            change,
        ];
        hub.kubectl_args(&fixed).run()
    };
    let mutating = ["mutatingwebhookconfiguration", "berth"];
    let validating = ["validatingwebhookconfiguration", "berth"];
    let service = ["apiservice", "v1alpha1.scheduling.berth.dev"];
    let held = "Berth may change only caBundle and metadata of its registration";
    let wider = r#"[{"op":"replace","path":"/webhooks/0/rules/0/resources","value":["*"]}]"#;
    // A policy is in force a moment after its creation.
    eventually("the policy to hold", || {
        patch(validating, wider).err.contains(held).then_some(())
    });
    for (object, change) in [
        (mutating, wider),
        (
            validating,
            r#"[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Fail"}]"#,
        ),
        (validating, r#"[{"op":"remove","path":"/webhooks/0"}]"#),
        (
            validating,
            r#"[{"op":"add","path":"/webhooks/0/matchConditions","value":[{"name":"never","expression":"false"}]}]"#,
        ),
        (
            validating,
            r#"[{"op":"replace","path":"/webhooks/0/clientConfig/service/name","value":"other"}]"#,
        ),
        (
            service,
            r#"[{"op":"replace","path":"/spec/service/name","value":"other"}]"#,
        ),
        (
            service,
            r#"[{"op":"replace","path":"/spec/versionPriority","value":99}]"#,
        ),
    ] {
        let refused = patch(object, change);
        assert!(
            !refused.success && refused.err.contains(held),
            "{change}: {}",
            refused.err
        );
    }
    let ca = hub.kubectl("config view --raw -o jsonpath={.clusters[0].cluster.certificate-authority-data}");
    let ca = ca.succeeds();
    let at = |path: &str| format!(r#"[{{"op":"add","path":"{path}","value":"{}"}}]"#, ca.trim());
    for object in [mutating, validating] {
        let done = patch(object, &at("/webhooks/0/clientConfig/caBundle"));
        assert!(done.success, "{}", done.err);
    }
    let done = patch(service, &at("/spec/caBundle"));
    assert!(done.success, "{}", done.err);
    // All others keep their rights.
    let change = r#"[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Ignore"}]"#;
    hub.kubectl_args(&[
        "patch",
        validating[0],
        "berth",
        "--dry-run=server",
        "--type=json",
        "-p",
        change,
    ])
    .succeeds();
}
