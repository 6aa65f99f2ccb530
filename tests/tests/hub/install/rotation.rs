//! The shared CA of all servers, and its rotation.

use std::io::{BufRead as _, BufReader};
use std::sync::mpsc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use berth_tests::hub::Hub;
use berth_tests::hub::berth::load;
use berth_tests::{DEADLINE, eventually, ports};

use crate::install::installation::{Installation, ON_HUB, define_systems, shoot, trusted};

/// The value of `key` in the Secret of the CA.
pub(crate) fn of_secret(hub: &Hub, key: &str) -> Option<String> {
    let secret = hub.kubectl("get secret berth-ca -n berth-system -o json").json();
    let text = secret["data"][key].as_str()?;
    let bytes = STANDARD.decode(text).expect("a Secret is base64");
    Some(String::from_utf8(bytes).expect("certificates are text"))
}

/// The trusted certificates of the APIService.
fn bundle(hub: &Hub) -> String {
    let service = hub
        .kubectl("get apiservice v1alpha1.scheduling.berth.dev -o json")
        .json();
    let text = service["spec"]["caBundle"].as_str().unwrap_or_default();
    String::from_utf8(STANDARD.decode(text).expect("a caBundle is base64")).expect("certificates are text")
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn the_ca_gives_way_to_the_next_under_open_watches_and_no_request_fails() {
    let hub = Hub::start();
    define_systems(&hub);
    let installation = Installation::new(&ON_HUB);
    let steps = ["--ca-rotation-step=4s"];
    let berth = installation.install(&hub, &steps);
    trusted(&hub);
    load(&hub, "../examples/gardener/fleet.yaml");

    // A second server has a certificate of the same CA.
    let second = installation.start(&hub, "second", ports::free(), &steps);
    let asked_by = |pem: &str| {
        let file = hub.file("trusted.pem", pem);
        let arguments = [
            "get",
            "--raw",
            "/livez",
            &format!("--server={}", second.url()),
            &format!("--certificate-authority={}", file.display()),
        ];
        hub.kubectl_args(&arguments).run()
    };
    let first_ca = of_secret(&hub, "current.crt").expect("there is a CA");
    let answer = asked_by(&first_ca);
    assert!(answer.success, "{}", answer.err);

    let mut watch = hub.kubectl("get decisions -A --watch -o name").spawn();
    let lines = BufReader::new(watch.stdout.take().expect("the output is piped")).lines();
    let (sender, seen) = mpsc::channel();
    let reading = std::thread::spawn(move || {
        // The receiver is dropped with the test.
        lines
            .map_while(Result::ok)
            .try_for_each(|line| sender.send(line))
            .ok();
    });

    hub.kubectl("annotate secret berth-ca -n berth-system scheduling.berth.dev/rotate-ca=now")
        .succeeds();
    let mut both = false;
    eventually("the old CA to be dropped", || {
        // Every check is a request through the aggregator, and none may fail.
        hub.kubectl("get targets").succeeds();
        let now = bundle(&hub);
        both |= now.contains(first_ca.trim()) && now.matches("BEGIN").count() == 2;
        (now.matches("BEGIN").count() == 1 && !now.contains(first_ca.trim())).then_some(())
    });
    assert!(both, "old and new are trusted together meanwhile");
    let next_ca = of_secret(&hub, "current.crt").expect("there is a CA");
    assert_ne!(next_ca, first_ca);
    assert_eq!(of_secret(&hub, "previous.crt"), None);
    assert!(bundle(&hub).contains(next_ca.trim()));
    let secret = hub.kubectl("get secret berth-ca -n berth-system -o json").json();
    assert!(
        secret["metadata"]["annotations"]["scheduling.berth.dev/rotate-ca"].is_null(),
        "it is asked once"
    );
    eventually("the second server to have a certificate of the new CA", || {
        asked_by(&next_ca).success.then_some(())
    });
    assert!(!asked_by(&first_ca).success);
    // For clients that must trust it without access to its key.
    eventually("the new CA to be published", || {
        let published = hub
            .kubectl("get configmap berth-ca -n berth-system -o json")
            .json();
        (published["data"] == serde_json::json!({"ca.crt": bundle(&hub)})).then_some(())
    });

    // The watch that was open the whole time continues.
    hub.kubectl("create -f -")
        .input(shoot("later").to_string())
        .succeeds();
    let arrived = std::iter::from_fn(|| seen.recv_timeout(DEADLINE).ok());
    assert!(
        arrived.into_iter().any(|line| line.contains("later.gardener")),
        "the watch ended"
    );
    watch.kill().expect("kubectl is ours");
    watch.wait().expect("kubectl is ours");
    reading.join().expect("the reader does not panic");
    drop((berth, second));
}
